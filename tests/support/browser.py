"""A report opened in a real browser that shows no window: tests read the document as it is after
its scripts ran.

The browser is driven by its DevTools protocol over two pipes: a document is read when the page says
that it is drawn, so that a busy machine may take long."""

import atexit
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
ON_PIPES = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >&2'  # the protocol's pipes have these numbers
LONGEST = 120  # seconds that a browser may take in all

DRAWN = """new Promise(go => {
  const main = document.querySelector('main');
  const look = () => { if (main.ariaBusy === 'false') go(); };
  new MutationObserver(look).observe(main, { attributes: true });
  look();
})"""
WITHOUT_SCRIPTS = """(() => {
  for (const script of document.querySelectorAll('script')) script.remove();
  return document.documentElement.outerHTML;
})()"""
TURN = "await new Promise(go => setTimeout(go));"  # in which the page shows what was clicked


def chromium() -> str:
    """The path of the browser; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium here to open the report in")
    return found


def page(browser: str, text: str, folder: Path, then: str = "", place: str = "") -> str:
    """The document of a report, as HTML without scripts, after its own scripts and then `then` have
    run in the browser. The report's text is `text`; it is opened from a file in `folder`, and
    `place` is added to the file's address."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    with opened(browser) as tab:
        tab.visit(f"{file.as_uri()}{place}")
        tab.evaluate(DRAWN)
        tab.evaluate(f"(async () => {{ {then} }})()")
        document: str = tab.evaluate(WITHOUT_SCRIPTS)
    return document


@dataclass(slots=True)
class Tab:
    """A tab of a browser, or the connection to the browser itself, driven by DevTools: it visits
    pages and evaluates JavaScript. `to` and `back` are pipes to and from the browser, `session` is
    DevTools' name of the tab, `asked` the number of commands sent, `events` what was heard besides
    answers."""

    to: IO[bytes]
    back: IO[bytes]
    session: str = ""
    asked: int = 0
    events: list[str] = field(default_factory=list)

    def ask(self, method: str, **parameters: object) -> Any:
        """The browser's answer to a command (`method`) of the protocol; events that come before the
        answer are kept in `events`."""
        self.asked += 1
        session = {"sessionId": self.session} if self.session else {}
        message = {"id": self.asked, "method": method, "params": parameters, **session}
        self.to.write(json.dumps(message).encode() + b"\0")
        self.to.flush()
        while (heard := self.heard()).get("id") != self.asked:
            self.events.append(heard.get("method", ""))
        assert "error" not in heard, f"{method}: {heard['error']}"
        return heard["result"]

    def heard(self) -> Any:
        """The next message from the browser, parsed from JSON."""
        message = bytearray()
        while (byte := self.back.read(1)) != b"\0":
            assert byte, f"the browser ended, or took more than {LONGEST} s"
            message += byte
        return json.loads(message)

    def visit(self, url: str) -> None:
        """Go to a page, and wait until its document is read and its scripts have begun."""
        self.ask("Page.enable")
        self.events.clear()
        self.ask("Page.navigate", url=url)
        while "Page.domContentEventFired" not in self.events:
            self.events.append(self.heard().get("method", ""))

    def evaluate(self, script: str) -> Any:
        """The value of a script in JavaScript; if that is a promise, the value that it comes to."""
        found = self.ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")


@contextmanager
def opened(browser: str) -> Iterator[Tab]:
    """A new tab with a profile of its own, in the browser with the path `browser`; it is closed
    afterwards. The browser is started by the first test that needs it, and runs until the tests
    end."""
    process, root = running(browser)
    late = threading.Timer(LONGEST, process.kill)
    late.start()
    try:
        profile = root.ask("Target.createBrowserContext")
        tab = fresh_tab(root, profile)
        try:
            yield tab
        finally:
            root.asked = tab.asked
        root.ask("Target.disposeBrowserContext", **profile)
        root.events.clear()
    except BaseException:
        process.kill()  # the next test starts another one
        running.cache_clear()
        raise
    finally:
        late.cancel()


@cache
def running(browser: str) -> tuple[subprocess.Popen[bytes], Tab]:
    """The browser with the path `browser`, started with a new folder for its data, and a connection
    to it. It is ended when this process ends."""
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    command = ["sh", "-c", ON_PIPES, browser, *FLAGS, f"--user-data-dir={folder.name}"]
    started = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    atexit.register(folder.cleanup)
    atexit.register(started.kill)  # before the folder goes
    assert started.stdin is not None
    assert started.stdout is not None
    return started, Tab(started.stdin, started.stdout)


def fresh_tab(browser: Tab, profile: dict[str, str]) -> Tab:
    """A new, empty tab that uses `profile`, in the browser that the tab `browser` belongs to."""
    target = browser.ask("Target.createTarget", url="about:blank", **profile)["targetId"]
    found = browser.ask("Target.attachToTarget", targetId=target, flatten=True)
    return Tab(browser.to, browser.back, found["sessionId"], browser.asked)

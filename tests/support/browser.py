"""A report opened in a real browser without a window: the document after its scripts ran."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--virtual-time-budget=5000", "--dump-dom"),
)


def chromium() -> str:
    """The path of the browser; skips the test where there is none."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no Chromium here to open the report in")
    return found


def page(browser: str, text: str, folder: Path, then: str = "", place: str = "") -> str:
    """The document without its scripts, after they ran, and after `then` ran."""
    later = f"<script>setTimeout(async () => {{ {then} }}, 1500)</script></body>"
    head, _, tail = text.rpartition("</body>")
    file = folder / "report.html"
    file.write_text(head + later + tail, encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, f"--user-data-dir={profile}", f"{file.as_uri()}{place}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)

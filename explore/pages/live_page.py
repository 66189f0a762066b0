"""The page of a run while it goes on, served on loopback, and told of outcomes as they come.

It is the report: the same text and script, which fetches new data when it is told that there are
some. At the end of the run it holds what the report's file holds, and no longer needs the
server."""

import json
import sys
import threading
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from explore.pages.report import as_json, page
from explore.pages.report_data import Told
from explore.results.lost_forms import LostForm
from explore.results.pace import at_usual_pace
from explore.results.records import Record
from ir.core.frozen import frozen
from ir.errors import UserError

LOOPBACK = "127.0.0.1"
LEAST = 1.0  # seconds between two words to a page
SHARE = 20  # of the time goes on between words: so many times what the last one took to answer
ALIVE = 10.0  # seconds after which a page is told that the run goes on
LAST = 20.0  # seconds that open pages have at most to fetch how the run ended


@frozen
class State:
    """The state of a run as pages are told of it: a number that grows with every change, the
    progress in words (`says`), and whether the run has finished."""

    number: int
    says: str
    finished: bool = False


class LivePage:
    """The live page of a run: `with LivePage(told) as page: page.saw(record)`.

    The run calls `saw`, `lost` and `note`, and in the end `finish`; pages are served by threads of
    their own.
    """

    def __init__(self, told: Told, port: int = 0) -> None:
        self._told = replace(told, records=[*told.records], lost=[*told.lost])
        self._state = State(0, "")
        self._changed = threading.Condition()
        self._pages = self._waiting = 0  # that listen; that lack what the run ended with
        self._pause = LEAST
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{LOOPBACK}:{self.port}/"

    def __enter__(self) -> "LivePage":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the server, after open pages have fetched how the run ended."""
        with self._changed:
            until = time.monotonic() + LAST
            while self._waiting > 0 and time.monotonic() < until:
                self._changed.wait(0.1)
        self._server.shutdown()
        self._server.server_close()

    # ---- what the run tells

    def saw(self, record: Record, says: str) -> None:
        """Add a record; `says` is the progress in words."""
        with self._changed:
            self._told = replace(self._told, records=[*self._told.records, record])
            self._tell(says)

    def lost(self, form: LostForm) -> None:
        """Add a form that was not derived."""
        with self._changed:
            self._told = replace(self._told, lost=[*self._told.lost, form])
            self._tell(self._state.says)

    def note(self, says: str) -> None:
        """Tell what the run does now."""
        with self._changed:
            self._tell(says)

    def finish(self, told: Told, says: str) -> None:
        """Show what the report's file shows (`told`), and `says`, how the run ended; nothing is
        added afterwards."""
        with self._changed:
            self._told, self._waiting = told, self._pages
            self._tell(says, finished=True)

    def _tell(self, says: str, finished: bool = False) -> None:
        self._state = State(self._state.number + 1, says, finished)
        self._changed.notify_all()

    # ---- what pages ask

    def told(self) -> Told:
        """All that a report shows of the run at present, with times at the machine's usual pace."""
        with self._changed:
            told = self._told
        return replace(told, records=at_usual_pace(told.records))

    def answer(self, path: str) -> tuple[str, str] | None:
        """The type and text of what is served at a path; None if nothing is.

        The longer this takes, the longer pages are made to wait before they ask again, so that
        measuring is not disturbed.
        """
        begun = time.monotonic()
        match path:
            case "/":
                return "text/html; charset=utf-8", page(self.told(), live=True)
            case "/run":
                text = as_json(self.told().drawn())
            case "/details":
                text = as_json(self.told().details())
            case _:
                return None
        self._pause = max(LEAST, SHARE * (time.monotonic() - begun))
        return "application/json", text

    def served(self, path: str) -> None:
        """Note that a page has received what is at a path; once the run has finished, a page that
        has received the details asks for nothing more."""
        with self._changed:
            if path == "/details" and self._state.finished:
                self._waiting -= 1
                self._changed.notify_all()

    def states(self) -> Generator[State, None, None]:
        """The states that a page is told of: the present one, and then, after a pause each time,
        the latest whenever it is new, up to the last. If none is new for some seconds, the latest
        is repeated."""
        heard = False  # how the run ended
        with self._changed:
            self._pages += 1
            state = self._state
            awaited = not state.finished
        try:
            while not heard:
                yield state
                heard = state.finished
                if not heard:
                    self._rest()
                    state = self._after(state.number)
        finally:
            with self._changed:
                self._pages -= 1
                if awaited and self._state.finished and not heard:  # a page that was closed
                    self._waiting -= 1
                    self._changed.notify_all()

    def _rest(self) -> None:
        """Wait for the pause between two words to a page; the end of the run ends it at once."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.finished, self._pause)

    def _after(self, number: int) -> State:
        """The latest state, as soon as its number is larger than `number`; after some seconds, the
        latest state even if it is not."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.number > number, ALIVE)
            return self._state


class _Server(ThreadingHTTPServer):
    """The server of a live page, on loopback alone."""

    daemon_threads = True

    def __init__(self, live: LivePage, port: int) -> None:
        self.live = live
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UserError(f"cannot serve on port {port}: {error}") from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a page that was closed; all else is a bug, and is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """The answer to one request of a page. Pages of other sites, whose requests name this address
    by a name of their own, get none."""

    server: _Server

    def do_GET(self) -> None:
        live = self.server.live
        if self.headers.get("Host") not in (f"{LOOPBACK}:{live.port}", f"localhost:{live.port}"):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path == "/states":
            self._begin("text/event-stream")
            with closing(live.states()) as states:
                for state in states:
                    self.wfile.write(f"data: {json.dumps(asdict(state))}\n\n".encode())
        elif (found := live.answer(self.path)) is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            kind, text = found
            self._begin(kind)
            self.wfile.write(text.encode())
            live.served(self.path)

    def _begin(self, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal shows the run's progress."""

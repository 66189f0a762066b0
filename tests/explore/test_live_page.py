"""Tests of the live page, in a real browser: it shows what the run reports, keeps open what the
reader looks at, and in the end is the same as the report's file."""

import http.client
import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from explore.pages.live_page import LAST, LivePage
from explore.pages.report import report
from explore.pages.report_data import Told
from explore.report.progress import Watch
from explore.results.lost_forms import LostForm
from ir.errors import UserError
from tests.support.browser import DRAWN, Tab, chromium, opened
from tests.support.sample_runs import ENVIRONMENT, PEERS, sample_run

RECORDS = sample_run(60)
LOST = LostForm("lift", "padded", "worker died")
BEGINNING = Told(RECORDS[:30], ENVIRONMENT, folder="runs/conv")
END = Told(RECORDS, ENVIRONMENT, PEERS, (LOST,), "runs/conv")
SEEN = """[
  document.title,
  ...['tiles', 'front', 'variants', 'failures', 'lost', 'program', 'where', 'times', 'detail']
    .map(id => document.getElementById(id).innerText),
  ...[...document.querySelectorAll('.js-plotly-plot')].map(plot =>
    plot.data.map(trace => [trace.name ?? '', trace.x, trace.y, trace.customdata ?? []])),
]"""
COUNTED = "document.getElementById('counted').textContent"


def once(tab: Tab, holds: str) -> None:
    """Wait until the JavaScript condition `holds` is true on the page of a tab."""
    look = f"const look = () => {{ if ({holds}) go(); else setTimeout(look, 20); }};"
    tab.evaluate(f"new Promise(go => {{ {look} look(); }})")


def says(words: str) -> str:
    return f"document.getElementById('state').textContent.includes({json.dumps(words)})"


def test_a_live_page_takes_in_outcomes_keeps_what_is_open_and_ends_as_the_file(
    tmp_path: Path,
) -> None:
    chosen = RECORDS[3].variant.id
    with opened(chromium()) as tab, LivePage(BEGINNING) as live:
        tab.visit(f"{live.address}#{chosen}")
        tab.evaluate(DRAWN)
        assert tab.evaluate(COUNTED) == "30 variants"
        tab.evaluate("[...document.querySelectorAll('#detail [role=tab]')][1].click()")
        with Watch(60, console=Console(file=io.StringIO()), before=RECORDS[:30], live=live) as run:
            run.derived(3, 9)
            once(tab, says("3/9"))
            run.lost(LOST)
            for record in RECORDS[30:45]:
                run.saw(record)
        once(tab, f"{COUNTED} === '45 variants' && {says('45/60')}")
        assert "worker died" in tab.evaluate("document.getElementById('lost').innerText")
        live.finish(END, "nothing is left to do")
        begun = time.monotonic()
        live.__exit__()  # with the last of the data in the page, which needs it no longer
        assert time.monotonic() - begun < LAST
        once(tab, f"{COUNTED} === '60 variants' && {says('finished nothing is left to do')}")
        tab.evaluate("document.querySelector('tr[data-id]').click()")
        point = json.dumps({"points": [{"customdata": chosen}]})
        tab.evaluate(f"document.getElementById('plane').emit('plotly_click', {point})")
        shown = tab.evaluate(SEEN)
        file = tmp_path / "report.html"
        file.write_text(report(END.records, ENVIRONMENT, PEERS, END.lost, END.folder))
        tab.visit(f"{file.as_uri()}#{chosen}")
        tab.evaluate(DRAWN)
        tab.evaluate("[...document.querySelectorAll('#detail [role=tab]')][1].click()")
        assert tab.evaluate(SEEN) == shown
    assert "derivation" in shown[9]


def answer(live: LivePage, path: str, host: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=20)
    connection.request("GET", path, headers={"Host": host})
    found = connection.getresponse()
    return found.status, found.read()


def test_a_live_page_is_served_to_pages_of_its_own_address_alone() -> None:
    with LivePage(BEGINNING) as live:
        own = f"localhost:{live.port}"
        assert answer(live, "/run", "elsewhere.example")[0] == 403
        assert answer(live, "/run/../../etc/passwd", own)[0] == 404
        status, text = answer(live, "/run", own)
        assert (status, json.loads(text)["name"]) == (200, ENVIRONMENT.name)
        with pytest.raises(UserError, match="cannot serve on port"):
            LivePage(BEGINNING, live.port)
    with pytest.raises(ConnectionRefusedError):
        answer(live, "/run", own)


def test_the_end_of_a_run_is_told_at_once_however_long_pages_were_made_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explore.pages.live_page.LEAST", 100.0)
    with LivePage(BEGINNING) as live:
        states = live.states()
        next(states)
        live.answer("/run")
        begun = time.monotonic()
        threading.Timer(0.1, live.finish, (END, "nothing is left to do")).start()
        assert next(states).finished
        assert time.monotonic() - begun < 100
        live.served("/details")


def test_a_run_ends_without_waiting_for_a_page_that_was_closed() -> None:
    live = LivePage(BEGINNING).__enter__()
    states = live.states()
    next(states)
    live.finish(END, "nothing is left to do")
    states.close()
    begun = time.monotonic()
    live.__exit__()
    assert time.monotonic() - begun < LAST

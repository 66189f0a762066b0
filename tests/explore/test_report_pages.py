"""Tests of reports on runs of every kind in a real browser: every tab is opened and read, for a few
variants each."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codegen.runtime.devices import Device
from constraints.devices import PROFILES
from explore.options.options import Options
from explore.pages.report import report
from explore.results.front import front
from explore.results.lost_forms import LostForm
from explore.results.records import Failed, Peer, Record
from explore.results.run_environment import Environment
from explore.run.ledger import Ledger
from explore.run.run import Run, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from tests.support.browser import TURN, chromium, page
from tests.support.sample_runs import ENVIRONMENT, PEERS, sample_run

TEXT = """tiny(const weights : [[float]3]M, const biases : [float]M, image : [float]W) =
  map((kernel, bias) ->
      map(window -> reduce(bias, (acc, (x, w)) -> acc + x * w, zip(window, kernel)),
        slide(3, 1, pad(1, 1, 0.0, image))),
    zip(weights, biases))
where W = 16, M = 8
"""
OPTIONS = Options(variants=6, families=("naive", "registers"), jobs=1)
NONSENSE = re.compile(r"\b(?:undefined|NaN|null|Infinity)\b|\[object|\{\{")
TABS = {"parameters", "derivation", "memory", "kernels", "source"}
OPENED = 1  # variants of the front, of the plane and of the failures

READ = f"""
const detail = document.getElementById('detail'), plane = document.getElementById('plane');
const said = {{ page: [document.body.innerText], hovers: [], tabs: [] }};
const tabs = () => [...detail.querySelectorAll('.tabs [role=tab]')];
for (const plot of document.querySelectorAll('.js-plotly-plot'))
  for (const trace of plot.data) said.hovers.push(String(trace.name ?? ''), ...(trace.text ?? []));
const rows = [...document.querySelectorAll('tr[data-id]')], front = rows.map(row => row.dataset.id);
const drawn = new Set((plane.data ?? []).flatMap(trace => trace.customdata ?? []));
const others = [...drawn].filter(id => !front.includes(id));
const click = id => plane.emit('plotly_click', {{ points: [{{ customdata: id }}] }});
const openers = [
  ...rows.slice(0, {OPENED}).map(row => () => row.click()),
  ...others.slice(0, {OPENED}).map(id => () => click(id)),
  ...[...document.querySelectorAll('.link')].slice(0, {2 * OPENED}).map(link => () => link.click()),
];
for (const open of openers) {{
  open();
  {TURN}
  for (const name of tabs().map(tab => tab.textContent)) {{
    tabs().find(tab => tab.textContent === name).click();
    {TURN}
    const id = detail.querySelector('h2').childNodes[1].textContent;
    said.tabs.push([id, name, detail.innerText]);
  }}
}}
for (const button of document.querySelectorAll('#colouring button')) button.click();
said.page.push(document.body.innerText, document.title);
const shown = document.createElement('pre');
shown.id = 'said';
shown.textContent = JSON.stringify(said);
document.body.append(shown);
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """The data that a report is made of: records, environment, peers, and forms that could not be
    derived."""

    records: list[Record]
    environment: Environment
    peers: tuple[Peer, ...] = ()
    lost: tuple[LostForm, ...] = ()


def of_folder(folder: Path) -> Ran:
    run = Run(folder)
    return Ran(run.records, run.environment, tuple(run.peers))


def measured(device: Device, folder: Path, _: pytest.MonkeyPatch) -> Ran:
    start(Source(TEXT, "tiny"), OPTIONS, Target(profile_of(device), device), folder)
    return of_folder(folder)


def interrupted(device: Device, folder: Path, patch: pytest.MonkeyPatch) -> Ran:
    """A run in `folder` that Ctrl-C interrupted when its third outcome was stored."""
    note = Ledger.note

    def stopped(self: Ledger, record: Record) -> None:
        note(self, record)
        if self.left <= OPTIONS.variants - 3:
            raise KeyboardInterrupt

    patch.setattr(Ledger, "note", stopped)
    with pytest.raises(KeyboardInterrupt):
        measured(device, folder, patch)
    found = of_folder(folder)
    assert len(found.records) == 3
    return found


def predicted(_: Device, folder: Path, __: pytest.MonkeyPatch) -> Ran:
    start(Source(TEXT, "tiny"), OPTIONS, Target(PROFILES["mali-g72"], None), folder)
    return of_folder(folder)


def compared(*_: object) -> Ran:
    """A made-up run with every kind of outcome, and with peers, one of which states no memory."""
    return Ran(sample_run(60), ENVIRONMENT, (*PEERS, Peer("clblast", 9e6)))


def failed(*_: object) -> Ran:
    lost = [r for r in sample_run(200) if isinstance(r.outcome, Failed)]
    return Ran(lost, ENVIRONMENT)


def lost(*_: object) -> Ran:
    """A made-up run with two forms that could not be derived, which are not among its variants."""
    forms = (LostForm("lift", "padded", "worker died"), LostForm("naive", "", "took too long"))
    return Ran(sample_run(20), ENVIRONMENT, lost=forms)


def empty(*_: object) -> Ran:
    return Ran([], ENVIRONMENT)


Kind = Callable[[Device, Path, pytest.MonkeyPatch], Ran]
KINDS: tuple[Kind, ...] = (measured, interrupted, predicted, compared, failed, lost, empty)


@pytest.mark.parametrize("kind", KINDS)
def test_every_tab_of_a_report_says_something_and_no_nonsense(
    kind: Kind, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kind(device, tmp_path / "run", monkeypatch)
    said = read(made, tmp_path)
    texts = [*said["page"], *said["hovers"], *(text for _, _, text in said["tabs"])]
    assert [found for text in texts for found in NONSENSE.findall(text)] == []
    opened = {id for id, _, _ in said["tabs"]}
    assert opened <= {record.variant.id for record in made.records}
    assert len(opened) >= min(OPENED, len(made.records))
    first = said["page"][0]
    assert ("Forms that were not derived" in first) == bool(made.lost)
    if kind is lost:  # forms are no variants
        assert "lift padded" in first
        assert "took too long" in first
        assert re.search(r"\b20\b", first)
        assert "22" not in first
    if kind is measured:  # pictures of variants on the front, whose kernels can be read
        fastest = front(made.records)[0].variant.id
        assert any((id, tab) == (fastest, "tiling") for id, tab, _ in said["tabs"])
    for id in opened:
        assert {tab for of, tab, _ in said["tabs"] if of == id} >= TABS


def read(made: Ran, folder: Path) -> Any:
    """The texts that a browser shows of the report on `made`, which is written to `folder`: by
    name, those before and after tabs are opened, those of the points of plots, and for each tab
    (id, tab, text)."""
    text = report(made.records, made.environment, made.peers, made.lost)
    shown = page(chromium(), text, folder, READ)
    said = re.search(r'<pre id="said">(.*?)</pre>', shown, re.DOTALL)
    assert said is not None, "the page could not be read"
    return json.loads(html.unescape(said[1]))


def test_the_derivation_tab_says_each_law_where_it_was_applied_and_what_then_stood_there(
    tmp_path: Path,
) -> None:
    records = sample_run(5)
    tabs = read(Ran(records, ENVIRONMENT), tmp_path)["tabs"]
    shown = ["".join(text.split()) for _, tab, text in tabs if tab == "derivation"]
    steps = records[0].variant.derivation  # all of them have the same
    said = "".join(f"{n}. {s.law} {s.place} {s.term}" for n, s in enumerate(steps, 1))
    assert shown
    assert all("".join(said.split()) in text for text in shown)

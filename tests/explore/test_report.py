"""Tests of the report in a real browser, and of its figures: they show the run's data, and no text
of the run is read as markup."""

import base64
import html
import json
import math
import os
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from explore.pages.report import report
from explore.pages.report_data import best_so_far, failures
from explore.pages.shared_lines import SharedLines
from explore.report.palette import colours, markers
from explore.report.parameter_words import WORDS
from explore.report.plot import plot_front
from explore.results.front import Objective, front
from explore.results.records import Begun, Failed, Measured, Peer, Record, Step
from explore.results.run_environment import Environment
from ir.errors import UserError
from ir.parse import parse_file
from rewrites.families.all_families import BY_DEFAULT, FAMILIES, forms
from tests.support.browser import TURN, chromium, page
from tests.support.sample_runs import BOUNDS, ENVIRONMENT, PEERS, plan, sample_run, variant

EVIL = "</script><img src=x onerror=\"document.title='OWNED'\"><b>bold</b>&amp;{{plotly}}"
RECORDS = sample_run(300)

ALL_THREE: tuple[Objective, ...] = ("time", "memory", "error")


def hostile() -> tuple[list[Record], Environment]:
    made = replace(
        variant("blocked", tile=4),
        id=f"blocked-{EVIL}",
        family=EVIL,
        parameters=((EVIL, 4),),
        stored=(EVIL,),
        derivation=(Step(EVIL, EVIL, EVIL, (Begun(EVIL, 1, EVIL, EVIL),)),),
        plan=plan(EVIL, name=EVIL),
    )
    other = Record(replace(made, id=f"lost-{EVIL}"), Failed("build", EVIL, EVIL))
    environment = replace(ENVIRONMENT, name=EVIL, program=EVIL, device=EVIL, driver=EVIL)
    return [Record(made, Measured(1e6, 0.0, 0.0)), other], environment


@pytest.fixture(scope="module")
def browser() -> str:
    return chromium()


def test_the_page_shows_the_front_the_peer_and_the_failures(browser: str, tmp_path: Path) -> None:
    lost = next(r for r in RECORDS if isinstance(r.outcome, Failed))
    assert isinstance(lost.outcome, Failed)
    text = report(RECORDS, ENVIRONMENT, PEERS)
    shown = page(browser, text, tmp_path, place=f"#{lost.variant.id}")
    assert all(f'data-id="{r.variant.id}"' in shown for r in front(RECORDS))
    assert "torch (oneDNN)" in shown
    assert "ptxas: too many resources requested" in shown
    assert len(re.findall(r'class="[^"]*js-plotly-plot', shown)) == 3
    assert "Share chart" not in shown  # the plot's own button would upload the run
    assert "Download plot" in shown
    detail = shown[shown.index('id="detail"') :]  # a place in the address opens a variant
    assert f'class="warn">{lost.outcome.reason}' in detail


def test_the_plane_is_coloured_by_error_and_marks_the_front_that_counts_it(
    browser: str, tmp_path: Path
) -> None:
    click = (
        "[...document.querySelectorAll('#colouring button')]"
        ".find(b => b.textContent === 'by error').click();"
        "const marked = document.getElementById('plane').data.find(t => /error/.test(t.name));"
        "document.title = [...marked.customdata].sort().join(' ');"
    )
    shown = page(browser, report(RECORDS, ENVIRONMENT), tmp_path, click)
    title = re.search("<title>(.*?)</title>", shown)
    assert title is not None
    wide = front(RECORDS, ALL_THREE)
    assert title[1].split() == sorted(r.variant.id for r in wide)
    assert len(wide) > len(front(RECORDS))


def test_the_best_so_far_stays_in_its_picture_when_the_first_time_was_lucky(
    browser: str, tmp_path: Path
) -> None:
    lucky = RECORDS[0].variant
    times = [(0, 1.0, 2e3), (1, 9.0, 4e6)]  # far below all others, then above
    again = [Record(lucky, Measured(t, 0.0, 0.0), elapsed_s=s, round=r) for r, s, t in times]
    look = (
        "const { data, layout } = document.getElementById('progress');"
        "const drawn = data.flatMap(t => t.y).map(Math.log10), [low, high] = layout.yaxis.range;"
        "document.title = [drawn.every(y => low < y && y < high), Math.min(...drawn)].join(' ');"
    )
    text = report([*again, *RECORDS[1:]], ENVIRONMENT)
    shown = page(browser, text, tmp_path, look)
    title = re.search("<title>(.*?)</title>", shown)
    assert title is not None
    inside, least = title[1].split()
    assert inside == "true"
    assert float(least) == pytest.approx(math.log10(2e3 / 1e6))


def test_the_report_shows_the_program_with_the_sizes_of_the_run() -> None:
    environment = replace(ENVIRONMENT, options={**ENVIRONMENT.options, "sizes": {"C": 77}})
    run = unpacked("run", report(RECORDS, environment))
    assert "where C = 77, W = 112, H = 112, K = 3, M = 128" in run["program"]


def unpacked(what: str, text: str) -> Any:
    """The data that the report holds, compressed, under the name `what`."""
    packed = re.search(rf'id="{what}">([^<]*)<', text)
    assert packed
    return json.loads(zlib.decompress(base64.b64decode(packed[1])))


def test_clicking_a_point_opens_how_it_was_made(browser: str, tmp_path: Path) -> None:
    chosen = next(r for r in RECORDS if isinstance(r.outcome, Measured) and r not in front(RECORDS))
    click = (
        "const plane = document.getElementById('plane'); let hit = null;"
        "plane.data.forEach((t, c) => (t.customdata || []).forEach((id, p) => {"
        f"  if (id === '{chosen.variant.id}') hit = {{ points: [{{ customdata: id }}] }}; }}));"
        "plane.emit('plotly_click', hit);"
        f"{TURN}"
        "[...document.querySelectorAll('.tabs button')]"
        ".find(b => b.textContent === 'source').click();"
    )
    shown = page(browser, report(RECORDS, ENVIRONMENT), tmp_path, click)
    detail = shown[shown.index('id="detail"') :]
    assert chosen.variant.id in detail[:600]
    source = html.unescape(re.sub(r"<[^>]*>", "", detail))
    assert f"// {chosen.variant.id}\n__kernel void conv" in source


USED = """
const said = {}, at = id => document.getElementById(id), detail = at('detail'), plane = at('plane');
const wait = () => new Promise(go => setTimeout(go, 30));
const rows = () => [...document.querySelectorAll('tr[data-variant]')];
const press = (key, on) => on.dispatchEvent(new KeyboardEvent('keydown', { key }));
const button = (of, text) => [...detail.querySelectorAll(of)].find(b => b.textContent === text);
const name = () => detail.querySelector('h2').childNodes[1].textContent;
function seek(words) {
  const box = document.querySelector('#variants input');
  box.value = words;
  box.dispatchEvent(new Event('input'));
  return at('counted').textContent;
}
said.failed = seek('failed blocked');
seek('');
const byMemory = () => document.querySelectorAll('#everyone .head')[2].click();
byMemory();
said.smallest = rows()[0].dataset.variant;
byMemory();
said.largest = rows()[0].dataset.variant;
at('more').click();
said.more = rows().length;
button('.copy', 'compare').click();
await wait();
said.one = seek('OTHER');
rows()[0].click();
await wait();
said.compared = detail.querySelector('[role=tabpanel]').innerText;
said.gone = detail.querySelectorAll('.gone').length;
button('[role=tab]', 'parameters').click();
await wait();
said.command = detail.querySelector('.command code').textContent;
press('Home', plane);
await wait();
said.first = [name(), at('told').textContent];
press('End', plane);
await wait();
said.last = name();
const shown = document.createElement('pre');
shown.id = 'said';
shown.textContent = JSON.stringify(said);
document.body.append(shown);
"""


def test_variants_are_sought_sorted_compared_and_reached_by_keys(
    browser: str, tmp_path: Path
) -> None:
    points, every = front(RECORDS), {r.variant.id: r for r in RECORDS}
    other = points[-1].variant.id
    shown = page(
        browser,
        report(RECORDS, ENVIRONMENT, folder="runs/it's mine"),
        tmp_path,
        USED.replace("OTHER", other),
    )
    found = re.search(r'<pre id="said">(.*?)</pre>', shown, re.DOTALL)
    assert found is not None
    said = json.loads(html.unescape(found[1]))
    lost = [r for r in RECORDS if isinstance(r.outcome, Failed) and r.variant.family == "blocked"]
    assert said["failed"] == ("1 variant" if len(lost) == 1 else f"{len(lost)} variants")
    sizes = [r.memory_bytes for r in RECORDS if r.memory_bytes is not None]
    assert every[said["smallest"]].memory_bytes == min(sizes)
    assert every[said["largest"]].memory_bytes == max(sizes)
    assert said["more"] == 100
    assert said["one"] == "1 variant"
    assert points[0].variant.id in said["compared"]
    assert other in said["compared"]
    assert said["gone"] >= 1  # the first line of a source is its name
    assert said["command"] == (f"explore pick 'runs/it'\\''s mine' --id {other} --export {other}")
    assert said["first"][0] == points[-1].variant.id
    assert said["first"][1].startswith(f"{points[-1].variant.id}: ")
    assert said["last"] == points[0].variant.id


def test_parameters_of_every_family_are_told_in_words() -> None:
    plain = parse_file(Path(__file__).parents[2] / "examples" / "quickstart.lift")
    every = (form for family in FAMILIES for form in forms(plain, family))
    names = {name for form in every for name in form.tuning.parameters}
    assert names <= WORDS.keys()


def test_text_of_the_program_is_shown_and_never_run(browser: str, tmp_path: Path) -> None:
    records, environment = hostile()
    text = report(records, environment, [Peer(EVIL, 2e6, 10**7), Peer(EVIL + "2", 2e6)])
    click = (
        "document.querySelectorAll('.link').forEach(b => b.click());"
        "document.body.dataset.images = document.images.length;"
    )
    shown = page(browser, text, tmp_path, click)
    assert "<title>OWNED" not in shown
    assert 'data-images="0"' in shown
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown


def test_the_file_reaches_for_nothing_outside_itself() -> None:
    text = report(RECORDS, ENVIRONMENT)
    assert "default-src 'none'" in text
    assert not re.search(
        r"""<(script|link|img|iframe)[^>]*\b(src|href)=""", text.split("<main>")[0]
    )


def test_each_part_of_the_page_has_one_style() -> None:
    style = report(sample_run(1), ENVIRONMENT).split("<style>")[1].split("@media (max-width")[0]
    chosen = [selector.strip() for selector in re.findall(r"([^{}]+)\{", style)]
    assert [s for s in chosen if chosen.count(s) > 1 and s != ":root"] == []


def test_variants_of_a_form_share_their_derivation_in_the_file() -> None:
    text = report(RECORDS, ENVIRONMENT)
    details = unpacked("details", text)
    assert len(details["variants"]) == len(RECORDS)
    assert len(details["derivations"]) == len({r.variant.derivation for r in RECORDS})
    texts = list(unshared(details["texts"]))
    for record, shown in zip(RECORDS, details["variants"], strict=True):
        steps = details["derivations"][shown["derivation"]]
        told = [Step(*(texts[step[name]] for name in ("law", "place", "term"))) for step in steps]
        assert told == list(record.variant.derivation)
        source = None if shown["source"] is None else texts[shown["source"]]
        assert source == (record.variant.plan and record.variant.plan.source)


def unshared(shared: dict[str, Any]) -> Iterator[str]:
    """The texts that were packed as lines that they share, in order."""
    fresh, lines = iter(shared["new"]), list[str]()
    for runs in shared["texts"]:
        start = len(lines)
        for new, repeated, back in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
            lines.extend(islice(fresh, new))
            for at in range(len(lines) - back, len(lines) - back + repeated):
                lines.append(lines[at])
        yield "\n".join(lines[start:])
    assert next(fresh, None) is None


def test_texts_that_share_lines_come_back_and_keep_a_line_once() -> None:
    draw = random.Random()
    lines = ["", "}", "a", "b", "c = 1;", "\u2028"]
    texts = ["\n".join(draw.choices(lines, k=draw.randrange(9))) for _ in range(300)]
    shared = SharedLines()
    numbers = [shared.add(text) for text in texts]
    made = shared.to_json()
    back = list(unshared(made))
    assert [back[n] for n in numbers] == texts
    assert len(back) == len(set(texts))
    assert len(made["new"]) == len(set(made["new"]))


def test_a_long_text_that_differs_in_a_line_costs_that_line_and_two_runs() -> None:
    lines = [f"x = {n};" for n in range(5000)]
    shared = SharedLines()
    shared.add("\n".join(lines))
    lines[2500] = "y = 1;"
    shared.add("\n".join(lines))
    assert shared.to_json()["texts"] == [[5000, 0, 0], [0, 2500, 5000, 1, 2499, 5000]]
    assert shared.to_json()["new"][5000:] == ["y = 1;"]


def test_a_run_in_which_nothing_ran_still_has_a_report(browser: str, tmp_path: Path) -> None:
    lost = [r for r in RECORDS if isinstance(r.outcome, Failed)]
    assert "No variant ran to the end." in page(browser, report(lost, ENVIRONMENT), tmp_path)
    assert report([], ENVIRONMENT)


def test_predictions_are_said_to_be_predictions(browser: str, tmp_path: Path) -> None:
    shown = page(browser, report(sample_run(50, predicted=True), ENVIRONMENT), tmp_path)
    assert "nothing was run on this device" in shown


def test_the_same_run_has_the_same_report() -> None:
    assert report(RECORDS, ENVIRONMENT) == report(RECORDS, ENVIRONMENT)


def test_the_best_so_far_only_falls() -> None:
    curve = best_so_far(RECORDS)
    times = [r.time_ns or 0 for r in curve]
    assert times == sorted(times, reverse=True)
    assert times[-1] == min(r.time_ns for r in RECORDS if r.time_ns is not None)


def test_failures_are_counted_by_stage_and_alike_but_for_numbers() -> None:
    lost = [
        Record(variant(tile=n), Failed("run", reason))
        for n, reason in enumerate(["took 3 s", "died", "took 4.5 s"])
    ]
    (found,) = failures(lost)
    assert (found["stage"], found["count"]) == ("run", 3)
    assert [(r["count"], r["reason"]) for r in found["reasons"]] == [(2, "took 3 s"), (1, "died")]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_front_is_drawn_for_a_paper_and_the_same_each_time(suffix: str, tmp_path: Path) -> None:
    pictures = []
    for name in ("a", "b"):
        file = tmp_path / (name + suffix)
        plot_front(RECORDS, file, title="layer $7$ _x_", peers=PEERS, bounds=BOUNDS, over=ALL_THREE)
        pictures.append(file.read_bytes())
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) > 5_000


def test_a_figure_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected a file name that ends in \.png"):
        plot_front(RECORDS, tmp_path / "front.exe")
    with pytest.raises(UserError, match="nothing to draw"):
        plot_front([], tmp_path / "front.png")
    with pytest.raises(UserError, match="cannot write"):
        plot_front(RECORDS, tmp_path / "no" / "front.png")


def test_names_that_are_markup_do_not_break_a_figure(tmp_path: Path) -> None:
    records, _ = hostile()
    named = [replace(r, variant=replace(r.variant, family="_$\\frac")) for r in records]
    plot_front(named, tmp_path / "front.svg", title="$\\nonsense{", peers=[Peer("$_$", 1e6, 10)])
    assert os.path.getsize(tmp_path / "front.svg") > 1000


def test_families_that_are_explored_differ_in_colour_and_all_in_colour_and_marker() -> None:
    assert len(set(colours(BY_DEFAULT).values())) == len(BY_DEFAULT)
    looks = zip(colours(FAMILIES).values(), markers(FAMILIES).values(), strict=True)
    assert len(set(looks)) == len(FAMILIES)

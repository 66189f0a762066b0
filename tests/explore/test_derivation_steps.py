"""Tests that a derivation that was stored is shown in stages: as lines of text, in the comment
above a kernel, and in the report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from explore.export.export_variant import kernel_text
from explore.options.stored_fields import Damaged
from explore.pages.report import report
from explore.results.derivation_steps import laws_of, outline_of, stage_of, stages_of, steps_of
from explore.results.read_record import from_json
from explore.results.record_json import to_json
from explore.results.records import Begun, Measured, Record, Step
from ir.errors import UserError
from ir.parse import parse
from rewrites.engine.outline_text import told
from rewrites.families.all_families import first
from tests.support.browser import TURN, chromium, page
from tests.support.sample_runs import ENVIRONMENT, variant

DERIVATION = first(
    parse(
        "p(a : [[float]8]8, b : [[float]8]8) ="
        " map(row -> map(column -> dot(row, column), transpose(b)), a)"
    ),
    "registers",
).derivation
STEPS = steps_of(DERIVATION)
PLAIN = (Step("map id = id", "top", "xs"), Step("join . split = id", "body", "xs"))


def record(steps: tuple[Step, ...]) -> Record:
    return Record(replace(variant(tile=4), derivation=steps), Measured(1e6, 0.0, 0.0))


def test_stages_are_stored_with_the_steps_that_they_begin_with() -> None:
    assert stages_of(STEPS) == told(DERIVATION)
    assert STEPS[0].stages[0].name == "a block of results for each work-item"
    assert STEPS[0].stages[0].steps == len(STEPS)


def test_stages_outlive_the_file_and_runs_without_them_are_read() -> None:
    for steps in (STEPS, PLAIN):
        stored = json.loads(json.dumps(to_json(record(steps))))
        assert from_json({**stored, "source": None}).variant.derivation == steps
    assert "stages" not in to_json(record(PLAIN))["derivation"][0]


@pytest.mark.parametrize("stages", [7, [7], [{"name": "x", "steps": 0, "before": "", "after": ""}]])
def test_stages_that_nobody_stored_are_told(stages: object) -> None:
    stored = json.loads(json.dumps(to_json(record(STEPS))))
    stored["derivation"][0]["stages"] = stages
    with pytest.raises(Damaged):
        from_json(stored)


def test_an_outline_is_told_first_and_opens_to_laws() -> None:
    outlined = list(outline_of(STEPS))
    assert "rows in vectors of v" in "".join(outlined)
    assert not any("  =  " in line for line in outlined)
    assert list(outline_of(PLAIN)) == list(laws_of(PLAIN))
    opened = list(stage_of(STEPS, "split tr rows"))
    assert opened[0] == "# split tr rows"
    assert len(opened) == 3
    assert "split k" in opened[1]
    with pytest.raises(UserError, match="no stage `split rows`; did you mean"):
        list(stage_of(STEPS, "split rows"))


def test_a_kernel_stands_under_the_outline_of_its_derivation() -> None:
    made = record(STEPS).variant
    assert made.plan is not None
    text = kernel_text(made, made.plan).split("\n\n")[0].splitlines()
    assert all(line.startswith("//") for line in text)
    outline, buffers, kernels, licence = "\n".join(text).split("\n//\n")
    assert len(outline.splitlines()) < 20
    assert "begins at a multiple of 64 bytes" in buffers
    assert all(f"//   {b.name}: {b.role.value}, {b.scalar} " in buffers for b in made.plan.buffers)
    assert all(f"//   {k.name}: " in kernels for k in made.plan.kernels)
    assert "no licence of its own" in licence
    assert "//   3.   rows in vectors of v   (4 laws)" in text
    assert "//  10.     a block in registers   (14 laws)" in text


def test_the_report_opens_a_stage_to_its_laws(tmp_path: Path) -> None:
    names = ["outer", "inner"]
    first_step = PLAIN[0]._replace(
        stages=tuple(Begun(n, 2, "map 4", "map 2 > map 2") for n in names)
    )
    made = record((first_step, PLAIN[1], Step("fission", "top", "ys")))
    look = (
        "const tab = [...document.querySelectorAll('#detail [role=tab]')]"
        ".find(t => t.textContent === 'derivation'); tab.click();"
        f"{TURN}"
        "const body = document.querySelector('#detail .body');"
        "const stage = body.querySelector('details');"
        "const tops = [...body.firstChild.children].map(c => c.className).join(' ');"
        "document.title = [tops, stage.open, body.innerText.includes('map id = id'),"
        " stage.querySelectorAll('details .step').length,"
        " stage.querySelector('summary').innerText.includes('= map 2 > map 2')].join('|');"
    )
    shown = page(chromium(), report([made], ENVIRONMENT), tmp_path, look, f"#{made.variant.id}")
    assert "<title>stage step|false|false|2|true</title>" in shown

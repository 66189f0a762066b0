"""Tests of the fuzzer: it finds no fault in fifteen seconds of programs from a fresh seed; a fault
that is planted is found, shrunk and kept."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from codegen.compile import Generated, generate
from codegen.runtime.session import Session
from explore.results.version import version
from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Binary, Program, Unary, Var
from ir.core.terms import subterms
from ir.core.types import RANGES, SCALARS, leaves
from ir.parse import parse
from ir.text.show import show
from tests.fuzz import judge
from tests.fuzz.draw import draw
from tests.fuzz.found import keep, read
from tests.fuzz.verdicts import Kind, Verdict
from tests.fuzz.ways import Way
from tests.fuzz.wide_inputs import wide_inputs
from tests.fuzz.work import Seed, work
from tests.support.narrowed import one

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.long
def test_fifteen_seconds_of_programs_find_nothing(tmp_path: Path) -> None:
    """The fuzzer finds no fault in fifteen seconds of programs. Their seed is the version of the
    sources: other sources are tried with other programs, the same sources with the same."""
    seed = version()
    command = [sys.executable, "-m", "tests.fuzz", "--minutes", "0.25", "--seed", seed]
    done = subprocess.run(
        [*command, "--found", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"python -m tests.fuzz --seed {seed}\n{done.stdout}{done.stderr}"
    assert " right" in done.stdout.splitlines()[-1]


def test_the_same_seed_draws_the_same_programs_of_every_kind() -> None:
    drawn = [draw(f"a/{n}") for n in range(60)]
    assert {d.kind for d in drawn} == {"structure", "term", "helper", "lowered"}
    assert [show(d.program) for d in drawn] == [show(draw(f"a/{n}").program) for n in range(60)]


def test_every_primitive_is_drawn() -> None:
    bodies = [draw(f"b/{n}").program.body for n in range(400)]
    names = {type(e).__name__ for body in bodies for e in subterms(body)}
    algorithms = {"Map", "Reduce", "Generate", "Let", "MakeTuple", "MakeArray", "Get", "At"}
    views = {"Zip", "Split", "Join", "Slide", "Pad", "PadEdge", "Transpose", "Reorder", "Concat"}
    assert algorithms | views | {"Store", "Unary", "Binary", "SizeOf"} <= names


def test_every_type_conversion_and_operation_on_whole_numbers_is_drawn() -> None:
    bodies = [draw(f"types/{n}").program.body for n in range(400)]
    terms = [e for body in bodies for e in subterms(body)]
    made = {e.op for e in terms if isinstance(e, Unary)} & {*CONVERSIONS}
    assert {CONVERSIONS[op].target.name for op in made} == {*SCALARS}
    assert len(made) > len(CONVERSIONS) / 2
    assert {CONVERSIONS[op].saturates for op in made} == {True, False}
    assert {"/", "%", "<<", ">>", "&", "|"} <= {e.op for e in terms if isinstance(e, Binary)}
    held = (leaf for e in terms if isinstance(e, Var) for leaf in leaves(e.type))
    assert {*SCALARS.values()} <= {*held}


def test_inputs_hold_the_least_and_the_largest_numbers_of_a_type() -> None:
    p = parse("f(xs : [char]99, is : [int]99) = map((x, i) -> x + i, zip(xs, is))")
    drawn = [wide_inputs(p, seed) for seed in range(9)]
    for name, t in {"xs": "char", "is": "int"}.items():
        found = [one(inputs[name]) for inputs in drawn]
        assert {int(x.min()) for x in found} == {RANGES[t][0], -3}
        assert {int(x.max()) for x in found} == {RANGES[t][1], 3}


FAULTS = {
    Kind.WRONG: lambda text: text.replace(".0f", ".5f"),
    Kind.BUILD: lambda text: text.replace(";", " oops;", 1),
    Kind.ESCAPE: lambda text: re.sub(r"(\w+)\[0\] = ", r"\1[10000] = ", text),
}


def faulty(change: Callable[[str], str], program: Program, max_work_group: int) -> Generated:
    """The code of a program, for groups of up to `max_work_group` items, after `change`, which
    plants a fault, was applied to the text of each kernel."""
    made = generate(program, max_work_group=max_work_group)
    kernels = tuple(replace(k, text=change(k.text)) for k in made.plan.kernels)
    return replace(made, plan=replace(made.plan, kernels=kernels))


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.name.lower())
def test_a_fault_that_is_planted_is_found_made_small_and_kept(
    session: Session, kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of each kind, planted in kernel texts with the proofs switched off, is found, and
    kept with a program of at most 16 terms."""
    monkeypatch.setattr(judge, "generate", partial(faulty, FAULTS[kind]))
    monkeypatch.setattr(judge, "proofs", lambda made: ())
    for n in range(60):
        tried = work([session], Seed(f"planted/{n}", 0, tmp_path))
        if any(finding.kind is kind for finding in tried.findings):
            break
    kept = [read(file) for file in tmp_path.glob(f"{kind.name.lower()}-*.lift")]
    assert kept
    assert all(sum(1 for _ in subterms(found.program.body)) <= 16 for found in kept)
    for found in kept:
        verdicts = judge.try_program([session], found.program, [found.way], found.seed)
        assert kind in {v.kind for v in verdicts}


def test_what_is_not_proved_is_a_finding_and_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "generate", partial(faulty, FAULTS[Kind.ESCAPE]))
    program = parse("f(xs : [float]4) = reduce(0.0, (a, x) -> a + x, xs)")
    verdicts = list(judge.try_program([], program, [Way("naive")], "s"))
    assert [v.kind for v in verdicts] == [Kind.UNPROVED]


def test_a_traceback_of_ours_is_told_as_one(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(program: Program, max_work_group: int) -> Generated:
        raise AssertionError("no case for this")

    monkeypatch.setattr(judge, "generate", broken)
    program = parse("f(xs : [float]4) = map(x -> x * 2.0, xs)")
    (verdict,) = judge.try_program([session], program, [Way("naive")], "s")
    assert verdict.kind is Kind.TRACEBACK
    assert "no case for this" in verdict.detail


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    program = parse("f(xs : [float]4) = map(x -> x * 2.0, xs)")
    way = Way("registers", "padded relaid", "mali-g72", (("k", 1), ("tx", 4)))
    file = keep(program, Verdict(Kind.WRONG, way, "is 1, expected 2"), "abc/7", tmp_path)
    found = read(file)
    assert (found.program, found.way, found.seed) == (program, way, "abc/7")

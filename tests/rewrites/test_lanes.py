"""Tests of the family `lanes`, in which lanes of a sub-group share each sum: right on devices with
sub-groups, by their own functions or by shuffles; faults are refused or found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen import instruction_trial
from codegen.compile import Generated, generate
from codegen.instruction_trial import instructions_of
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import calls
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.instructions.table import ACROSS
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse, parse_file
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.number_laws.instructions import instruct
from rewrites.number_laws.lane_results import first_lane
from rewrites.tuning.lower import lower

EXAMPLES = Path(__file__).parents[2] / "examples"
H200 = profile("h200")
PEAKS = """
peaks(xss : [[float]N]M, thresholds : [float]M) =
  map((row, threshold) -> {op}(threshold, reduce({unit}, (acc, x) -> {op}(acc, x * x), row)),
    zip(xss, thresholds))
where N = {n}, M = 7
"""
PROGRAMS = {
    "a layer": ("fully_connected.lift", {"N": 256, "M": 21}),
    "a sum that lanes do not divide": ("fully_connected.lift", {"N": 203, "M": 8}),
    "a product of matrices": ("matmul.lift", {"M": 5, "N": 6, "K": 192}),
    "a convolution": ("vgg.lift", {"C": 128, "W": 4, "M": 3}),
    "the scores of attention": ("attention.lift", {"N": 4, "L": 160, "D": 8, "E": 5}),
}


def program(name: str) -> Program:
    file, sizes = PROGRAMS[name]
    return parse_file(EXAMPLES / file, sizes)


def kernels(p: Program, form: str, seed: int) -> Generated:
    """The kernels of a program by a form of the family, at a point drawn by `seed`; they are
    proved, and so are their texts."""
    low = lower(p, form_named(p, "lanes", form))
    _, (point,) = points(low, H200, 1, seed)
    made = generate(bound(low.program, point), max_work_group=256)
    assert all(prove(kernel).ok for kernel in made.kernels)
    assert all(proof.ok for proof in prove_texts(made.plan))
    assert any(calls(kernel) for kernel in made.kernels)
    return made


def of_sub_groups(sessions: Sequence[Session]) -> list[Session]:
    """The sessions of devices on which lanes exchange numbers."""
    return [s for s in sessions if "cl_khr_subgroup_shuffle" in s.handle.extensions]


def agrees(sessions: Sequence[Session], p: Program, plan: Plan) -> None:
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)))
    expected = np.asarray(evaluate(p, inputs))
    for session in of_sub_groups(sessions):
        out = np.asarray(session.build(plan, checking=True)(inputs))
        assert np.linalg.norm(out - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("form", ["of-32", "of-16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_share_sums(sessions: tuple[Session, ...], name: str, form: str) -> None:
    p = program(name)
    agrees(sessions, p, kernels(p, form, seed=len(name)).plan)


@pytest.mark.parametrize(("op", "unit"), [("max", "-3.0e38"), ("min", "3.0e38")])
def test_lanes_share_the_search_for_a_largest_or_least_number(
    sessions: tuple[Session, ...], op: str, unit: str
) -> None:
    p = parse(PEAKS.format(op=op, unit=unit, n=288))
    made = kernels(p, "of-32", seed=1)
    assert {c.instruction.name for k in made.kernels for c in calls(k)} == {f"lanes_{op}_32"}
    agrees(sessions, p, made.plan)


def emulated(plan: Plan, name: str, wrong: tuple[str, str] = ("", "")) -> Plan:
    """The plan with an instruction emulated by shuffles wherever it runs; in the text that does so,
    the first of `wrong` is replaced by the second."""
    entry = ACROSS[name]
    text = entry.emulated.replace(*wrong)
    assert text != entry.emulated or wrong == ("", "")
    kernels = [
        replace(k, needs=tuple(n.replace(entry.text, text) for n in k.needs)) for k in plan.kernels
    ]
    assert kernels != [*plan.kernels]
    return replace(plan, kernels=tuple(kernels))


@pytest.mark.parametrize("lanes", [16, 32])
def test_shuffles_emulate_the_functions_of_sub_groups(
    sessions: tuple[Session, ...], lanes: int
) -> None:
    p = program("a layer")
    made = kernels(p, f"of-{lanes}", seed=2)
    agrees(sessions, p, emulated(made.plan, f"lanes_sum_{lanes}"))


def test_the_derivation_uses_the_law_of_instructions_and_replays() -> None:
    p = program("a layer")
    low = lower(p, form_named(p, "lanes", "of-32"))
    rules = [step.rule for step in low.derivation.steps]
    assert rules.count(instruct) == rules.count(first_lane) == 1
    assert low.derivation.replay() == low.derivation.end


# ---- what is offered and refused


def test_few_results_of_long_sums_have_these_forms() -> None:
    assert [form.name for form in forms(program("a layer"), "lanes")] == ["of-32", "of-16"]
    assert [form.name for form in forms(program("a convolution"), "lanes")] == ["of-32", "of-16"]
    short = parse_file(EXAMPLES / "fully_connected.lift", {"N": 100, "M": 8})
    assert [form.name for form in forms(short, "lanes")] == ["of-16"]
    many = parse_file(EXAMPLES / "vgg.lift", {})
    assert forms(many, "lanes") == ()
    assert forms(parse_file(EXAMPLES / "dot.lift", {}), "lanes") == ()


def test_parts_of_unequal_lengths_are_refused() -> None:
    """More elements would change the largest square, whatever they are."""
    p = parse(PEAKS.format(op="max", unit="-3.0e38", n=300))
    with pytest.raises(Refused, match=r"expected 32 equal parts of a sum, .* found 300"):
        lower(p, form_named(p, "lanes", "of-32"))


def test_a_product_of_numbers_is_refused() -> None:
    p = parse("f(xss : [[float]256]4) = map(row -> reduce(1.0, (acc, x) -> acc * x, row), xss)")
    with pytest.raises(Refused, match="expected sums, or largest or least numbers, of floats"):
        lower(p, form_named(p, "lanes", "of-32"))


@pytest.mark.parametrize("native", [True, False])
def test_a_device_that_lacks_the_instructions_is_not_offered_them(native: bool) -> None:
    names = (*H200.instructions, "lanes_sum_32") if native else ()
    own = replace(H200, instructions=names)
    found = tasks(program("a layer"), own, budget=100, seed=0)
    assert ("lanes" in {task.form.family for task in found}) == native
    assert {task.form.name for task in found if task.form.family == "lanes"} <= {"of-32"}


# ---- planted faults


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float made_ = lanes_sum_32(", "float made_ = 0.0f; if (lid0 < 31) made_ = lanes_sum_32("),
        ("SUB_GROUP_OF(32)", "SUB_GROUP_OF(16)"),
        ("lanes_sum_32(made_", "lanes_sum_16(made_"),
        ("if (lid0 < 1 && ", "if ("),
        ("= lanes_sum_32(", "= 2.0f * lanes_sum_32("),
    ],
    ids=["a lane missing", "other lanes", "half of them", "all lanes write", "inside a product"],
)
def test_a_planted_fault_in_the_text_is_refused(old: str, new: str) -> None:
    plan = kernels(program("a layer"), "of-32", seed=3).plan
    text = plan.kernels[0].text
    assert old in text
    wrong = replace(plan.kernels[0], text=text.replace(old, new, 1))
    proofs = prove_texts(replace(plan, kernels=(wrong,)))
    assert not all(proof.ok for proof in proofs)


def test_lanes_of_which_half_come_are_refused() -> None:
    (kernel,) = kernels(program("a layer"), "of-32", seed=3).kernels
    proof = prove(replace(kernel, local_size=(16, *kernel.local_size[1:])))
    assert About.LAUNCH in {v.obligation.kind for v in proof.failures}


@pytest.mark.parametrize(
    ("name", "right", "planted"),
    [
        ("lanes_sum_32", "(x, 8)", "(x, 4)"),
        ("lanes_sum_32", "(x, 16)", "(x, 0)"),
        ("lanes_max_16", "fmax", "fmin"),
        ("lanes_first_32", "(x, 0)", "(x, 1)"),
        ("lanes_swap_4", "^ 4", "^ 5"),
    ],
    ids=["lanes twice", "half the lanes", "the least", "the second", "another lane"],
)
def test_an_exchange_that_comes_out_wrong_is_not_listed(
    session: Session, monkeypatch: pytest.MonkeyPatch, name: str, right: str, planted: str
) -> None:
    if not of_sub_groups([session]):
        pytest.skip(f"{session.device.name} has no shuffles")
    entry = ACROSS[name]
    text = entry.emulated.replace(right, planted)
    assert text != entry.emulated
    for called, shuffled in (("lanes_right", entry.emulated), ("lanes_wrong", text)):
        body = shuffled.replace(name, called)
        ours = replace(entry, name=called, spelled={"0": ""}, emulated=body)
        monkeypatch.setattr(instruction_trial, "TABLE", {called: ours})
        found = [tried.name for tried in instructions_of(session.device)]
        assert found == ([called] if called == "lanes_right" else [])

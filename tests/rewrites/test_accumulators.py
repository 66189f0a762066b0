"""Tests of the type of a sum's accumulator: forms of every family keep sums of halves in halves, in
floats, or in halves for one turn of a loop; all results are right, and wider accumulators lose
less."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.prepared_forms import PREPARATIONS

N, ROWS = 4096, 64
LONG = f"f(xs : [[half]{N}]{ROWS}) = map(row -> float(reduce(0h, (acc, x) -> acc + x, row)), xs)"
CONVOLUTION = """
conv(const weights : [[[[{t}]6]3]3]8, const biases : [{t}]8, image : [[[{t}]6]9]8) =
  map2d(window -> map((kernel, bias) ->
      reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel))),
    zip(weights, biases)), slide2d(3, 1, pad2d(1, 0, image)))
"""
WORDS = ("in-float", "in-chunks", "in-turns")
TRAITS = tuple(PREPARATIONS[word].trait for word in WORDS)


def named(p: Program, family: str, name: str) -> Form:
    return next(form for form in forms(p, family) if form.name == name)


def at_a_point(low: Lowering) -> Program:
    _, (point,) = points(low, profile("cpu"), 1, seed=int(np.random.default_rng().integers(99)))
    return bound(low.program, point)


def error(session: Session, form: str, **values: int) -> float:
    """The largest relative error of sums of random halves from 1 to 2, made by the naive family's
    `form` with the parameters `values`."""
    p = parse(LONG)
    low = lower(p, named(p, "naive", form))
    made = generate(bound(low.program, values), half_arithmetic=True)
    demand_proofs(made)
    xs = np.random.default_rng().uniform(1, 2, (ROWS, N)).astype(np.float16)
    out = session.build(made.plan, checking=True)({"xs": xs})
    right = xs.astype(np.float64).sum(axis=1)
    return float(np.abs(out - right).max() / right.max())


def test_sums_of_halves_lose_less_in_wider_accumulators(session: Session) -> None:
    if not session.device.half:
        pytest.skip(f"{session.device.name} does not compute with halves")
    in_halves = error(session, "")
    in_chunks, in_turns = (error(session, form, terms=64) for form in ("in-chunks", "in-turns"))
    in_floats = error(session, "in-float")
    assert in_floats < 2**-20 < in_chunks < 2**-9 < in_halves
    assert in_chunks < in_turns < in_halves


def test_a_program_without_narrow_sums_has_no_more_forms() -> None:
    p = parse("f(xs : [[float]8]4) = map(row -> sum(row), xs)")
    assert not {*TRAITS} & {trait for form in forms(p, "naive") for trait in form.traits}


def test_every_form_is_there_once_more_for_each_accumulator() -> None:
    p = parse(CONVOLUTION.format(t="half"))
    for family in FAMILIES:
        every = forms(p, family)
        plain = [form for form in every if not {*PREPARATIONS} & {*form.words}]
        for trait in TRAITS:
            again = [form.traits for form in every if trait in form.traits]
            assert again == [(*form.traits, trait) for form in plain]


@pytest.mark.parametrize("t", ["half", "bfloat"])
@pytest.mark.parametrize("trait", TRAITS, ids=lambda trait: trait.word)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_right_with_each_accumulator_or_refuses_it(
    sessions: tuple[Session, ...], family: str, trait: object, t: str
) -> None:
    p = parse(CONVOLUTION.format(t=t))
    rng = np.random.default_rng()
    inputs = {
        n: rng.integers(-1, 2, np.shape(x)).astype(np.asarray(x).dtype)
        for n, x in random_inputs(p, 0).items()
    }
    right = np.asarray(evaluate(p, inputs))
    for form in [form for form in forms(p, family) if trait in form.traits][:2]:
        try:
            low = lower(p, form)
        except Refused:
            continue
        assert low.derivation.rounding >= 2.0**16
        low.derivation.replay()
        lowered = at_a_point(low)
        half_arithmetic = bool(rng.integers(2))
        made = generate(lowered, max_work_group=64, half_arithmetic=half_arithmetic)
        demand_proofs(made)
        for session in sessions:
            if made.plan.uses_half and not session.device.half:
                continue
            out = session.build(made.plan, checking=True)(inputs)
            assert np.array_equal(np.asarray(out, right.dtype), right), (form.name, t)

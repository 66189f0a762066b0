"""Tests of fast algorithms on numbers narrower than floats: they transform floats, and results are
right within their known error; a program of sums of whole numbers is refused."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.measure.reference import expected, inputs_of, largest_error, relative_error
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.support.quick_builds import quick_builds as quick_builds

CONVOLUTION = """
conv(const weights : [[[[{t}]4]3]3]5, image : [[[{t}]4]15]14) =
  map2d(window -> map(kernel -> {sum}, weights), slide2d(3, 1, pad2d(1, 0, image)))
"""
FLOATS = (
    "reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(flatten(window), flatten(kernel)))"
)
OWN = "reduce(0, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))"
PROGRAMS = {
    "halves in memory": ("half", f"half({FLOATS})"),
    "sums of halves": ("half", OWN),
    "sums of bfloats": ("bfloat", OWN),
    "bytes in memory": ("char", FLOATS),
}
FAST = ("winograd", "fgfft", "fft", "toeplitz", "strassen")


def convolution(name: str) -> Program:
    t, total = PROGRAMS[name]
    return parse(CONVOLUTION.format(t=t, sum=total))


def widened(p: Program, family: str) -> Lowering:
    """The program lowered by the first form of a family that stores its numbers as floats first
    (`widened`) and that applies to it; Refused if none applies."""
    reason: Refused | None = None
    for form in forms(p, family):
        if "widened" in form.words:
            try:
                return lower(p, form)
            except Refused as refused:
                reason = refused
    raise reason or AssertionError(f"{family} has no form that widens {p.name}")


@pytest.mark.parametrize("family", FAST)
@pytest.mark.parametrize("name", PROGRAMS)
def test_fast_algorithms_are_right_within_their_known_error(
    sessions: tuple[Session, ...], name: str, family: str
) -> None:
    p = convolution(name)
    low = widened(p, family)
    _, (point,) = points(low, profile("cpu"), 1, seed=1)
    made = generate(bound(low.program, point), max_work_group=64)
    demand_proofs(made)
    seed = int(np.random.default_rng().integers(1 << 30))
    whole, real = inputs_of(p, seed, integers=True), inputs_of(p, seed)
    meant = expected(p, whole)
    for session in sessions:
        built = session.build(made.plan, checking=True)
        assert meant.agrees(built(whole), low.derivation.rounding)
        right = np.asarray(evaluate(p, real))
        assert relative_error(built(real), right) <= largest_error(p, None)


def test_sums_of_whole_numbers_are_not_widened() -> None:
    p = parse(CONVOLUTION.format(t="char", sum=OWN))
    assert not any("widened" in form.words for family in FAST for form in forms(p, family))
    with pytest.raises(Refused, match="expected products of floats, found char"):
        lower(p, forms(p, "winograd")[0])

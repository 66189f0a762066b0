"""Tests of kernels that address global memory by distances in bytes: they compute the same, and are
proved; a distance that may be negative, or is not one of whole numbers, is refused."""

from dataclasses import replace

import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.proof.verdicts import Kind
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import CPU, PROFILES
from explore.space.legal_point import lowered_at
from ir.core.nodes import Program
from ir.parse import parse
from tests.support.byte_plans import prove_and_run
from tests.support.text_simulator import faults

PADDED = """conv(const weights : [[[[float]C]3]3]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> sum(map((x, w) -> x * w, zip(flatten(window), flatten(kernel)))),
                      weights),
        slide2d(3, 1, pad2d(1, 0.0, image)))
where C = 3, W = 6, H = 5, M = 4
"""


NARROW = {
    "naive": "f(xs : [[{}]7]5, ys : [[{}]7]5) = map2d((x, y) -> max(x, y), zip2d(xs, ys))",
    "registers": "f(xs : [[{}]7]5, ys : [{}]7) = map(row -> "
    "sum(map((x, y) -> float(x) * float(y), zip(row, ys))), xs)",
}


def plan(program: Program, family: str) -> Plan:
    concrete, _ = lowered_at(program, family, None, {}, CPU)
    return generate(concrete, byte_addresses=True).plan


@pytest.mark.parametrize("family", ["naive", "registers", "blocked", "lift"])
def test_kernels_addressed_by_bytes_are_proved_and_right(family: str) -> None:
    program = parse(PADDED)
    made = plan(program, family)
    assert "(const __global char *)" in made.source
    prove_and_run(program, made)


@pytest.mark.parametrize("scalar", ["half", "bfloat", "short", "uchar"])
@pytest.mark.parametrize("family", NARROW)
def test_numbers_of_each_size_are_addressed_by_bytes(family: str, scalar: str) -> None:
    program = parse(NARROW[family].format(scalar, scalar))
    prove_and_run(program, plan(program, family))


def test_an_unsigned_index_that_may_be_negative_is_refused() -> None:
    made = plan(parse("f(xs : [float]8) = map(x -> x + x, xs)"), "naive")
    (kernel,) = made.kernels
    text = kernel.text.replace("(uint)(", "(uint)(-1 + ", 1)
    assert text != kernel.text
    wrong = replace(made, kernels=(replace(kernel, text=text),))
    about = {v.obligation.kind for proof in prove_texts(wrong) for v in proof.failures}
    assert Kind.OVERFLOW in about


def test_a_distance_that_is_not_of_whole_numbers_is_refused() -> None:
    made = plan(parse("f(xs : [float]8) = map(x -> x + x, xs)"), "naive")
    (kernel,) = made.kernels
    text = kernel.text.replace("(uint)(", "(uint)(2 + ", 1)
    assert text != kernel.text
    wrong = replace(made, kernels=(replace(kernel, text=text),))
    about = {v.obligation.kind for proof in prove_texts(wrong) for v in proof.failures}
    assert Kind.ALIGNMENT in about
    assert "alignment" in faults(wrong)


def test_phones_are_addressed_by_bytes_and_others_are_not() -> None:
    asked = {name for name, profile in PROFILES.items() if profile.byte_addresses}
    assert asked == {name for name in PROFILES if name.startswith(("mali", "adreno"))}

"""Tests of kernels that make indices unsigned where they use them: they compute the same, and are
proved; if an index may be negative, they are refused."""

import random
from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.proof.verdicts import Kind
from codegen.runtime.built_program import Program as Built
from codegen.runtime.devices import devices, working
from codegen.runtime.session import open_device
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import CPU, PROFILES
from explore.space.legal_point import lowered_at
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse

PADDED = """conv(const weights : [[[[float]C]3]3]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> sum(map((x, w) -> x * w, zip(flatten(window), flatten(kernel)))),
                      weights),
        slide2d(3, 1, pad2d(1, 0.0, image)))
where C = 3, W = 6, H = 5, M = 4
"""


def plan(program: Program, family: str) -> Plan:
    concrete, _ = lowered_at(program, family, None, {}, CPU)
    return generate(concrete, unsigned_addresses=True).plan


@pytest.mark.parametrize("family", ["naive", "registers", "blocked", "lift"])
def test_kernels_with_unsigned_indices_are_proved_and_right(family: str) -> None:
    program = parse(PADDED)
    made = plan(program, family)
    assert "(uint)(" in made.source
    failures = [v for proof in prove_texts(made) for v in proof.failures]
    assert failures == []
    here = [d for d in working(devices()) if not d.simulator]
    if not here:
        pytest.skip("no OpenCL device works here")
    inputs = random_inputs(program, random.randrange(1 << 30))  # whole numbers
    built: Built = open_device(here[0]).build(made)
    expected = evaluate(program, inputs)
    assert isinstance(expected, np.ndarray)
    assert np.array_equal(built(inputs), expected)


def test_an_unsigned_index_that_may_be_negative_is_refused() -> None:
    made = plan(parse("f(xs : [float]8) = map(x -> x + x, xs)"), "naive")
    (kernel,) = made.kernels
    text = kernel.text.replace("(uint)(", "(uint)(-1 + ", 1)
    assert text != kernel.text
    wrong = replace(made, kernels=(replace(kernel, text=text),))
    about = {v.obligation.kind for proof in prove_texts(wrong) for v in proof.failures}
    assert Kind.OVERFLOW in about


def test_phones_take_unsigned_indices_and_others_do_not() -> None:
    asked = {name for name, profile in PROFILES.items() if profile.unsigned_addresses}
    assert asked == {name for name in PROFILES if name.startswith(("mali", "adreno"))}

"""Tests of convolutions on numbers of every type, by every family: kernels are proved and right, or
refused with a message."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from rewrites.engine.refused import Refused
from rewrites.families.all_families import first
from tests.support.families import BILINEAR, LOWERING
from tests.support.quick_builds import quick_builds as quick_builds

CONVOLUTION = """
conv(const weights : [[[[{w}]4]3]3]8, const biases : [{b}]8, image : [[[{x}]4]8]8) =
  map2d(window -> map((kernel, bias) ->
      {out}(reduce(bias, (acc, (x, w)) -> acc + {product}, zip(flatten(window), flatten(kernel)))),
    zip(weights, biases)), slide2d(3, 1, pad2d(1, 0, image)))
"""
TYPES = {  # of the image, the weights and the biases; what is added, and what becomes of the sum
    "bytes to ints": ("uchar", "char", "int", "x * w", ""),
    "bytes to bytes": ("char", "char", "int", "x * w", "char_sat"),
    "shorts": ("short", "ushort", "long", "long(x) * long(w)", ""),
    "halves in memory": ("half", "half", "float", "float(x) * float(w)", "half"),
    "bfloats in memory": ("bfloat", "bfloat", "float", "float(x) * float(w)", "bfloat"),
    "halves": ("half", "half", "half", "x * w", ""),
    "bfloats": ("bfloat", "bfloat", "bfloat", "x * w", "float"),
    "weights in bytes": ("float", "char", "float", "x * float(w)", ""),
}
FAMILIES = (*LOWERING, *BILINEAR)


def convolution(types: str) -> Program:
    x, w, b, product, out = TYPES[types]
    return parse(CONVOLUTION.format(x=x, w=w, b=b, product=product, out=out))


def lowered(program: Program, family: str) -> Program | Refused:
    """The program lowered by a family at a small point; the family's refusal, if it does not lower
    it."""
    try:
        low = first(program, family)
    except Refused as refused:
        return refused
    _, (point,) = points(low, profile("cpu"), 1, seed=0)
    return bound(low.program, point)


@pytest.mark.parametrize("types", TYPES)
def test_each_family_is_right_on_numbers_of_each_type_or_refuses_them(
    sessions: tuple[Session, ...], types: str
) -> None:
    program = convolution(types)
    assert parse(show(program)) == program
    inputs = random_inputs(program, int(np.random.default_rng().integers(1 << 30)))
    right = np.asarray(evaluate(program, inputs))
    made = []
    for family in FAMILIES:
        found = lowered(program, family)
        if isinstance(found, Refused):
            assert str(found)
            continue
        made.append(family)
        plan = generate(found, max_work_group=64).plan
        failures = [v for proof in prove_texts(plan) for v in proof.failures]
        assert not failures, (family, failures)
        for session in sessions:
            out = session.build(plan, checking=True)(inputs)
            assert np.array_equal(np.asarray(out, right.dtype), right), family
    assert {"naive", "lift", "registers", "blocked"} <= {*made}

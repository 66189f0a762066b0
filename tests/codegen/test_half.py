"""Tests of half precision: results are right on every device; a device without half arithmetic
stores halves and computes in float."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from explore.space.lowering import lowering
from ir.core.nodes import Program
from ir.errors import UserError
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from tests.support.narrowed import one

WRITTEN = {
    "matrix product": """
        f(a : [[half]6]4, b : [[half]5]6) =
          map(row -> map(column -> dot(row, column), transpose(b)), a)""",
    "convolution": """
        f(const w : [[half]3]2, xs : [half]10) =
          map(window -> map(k -> relu(dot(window, k)), w), slide(3, 1, pad(1, 1, 0.0, xs)))""",
    "with floats": "f(xs : [half]8, ys : [float]8) = map((x, y) -> x * 2 + y, zip(xs, ys))",
    "inside only": "f(xs : [int]8, ys : [float]8) = map((x, y) -> x * 2.0h + y, zip(xs, ys))",
    "maximum": "f(xs : [[half]5]4) = map(r -> maximum(r), xs)",
    "edges": "f(xs : [half]8) = map(w -> sum(w), slide(3, 2, pad_mirror(2, 1, xs)))",
    "functions": "f(xs : [half]8) = map(x -> sqrt(abs(x)) + max(x, 1h) + exp(x) / 2, xs)",
}
LOWERED = {
    "vectors": """
        f(xs : [half]16, ys : [half]16) =
          asScalar(mapGlobal(0)(vectorized ((x, y) -> x * y + 1), asVector(8, zip(xs, ys))))""",
    "local": """
        f(xs : [[half]8]4) = mapWorkgroup(0)(r ->
          let t = toLocal(mapLocal(0)(x -> x * 2, r))
          mapLocal(0)((x, i) -> x + i, zip(reorder(i -> 7 - i, t), generate(8, i -> i))), xs)""",
    "stored": """
        f(xs : [half]8) =
          let t = store(mapGlobal(0)(x -> x * 3, xs)) mapGlobal(0)(w -> reduceSeq(0h, (a, x) ->
          a + x, w), slide(2, 1, t))""",
    "registers": """
        f(xs : [[half]8]4) = mapGlobal(0)(r -> unrolled mapSeq(x -> x - 1,
          toPrivate(unrolled mapSeq(x -> x * x, r))), xs)""",
}


def program(name: str) -> Program:
    if name in LOWERED:
        return parse(LOWERED[name])
    return lowering(parse(WRITTEN[name]), "naive").program


@pytest.mark.parametrize("half_arithmetic", [False, True])
@pytest.mark.parametrize("name", [*WRITTEN, *LOWERED])
def test_halves_agree_with_the_interpreter_or_are_refused(
    sessions: tuple[Session, ...], name: str, half_arithmetic: bool
) -> None:
    lowered = program(name)
    plan = generate(lowered, half_arithmetic=half_arithmetic).plan
    needed = half_arithmetic or name == "local"  # local arrays of halves are no type without it
    assert plan.uses_half == needed
    assert not [v for proof in prove_texts(plan) for v in proof.failures]
    for session in sessions:
        if needed and not session.device.half:
            with pytest.raises(UserError, match=r"no half precision.*: use float, or another"):
                session.build(plan)
            continue
        inputs = random_inputs(lowered, 2)
        out = session.build(plan, checking=True)(inputs)
        expected = one(evaluate(lowered, inputs))
        if name == "functions":
            np.testing.assert_allclose(out, expected, rtol=2**-9)
        else:
            np.testing.assert_array_equal(out, expected)

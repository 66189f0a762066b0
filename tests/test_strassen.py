"""Does `strassen` multiply matrices right, by 7/8 of the products a level?"""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.prove import prove
from codegen.runtime import Session
from constraints.devices import profile
from explore.facts import multiplications
from explore.lowering import bound
from explore.measure import EPSILON
from explore.reference import relative_error
from explore.space import points
from ir.inputs import random_inputs
from ir.interpret import evaluate
from ir.parse import parse
from rewrites.bilinear import Bilinear, block_product, complex_product, gauss, strassen
from rewrites.dims import Refused
from rewrites.families import forms, lower

MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = {m}, N = {n}, K = {k}
"""


@pytest.mark.parametrize(("form", "left"), [("once", 7 / 8), ("twice", 49 / 64)])
@pytest.mark.parametrize(("m", "n", "k"), [(32, 64, 16), (64, 32, 8)])
def test_products_are_seven_eighths_a_level(
    form: str, left: float, m: int, n: int, k: int, session: Session
) -> None:
    p = parse(MATMUL.format(m=m, n=n, k=k))
    lowering = lower(p, "strassen", next(f for f in forms(p, "strassen") if f.name == form))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    expected = np.asarray(evaluate(p, inputs))
    counts = []
    for point in points(lowering, profile("cpu"), 8, 1)[1]:
        made = generate(bound(lowering.program, point))
        assert all(prove(kernel).ok for kernel in made.kernels)
        out = session.build(made.plan, checking=True)(inputs)
        assert relative_error(out, expected) <= lowering.derivation.rounding * EPSILON
        counts.append(multiplications(made.kernels))
    assert min(counts) == m * n * k * left


def test_odd_sides_are_refused_with_a_reason() -> None:
    for sizes, form in (({"m": 9, "n": 8, "k": 8}, 0), ({"m": 6, "n": 8, "k": 8}, 2)):
        p = parse(MATMUL.format(**sizes))
        with pytest.raises(Refused, match="every side to be a multiple of"):
            lower(p, "strassen", forms(p, "strassen")[form])


def test_the_algorithms_are_proved_and_a_wrong_one_is_not() -> None:
    assert strassen().computes(block_product)
    assert gauss().computes(complex_product)
    right = strassen()
    assert not Bilinear(right.a, right.g, (right.b[1], *right.b[1:])).computes(block_product)

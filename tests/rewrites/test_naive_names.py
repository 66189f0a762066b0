"""Tests of what the family `naive` stores for the names in a program: arrays and sums that are
computed, if a kernel can read all that they are made of."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import first

SUMS = "map(row -> reduce(0.0, (acc, x) -> acc + x, row), xss)"
PROGRAMS = {  # the names' values, what is made of them, and the kernels
    "an array is made once": (f"let ys = {SUMS}", "map(y -> map(x -> x * y, ys), ys)", 2),
    "one that another name stands for, too": (
        f"let ys = {SUMS}\n  let zs = map(y -> y * y, ys)", "map(z -> map(y -> y * z, ys), zs)", 3,
    ),
    "a sum, too": (
        "let y = reduce(0.0, (acc, x) -> acc + x, join(xss))",
        "map(row -> map(x -> x * y, row), xss)", 2,
    ),
    "a number is not": (
        "let y = at(0, at(0, xss)) * 2.0", "map(row -> map(x -> x * y, row), xss)", 1,
    ),
    "an array made of such a number stays in the kernel": (
        "let y = at(0, at(0, xss)) * 2.0\n  let ys = map(row -> at(0, row) * y, xss)",
        "map(row -> map(z -> at(0, row) * z, ys), xss)", 1,
    ),
    "a view costs nothing": ("let ys = transpose(xss)", "map(row -> map(x -> -x, row), ys)", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_name_stands_for(session: Session, name: str) -> None:
    values, body, kernels = PROGRAMS[name]
    p = parse(f"f(xss : [[float]5]4) =\n  {values}\n  {body}")
    generated = generate(first(p, "naive").program, max_work_group=64)
    assert len(generated.kernels) == kernels
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)), integers=True)
    out = np.asarray(session.build(generated.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))

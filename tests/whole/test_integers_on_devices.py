"""Tests that arithmetic on ints, including the largest and least, gives on every device the
interpreter's bits."""

import random
import re

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.core.nodes import Program
from ir.core.types import RANGES
from ir.meaning.inputs import STORED, scalar_of
from ir.meaning.interpret import evaluate
from ir.parse import parse

LEAST, LARGEST = RANGES["int"]
EXTREMES = (LEAST, LEAST + 1, -65537, -46341, -8, -1, 0, 1, 3, 46341, 65536, LARGEST - 1, LARGEST)
LONGEST = (-(2**63), 1 - 2**63, -3037000500, -(2**32), 2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1)
N = 64
TYPES = (("int", "int"), ("long", "long"), ("int", "long"), ("char", "ushort"), ("short", "uchar"))
CONVERSIONS = ("int", "long", "char", "ushort", "short_sat", "uchar_sat", "int_sat")


def written(rng: random.Random, depth: int) -> str:
    """The text of a random term of the ints a and b and the index i, with operations nested up to
    `depth`."""
    if depth == 0:
        long = f"{rng.choice(LONGEST[1:])}L"
        return rng.choice(["a", "b", "i", str(rng.choice(EXTREMES)), long])
    x, y = written(rng, depth - 1), written(rng, rng.randrange(depth))
    match rng.randrange(16):
        case 0:
            return f"(-({x}))"
        case 1:
            return f"abs({x})"
        case 2:
            return f"max({x}, {y})"
        case 3:
            return f"min({x}, {y})"
        case 4 | 5:
            return f"{rng.choice(CONVERSIONS)}({x})"
        case 6:
            return f"({x} {rng.choice(['<<', '>>'])} {rng.randrange(40)})"
        case kind:
            return f"({x} {('+', '-', '*', '/', '%', '<<', '>>', '&', '|')[kind - 7]} {y})"


def drawn(seed: int, n: int, scalar: str) -> np.ndarray:
    rng, (least, largest) = np.random.default_rng(seed), RANGES[scalar]
    ends = [end for end in (*EXTREMES, *LONGEST, least, largest) if least <= end <= largest]
    anything = rng.integers(least, largest, n, STORED[scalar].type, endpoint=True)
    return np.where(rng.random(n) < 0.6, rng.choice(np.array(ends, STORED[scalar]), n), anything)


def agree(sessions: tuple[Session, ...], program: Program, lowered: Program) -> None:
    inputs = {
        p.var.name: drawn(k, N, scalar_of(p.var.type).name) for k, p in enumerate(program.params)
    }
    expected = np.asarray(evaluate(program, inputs))
    made = generate(lowered)
    demand_proofs(made)
    for session in sessions:
        out = session.build(made.plan, checking=True)(inputs)
        assert out.dtype == expected.dtype
        assert np.array_equal(out, expected), (session.device.name, made.plan.source)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_term_of_whole_numbers(sessions: tuple[Session, ...], seed: int) -> None:
    rng = random.Random(seed)
    a, b = rng.choice(TYPES)
    program = parse(
        f"f(xs : [{a}]n, ys : [{b}]n) =\n"
        f"  map((a, b, i) -> {written(rng, 4)}, zip(xs, ys, generate(n, i -> i)))\nwhere n = {N}"
    )
    agree(sessions, program, lowering(program, "naive").program)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("width", [2, 4, 16])
def test_a_random_term_of_vectors_of_whole_numbers(
    sessions: tuple[Session, ...], seed: int, width: int
) -> None:
    rng = random.Random(seed)
    a, b = rng.choice(TYPES)
    term = "a + b * " + re.sub(r"\bi\b", "b", written(rng, 3))
    program = parse(
        f"f(xs : [{a}]n, ys : [{b}]n) = asScalar(mapGlobal(0)(vectorized (a, b) -> {term},\n"
        f"  zip(asVector({width}, xs), asVector({width}, ys))))\nwhere n = {N}"
    )
    agree(sessions, program, program)


@pytest.mark.parametrize(
    "body",
    [
        "reduce(7, (s, (x, y)) -> s + x * y, zip(r, s0))",
        "reduce(1, (s, (x, y)) -> s * (x - y), zip(r, s0))",
        "reduce(3, (s, (x, y)) -> s / x + y, zip(r, s0))",
        "reduce(0, (s, (x, y)) -> max(s, x % y), zip(r, s0))",
    ],
)
def test_folds_of_ints(sessions: tuple[Session, ...], body: str) -> None:
    program = parse(
        f"f(xs : [int]n, ys : [int]n) = map((r, s0) -> {body}, zip(split(8, xs), split(8, ys)))\n"
        f"where n = {N}"
    )
    agree(sessions, program, lowering(program, "naive").program)


def test_products_of_indices_that_leave_32_bits_wrap_around(sessions: tuple[Session, ...]) -> None:
    program = parse(
        "f() = map(i -> i * 70000 * i % 1000 + i * 40000000 / 7, generate(n, i -> i))\n"
        f"where n = {N}"
    )
    agree(sessions, program, lowering(program, "naive").program)


def test_an_index_function_whose_products_leave_32_bits(sessions: tuple[Session, ...]) -> None:
    program = parse(
        f"f(xs : [int]n) = map(x -> x + 1, reorder(i -> (i * 1000000007) % 64, xs))\nwhere n = {N}"
    )
    agree(sessions, program, lowering(program, "naive").program)

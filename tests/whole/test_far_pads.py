"""Tests of edges (clamped, mirrored, wrapped) that are padded by more than the array's size, so
that they repeat: every family gives right results.

Each run draws other programs. A failure prints its seed; `SEED=… pytest
tests/whole/test_far_pads.py` draws the same programs again.
"""

# key: r random numbers, n size, k window, d dimensions

import os
import secrets
from collections.abc import Callable
from random import Random
from typing import Literal

import numpy as np
import pytest

from codegen.runtime.session import Session
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import forms
from tests.fuzz.judge import try_program
from tests.fuzz.verdicts import Kind
from tests.fuzz.ways import Way
from tests.support.families import ALONE, LOWERING

SEED = os.environ.get("SEED") or secrets.token_hex(4)
NumPys = Literal["wrap", "symmetric", "edge"]
EDGES: dict[str, NumPys] = {"wrap": "wrap", "mirror": "symmetric", "clamp": "edge"}
SIDES = (4, 8, 8, 16, 16)  # of products: tiles of instructions have sides of 8 and 16
RIGHT, DRAWS = 1, 100  # forms whose kernels are run, and what is drawn until a family has so many

Amounts = tuple[int, int, int]  # on the left, the size, on the right


def amounts(r: Random) -> Amounts:
    """A random amount of padding before, a size up to 7, and a random amount after. One amount is
    larger than the size; both are at most three times the size."""
    n = r.randint(1, 7)
    sides = [r.randint(n + 1, 3 * n), r.randint(0, 3 * n)]
    r.shuffle(sides)
    return sides[0], n, sides[1]


def padded(edge: str, around: list[Amounts], xs: str = "xs") -> str:
    """The text of the array xs padded at its `edge`; `around` has the amounts for each of its
    dimensions."""
    (left, _, right), *inside = around
    rows = f"map(in_{xs} -> {padded(edge, inside, f'in_{xs}')}, {xs})" if inside else xs
    return f"pad_{edge}({left}, {right}, {rows})"


def array(elem: str, around: list[Amounts]) -> str:
    for _, n, _ in reversed(around):
        elem = f"[{elem}]{n}"
    return elem


def copied(r: Random, edge: str, d: int) -> str:
    around = [amounts(r) for _ in range(d)]
    maps = f"map{d}d" if d > 1 else "map"
    return f"f(xs : {array('float', around)}) = {maps}(x -> x * 2.0, {padded(edge, around)})"


def twice(r: Random, edge: str, d: int) -> str:
    around = [amounts(r)]
    again = [(around[0][1], 0, r.randint(0, 20))]
    e = padded(edge, again, padded(edge, around))
    return f"f(xs : {array('float', around)}) = map(x -> x * 2.0, {e})"


def stencil(r: Random, edge: str, d: int) -> str:
    """The text of a random program of sums over windows in d dimensions; the edge is padded so far
    that a window may hold an element of the array more than once."""
    around = [amounts(r) for _ in range(d)]
    k, step = r.randint(1, min(sum(sides) for sides in around)), r.randint(1, 3)
    name = f"{d}d" if d > 1 else ""
    windows = f"slide{name}({k}, {step}, {padded(edge, around)})"
    total = f"reduce(0.0, (a, x) -> a + x, {'flatten(w)' if d > 1 else 'w'})"
    return f"f(xs : {array('float', around)}) = map{name}(w -> {total}, {windows})"


def convolution(r: Random, edge: str, d: int) -> str:
    """The text of a random convolution in d dimensions with this edge; it has several channels and
    kernels, sometimes as many as the tiles of matrix instructions."""
    around = [amounts(r) for _ in range(d)]
    c, m = r.choice(((r.randint(1, 4), r.randint(2, 6)), (16, 16)))
    k, step = r.randint(1, 3), r.choice((1, 1, 2))
    k = min(k, *(sum(sides) for sides in around))
    name = f"{d}d" if d > 1 else ""
    weights = array(f"[float]{c}", [(0, k, 0)] * d)
    products = "reduce(0.0, (a, (x, w)) -> a + x * w, zip(flatten(window), flatten(kernel)))"
    windows = f"slide{name}({k}, {step}, {padded(edge, around)})"
    image = array(f"[float]{c}", around)
    return (
        f"f(const weights : [{weights}]{m}, xs : {image}) =\n"
        f"  map{name}(window -> map(kernel -> {products}, weights), {windows})"
    )


def product(r: Random, edge: str, d: int) -> str:
    """The text of a random matrix product, where one matrix is padded by repeating its rows as
    `edge` says; d, its number of dimensions, is always 2."""
    left, n, right = amounts(r)
    k, m = r.choice(SIDES), r.choice(SIDES)
    more = -(left + n + right) % r.choice(SIDES)
    return (
        f"f(xs : [[float]{k}]{n}, b : [[float]{k}]{m}) =\n"
        "  map(row -> map(column -> reduce(0.0, (a, (x, y)) -> a + x * y, zip(row, column)), b),\n"
        f"    pad_{edge}({left}, {right + more}, xs))"
    )


Written = tuple[Callable[[Random, str, int], str], int]
PRODUCTS: tuple[Written, ...] = ((convolution, 1), (convolution, 2), (product, 2))
WRITTEN: tuple[Written, ...] = (
    *((copied, d) for d in (1, 2, 3)),
    (twice, 1),
    *((stencil, d) for d in (1, 2)),
    *PRODUCTS,
)


def drawn(r: Random, family: str) -> str:
    """The text of a random program that the family lowers: one of the kinds in `WRITTEN`, or, for a
    family that lowers sums of products alone, one of those in `PRODUCTS`."""
    written, d = r.choice(WRITTEN if family in LOWERING else PRODUCTS)
    return written(r, r.choice(("wrap", "wrap", "mirror", "clamp")), d)


@pytest.mark.parametrize("family", ALONE)
def test_a_family_makes_right_kernels_of_them(sessions: tuple[Session, ...], family: str) -> None:
    right = 0
    for draw in range(DRAWS):
        r = Random(f"{SEED} {family} {draw}")
        text = drawn(r, family)
        program = parse(text)
        form = r.choice(forms(program, family))
        way = Way(family, form.name, r.choice(("cpu", "mali-g72")))
        verdicts = list(try_program(sessions, program, [way], SEED))
        wrong = [v for v in verdicts if not v.fine]
        assert not wrong, f"SEED={SEED}, draw {draw}:\n{text}\n{wrong}"
        right += any(v.kind is Kind.RIGHT for v in verdicts)
        if right == RIGHT:
            break
    assert right, f"SEED={SEED}: {family} applies to none of {DRAWS}"


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_interpreter_repeats_them_as_numpy_does(edge: str, d: int) -> None:
    for draw in range(20):
        r = Random(f"{SEED} {edge} {d} {draw}")
        around = [amounts(r) for _ in range(d)]
        program = parse(f"f(xs : {array('float', around)}) = {padded(edge, around)}")
        inputs = random_inputs(program, draw)
        (xs,) = inputs.values()
        sides = [(left, right) for left, _, right in around]
        assert (np.pad(xs, sides, EDGES[edge]) == evaluate(program, inputs)).all(), f"SEED={SEED}"

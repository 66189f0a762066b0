"""Tests of fast Fourier transforms: laws derive them from the definition, and their kernels are
right on a device."""

# key: n length, e term, x real numbers, z complex ones

import re
from collections.abc import Callable

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from explore.building.operations import flops
from ir.core.nodes import Expr, Level, Map, Param, Program, Var
from ir.core.terms import lam
from ir.core.types import FLOAT, Array
from ir.meaning.interpret import evaluate
from rewrites.engine.derivation import Derivation
from rewrites.engine.meaning_check import same_data
from rewrites.engine.strategy import seq
from rewrites.fast_algorithms.dft_terms import complexes, dft, irdft, planes, rdft
from rewrites.kernels.register_block import unrolled_spine
from rewrites.laws.lower import copy_deep, to_parallel
from rewrites.nest.spine import body, inside
from rewrites.transforms.fast_fourier import divided, in_registers
from tests.support.narrowed import number

ROWS = 6


def rows_of(t: Array, transform: Callable[[Expr], Expr]) -> Program:
    """A program that applies `transform` to each row, of type t, of an array."""
    xs = Var("xs", Array(t, ROWS))
    return Program("rows", (Param(xs),), Map(lam("row", t, transform), xs))


TRANSFORMS: dict[str, Callable[[int], Program]] = {
    "rdft": lambda n: rows_of(Array(FLOAT, n), lambda x: planes(rdft(x, n))),
    "irdft": lambda n: rows_of(
        Array(Array(FLOAT, n // 2 + 1), 2), lambda x: irdft(complexes(x), n)
    ),
    "dft": lambda n: rows_of(Array(Array(FLOAT, n), 2), lambda x: planes(dft(complexes(x), n))),
    "inverse dft": lambda n: rows_of(
        Array(Array(FLOAT, n), 2), lambda x: planes(dft(complexes(x), n, 1))
    ),
}


def by_numpy(name: str, n: int, x: np.ndarray) -> np.ndarray:
    match name:
        case "rdft":
            z = np.fft.rfft(x)
        case "irdft":
            return np.fft.irfft(x[:, 0] + 1j * x[:, 1], n) * n
        case "dft":
            z = np.fft.fft(x[:, 0] + 1j * x[:, 1])
        case _:
            z = np.fft.ifft(x[:, 0] + 1j * x[:, 1]) * n
    return np.stack([z.real, z.imag], 1)


def numbers(p: Program) -> np.ndarray:
    sizes, t = list[int](), p.params[0].var.type
    while isinstance(t, Array):
        sizes.append(number(t.size))
        t = t.elem
    return np.random.default_rng(0).uniform(-1, 1, sizes)


def derived(p: Program) -> Derivation:
    row = body(inside(seq(copy_deep(), unrolled_spine)))
    done = seq(divided, in_registers, row, to_parallel(level=Level.GLOBAL, dim=0))(p.body)
    assert done is not None
    return Derivation(p.body, done[1])


def compiled(name: str, n: int) -> Generated:
    p = TRANSFORMS[name](n)
    return generate(Program(p.name, p.params, derived(p).end))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_definition_is_the_transform(name: str) -> None:
    for n in (2, 4, 6, 8):
        p = TRANSFORMS[name](n)
        x = numbers(p)
        assert np.allclose(evaluate(p, {"xs": x}), by_numpy(name, n, x))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_law_on_the_way_to_a_fast_transform_keeps_its_meaning(name: str) -> None:
    for n in (2, 4, 16):
        p = TRANSFORMS[name](n)
        d, x = derived(p), numbers(p)
        assert d.replay() == d.end
        expected = evaluate(p, {"xs": x})
        for e in d.terms():
            found = evaluate(Program(p.name, p.params, e), {"xs": x})
            assert same_data(expected, found, d.rounding or 1.0)


def test_a_transform_is_divided_until_four_are_left() -> None:
    laws = [step.rule.law.split(",")[0] for step in derived(TRANSFORMS["rdft"](16)).steps]
    split = "rdft n  =  (e + w o"
    assert laws[:3] == [split, split, "rdft 4 [a"]


def test_a_transform_of_four_adds_no_zeros() -> None:
    """A real transform of four takes six additions a row, and no more."""
    assert flops(compiled("rdft", 4).kernels) == ROWS * 6


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("n", [2, 8, 32])
def test_a_fast_transform_is_right_on_a_device(session: Session, name: str, n: int) -> None:
    made = compiled(name, n)
    assert not any(prove(k).failures for k in made.kernels)
    x = numbers(TRANSFORMS[name](n)).astype(np.float32)
    out = session.build(made.plan, checking=True)({"xs": x})
    expected = by_numpy(name, n, x.astype(np.float64))
    assert np.linalg.norm(out - expected) <= 1e-6 * np.linalg.norm(expected)


def multiplications(source: str) -> int:
    """The number of multiplications of floats in a kernel's text: products with a literal on the
    left, as all products of a transform are written, and calls of `fma`."""
    return len(re.findall(r"\df \*|fma\(", source))


def test_roots_that_are_0_or_1_cost_no_multiplication() -> None:
    """Transforms of 4 multiply nothing, and a real transform of 8, with one root that is neither 0
    nor ±1, at most four times."""
    assert multiplications(compiled("rdft", 4).plan.source) == 0
    assert multiplications(compiled("dft", 4).plan.source) == 0
    assert multiplications(compiled("rdft", 8).plan.source) <= 4

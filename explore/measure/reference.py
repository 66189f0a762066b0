"""The inputs of a run, and the right outputs for them, computed by the interpreter."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Binary, Expr, Lit, Program, Unary
from ir.core.terms import over, subterms
from ir.core.type_rules import type_of
from ir.core.types import is_whole
from ir.errors import UserError
from ir.meaning.inputs import components, random_inputs
from ir.meaning.interpret import evaluate

Array = NDArray[Any]

EPSILON = float(np.finfo(np.float32).eps)
EXACT = 2.0**24  # whole numbers below this are exact in single precision
EXACT_OPS = frozenset({"+", "-", "*", "max", "min"})


@dataclass(frozen=True, slots=True)
class Expected:
    """The right output of a program for some inputs, and the scale of the numbers added up on the
    way.

    The scale is the largest number the program would make if all numbers of each input were as
    large as its largest, and nothing were subtracted. What rounding may lose is in proportion to
    that: no signs cancel there, as the terms of a sum near zero do, nor do numbers differ in size,
    as those that a transform spreads over all its results.
    """

    output: Array
    scale: float

    def lost(self, out: Array) -> float:
        """The largest error of `out` relative to the scale, or to the largest output where that is
        more."""
        return _relative(_largest(_off(out, self.output)), max(self.scale, _largest(self.output)))

    def agrees(self, out: Array, rounding: float) -> bool:
        """True if `out` loses no more than `rounding` machine epsilons, for inputs drawn at random.

        The roundings of such inputs cancel each other as they do.
        """
        return self.lost(out) <= rounding * EPSILON


@dataclass(frozen=True, slots=True)
class Reference:
    """The right results of a run: `output` for random inputs, and `exact` for whole numbers where
    these are exact."""

    output: Array
    exact: Expected | None


def demand_arrays(program: Program) -> Program:
    """The program itself, if its parameters and its result are arrays; tuples are refused."""
    for p in program.params:
        if components(p.var.type) is not None:
            name = p.var.name
            raise UserError(
                f"input {name} is made of tuples: give each component an array of its own"
            )
    if components(type_of(program.body)) is not None:
        raise UserError(f"{program.name} gives a tuple: expected one array")
    return program


def inputs_of(program: Program, seed: int, integers: bool = False) -> dict[str, Array]:
    """The inputs of a program for a seed, spread evenly over -1 to 1, or whole numbers."""
    drawn = random_inputs(program, seed, integers)
    return {name: np.asarray(data) for name, data in drawn.items()}


def reference(program: Program, seed: int) -> Reference:
    """The reference of a program for a seed, by the interpreter in double precision."""
    output = _output(program, inputs_of(program, seed), np.float64)
    if not whole_numbers_stay_whole(program.body):
        return Reference(output, None)
    given = inputs_of(program, seed, integers=True)
    exact = expected(program, given)
    single = _output(program, given, np.float32)
    fits = np.array_equal(exact.output, single) and np.abs(single).max(initial=0) < EXACT
    return Reference(output, exact if fits else None)


def expected(program: Program, inputs: Mapping[str, Array]) -> Expected:
    """The output expected for inputs, with its scale, by the interpreter in double precision."""
    alike = {name: np.full_like(data, _largest(data)) for name, data in inputs.items()}
    scale = _largest(_output(replace(program, body=signless(program.body)), alike, np.float64))
    return Expected(_output(program, inputs, np.float64), scale if np.isfinite(scale) else 0.0)


def signless(e: Expr) -> Expr:
    """The term e on numbers without their signs, so that nothing in it cancels.

    Whole numbers are exact, and may say which element is meant: they lose their signs where they
    meet others.
    """
    match e:
        case Binary() | Unary() | Lit() if is_whole(type_of(e)):
            return e
        case Binary(op, a, b):
            return Binary("+" if op == "-" else op, _size(a), _size(b))
        case Unary("neg", a):
            return signless(a)
        case Lit(value, kind) if np.isfinite(value):
            return Lit(abs(value), kind)
    return over(signless, e)


def _size(operand: Expr) -> Expr:
    return Unary("abs", operand) if is_whole(type_of(operand)) else signless(operand)


def _output(program: Program, inputs: Mapping[str, Array], dtype: type) -> Array:
    return np.asarray(evaluate(program, inputs, dtype))


def whole_numbers_stay_whole(e: Expr) -> bool:
    """True if e is made of sums, products, maxima and whole literals only."""
    return all(map(_stays_whole, subterms(e)))


def _stays_whole(e: Expr) -> bool:
    match e:
        case Binary(op, _, _):
            return op in EXACT_OPS
        case Unary(op, _):
            return op in ("neg", "abs") or op in CONVERSIONS
        case Lit(value, _):
            return float(value).is_integer()
        case _:
            return True


def relative_error(out: Array, ref: Array) -> float:
    """The relative error norm(out - ref) / norm(ref); norm(out) where the reference is zero."""
    return _relative(_norm(_off(out, ref)), _norm(ref))


def _off(out: Array, ref: Array) -> Array:
    return np.asarray(out, np.float64).ravel() - ref.ravel()


def _relative(difference: float, scale: float) -> float:
    return difference / scale if scale > 0 else difference


def _largest(xs: Array) -> float:
    return float(np.abs(xs).max(initial=0))


def _norm(xs: Array) -> float:
    """The Euclidean norm of an array, not by BLAS, whose threads stay awake and disturb later
    timings."""
    return float(np.sqrt(np.square(xs).sum()))

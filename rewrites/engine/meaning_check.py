"""A check that a derivation keeps meaning: each of its terms is interpreted, with small parameters,
and compared."""

# key: e term, values of parameters

from collections.abc import Mapping
from itertools import accumulate
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from ir.core.bind_parameters import bind_sizes
from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Lit, Program, Reduce, Select, Unary
from ir.core.terms import children, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import is_whole
from ir.errors import IllTyped
from ir.meaning.inputs import Data, known, random_inputs
from ir.meaning.interpret import computed
from rewrites.engine.derivation import Derivation
from rewrites.engine.rule import DOUBLES, roundings
from rewrites.engine.small_sizes import Values, types_of

Floats = NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
MOST_WHOLE = 2.0**53  # doubles up to here hold every whole number
WHOLE = frozenset({"neg", "abs", *CONVERSIONS})


@frozen
class Checked:
    """The result of checking a derivation: the parameters' values, its number of steps, and the
    first wrong one, if any."""

    values: Values
    steps: int
    wrong: int | None


def check(p: Program, d: Derivation, values: Values, seed: int = 0) -> Checked:
    """The result of checking a derivation with these values of the parameters: the rule of each
    step is applied again, and what each term computes, from random inputs drawn with `seed`, is
    compared with what the program computes."""
    d.replay()
    inputs = random_inputs(p, seed)
    expected = computed(p, inputs)
    lost = inexact(p, expected)
    known = accumulate(roundings(d.steps, DOUBLES), initial=lost)
    terms = enumerate(zip(d.terms(), known, strict=True))
    found = ((i, _meaning(p, e, values, inputs), r) for i, (e, r) in terms)
    wrong = (i for i, data, r in found if data is None or not same_data(expected, data, r))
    return Checked(values, len(d.steps), next(wrong, None))


def means_the_same(p: Program, e: Expr, values: Values, seed: int, rounding: float = 0.0) -> bool:
    """True if e computes what the body of p does, with these values of the parameters, on random
    whole numbers drawn with `seed`.

    `rounding` is the known error of e, in machine epsilons of doubles. If it is 0, and the program
    makes only whole numbers from whole numbers, the results must be equal.
    """
    inputs = random_inputs(p, seed)
    expected, found = computed(p, inputs), _meaning(p, e, values, inputs)
    return found is not None and same_data(expected, found, rounding + inexact(p, expected))


def _meaning(p: Program, e: Expr, values: Values, inputs: Mapping[str, Data]) -> Data | None:
    try:
        bound = bind_sizes(e, values)
        types_of(bound)
        return computed(Program(p.name, p.params, bound), inputs)
    except IllTyped:
        return None


# ---- what order may change


def inexact(p: Program, result: Data) -> float:
    """The bound, in machine epsilons, on how much another order of a program's operations may
    change its `result`; 0 where none can.

    Sums and products of whole numbers are exact in any order, as long as doubles hold them.
    """
    exact = _whole(p.body) and all(_held(_floats(part)) for part in _parts(result))
    return 0.0 if exact else float(1 + operations(p.body))


def _whole(e: Expr) -> bool:
    """True if the term e, given whole numbers, computes only whole numbers."""
    return not any(_fractional(s) for s in subterms(e))


def _fractional(e: Expr) -> bool:
    match e:
        case Lit(value):
            return isfinite(value) and value != int(value)
        case Unary(op, _):
            return op not in WHOLE
        case Binary("/", _, _):
            return not is_whole(type_of(e))
    return False


def _held(a: Floats) -> bool:
    return not np.any(np.abs(a[np.isfinite(a)]) > MOST_WHOLE)


def operations(e: Expr) -> int:
    """The number of operations behind one number of e's result, or an upper bound of it."""
    match e:
        case Reduce(init, f, xs):
            return operations(init) + operations(xs) + known(size_of(xs)) * operations(f.body)
        case Unary() | Binary() | Select():
            return 1 + sum(map(operations, children(e)))
    return sum(map(operations, children(e)))


# ---- comparison


def same_data(a: Data, b: Data, rounding: float = 0.0) -> bool:
    """True if a and b have equal shapes and equal numbers, up to a relative error of `rounding`
    machine epsilons in norm."""
    pairs = [(_floats(x), _floats(y)) for x, y in zip(_parts(a), _parts(b), strict=True)]
    if any(x.shape != y.shape for x, y in pairs):
        return False
    if not rounding:
        return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)
    size = sum(np.sum(np.square(x[np.isfinite(x)])) for x, _ in pairs)
    differ = sum(np.sum(np.square(_apart(x, y))) for x, y in pairs)
    return bool(np.sqrt(differ) <= rounding * EPSILON * (1 + np.sqrt(size)))


def _apart(x: Floats, y: Floats) -> Floats:
    """The difference x - y of two arrays, 0 where both are the same infinity or both are not a
    number."""
    with np.errstate(invalid="ignore"):
        return np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, x - y)


def _parts(a: Data) -> list[object]:
    """The arrays in a tuple of tuples of arrays, as one list."""
    return [part for each in a for part in _parts(each)] if isinstance(a, tuple) else [a]


def _floats(a: object) -> Floats:
    return np.asarray(a, np.float64)

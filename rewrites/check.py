"""Does a derivation keep meaning? Each of its terms interpreted, with small parameters."""

# key: e term, values of parameters

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
from numpy.typing import NDArray

from ir.errors import IllTyped
from ir.inputs import Data, random_inputs
from ir.interpret import evaluate
from ir.nat import Nat, Size, bind
from ir.nodes import Expr, Lam, Program
from ir.terms import bind_sizes, size_names, subterms
from ir.types import Array, Tuple, Type, Vector
from ir.typing import type_of
from rewrites.rule import Derivation

Values = Mapping[str, int]
Floats = NDArray[np.float64]
EPSILON = float(np.finfo(np.float64).eps)
TRIES = 20_000
SMALL = (1, 2, 3, 4, 6, 8)
SHORT = 1 << 20
ROUNDED = 1e-9  # of the largest number: what matrices with thirds may lose in double precision


@dataclass(frozen=True, slots=True)
class Checked:
    """A derivation replayed: `values` of the parameters, and the first step that is wrong."""

    values: Values
    steps: int
    wrong: int | None


def sizes_in(t: Type) -> Iterator[Size]:
    """The sizes that a type is made of."""
    match t:
        case Array(elem, n):
            yield n
            yield from sizes_in(elem)
        case Vector(_, n):
            yield n
        case Tuple(parts):
            for part in parts:
                yield from sizes_in(part)


def sizes_of(e: Expr) -> set[Size]:
    """The sizes of everything inside a term, parts first: a whole's type is made of theirs."""
    return {n for t in types_of(e) for n in sizes_in(t)}


def types_of(e: Expr) -> list[Type]:
    inside = reversed([s for s in subterms(e) if not isinstance(s, Lam)])
    return [type_of(s) for s in inside]


def small_values(terms: list[Expr], rng: Random) -> Values | None:
    """Random small numbers for the parameters of terms that make every array of theirs possible."""
    names = sorted(set[str]().union(*map(size_names, terms)))
    sizes = [n for n in set[Size]().union(*map(sizes_of, terms)) if isinstance(n, Nat)]
    for _ in range(TRIES):
        values = {name: rng.choice(SMALL) for name in names}
        if all(_is_size(n, values) for n in sizes):
            return values
    return None


def _is_size(n: Size, values: Values) -> bool:
    try:
        found = bind(n, values)
    except ZeroDivisionError:
        return False
    return isinstance(found, int) and found > 0


def check(p: Program, d: Derivation, values: Values, seed: int = 0) -> Checked:
    """Replay the laws, and interpret every term on the same random whole numbers."""
    d.replay()
    known = accumulate((step.rounding for step in d.steps), initial=0.0)
    terms = enumerate(zip(d.terms(), known, strict=True))
    wrong = (i for i, (e, r) in terms if not means_the_same(p, e, values, seed, r))
    return Checked(values, len(d.steps), next(wrong, None))


def means_the_same(p: Program, e: Expr, values: Values, seed: int, rounding: float = 0.0) -> bool:
    """Whether e computes what the program's own body does, on random whole numbers.

    `rounding` is the known error, in machine epsilons: without one, not a number may differ.
    """
    inputs = random_inputs(p, seed)
    try:
        bound = bind_sizes(e, values)
        types_of(bound)
        found = evaluate(Program(p.name, p.params, bound), inputs)
    except IllTyped:
        return False
    return same_data(evaluate(p, inputs), found, rounding)


def same_data(a: Data, b: Data, rounding: float = 0.0) -> bool:
    """The same numbers in the same shape: exactly, or but for so many epsilons in norm."""
    pairs = [(_floats(x), _floats(y)) for x, y in zip(_parts(a), _parts(b), strict=True)]
    if any(x.shape != y.shape for x, y in pairs):
        return False
    if not rounding:
        return all(np.array_equal(x, y) for x, y in pairs)
    size, differ = (sum(map(np.sum, map(np.square, found)), 0.0) for found in _sizes(pairs))
    return bool(np.sqrt(differ) <= rounding * EPSILON * (1 + np.sqrt(size)))


def _sizes(pairs: list[tuple[Floats, Floats]]) -> tuple[list[Floats], list[Floats]]:
    return [x for x, _ in pairs], [x - y for x, y in pairs]


def _parts(a: Data) -> list[object]:
    """The arrays of which tuples are made."""
    return [part for each in a for part in _parts(each)] if isinstance(a, tuple) else [a]


def _floats(a: object) -> Floats:
    return np.asarray(a, np.float64)

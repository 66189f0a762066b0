"""Does a derivation keep meaning? Each of its terms interpreted, with small parameters."""

# key: e term, values of parameters

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

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
TRIES = 20_000
SMALL = (1, 2, 3, 4, 6, 8)


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
    """The sizes of everything inside a term."""
    return {n for s in subterms(e) if not isinstance(s, Lam) for n in sizes_in(type_of(s))}


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
    wrong = (i for i, e in enumerate(d.terms()) if not means_the_same(p, e, values, seed))
    return Checked(values, len(d.steps), next(wrong, None))


def means_the_same(p: Program, e: Expr, values: Values, seed: int) -> bool:
    """Whether e computes what the program's own body does, on random whole numbers."""
    inputs = random_inputs(p, seed)
    try:
        bound = bind_sizes(e, values)
        type_of(bound)
        found = evaluate(Program(p.name, p.params, bound), inputs)
    except IllTyped:
        return False
    return same_data(evaluate(p, inputs), found)


def same_data(a: Data, b: Data) -> bool:
    """Exactly the same numbers in the same shape."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_data, a, b))
    return isinstance(a, np.ndarray | np.generic) and np.array_equal(a, np.asarray(b))

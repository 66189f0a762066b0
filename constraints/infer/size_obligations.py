"""The constraints that every size and every type sets: exact divisions are whole, and arrays are
not empty."""

# key: a size, t type

from collections.abc import Iterator, Mapping

from constraints.relations.relations import (
    AnyOf,
    AtMost,
    Constraint,
    Relation,
    divides,
    fraction,
    spell,
    surely_positive,
)
from ir.core.size import (
    Atom,
    Floor,
    Mod,
    Monomial,
    Name,
    Nat,
    Size,
    denominator,
)
from ir.core.types import Array, Scalar, Tuple, Type, Vector

Positive = frozenset[Size]


def of_size(a: Size, origin: str, positive: Positive = frozenset()) -> Iterator[Constraint]:
    """The constraints that each exact division in the size a is whole and each divisor at least 1;
    `origin` names the node, `positive` are sizes known to be at least 1."""
    if isinstance(a, int):
        return
    for atom in _atoms(a):
        yield from _of_atom(atom, origin, positive)
    if denominator(a) != 1:
        num, den = fraction(a)
        if -den in positive:
            num, den = -num, -den
        why = f"{spell(den)} must divide {spell(num)}"
        yield Constraint(_whole(num, den, den in positive), why, origin)


def _whole(num: Size, den: Size, positive: bool) -> Relation:
    """The relation that den divides num; unless den is known to be `positive`, -den may divide -num
    instead."""
    if positive or surely_positive(den):
        return divides(den, num)
    return AnyOf((divides(den, num), divides(-den, -num)))


def _of_atom(atom: Atom, origin: str, positive: Positive) -> Iterator[Constraint]:
    match atom:
        case Floor(a, b) | Mod(a, b):
            yield from of_size(a, origin, positive)
            yield from of_size(b, origin, positive)
            yield Constraint(AtMost(1, b), f"{spell(b)} is a divisor", origin)
        case Name():
            return


def _atoms(a: Nat) -> list[Atom]:
    return list(dict.fromkeys(atom for p in (a.num, a.den) for m, _ in p for atom, _ in m))


def of_type(t: Type, origin: str, positive: Positive, seen: set[Type]) -> Iterator[Constraint]:
    """The constraints that the type t sets: arrays in it are not empty, and exact divisions in its
    sizes are whole. There are none for a type in `seen`, to which t is added. `origin` names the
    node, `positive` are sizes known to be at least 1."""
    if t in seen:
        return
    seen.add(t)
    match t:
        case Array(elem, n):
            yield from of_type(elem, origin, positive, seen)
            yield from of_size(n, origin, positive)
            yield Constraint(AtMost(1, n), f"an array has {spell(n)} elements", origin)
        case Tuple(parts):
            for part in parts:
                yield from of_type(part, origin, positive, seen)
        case Vector(_, width):
            yield from of_size(width, origin, positive)
        case Scalar():
            return


def plainly_positive(r: Relation, floors: Mapping[str, int]) -> bool:
    """True if r is `1 <= a` and obviously holds for parameters from `floors` on: no term of a is
    negative, and one is at least 1."""
    match r:
        case AtMost(1, Nat(num, _)):
            return all(k > 0 for _, k in num) and any(_at_least_one(m, floors) for m, _ in num)
    return False


def _at_least_one(monomial: Monomial, floors: Mapping[str, int]) -> bool:
    return all(isinstance(a, Name) and floors.get(a.name, 0) >= 1 for a, _ in monomial)

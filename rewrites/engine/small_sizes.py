"""Small numbers for a program's sizes and for parameters, at which a derivation can be
interpreted."""

# key: e term, t type, n size

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Lam
from ir.core.size import Nat, Size, bind, names
from ir.core.terms import size_names, subterms
from ir.core.type_rules import type_of
from ir.core.types import Array, Tuple, Type, Vector
from rewrites.engine.derivation import Derivation

Values = Mapping[str, int]
LIMITS = (8, 16, 32, 64, 128, 256, 512)  # parameters are looked for up to the first that serves
TRIES = 20_000  # values tried up to each limit
DRAWN = 16  # points, of which the one is taken that leaves the fewest sides of one element
CUTS = (4, 8, 16, 32)
SIDE = 4  # two tiles of two


# ---- parameters


def small_values(terms: Sequence[Expr], rng: Random) -> Values | None:
    """Random small values of the parameters in terms, for which every array has a possible size;
    None if there are none."""
    return next(_points(terms, rng), None)


def telling_values(terms: Sequence[Expr], rng: Random) -> Values | None:
    """Small values of the parameters in terms for which few arrays have one element only, so that
    errors show; None if no small values make all arrays possible."""
    sizes = {n for e in terms for n in sizes_of(e) if isinstance(n, Nat)}
    drawn = islice(_points(terms, rng), DRAWN)
    return min(drawn, key=lambda v: sum(bind(n, v) == 1 for n in sizes), default=None)


@frozen
class _Choice:
    """A parameter and the sizes that its value decides: extents, which must be positive, and
    others, which must be whole."""

    name: str
    extents: tuple[Nat, ...]
    others: tuple[Nat, ...]


def _points(terms: Sequence[Expr], rng: Random) -> Iterator[Values]:
    """Random values of the parameters in `terms`, drawn independently, again and again without end;
    none at all if no values make all arrays possible."""
    choices = _choices(terms)
    for limit in LIMITS:
        while (found := _search(choices, limit, rng)) is not None:
            yield found


def _search(choices: Sequence[_Choice], limit: int, rng: Random) -> Values | None:
    """Values of the parameters in `choices` at which all their sizes are possible, found by
    backtracking, with the values from 0 to `limit` in random order; None if `TRIES` values are
    tried before that, or none are left."""
    left = [TRIES]

    def go(i: int, chosen: Values) -> Values | None:
        if i == len(choices):
            return chosen
        for value in rng.sample(range(limit + 1), limit + 1):
            left[0] -= 1
            if left[0] < 0:
                return None
            values = {**chosen, choices[i].name: value}
            if _allows(choices[i], values) and (found := go(i + 1, values)) is not None:
                return found
        return None

    return go(0, {})


def _allows(c: _Choice, values: Values) -> bool:
    return all((_number(n, values) or 0) > 0 for n in c.extents) and all(
        _number(n, values) is not None for n in c.others
    )


def _number(n: Size, values: Values) -> int | None:
    """The value of the size n at these parameter values, if it is a whole number; else None."""
    try:
        found = bind(n, values)
    except ZeroDivisionError:
        return None
    return found if isinstance(found, int) else None


def _choices(terms: Sequence[Expr]) -> list[_Choice]:
    """The parameters of terms, in an order in which each value chosen decides as many sizes as it
    can."""
    extents = {n for e in terms for n in sizes_of(e) if isinstance(n, Nat)}
    others = {n for e in terms for n in _written_in(e)} - extents
    left = set[str]().union(*map(size_names, terms), *map(names, extents))
    open_ = extents | others
    found: list[_Choice] = []
    while left:
        settled = {p: {n for n in open_ if names(n) & left == {p}} for p in left}
        name = min(left, key=lambda p: (-len(settled[p]), p))
        now = sorted(settled[name], key=str)
        found.append(
            _Choice(
                name,
                tuple(n for n in now if n in extents),
                tuple(n for n in now if n in others),
            )
        )
        left.remove(name)
        open_ -= settled[name]
    return found


def _written_in(e: Expr) -> set[Nat]:
    """The sizes that are written in the nodes of a term, such as the width of a split."""
    fields = ((s, name) for s in subterms(e) for name in getattr(type(s), "__match_args__", ()))
    return {n for s, name in fields if isinstance(n := getattr(s, name), Nat)}


def sizes_in(t: Type) -> Iterator[Size]:
    """The lengths of arrays and vectors in a type, the outermost first."""
    match t:
        case Array(elem, n):
            yield n
            yield from sizes_in(elem)
        case Vector(_, n):
            yield n
        case Tuple(parts):
            for part in parts:
                yield from sizes_in(part)


def sizes_of(e: Expr) -> list[Size]:
    """The lengths of all arrays in the types of a term's subterms, those of inner subterms
    first."""
    return [n for t in types_of(e) for n in sizes_in(t)]


def types_of(e: Expr) -> list[Type]:
    """The types of all subterms of a term but its functions, those of inner subterms first."""
    inside = reversed([s for s in subterms(e) if not isinstance(s, Lam)])
    return [type_of(s) for s in inside]


# ---- sizes


def cut(n: int, k: int) -> int:
    """A smaller number than n with the same remainder by k, so that what tiles divide still
    divides; n itself if it is small."""
    return n if n < 2 * k else k + n % k


def cuts(written: Values) -> Iterator[Values]:
    """The values of a program's sizes, all of them cut down by the same k (`cut`), the smallest
    first; `written` are the sizes in the program's file."""
    last: Values = {}
    for k in CUTS:
        used = {name: cut(n, k) for name, n in written.items()}
        if used not in (last, written):
            yield used
        last = used


def alike(whole: Expr, small: Expr) -> bool:
    """True if every array of the term `small` has at least `SIDE` elements, or as many as the same
    array in `whole` if those are fewer."""
    pairs = zip(sizes_of(whole), sizes_of(small), strict=False)
    return all(b >= min(a, SIDE) for a, b in pairs if isinstance(a, int) and isinstance(b, int))


def same_steps(a: Derivation, b: Derivation) -> bool:
    """True if two derivations use the same laws in the same order."""
    return [s.rule.law for s in a.steps] == [s.rule.law for s in b.steps]


def laws_shared(a: Derivation, b: Derivation) -> int:
    """The number of different laws that two derivations have in common."""
    return len({s.rule.law for s in a.steps} & {s.rule.law for s in b.steps})

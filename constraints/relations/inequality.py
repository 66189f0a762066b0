"""The inequalities between sums of products that relations imply, with floors replaced by their
bounds.

Results are cached: relations are asked about often, and most of those of one form are those of
other forms too.
"""

# key: a b sizes, p q polynomials, k coefficient, least what is at least 1

from collections.abc import Iterable, Iterator
from functools import lru_cache

from constraints.relations.relations import (
    AllOf,
    AtMost,
    Divides,
    Equal,
    OneOf,
    Relation,
    fraction,
    surely_positive,
)
from ir.core.frozen import frozen
from ir.core.size import ONE, Floor, Mod, Monomial, Name, Poly, Size, names, quotient

Positive = frozenset[str]  # parameters that are at least 1
KEPT = 1 << 14
Term = tuple[Monomial, int]


@frozen
class Inequality:
    """The relation left <= right between sums with positive coefficients, without floors or
    remainders."""

    left: Poly
    right: Poly

    @property
    def under(self) -> frozenset[str]:
        """The parameters that occur in the left side."""
        return _names(self.left)

    @property
    def over(self) -> frozenset[str]:
        """The parameters that occur in the right side."""
        return _names(self.right)


@lru_cache(maxsize=KEPT)
def _names(p: Poly) -> frozenset[str]:
    return frozenset(atom.name for m, _ in p for atom, _ in m if isinstance(atom, Name))


def inequalities(relations: Iterable[Relation], least: Positive) -> list[Inequality]:
    """The inequalities that relations imply directly, without those that always hold; the
    parameters in `least` are at least 1."""
    found = [i for r in relations for a, b in _orders(r) if (i := _relaxed(a, b, least))]
    return list(dict.fromkeys(i for i in found if i.left))


def at_least_one(relations: Iterable[Relation]) -> Positive:
    """The parameters that some relation requires to be at least 1."""
    found: set[str] = set()
    for r in relations:
        match r:
            case AtMost(int(k), a) if k >= 1 and not isinstance(a, int):
                found |= _bare(a)
            case Divides(a, _) if not isinstance(a, int):
                found |= _bare(a)
    return frozenset(found)


def _bare(a: Size) -> Positive:
    """The parameters that are at least 1 if the size a is: its factors if it is one product, else
    none."""
    return names(a) if not isinstance(a, int) and len(a.num) == 1 else frozenset()


def _orders(r: Relation) -> Iterator[tuple[Size, Size]]:
    """The pairs (a, b) for which the relation r implies a <= b."""
    match r:
        case AtMost(a, b):
            yield a, b
        case Equal(a, b):
            yield from ((a, b), (b, a))
        case Divides(m, n):
            yield 1, m
            if _starts_positive(n):
                yield m, n
        case OneOf(a, values) if values:
            yield from ((a, max(values)), (min(values), a))
        case AllOf(parts):
            for part in parts:
                yield from _orders(part)


def _starts_positive(n: Size) -> bool:
    """True if n >= 1 for all values of 0 or more of its parameters."""
    if isinstance(n, int):
        return n > 0
    return n.den == ONE and all(k > 0 for _, k in n.num) and n.num[0][0] == ()


@lru_cache(maxsize=KEPT)
def gap(a: Size, b: Size) -> Poly | None:
    """The terms of a - b, or of a positive multiple of it; None if the sign of a denominator is
    unknown."""
    (x, d), (y, e) = fraction(a), fraction(b)
    if not (surely_positive(d) and surely_positive(e)):
        return None
    return _terms(x * e - y * d)


@lru_cache(maxsize=KEPT)
def _relaxed(a: Size, b: Size, least: Positive) -> Inequality | None:
    below: Size = 0
    above: Size = 0
    for monomial, k in gap(a, b) or ():
        if k > 0:
            below = below + _lower((monomial, k), least)
        elif (bound := _upper((monomial, -k))) is not None:
            above = above + bound
        else:
            return None
    rest = _terms(below - above)
    left = tuple((m, k) for m, k in rest if k > 0)
    return Inequality(left, tuple((m, -k) for m, k in rest if k < 0))


@lru_cache(maxsize=KEPT)
def floor_of(term: Term, least: Positive) -> Poly:
    """A lower bound, without floors, of a positive term; the parameters in `least` are known to be
    at least 1."""
    return _terms(_lower(term, least))


@lru_cache(maxsize=KEPT)
def ceiling_of(term: Term) -> Poly | None:
    """An upper bound of a positive term, without floors; None if there is none."""
    bound = _upper(term)
    return None if bound is None else _terms(bound)


def _terms(a: Size) -> Poly:
    if isinstance(a, int):
        return (((), a),) if a else ()
    return a.num


def _lower(term: Term, least: Positive) -> Size:
    """A lower bound without floors of a positive term, by floor(a, b) * b > a - b if b is a number.

    Otherwise floor(a, b) >= 1 if a >= b is known, and >= 0 if not.
    """
    monomial, k = term
    kept: list[tuple[Name, int]] = []
    reached: Size = 1
    for atom, power in monomial:
        match atom:
            case Name():
                kept.append((atom, power))
            case Floor(a, int(b)) if power == 1 and k % b == 0 and _sums_up(a - b + 1):
                reached, k = reached * _sum_of_lowers(a - b + 1, least), k // b
            case Floor(a, b) if _reaches(a, b, least):
                continue
            case _:
                return 0
    return reached * quotient(((tuple(kept), k),), ONE)


def _sum_of_lowers(a: Size, least: Positive) -> Size:
    """A lower bound without floors of a sum of positive terms; floors may be nested."""
    total: Size = 0
    for term in _terms(a):
        total = total + _lower(term, least)
    return total


def _sums_up(a: Size) -> bool:
    """True if the size a neither subtracts nor divides anything."""
    return all(k > 0 for _, k in _terms(a)) and (isinstance(a, int) or a.den == ONE)


def _reaches(a: Size, b: Size, least: Positive) -> bool:
    """True if a >= b is obvious: a - b subtracts only a number, which is at most the sum of its
    other terms."""
    total = 0
    for monomial, k in _terms(a - b):
        if k < 0 and monomial:
            return False
        counted = all(isinstance(x, Name) and x.name in least for x, _ in monomial)
        total += k if k < 0 or counted else 0
    return total >= 0


def _upper(term: Term) -> Size | None:
    """An upper bound without floors of a positive term, by floor(a, b) * b <= a and a mod b <= b;
    None if there is none."""
    monomial, k = term
    floor = next(((x, n) for x, n in monomial if not isinstance(x, Name)), None)
    if floor is None:
        return quotient((term,), ONE)
    atom, power = floor
    rest = tuple((x, n) for x, n in monomial if x != atom)
    if power > 1:
        rest = (*rest, (atom, power - 1))
    match atom:
        case Floor(a, int(b)) if k % b == 0:
            bound, k = _positive_part(a), k // b
        case Floor(a, b):
            bound, rest = _positive_part(a), _without(b, rest)
        case Mod(_, b):
            bound = _positive_part(b)
        case _:
            raise AssertionError("expected a floor or a remainder")
    return None if bound is None else _sum_of_uppers(bound * quotient(((rest, k),), ONE))


def _without(b: Size, rest: Monomial) -> Monomial:
    """The product `rest` divided by b, if b divides it; else `rest` itself."""
    if isinstance(b, int) or b.den != ONE or len(b.num) != 1:
        return rest
    powers = dict(rest)
    for atom, n in b.num[0][0]:
        powers[atom] = powers.get(atom, 0) - n
    if any(n < 0 for n in powers.values()):
        return rest
    return tuple((atom, n) for atom, n in powers.items() if n)


def _positive_part(a: Size) -> Size | None:
    if isinstance(a, int):
        return max(a, 0)
    if a.den != ONE:
        return None
    terms = tuple((m, k) for m, k in a.num if k > 0)
    return quotient(terms, ONE) if terms else 0


def _sum_of_uppers(a: Size) -> Size | None:
    total: Size = 0
    for term in _terms(a):
        bound = _upper(term)
        if bound is None:
            return None
        total = total + bound
    return total

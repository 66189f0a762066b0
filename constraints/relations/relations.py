"""Constraints: relations between sizes in parameters, each with a reason and the node that it comes
from."""

# key: a b m n sizes, p q polynomials, k integer coefficient

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ir.core.frozen import frozen
from ir.core.hash_once import Hashed, hashed
from ir.core.size import (
    ONE,
    Atom,
    Floor,
    Mod,
    Monomial,
    Name,
    Poly,
    Size,
    names,
    numerator,
    quotient,
    show_size,
)


@hashed
class Divides(Hashed):
    """The relation that m is at least 1 and n is a multiple of m."""

    m: Size
    n: Size


@hashed
class AtMost(Hashed):
    """The relation a <= b."""

    a: Size
    b: Size


@hashed
class Equal(Hashed):
    """The relation a = b."""

    a: Size
    b: Size


@hashed
class OneOf(Hashed):
    """The relation that a is one of `values`."""

    a: Size
    values: tuple[int, ...]


@hashed
class AllOf(Hashed):
    """The relation that every part holds."""

    parts: tuple["Relation", ...]


@hashed
class AnyOf(Hashed):
    """The relation that at least one part holds."""

    parts: tuple["Relation", ...]


Relation = Divides | AtMost | Equal | OneOf | AllOf | AnyOf

NEVER = AnyOf(())


@frozen
class Constraint:
    """A relation, its reason in the user's words, and the text of the node that it comes from."""

    relation: Relation
    why: str
    origin: str

    def __str__(self) -> str:
        return show_relation(self.relation)


@frozen
class System:
    """The parameters of a program, and all constraints that their values must satisfy."""

    parameters: tuple[str, ...]
    constraints: tuple[Constraint, ...]


def sizes(r: Relation) -> tuple[Size, ...]:
    """The sizes that a relation compares."""
    match r:
        case Divides(a, b) | AtMost(a, b) | Equal(a, b):
            return a, b
        case OneOf(a, _):
            return (a,)
        case AllOf(parts) | AnyOf(parts):
            return tuple(a for part in parts for a in sizes(part))


@lru_cache(maxsize=1 << 14)
def scope(r: Relation) -> frozenset[str]:
    """The names of the parameters in a relation."""
    return frozenset().union(*(names(a) for a in sizes(r)))


def show_relation(r: Relation) -> str:
    """The text of a relation as a person writes it."""
    match r:
        case Divides(m, n):
            return f"{spell(m)} divides {spell(n)}"
        case AtMost(a, b):
            return f"{spell(a)} <= {spell(b)}"
        case Equal(a, b):
            return f"{spell(a)} = {spell(b)}"
        case OneOf(a, values):
            return f"{spell(a)} in {{{', '.join(map(str, values))}}}"
        case AllOf(parts):
            return " and ".join(map(show_relation, parts)) or "always"
        case AnyOf(parts):
            return " or ".join(map(show_relation, parts)) or "never"


def holds(r: Relation, values: Mapping[str, int]) -> bool:
    """True if a relation holds at a point, in integers of any length."""
    try:
        return _holds(r, values)
    except ZeroDivisionError:
        return False


def _holds(r: Relation, values: Mapping[str, int]) -> bool:
    match r:
        case Divides(m, n):
            (a, b), (c, d) = ratio(m, values), ratio(n, values)
            return a * b > 0 and (c * b) % (a * d) == 0
        case AtMost(x, y):
            (a, b), (c, d) = ratio(x, values), ratio(y, values)
            return a * d * (b * d) <= c * b * (b * d)
        case Equal(x, y):
            (a, b), (c, d) = ratio(x, values), ratio(y, values)
            return a * d == c * b
        case OneOf(x, allowed):
            a, b = ratio(x, values)
            return a % b == 0 and a // b in allowed
        case AllOf(parts):
            return all(_holds(part, values) for part in parts)
        case AnyOf(parts):
            return any(_holds(part, values) for part in parts)


def ratio(a: Size, values: Mapping[str, int]) -> tuple[int, int]:
    """The numerator and the denominator (not 0) of a size at a point."""
    if isinstance(a, int):
        return a, 1
    num, den = _poly_at(a.num, values), _poly_at(a.den, values)
    if den == 0:
        raise ZeroDivisionError("a size is divided by zero")
    return num, den


def value_at(a: Size, values: Mapping[str, int]) -> int:
    """The value of a size at a point where its divisions are exact."""
    num, den = ratio(a, values)
    if num % den:
        raise ZeroDivisionError(f"{spell(a)} is not whole here")
    return num // den


def _poly_at(p: Poly, values: Mapping[str, int]) -> int:
    total = 0
    for monomial, k in p:
        for atom, power in monomial:
            k *= _atom_at(atom, values) ** power
        total += k
    return total


def _atom_at(atom: Atom, values: Mapping[str, int]) -> int:
    match atom:
        case Name(name):
            return values[name]
        case Floor(a, b):
            (n, d), (m, e) = ratio(a, values), ratio(b, values)
            return (n * e) // (d * m)
        case Mod(a, b):
            (n, d), (m, e) = ratio(a, values), ratio(b, values)
            return ((n * e) % (d * m)) // (d * e)


def fraction(a: Size) -> tuple[Size, Size]:
    """The numerator and the denominator of a size, the denominator with a positive leading
    coefficient."""
    if isinstance(a, int):
        return a, 1
    num, den = quotient(a.num, ONE), quotient(a.den, ONE)
    return (num, den) if a.den[-1][1] > 0 else (-num, -den)


def spell(a: Size) -> str:
    """The text of a size in the language's syntax, as a quotient by a positive denominator."""
    num, den = fraction(a)
    if isinstance(a, int) or numerator(a) == num:
        return show_size(a)
    return f"({show_size(num)}) / ({show_size(den)})"


def surely_positive(a: Size) -> bool:
    """True if a size is positive whenever it is not 0: it has no negative terms."""
    return a > 0 if isinstance(a, int) else all(k > 0 for _, k in a.num) and a.den == ONE


def divides(m: Size, n: Size) -> Relation:
    """The relation that m divides n, with multiples of m removed from n, so that equivalent
    obligations are equal."""
    if any(not isinstance(a, int) and a.den != ONE for a in (m, n)):
        return Divides(m, n)
    rest = _reduced(n, m)
    return AtMost(1, m) if rest == 0 else Divides(m, rest)


def _reduced(n: Size, m: Size) -> Size:
    if isinstance(m, int):
        return _modulo(n, m)
    for _ in range(32):
        terms = () if isinstance(n, int) else n.num
        step = next((s for t in reversed(terms) if (s := _over(t, m.num[-1])) is not None), None)
        if step is None:
            return n
        n = n - step * m
    return n


def _over(term: tuple[Monomial, int], lead: tuple[Monomial, int]) -> Size | None:
    """The quotient of a term by the term `lead`, each a product with its factor, if it is whole;
    else None."""
    (monomial, c), (under, k) = term, lead
    powers = dict(monomial)
    for atom, power in under:
        powers[atom] = powers.get(atom, 0) - power
    if c % k or any(power < 0 for power in powers.values()):
        return None
    return quotient(((tuple((a, powers[a]) for a, _ in monomial if powers[a]), c // k),), ONE)


def _modulo(n: Size, m: int) -> Size:
    """The size n without the terms that the number m divides."""
    if isinstance(n, int) or m == 0:
        return n
    kept = tuple((monomial, k) for monomial, k in n.num if k % m)
    return quotient(kept, ONE) if kept else 0


def distinct(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The first constraint for each different relation."""
    found: dict[Relation, Constraint] = {}
    for c in constraints:
        found.setdefault(c.relation, c)
    return tuple(found.values())

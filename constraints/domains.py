"""What values a parameter could take: bounds by monotonicity, divisors by factoring."""

# key: a b sizes, p parameter, low high bounds by parameter

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from constraints.terms import (
    AllOf,
    AnyOf,
    AtMost,
    Divides,
    Equal,
    OneOf,
    Relation,
    fraction,
    scope,
    surely_positive,
)
from ir.nat import Name, Nat, Poly, Size, denominator, names, quotient

Bounds = dict[str, tuple[int, int | None]]

ROUNDS = 8
ENDLESS = 1 << 64


@lru_cache(maxsize=1 << 16)
def divisors(n: int) -> tuple[int, ...]:
    """The divisors of n >= 1, in order."""
    powers = [[prime**i for i in range(k + 1)] for prime, k in _factors(n)]
    found = [1]
    for choices in powers:
        found = [a * b for a, b in product(found, choices)]
    return tuple(sorted(found))


def _factors(n: int) -> list[tuple[int, int]]:
    found, prime = [], 2
    while prime * prime <= n:
        k = 0
        while n % prime == 0:
            n, k = n // prime, k + 1
        if k:
            found.append((prime, k))
        prime += 1 if prime == 2 else 2
    return [*found, (n, 1)] if n > 1 else found


@dataclass(frozen=True, slots=True)
class Order:
    """left <= right, polynomials with positive coefficients."""

    left: Poly
    right: Poly
    lowers: frozenset[str]  # parameters that this can only bound from above
    raises: frozenset[str]  # and from below


def bounds(parameters: Iterable[str], relations: Iterable[Relation]) -> Bounds:
    """Static bounds of each parameter (>= 0), by propagation to a fixpoint."""
    found: Bounds = dict.fromkeys(parameters, (0, None))
    orders = [_order(left, right) for r in relations for left, right in _orders(r)]
    for _ in range(ROUNDS):
        before = dict(found)
        for order in orders:
            _tighten(order, found)
        if before == found:
            break
    return found


def _order(left: Poly, right: Poly) -> Order:
    under, over = _names(left), _names(right)
    lowers = frozenset(p for p in under - over if _plain(left, p))
    return Order(left, right, lowers, frozenset(p for p in over - under if _plain(right, p)))


def _orders(r: Relation) -> list[tuple[Poly, Poly]]:
    """Pairs p <= q of polynomials with positive coefficients that a relation implies."""
    match r:
        case AtMost(a, b):
            return _sides(a, b)
        case Equal(a, b):
            return [*_sides(a, b), *_sides(b, a)]
        case Divides(m, int(n)) if n > 0:
            return [*_sides(m, n), *_sides(1, m)]
        case Divides(m, _):
            return _sides(1, m)
        case OneOf(a, values) if values:
            return [*_sides(a, max(values)), *_sides(min(values), a)]
        case AllOf(parts):
            return [order for part in parts for order in _orders(part)]
    return []


def _sides(a: Size, b: Size) -> list[tuple[Poly, Poly]]:
    """a <= b with its negative terms moved to the other side, if the denominators' sign is seen."""
    (x, d), (y, e) = fraction(a), fraction(b)
    if not (surely_positive(d) and surely_positive(e)):
        return []
    gap = x * e - y * d
    terms: Poly = (((), gap),) if isinstance(gap, int) else gap.num
    left = tuple((m, k) for m, k in terms if k > 0)
    return [(left, tuple((m, -k) for m, k in terms if k < 0))]


def _tighten(order: Order, found: Bounds) -> None:
    """Narrow each parameter that stands on one side only."""
    for p in sorted(order.lowers & found.keys()):
        _lower_ceiling(p, order, found)
    for p in sorted(order.raises & found.keys()):
        _raise_floor(p, order, found)


def _lower_ceiling(p: str, order: Order, found: Bounds) -> None:
    low, high = found[p]
    most = _extreme(order.right, found, top=True)
    if most is None:
        return

    def fits(v: int) -> bool:
        least = _extreme(order.left, found | {p: (v, v)}, top=False)
        return least is not None and least <= most

    top = high if high is not None else ENDLESS
    if not fits(top):
        found[p] = (low, _last(fits, low, top))


def _raise_floor(p: str, order: Order, found: Bounds) -> None:
    low, high = found[p]
    least = _extreme(order.left, found, top=False)
    if least is None:
        return

    def short(v: int) -> bool:
        most = _extreme(order.right, found | {p: (v, v)}, top=True)
        return most is not None and most < least

    if short(low):
        found[p] = (_last(short, low, high if high is not None else ENDLESS) + 1, high)


def _last(test: Callable[[int], bool], low: int, high: int) -> int:
    """The largest v in low..high with test(v), low - 1 if there is none; test is monotone."""
    if not test(low):
        return low - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if test(middle) else (low, middle - 1)
    return low


def _names(p: Poly) -> frozenset[str]:
    return frozenset() if not p else names(quotient(p, (((), 1),)))


def _plain(p: Poly, name: str) -> bool:
    """Whether a parameter stands in p outside floors and remainders."""
    atoms = [atom for monomial, _ in p for atom, _ in monomial]
    return all(a == Name(name) or name not in _names(((((a, 1),), 1),)) for a in atoms)


def _extreme(p: Poly, found: Mapping[str, tuple[int, int | None]], top: bool) -> int | None:
    """The largest or least value of a polynomial with positive coefficients; None: unbounded."""
    total = 0
    for monomial, k in p:
        for atom, power in monomial:
            if not isinstance(atom, Name):
                if top:
                    return None
                k = 0
                continue
            low, high = found.get(atom.name, (0, None))
            bound = high if top else low
            if bound is None:
                return None
            k *= bound**power
        total += k
    return total


def nonempty(found: Bounds) -> bool:
    """Whether every parameter has a value left."""
    return all(high is None or low <= high for low, high in found.values())


def quotients_by(p: str, r: Relation) -> tuple[Size, Size] | None:
    """For `m | n` with m = p + shift or m = p * rest: (n, shift), so that p + shift divides n."""
    match r:
        case Divides(m, n) if isinstance(m, Nat) and p not in names(n) and denominator(m) == 1:
            return _divisor_form(p, m, n)
    return None


def _divisor_form(p: str, m: Nat, n: Size) -> tuple[Size, Size] | None:
    rest = tuple((mono, k) for mono, k in m.num if mono != ((Name(p), 1),))
    if len(rest) + 1 == len(m.num) and _coefficient(p, m.num) == 1 and p not in _names(rest):
        return n, quotient(rest, (((), 1),)) if rest else 0
    if len(m.num) == 1 and any(atom == Name(p) for atom, _ in m.num[0][0]):
        return n, 0
    return None


def _coefficient(p: str, m: Poly) -> int:
    return next((k for mono, k in m if mono == ((Name(p), 1),)), 0)


def factor_bounds(relations: Iterable[Relation], p: str) -> list[tuple[Size, Size]]:
    """All the ways in which a parameter is a divisor."""
    return [form for r in relations if p in scope(r) and (form := quotients_by(p, r)) is not None]


def listed(p: str, relations: Iterable[Relation]) -> tuple[int, ...] | None:
    """The values that a `OneOf` on the bare parameter lists."""
    for r in relations:
        match r:
            case OneOf(Nat(num, den), values) if num == ((((Name(p), 1),), 1),) and den == _ONE:
                return tuple(sorted(set(values)))
            case AnyOf(_) | AllOf(_):
                continue
    return None


_ONE: Poly = (((), 1),)


def least(a: Size, low: Mapping[str, int]) -> int | None:
    """A lower bound of a size without differences or divisions, given those of its parameters."""
    if isinstance(a, int):
        return a
    if a.den != _ONE or any(k < 0 for _, k in a.num):
        return None
    found: Bounds = {p: (n, None) for p, n in low.items()}
    return _extreme(a.num, found, top=False)

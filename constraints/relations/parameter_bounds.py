"""Bounds of parameters, which hold at all legal points, by propagation through inequalities."""

# key: p parameter, v value

from collections.abc import Callable, Iterable, Mapping

from constraints.relations.inequality import Inequality, at_least_one, inequalities
from constraints.relations.relations import Relation
from ir.core.size import Floor, Name, Poly, Size, bind, names

Bounds = dict[str, tuple[int, int | None]]

ROUNDS = 8
ENDLESS = 1 << 64


def bounds(parameters: Iterable[str], relations: Iterable[Relation]) -> Bounds:
    """The least and the most value of each parameter (at least 0) that the relations allow; the
    most is None if unbounded."""
    found: Bounds = dict.fromkeys(parameters, (0, None))
    every = list(relations)
    known = [(i, sorted(i.under | i.over)) for i in inequalities(every, at_least_one(every))]
    seen: list[object] = [None] * len(known)
    for _ in range(ROUNDS):
        before = dict(found)
        for at, (i, own) in enumerate(known):
            if (now := [found.get(p) for p in own]) != seen[at]:
                seen[at] = now
                _tighten(i, found)
        if before == found:
            break
    return found


def nonempty(found: Bounds) -> bool:
    """True if every parameter has a value left between its bounds."""
    return all(high is None or low <= high for low, high in found.values())


def least(a: Size, low: Mapping[str, int]) -> int | None:
    """A lower bound of a size from those of its parameters (`low`); None if it subtracts, or
    divides otherwise than by floors by numbers."""
    if isinstance(a, int):
        return a
    if not _grows(a):
        return None
    if all(isinstance(atom, Name) for monomial, _ in a.num for atom, _ in monomial):
        return extreme(a.num, {p: (n, None) for p, n in low.items()}, top=False)
    if not all(low.get(p, -1) >= 0 for p in names(a)):
        return None
    found = bind(a, {p: low[p] for p in names(a)})
    return found if isinstance(found, int) else None


def _grows(a: Size) -> bool:
    """True if a size does not fall as its parameters grow: it neither subtracts nor divides, except
    for floors by numbers."""
    if isinstance(a, int):
        return a >= 0
    if a.den != (((), 1),) or any(k < 0 for _, k in a.num):
        return False
    return all(
        isinstance(atom, Name)
        or (isinstance(atom, Floor) and isinstance(atom.b, int) and _grows(atom.a))
        for monomial, _ in a.num
        for atom, _ in monomial
    )


def _tighten(i: Inequality, found: Bounds) -> None:
    """Narrow, by one inequality, the bounds of each parameter that occurs on only one of its
    sides."""
    for p in sorted((i.under - i.over) & found.keys()):
        _lower_ceiling(p, i, found)
    for p in sorted((i.over - i.under) & found.keys()):
        _raise_floor(p, i, found)


def _lower_ceiling(p: str, i: Inequality, found: Bounds) -> None:
    low, high = found[p]
    most = extreme(i.right, found, top=True)
    if most is None:
        return

    def fits(v: int) -> bool:
        smallest = extreme(i.left, found | {p: (v, v)}, top=False)
        return smallest is not None and smallest <= most

    top = high if high is not None else ENDLESS
    if not fits(top):
        found[p] = (low, _last(fits, low, top))


def _raise_floor(p: str, i: Inequality, found: Bounds) -> None:
    low, high = found[p]
    smallest = extreme(i.left, found, top=False)
    if smallest is None:
        return

    def short(v: int) -> bool:
        most = extreme(i.right, found | {p: (v, v)}, top=True)
        return most is not None and most < smallest

    if short(low):
        found[p] = (_last(short, low, high if high is not None else ENDLESS) + 1, high)


def _last(test: Callable[[int], bool], low: int, high: int) -> int:
    """The largest v in low … high with test(v), for a test that holds up to some value; low - 1 if
    it never holds."""
    if not test(low):
        return low - 1
    step = 1
    while low + step < high and test(low + step):  # mostly it is near the least
        low, step = low + step, 2 * step
    high = min(high, low + step)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if test(middle) else (low, middle - 1)
    return low


def extreme(p: Poly, found: Mapping[str, tuple[int, int | None]], top: bool) -> int | None:
    """The largest (`top`) or the least value of a polynomial with positive coefficients, from the
    bounds of parameters in `found`; None if unbounded."""
    total = 0
    for monomial, k in p:
        for atom, power in monomial:
            low, high = found.get(atom.name, (0, None)) if isinstance(atom, Name) else (0, None)
            bound = high if top else low
            if bound is None:
                return None
            k *= bound**power
        total += k
    return total

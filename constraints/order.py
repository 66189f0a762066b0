"""In what order to choose parameters: divisors of what is known first, then the fewest values."""

# key: p parameter

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from constraints.domains import Bounds, factor_bounds, listed
from constraints.terms import Relation, System, scope
from ir.errors import Unsupported, UserError
from ir.nat import Size, names

MOST_VALUES = 1 << 21


@dataclass(frozen=True, slots=True)
class Choice:
    """How to list the candidates of a parameter, and what they must satisfy once chosen."""

    parameter: str
    low: int
    high: int | None
    values: tuple[int, ...] | None
    divides: tuple[Size, Size] | None  # (n, shift): parameter + shift divides n
    tests: tuple[Relation, ...]
    live: tuple[str, ...]  # what later choices still look at


def choices(system: System, found: Bounds, first: Sequence[str] = ()) -> tuple[Choice, ...]:
    """One choice a parameter, `first` before the others."""
    unknown = sorted(set(first) - set(system.parameters))
    if unknown:
        raise UserError(f"no parameter {unknown[0]}; there are {', '.join(system.parameters)}")
    relations = [c.relation for c in system.constraints]
    order = _order(system.parameters, relations, found, tuple(first))
    return tuple(_choice(i, order, relations, found) for i in range(len(order)))


def _order(
    parameters: Sequence[str], relations: Sequence[Relation], found: Bounds, first: tuple[str, ...]
) -> tuple[str, ...]:
    order = list(_greedy(first, (), relations, found))
    order += _greedy([p for p in parameters if p not in first], order, relations, found)
    return tuple(order)


def _greedy(
    group: Sequence[str], before: Sequence[str], relations: Sequence[Relation], found: Bounds
) -> list[str]:
    order, left = list(before), list(group)
    while left:
        known = frozenset(order)
        p = min(left, key=lambda q: (*_cost(q, known, relations, found), group.index(q)))
        order.append(p)
        left.remove(p)
    return order[len(before) :]


def _cost(
    p: str, known: frozenset[str], relations: Sequence[Relation], found: Bounds
) -> tuple[bool, int]:
    """Connected to what is being decided first, then the fewest candidates."""
    open_scopes = [s for r in relations if (s := scope(r)) & known and not s <= known]
    connected = any(p in s for s in open_scopes)
    return not connected, _candidates(p, known, relations, found)


def _candidates(p: str, known: frozenset[str], relations: Sequence[Relation], found: Bounds) -> int:
    """Roughly how many values a parameter has once others are known."""
    low, high = found[p]
    span = (high - low + 1) if high is not None else 1 << 62
    if (values := listed(p, relations)) is not None:
        return len(values)
    forms = [f for f in factor_bounds(relations, p) if names(f[0]) | names(f[1]) <= known]
    return min(span, int(span**0.4) + 2) if forms else span


def _choice(i: int, order: Sequence[str], relations: Sequence[Relation], found: Bounds) -> Choice:
    p, chosen = order[i], frozenset(order[: i + 1])
    tests = tuple(r for r in relations if p in scope(r) and scope(r) <= chosen)
    later = frozenset().union(*(scope(r) for r in relations if not scope(r) <= chosen))
    live = tuple(q for q in order[: i + 1] if q in later)
    known = chosen - {p}
    forms = [f for f in factor_bounds(relations, p) if names(f[0]) | names(f[1]) <= known]
    low, high = found[p]
    values = listed(p, relations)
    form = min(forms, key=lambda f: (len(names(f[0])), str(f))) if forms else None
    _refuse_endless(p, low, high, values is not None or form is not None)
    return Choice(p, low, high, values, form, tests, live)


def _refuse_endless(p: str, low: int, high: int | None, generated: bool) -> None:
    if generated or (high is not None and high - low < MOST_VALUES):
        return
    reach = "no upper bound" if high is None else f"{high - low + 1} values"
    raise Unsupported(f"parameter {p} has {reach}: a requirement {p} <= … makes it countable")


def ceilings(
    steps: Sequence[Choice], found: Mapping[str, tuple[int, int | None]]
) -> dict[str, int]:
    """The largest value each parameter may be tried at."""
    return {c.parameter: _ceiling(c, found) for c in steps}


def _ceiling(c: Choice, found: Mapping[str, tuple[int, int | None]]) -> int:
    if c.values:
        return max(map(abs, c.values))
    return c.high if c.high is not None else 1 << 64

"""In what order to choose parameters: divisors of what is known first, then the fewest values."""

# key: p parameter

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from constraints.bounds import ENDLESS, Bounds
from constraints.divisors import Form, divisor_forms, listed
from constraints.inequality import Inequality, inequalities, least_values
from constraints.terms import Relation, System, scope, show_relation, sizes
from ir.errors import UserError
from ir.nat import Monomial, Name, Size, names


@dataclass(frozen=True, slots=True)
class Choice:
    """How to list the candidates of a parameter, and what they must satisfy once chosen."""

    parameter: str
    low: int
    high: int | None
    values: tuple[int, ...] | None
    divides: Form | None
    caps: tuple[Inequality, ...]  # what bounds the parameter once earlier ones are known
    tests: tuple[Relation, ...]
    live: tuple[str, ...]  # what later choices still look at
    keys: tuple[Monomial, ...]  # and the products by which they see it


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
    """What hangs together with a decision that is not closed yet, then the fewest candidates."""
    return p not in _reached(known, relations), _candidates(p, known, relations, found)


def _reached(known: frozenset[str], relations: Sequence[Relation]) -> frozenset[str]:
    """What is linked to known parameters by relations that are not decided yet."""
    undecided = [s for r in relations if not (s := scope(r)) <= known]
    found, before = known, frozenset[str]()
    while found != before:
        before = found
        found = found.union(*(s for s in undecided if s & found))
    return found


def _candidates(p: str, known: frozenset[str], relations: Sequence[Relation], found: Bounds) -> int:
    """Roughly how many values a parameter has once others are known."""
    low, high = found[p]
    span = (high - low + 1) if high is not None else 1 << 62
    if (values := listed(p, relations)) is not None:
        return len(values)
    forms = [f for f in divisor_forms(p, relations) if names(f[0]) | names(f[1]) <= known]
    return min(span, int(span**0.4) + 2) if forms else span


def _choice(i: int, order: Sequence[str], relations: Sequence[Relation], found: Bounds) -> Choice:
    p, chosen = order[i], frozenset(order[: i + 1])
    known = chosen - {p}
    tests = [r for r in relations if p in scope(r) and scope(r) <= chosen]
    later = [r for r in relations if not scope(r) <= chosen]
    looked_at = frozenset().union(*map(scope, later))
    forms = [f for f in divisor_forms(p, relations) if names(f[0]) | names(f[1]) <= known]
    low, high = found[p]
    return Choice(
        p,
        low,
        high,
        listed(p, relations),
        min(forms, key=lambda f: (len(names(f[0])), str(f))) if forms else None,
        _caps(p, known, inequalities(tests, least_values(relations))),
        tuple(sorted(tests, key=_cost_of_test)),
        tuple(q for q in order[: i + 1] if q in looked_at),
        tuple(dict.fromkeys(m for r in later for a in sizes(r) for m in _products(a, chosen))),
    )


def _caps(p: str, known: frozenset[str], found: Sequence[Inequality]) -> tuple[Inequality, ...]:
    """The inequalities with p on the left only, and something known beside it."""
    return tuple(i for i in found if p in i.under - i.over and (i.under | i.over) & known)


def _products(a: Size, known: frozenset[str]) -> Iterator[Monomial]:
    """The known factors of each product in a size: all that it depends on."""
    if isinstance(a, int):
        return
    for monomial, _ in (*a.num, *a.den):
        factors = tuple((x, n) for x, n in monomial if isinstance(x, Name) and x.name in known)
        if factors:
            yield factors
        for atom, _ in monomial:
            if not isinstance(atom, Name):
                yield from _products(atom.a, known)
                yield from _products(atom.b, known)


def _cost_of_test(r: Relation) -> int:
    return len(show_relation(r))


def ceilings(steps: Sequence[Choice]) -> dict[str, int]:
    """The largest value each parameter may be tried at."""
    return {c.parameter: _ceiling(c) for c in steps}


def _ceiling(c: Choice) -> int:
    if c.values:
        return max(map(abs, c.values))
    return c.high if c.high is not None else ENDLESS

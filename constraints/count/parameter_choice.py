"""The choice of one parameter: its candidate values, and the tests on them, given the parameters
chosen before it."""

# key: p parameter, a size

from collections.abc import Iterator, Sequence
from functools import lru_cache

from constraints.count.parameter_order import ordered
from constraints.count.redundant import relevant
from constraints.relations.divisors import Form, divisor_forms, listed
from constraints.relations.inequality import Inequality, at_least_one, inequalities
from constraints.relations.parameter_bounds import ENDLESS, Bounds
from constraints.relations.relations import Relation, System, scope, show_relation, sizes
from ir.core.frozen import frozen
from ir.core.size import ONE, Atom, Monomial, Name, Poly, Size, names, quotient
from ir.text.suggest import no_such


@frozen
class Choice:
    """The choice of one parameter: its candidate values (from `low` to `high`, or the listed
    `values`, or those that divide a size as `divides` says), the inequalities that bound it
    (`caps`), and the `tests` that it must pass. Later choices depend on the parameters `live`, and
    on these only through the sizes `keys`."""

    parameter: str
    low: int
    high: int | None
    values: tuple[int, ...] | None
    divides: Form | None
    caps: tuple[Inequality, ...]  # what bounds the parameter once earlier ones are known
    tests: tuple[Relation, ...]
    live: tuple[str, ...]  # what later choices still look at
    keys: tuple[Size, ...]  # and the sums by which they see it


def choices(system: System, found: Bounds, first: Sequence[str] = ()) -> tuple[Choice, ...]:
    """The choices of a system's parameters, in an order that makes a small graph of points, with
    `first` before the others; `found` has the bounds of each parameter."""
    unknown = sorted(set(first) - set(system.parameters))
    if unknown:
        raise no_such("parameter", unknown[0], system.parameters)
    relations = relevant((c.relation for c in system.constraints), found)
    order = ordered(system.parameters, relations, found, first)
    return tuple(_choice(i, order, relations, found) for i in range(len(order)))


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
        _caps(p, known, inequalities(tests, at_least_one(relations))),
        tuple(sorted(tests, key=_cost_of_test)),
        tuple(q for q in order[: i + 1] if q in looked_at),
        tuple(
            dict.fromkeys(k for r in later for a in sizes(r) for k in _seen(a, chosen & names(a)))
        ),
    )


def _caps(p: str, known: frozenset[str], found: Sequence[Inequality]) -> tuple[Inequality, ...]:
    """The inequalities in `found` that bound the parameter p from above: p occurs on their left
    side only, and a `known` parameter occurs in them too."""
    return tuple(i for i in found if p in i.under - i.over and (i.under | i.over) & known)


def _cost_of_test(r: Relation) -> int:
    return len(show_relation(r))


@lru_cache(maxsize=1 << 14)
def _seen(a: Size, known: frozenset[str]) -> tuple[Size, ...]:
    """The sizes over `known` parameters whose values suffice, beside those of the unknown
    parameters, to evaluate the size a: the coefficients of the unknown parameters in a."""
    return tuple(_parts_seen(a, known))


def _parts_seen(a: Size, known: frozenset[str]) -> Iterator[Size]:
    if isinstance(a, int):
        return
    for p in (a.num, a.den):
        yield from _coefficients(p, known)
        for monomial, _ in p:
            for atom, _ in monomial:
                if not isinstance(atom, Name) and not _settled(atom, known):
                    yield from (*_seen(atom.a, known), *_seen(atom.b, known))


def _coefficients(p: Poly, known: frozenset[str]) -> list[Size]:
    found: dict[Monomial, Size] = {}
    for monomial, k in p:
        ours = tuple((x, n) for x, n in monomial if _settled(x, known))
        theirs = tuple((x, n) for x, n in monomial if not _settled(x, known))
        found[theirs] = found.get(theirs, 0) + quotient(((ours, k),), ONE)
    return [c for c in found.values() if not isinstance(c, int)]


def _settled(atom: Atom, known: frozenset[str]) -> bool:
    return names(quotient(((((atom, 1),), 1),), ONE)) <= known


def ceilings(steps: Sequence[Choice]) -> dict[str, int]:
    """The largest value that each parameter may be tried at, by name."""
    return {c.parameter: _ceiling(c) for c in steps}


def _ceiling(c: Choice) -> int:
    if c.values:
        return max(map(abs, c.values))
    return c.high if c.high is not None else ENDLESS

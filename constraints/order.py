"""In what order to choose parameters: so that few nodes and edges are made on the way.

A search over sets of chosen parameters: a set costs the nodes that stand for it (the values of what
later constraints still look at) times the candidates of the parameter chosen next.
"""

# key: p parameter, bits sets of parameters

from collections.abc import Sequence
from functools import reduce
from operator import or_

from constraints.bounds import Bounds
from constraints.divisors import divisor_forms, divisors, listed
from constraints.terms import Relation, scope
from ir.nat import names

WIDTH = 64  # sets kept at each step of the search
ENOUGH = 10**18


def ordered(
    parameters: Sequence[str], relations: Sequence[Relation], found: Bounds, first: Sequence[str]
) -> tuple[str, ...]:
    """A good order, `first` before the others."""
    search = _Search(list(parameters), relations, found)
    head = search.bits(first)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _ in parameters:
        longer: dict[int, tuple[float, tuple[int, ...]]] = {}
        for chosen, (cost, order) in best.items():
            nodes = search.nodes(chosen)
            for i in search.open(chosen, head):
                total = cost + nodes * search.branches(i, chosen)
                grown = chosen | 1 << i
                if grown not in longer or (total, (*order, i)) < longer[grown]:
                    longer[grown] = total, (*order, i)
        best = dict(sorted(longer.items(), key=lambda item: item[1])[:WIDTH])
    [(_, order)] = best.values()
    return tuple(parameters[i] for i in order)


class _Search:
    """What the search asks about sets of parameters."""

    def __init__(self, parameters: list[str], relations: Sequence[Relation], found: Bounds) -> None:
        self.parameters = parameters
        self.links = _largest({self.bits(scope(r)) for r in relations})
        self.values = [_values(p, relations, found) for p in parameters]
        self.forms = [
            [self.bits(names(n) | names(shift)) for n, shift in divisor_forms(p, relations)]
            for p in parameters
        ]

    def bits(self, members: Sequence[str] | frozenset[str]) -> int:
        return reduce(or_, (1 << self.parameters.index(p) for p in members), 0)

    def open(self, chosen: int, head: int) -> list[int]:
        """What may be chosen next."""
        left = (head & ~chosen) or ~chosen
        return [i for i in range(len(self.parameters)) if left >> i & 1]

    def nodes(self, chosen: int) -> float:
        """How many points later constraints can tell apart, roughly."""
        live = chosen & reduce(or_, (s for s in self.links if s & ~chosen), 0)
        total = 1.0
        for i, n in enumerate(self.values):
            total *= n if live >> i & 1 else 1
        return min(total, ENOUGH)

    def branches(self, i: int, known: int) -> float:
        """How many values a parameter has once others are known, roughly."""
        n = self.values[i]
        fewer = any(form and not form & ~known for form in self.forms[i])
        return min(n, n**0.4 + 2) if fewer else n


def _largest(links: set[int]) -> list[int]:
    """Sets that no other contains."""
    return sorted(s for s in links if not any(s != t and s & ~t == 0 for t in links))


def _values(p: str, relations: Sequence[Relation], found: Bounds) -> float:
    low, high = found[p]
    span = float(high - low + 1) if high is not None else 1e9
    if (values := listed(p, relations)) is not None:
        return float(len(values))
    exact = [n for n, shift in divisor_forms(p, relations) if isinstance(n, int) and n]
    return float(min([span, *(len(divisors(abs(n))) for n in exact)]))

"""The order in which parameters are chosen, so that the graph of legal points has few nodes and
edges.

It is found by a search over sets of chosen parameters. A set costs its number of nodes (the values
on which later constraints still depend) times the candidates of the parameter chosen next.
"""

# key: p parameter, bits sets of parameters

from collections.abc import Sequence
from functools import reduce
from math import factorial, log, prod
from operator import or_

from constraints.relations.divisors import divisor_forms, divisors, listed
from constraints.relations.inequality import at_least_one, inequalities
from constraints.relations.parameter_bounds import Bounds
from constraints.relations.relations import Relation, scope
from ir.core.size import Name, names

WIDTH = 64  # sets kept at each step of the search
ENOUGH = 10**18


def ordered(
    parameters: Sequence[str], relations: Sequence[Relation], found: Bounds, first: Sequence[str]
) -> tuple[str, ...]:
    """An order of the parameters that makes a small graph; those in `first` come before the
    others."""
    search = _Search(list(parameters), relations, found)
    head = search.bits(first)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _ in parameters:
        longer: dict[int, tuple[float, tuple[int, ...]]] = {}
        for chosen, (cost, order) in best.items():
            live = search.live(chosen)
            nodes = search.count(live)
            for i in search.open(chosen, head):
                edges = min(nodes * search.branches(i, chosen), search.count(live | 1 << i))
                total = cost + edges
                grown = chosen | 1 << i
                if grown not in longer or (total, (*order, i)) < longer[grown]:
                    longer[grown] = total, (*order, i)
        best = dict(sorted(longer.items(), key=lambda item: item[1])[:WIDTH])
    [(_, order)] = best.values()
    return tuple(parameters[i] for i in order)


class _Search:
    """Estimates by which the search for an order compares sets of parameters; a set is an int with
    a bit for each."""

    def __init__(self, parameters: list[str], relations: Sequence[Relation], found: Bounds) -> None:
        self.parameters = parameters
        self.links = _largest({self.bits(scope(r)) for r in relations})
        self.values = [_values(p, relations, found) for p in parameters]
        self.forms = [
            [self.bits(names(n) | names(shift)) for n, shift in divisor_forms(p, relations)]
            for p in parameters
        ]
        self.shares = sorted(self._share(m, most) for m, most in _products(relations))

    def _share(self, members: frozenset[str], most: float) -> tuple[float, int]:
        """Of all combinations of values that the parameters `members` can have, the share of those
        whose product is at most `most`; and `members` as bits.

        About most · Σ ln(most)ʲ / j! combinations have such a product.
        """
        group = self.bits(members)
        below = most * sum(log(most) ** j / factorial(j) for j in range(len(members)))
        return min(1.0, below / prod(self.values[i] for i in _each(group))), group

    def bits(self, members: Sequence[str] | frozenset[str]) -> int:
        """The set of these parameters as an int with a bit for each."""
        return reduce(or_, (1 << self.parameters.index(p) for p in members), 0)

    def open(self, chosen: int, head: int) -> list[int]:
        """The numbers of the parameters that may be chosen after those in `chosen`: those in `head`
        that are left, or, if none is, all that are left."""
        left = (head & ~chosen) or ~chosen
        return [i for i in range(len(self.parameters)) if left >> i & 1]

    def live(self, chosen: int) -> int:
        """The chosen parameters, as bits, that constraints on later ones still use."""
        return chosen & reduce(or_, (s for s in self.links if s & ~chosen), 0)

    def count(self, members: int) -> float:
        """The approximate number of combinations of values that these parameters have."""
        total, used = prod(self.values[i] for i in _each(members)), 0
        for share, group in self.shares:
            if not group & (~members | used):
                total, used = total * share, used | group
        return total

    def branches(self, i: int, known: int) -> float:
        """The approximate number of values of parameter i once the `known` ones are chosen."""
        n = self.values[i]
        fewer = any(form and not form & ~known for form in self.forms[i])
        return min(n, n**0.4 + 2) if fewer else n


def _each(bits: int) -> list[int]:
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def _products(relations: Sequence[Relation]) -> list[tuple[frozenset[str], float]]:
    """The products of parameters that relations bound: the parameters of each, and its bound."""
    found: dict[frozenset[str], float] = {}
    for i in inequalities(relations, at_least_one(relations)):
        if not i.over:
            limit = sum(k for _, k in i.right)
            for monomial, k in i.left:
                members = frozenset(x.name for x, _ in monomial if isinstance(x, Name))
                if len(members) > 1:
                    found[members] = min(found.get(members, ENOUGH), max(1.0, limit / k))
    return list(found.items())


def _largest(links: set[int]) -> list[int]:
    """The sets, as bits, that no other set in `links` contains."""
    return sorted(s for s in links if not any(s != t and s & ~t == 0 for t in links))


def _values(p: str, relations: Sequence[Relation], found: Bounds) -> float:
    low, high = found[p]
    span = float(high - low + 1) if high is not None else 1e9
    if (values := listed(p, relations)) is not None:
        return float(len(values))
    exact = [n for n, shift in divisor_forms(p, relations) if isinstance(n, int) and n]
    return float(min([span, *(len(divisors(abs(n))) for n in exact)]))

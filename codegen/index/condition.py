"""Conditions on indices: conjunctions of comparisons, decided by ranges where those suffice."""

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from codegen.index.atoms import Bound
from codegen.index.index import Index, as_index, summed
from codegen.index.substitute import evaluate, substitute
from ir.core.frozen import frozen


@frozen
class Condition:
    """A conjunction of comparisons: every part is ≥ 0. Parts are in order, and none is known to
    hold already."""

    parts: tuple[Index, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.names for part in self.parts))


ALWAYS = Condition(())
NEVER = Condition((as_index(-1),))


def at_least(x: Index | int, y: Index | int) -> Condition:
    """The condition x ≥ y."""
    return _all_positive([as_index(x) - y])


def less(x: Index | int, y: Index | int) -> Condition:
    """The condition x < y."""
    return _all_positive([as_index(y) - x - 1])


def within(x: Index | int, lo: Index | int, hi: Index | int) -> Condition:
    """The condition lo ≤ x < hi."""
    return _all_positive([as_index(x) - lo, as_index(hi) - x - 1])


def both(*conditions: Condition) -> Condition:
    """The condition that all of these conditions hold."""
    return _all_positive([part for condition in conditions for part in condition.parts])


def shared(conditions: Sequence[Condition]) -> Condition:
    """The condition made of the comparisons that occur in all of `conditions`, apart from their
    constants, each with the strictest of these constants."""
    asked = [{_linear(part) for part in condition.parts} for condition in conditions]
    every = frozenset.intersection(*map(frozenset, asked)) if asked else frozenset()
    return Condition(tuple(part for part in both(*conditions).parts if _linear(part) in every))


def beyond(condition: Condition, known: Condition) -> Condition:
    """The condition made of those parts of `condition` that do not follow from `known`, a condition
    that holds."""
    least = {_linear(part): part.constant for part in known.parts}

    def follows(part: Index) -> bool:
        known_constant = least.get(_linear(part))
        return known_constant is not None and known_constant <= part.constant

    return Condition(tuple(part for part in condition.parts if not follows(part)))


def decide(condition: Condition) -> bool | None:
    """True if a condition holds for all values of its variables, False if for none, None if that is
    not known."""
    if not condition.parts:
        return True
    return False if condition == NEVER else None


def substitute_in(condition: Condition, values: Mapping[str, Index | int]) -> Condition:
    return _all_positive([substitute(part, values) for part in condition.parts])


def holds(condition: Condition, values: Mapping[str, int]) -> bool:
    """True if a condition holds for these values of its variables."""
    return all(evaluate(part, values) >= 0 for part in condition.parts)


def bounds(condition: Condition, x: Index) -> tuple[Bound, Bound]:
    """The range of x where the condition holds, from the parts that are ±x plus a constant."""
    low, high = x.lo, x.hi
    for part in condition.parts:
        above, below = part - x, part + x
        if above.is_constant:
            low = -above.constant if low is None else max(low, -above.constant)
        if below.is_constant:
            high = below.constant if high is None else min(high, below.constant)
    return low, high


def _all_positive(parts: Iterable[Index]) -> Condition:
    tightest: dict[str, Index] = {}
    for part in map(_reduced, parts):
        if part.hi is not None and part.hi < 0:
            return NEVER
        if part.lo is not None and part.lo >= 0:
            continue
        linear = _linear(part)
        if linear not in tightest or part.constant < tightest[linear].constant:
            tightest[linear] = part
    return Condition(tuple(tightest[key] for key in sorted(tightest)))


def _linear(x: Index) -> str:
    """The text of an index without its constant."""
    return summed(x.terms, 0).key


def _reduced(x: Index) -> Index:
    """The index x of a condition x ≥ 0 divided by the common factor of its terms: g·x + c ≥ 0 ⇔ x +
    c // g ≥ 0."""
    g = gcd(*(k for _, k in x.terms))
    if g < 2:
        return x
    return summed(tuple([(atom, k // g) for atom, k in x.terms]), x.constant // g)

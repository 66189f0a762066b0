"""Strategies on an array seen with its dimensions in another order, given by name."""

# key: e term, s strategy

from collections.abc import Iterable

from rewrites.engine.places import of_array, of_made
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq, skip
from rewrites.laws.lower import store
from rewrites.laws.views import transpose_inner
from rewrites.nest.labels import Labels, brought


def reordered(dims: Labels, names: Iterable[str], s: Strategy) -> Strategy:
    """The strategy that applies s to an array, whose dimensions are `dims`, seen with these in the
    order of `names`.

    The result of s is then seen in the order of `dims` again.
    """
    return exchanged(brought(dims.positions(*names)), s)


def stored(s: Strategy) -> Strategy:
    """The strategy that stores a term, and applies s to what is stored."""
    return seq(store(), of_made(s))


def stored_as(dims: Labels, names: Iterable[str], s: Strategy = skip) -> Strategy:
    """The strategy that stores an array in memory with its dimensions, which are `dims`, in the
    order of `names`; then it applies s to what is stored."""
    return reordered(dims, names, stored(s))


def exchanged(levels: Iterable[int], s: Strategy) -> Strategy:
    """The strategy that exchanges neighbouring dimensions of an array, at these levels one after
    the other, applies s to the array seen so, and exchanges them back."""
    for level in reversed([*levels]):
        s = seq(transpose_inner(level=level), of_array(s))
    return s

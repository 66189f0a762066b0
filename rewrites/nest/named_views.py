"""The dimensions of an array in another order, by name."""

# key: e term, s strategy

from collections.abc import Iterable

from rewrites.engine.places import of_array, of_made
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq, skip
from rewrites.laws.lower import store
from rewrites.laws.views import transpose_inner
from rewrites.nest.labels import Labels, brought


def reordered(dims: Labels, names: Iterable[str], s: Strategy) -> Strategy:
    """id = undo . s . transposes: s on an array whose outer dimensions, which have these labels,
    are seen in the order of these names."""
    return exchanged(brought(dims.positions(*names)), s)


def stored(s: Strategy) -> Strategy:
    """e = store e, and s on what is stored"""
    return seq(store(), of_made(s))


def stored_as(dims: Labels, names: Iterable[str], s: Strategy = skip) -> Strategy:
    """id = undo . store . transposes: the dimensions in memory in the order of these names, and s
    on what is stored"""
    return reordered(dims, names, stored(s))


def exchanged(levels: Iterable[int], s: Strategy) -> Strategy:
    """s where neighbouring dimensions have been exchanged, at these levels one after the other."""
    for level in reversed([*levels]):
        s = seq(transpose_inner(level=level), of_array(s))
    return s

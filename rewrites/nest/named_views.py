"""The dimensions of an array in another order, by name."""

# key: e term, s strategy

from collections.abc import Iterable

from rewrites.engine.places import of_array
from rewrites.engine.rule import Strategy
from rewrites.engine.strategy import seq
from rewrites.laws.views import transpose_inner
from rewrites.nest.labels import Labels, brought


def reordered(dims: Labels, names: Iterable[str], s: Strategy) -> Strategy:
    """id = undo . s . transposes: s on an array whose outer dimensions, which have these labels,
    are seen in the order of these names."""
    return exchanged(brought(dims.positions(*names)), s)


def exchanged(levels: Iterable[int], s: Strategy) -> Strategy:
    """s where neighbouring dimensions have been exchanged, at these levels one after the other."""
    for level in reversed([*levels]):
        s = seq(transpose_inner(level=level), of_array(s))
    return s

"""Moves on a nest of maps, by position: swap, sort, merge and tile, each a strategy made of
laws."""

# key: e term, s strategy, n position in the nest, k size

from collections.abc import Iterable, Sequence

from ir.core.nodes import Expr, Map, PadEdge, Zip
from ir.core.size import Size
from rewrites.engine.places import of_array
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, choice, remembered, seq, when
from rewrites.laws.interchange import (
    collapse,
    interchange,
    interchange_mapped,
    interchange_rows,
    interchange_zip,
    pair,
)
from rewrites.laws.maps import round_map, split_map, unit_map
from rewrites.laws.views import pad_zip
from rewrites.nest.labels import sorting
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import inside, nested

exchanged = choice(
    interchange(),
    interchange_rows(),
    interchange_zip(),
    interchange_mapped(),
    seq(pair(), interchange_rows()),
)
"""The map at the root and the one inside it exchanged."""


@remembered
def swap(n: int) -> Strategy:
    """The strategy that exchanges the maps at positions n and n + 1."""
    return seq(nested(n, exchanged), perfect, simplify)


@remembered
def merge(n: int) -> Strategy:
    """The strategy that turns the maps at positions n and n + 1 into one map over the elements of
    both."""
    return seq(nested(n, collapse()), perfect, simplify)


def sort(order: Sequence[int]) -> Strategy:
    """The strategy that brings the map at position order[i] to position i."""
    return seq(*map(swap, sorting(order)))


beside_one: Strategy = seq(inside(unit_map()), perfect, simplify)
"""One more dimension of results outside the others, of one element."""


def several(k: Size, lengths: Iterable[Size]) -> Size:
    """The number k of elements in a tile, or 1 where all these lengths are 1."""
    return 1 if all(n == 1 for n in lengths) else k


def padded_zip(e: Expr) -> Rewritten | None:
    """The term e with a padded zip made a zip of padded parts, so that a stored part may bring its
    own room."""
    room = when(lambda xs: isinstance(xs, PadEdge) and isinstance(xs.xs, Zip), pad_zip())
    return of_array(room)(e)


def rounded(k: Size) -> Strategy:
    """The strategy that makes the map at the root go over a multiple of k elements, unless it does
    so already."""
    return attempt(seq(round_map(k=k), inside(attempt(padded_zip)), simplify))


def chunked(k: Size) -> Strategy:
    """The strategy that turns the map at the root into two: one over chunks of k elements, rounded
    up, and inside it one over the elements of a chunk."""
    return seq(rounded(k), inside(split_map(k=k)))


@remembered
def tile(n: int, k: Size) -> Strategy:
    """The strategy that turns the map at position n into two: one over chunks of k elements,
    rounded up, and inside it one over the elements of a chunk."""
    return seq(nested(n, chunked(k)), perfect, simplify)


def on_map(n: int, s: Strategy) -> Strategy:
    """The strategy that applies s to the map at position n, then moves views outside."""
    return seq(nested(n, when(lambda e: isinstance(e, Map), s)), perfect, simplify)

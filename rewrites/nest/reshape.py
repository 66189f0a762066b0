"""Moves on a nest of maps: swap, sort, merge, tile. Each is a strategy made of laws."""

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

_swap = choice(
    interchange(),
    interchange_rows(),
    interchange_zip(),
    interchange_mapped(),
    seq(pair(), interchange_rows()),
)


@remembered
def swap(n: int) -> Strategy:
    """Exchange the maps at positions n and n+1."""
    return seq(nested(n, _swap), perfect, simplify)


@remembered
def merge(n: int) -> Strategy:
    """The maps at positions n and n+1 become one over all their elements."""
    return seq(nested(n, collapse()), perfect, simplify)


def sort(order: Sequence[int]) -> Strategy:
    """Rearrange the nest so that the map now at order[i] comes to position i."""
    return seq(*map(swap, sorting(order)))


beside_one: Strategy = seq(inside(unit_map()), perfect, simplify)
"""One more dimension of results outside the others, of one element."""


def several(k: Size, lengths: Iterable[Size]) -> Size:
    """k of what these are the lengths of; of one element there is one."""
    return 1 if all(n == 1 for n in lengths) else k


def padded_zip(e: Expr) -> Rewritten | None:
    """Rounding a zip rounds each part, so that a stored part may bring its own room."""
    room = when(lambda xs: isinstance(xs, PadEdge) and isinstance(xs.xs, Zip), pad_zip())
    return of_array(room)(e)


def rounded(k: Size) -> Strategy:
    """The map at the root goes over a multiple of k elements."""
    return attempt(seq(round_map(k=k), inside(attempt(padded_zip)), simplify))


@remembered
def tile(n: int, k: Size) -> Strategy:
    """The map at position n becomes one over chunks of k and one over a chunk."""
    step = seq(rounded(k), inside(split_map(k=k)))
    return seq(nested(n, step), perfect, simplify)


def on_map(n: int, s: Strategy) -> Strategy:
    """s on the map at position n, then views moved outside."""
    return seq(nested(n, when(lambda e: isinstance(e, Map), s)), perfect, simplify)

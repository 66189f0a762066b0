"""The legal points of a system as paths of a layered graph, which are counted, then found by their
rank.

Parameters are chosen in dependency order. Points that later constraints cannot tell apart share a
node, so a graph of thousands of edges stands for millions of points, and counts are exact.
"""

# key: p parameter, e edges

from collections.abc import Iterator, Sequence
from math import inf
from random import Random
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from constraints.count.evaluate_columns import Column, column
from constraints.count.grow_layers import Edges, grow
from constraints.count.parameter_choice import ceilings, choices
from constraints.relations.parameter_bounds import bounds, nonempty
from constraints.relations.relations import System, holds, scope
from ir.core.frozen import frozen

Point = dict[str, int]
Index = NDArray[np.intp]

MOST_EDGES = 1 << 24
SAFE = 2**62


@frozen
class Layer:
    """The edges that choose the parameter of a layer. Node s has the edges from `starts[s]` up to,
    not including, `starts[s + 1]`; edge e takes the value `values[e]`, and leads to node
    `targets[e]` of the next layer; `below[e]` points go through the edges before e."""

    parameter: str
    starts: Index
    values: Column
    targets: Index
    below: Column  # below[e]: how many points pass through the edges before e


@frozen
class Space:
    """All `count` legal points of a system, each with a rank, its number from 0, as the paths
    through a graph of layers, one for each parameter."""

    parameters: tuple[str, ...]
    layers: tuple[Layer, ...]
    count: int

    def points(self, ranks: Sequence[int]) -> list[Point]:
        """The points of these ranks, 0 <= rank < count."""
        return _finish(self, [({}, 0, 0, r) for r in ranks])

    def all(self, chunk: int = 1 << 16) -> Iterator[Point]:
        """All points in order of rank; they are made `chunk` at a time."""
        for start in range(0, self.count, chunk):
            yield from self.points(range(start, min(start + chunk, self.count)))

    def sample(self, n: int, seed: int | Random = 0) -> list[Point]:
        """A uniform sample of n different points, or all if there are fewer, in random order."""
        return self.points(_distinct(self.count, n, _generator(seed)))

    def domain(self, parameter: str) -> tuple[int, ...]:
        """The values that a parameter takes in at least one point."""
        layer = next((x for x in self.layers if x.parameter == parameter), None)
        return () if layer is None else tuple(sorted({int(v) for v in np.unique(layer.values)}))

    def strata(self, depth: int) -> list["Stratum"]:
        """The strata of points that share the values of the first `depth` parameters, each with its
        number of points."""
        found = [Stratum((), 0, self.count)] if self.count else []
        for layer in self.layers[:depth]:
            found = [s for stratum in found for s in _split(layer, stratum)]
        return found


@frozen
class Stratum:
    """The points that share the values of the first parameters: all paths from one node."""

    values: tuple[int, ...]
    node: int
    count: int


def space(
    system: System,
    first: Sequence[str] = (),
    most_edges: int = MOST_EDGES,
    seconds: float = inf,
) -> Space:
    """The legal points of a system, with `first` chosen before the other parameters.

    Unsupported is raised where there are more edges than `most_edges`, or counting takes longer
    than `seconds`.
    """
    until = monotonic() + seconds
    relations = [c.relation for c in system.constraints]
    found = bounds(system.parameters, relations)
    constants = all(holds(r, {}) for r in relations if not scope(r))
    if not constants or not nonempty(found):
        return Space(system.parameters, (), 0)
    steps = choices(system, found, first)
    layers, count = _counted(list(grow(steps, ceilings(steps), most_edges, until)))
    return Space(system.parameters, layers, count)


def count_bound(system: System) -> int | None:
    """An upper bound of the number of legal points, for systems too large to count; None if no
    bound is known."""
    total = 1
    for low, high in bounds(system.parameters, [c.relation for c in system.constraints]).values():
        if high is None:
            return None
        total *= max(0, high - low + 1)
    return total


def stratified(system: System, by: Sequence[str], n: int, seed: int | Random = 0) -> list[Point]:
    """A sample of n different points, with the values of the parameters `by` represented as evenly
    as possible."""
    generator, points = _generator(seed), space(system, by)
    strata = points.strata(len(by))
    generator.shuffle(strata)
    drawn = [
        (dict(zip(by, s.values, strict=True)), len(by), s.node, r)
        for s, share in zip(strata, _shares([s.count for s in strata], n), strict=True)
        for r in _distinct(s.count, share, generator)
    ]
    generator.shuffle(drawn)
    return _finish(points, drawn)


def _counted(edges: list[Edges]) -> tuple[tuple[Layer, ...], int]:
    """The layers without dead ends, with the number of points below each edge; and the number of
    all points."""
    layers: list[Layer] = []
    beyond: Column = np.ones(1, dtype=np.int64)
    for e in reversed(edges):
        layer, beyond = _layer(e, beyond)
        layers.append(layer)
    return tuple(reversed(layers)), int(beyond[0])


def _layer(e: Edges, beyond: Column) -> tuple[Layer, Column]:
    through = beyond[e.targets]
    if len(through) and int(through.max()) * len(through) >= SAFE:
        through = through.astype(object)
    alive = np.asarray(through > 0, dtype=np.bool_)
    sources, through = e.sources[alive], through[alive]
    starts = np.searchsorted(sources, np.arange(e.nodes + 1))
    below = np.concatenate([np.zeros(1, dtype=through.dtype), np.cumsum(through)])
    layer = Layer(e.parameter, starts, e.values[alive], e.targets[alive], below)
    return layer, below[starts[1:]] - below[starts[:-1]]


def _split(layer: Layer, s: Stratum) -> list[Stratum]:
    return [
        Stratum(
            (*s.values, int(layer.values[e])),
            int(layer.targets[e]),
            int(layer.below[e + 1] - layer.below[e]),
        )
        for e in range(int(layer.starts[s.node]), int(layer.starts[s.node + 1]))
    ]


def _finish(points: Space, begun: Sequence[tuple[Point, int, int, int]]) -> list[Point]:
    """The points that begin as `begun` says. A beginning is (values, depth, node, rank): the values
    of the first `depth` parameters, the node that they lead to, and the number, among the points
    below it, of the one wanted."""
    if not begun:
        return []
    depth = begun[0][1]
    nodes = np.array([node for _, _, node, _ in begun], dtype=np.intp)
    ranks = column([rank for _, _, _, rank in begun])
    columns: dict[str, list[int]] = {}
    for layer in points.layers[depth:]:
        nodes, ranks, values = _descend(layer, nodes, ranks)
        columns[layer.parameter] = values.tolist()
    found = [dict(prefix) for prefix, *_ in begun]
    for name, values_of in columns.items():
        for point, value in zip(found, values_of, strict=True):
            point[name] = int(value)
    return [{p: point[p] for p in points.parameters} for point in found]


def _descend(layer: Layer, nodes: Index, ranks: Column) -> tuple[Index, Column, Column]:
    """The next node of each path, its remaining rank there, and the value chosen, one step below
    `nodes`."""
    place = layer.below[layer.starts[nodes]] + ranks
    edge = np.searchsorted(layer.below, place, side="right") - 1
    return layer.targets[edge], place - layer.below[edge], layer.values[edge]


def _shares(room: list[int], n: int) -> list[int]:
    """The number of points drawn from each stratum, if n are dealt out one by one to strata that
    have any left; `room` holds their sizes."""
    shares, left = [0] * len(room), min(n, sum(room))
    while left:
        open_ = [i for i, size in enumerate(room) if shares[i] < size]
        each = max(1, min(left // len(open_), min(room[i] - shares[i] for i in open_)))
        for i in open_[: left // each]:
            shares[i] += each
            left -= each
    return shares


def _distinct(count: int, n: int, generator: Random) -> list[int]:
    """A list of n different ranks below `count`, in random order."""
    if count < SAFE:
        return generator.sample(range(count), min(n, count))
    found: dict[int, None] = {}
    while len(found) < n:
        found[generator.randrange(count)] = None
    return list(found)


def _generator(seed: int | Random) -> Random:
    return seed if isinstance(seed, Random) else Random(seed)

"""The points near a good one: a parameter a step or two further, or two parameters in opposite
directions."""

# key: p q parameters

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

from constraints.count.points import Point
from constraints.relations.relations import System, holds

STEPS = (-2, -1, 1, 2)
Ladders = Mapping[str, Sequence[int]]  # the values to step along, sorted, by parameter


def ladders(points: Iterable[Mapping[str, int]], known: Ladders | None = None) -> Ladders:
    """The values that each parameter takes in some points, in ascending order, merged with the
    `known` ones."""
    seen = defaultdict[str, set[int]](set, {p: set(values) for p, values in (known or {}).items()})
    for point in points:
        for p, value in point.items():
            seen[p].add(value)
    return {p: sorted(values) for p, values in seen.items()}


def allowed(system: System, point: Mapping[str, int]) -> bool:
    """True if a point has just the system's parameters and satisfies every constraint."""
    if point.keys() != set(system.parameters):
        return False
    return all(holds(c.relation, point) for c in system.constraints)


def moves(point: Point, along: Ladders) -> Iterator[Point]:
    """The points near `point`, whether they are allowed or not: one parameter moved by one or two
    steps along the values that it takes (`along`), or one moved a step up and another a step
    down."""
    for p in point:
        for step in STEPS:
            yield from _moved(point, along, {p: step})
    for p, q in permutations(point, 2):
        yield from _moved(point, along, {p: 1, q: -1})


def _moved(point: Point, along: Ladders, steps: Mapping[str, int]) -> Iterator[Point]:
    """The point with parameters moved by `steps` along their ladders; none if it would leave a
    ladder."""
    values = dict(point)
    for p, step in steps.items():
        place = bisect_left(along[p], point[p]) + step
        if not 0 <= place < len(along[p]):
            return
        values[p] = along[p][place]
    yield values

"""Base addresses that walk: a variable that each turn of a loop moves on by a constant, in place of
a sum of products of the loops' variables.

A walking address takes one register and one addition a turn, however many loops it changes in. In
the text it is defined where the outermost of these loops begins, and moved on with the counters:

    for (int i = 0, at = base; i < 3; ++i, at += 384) {
      for (int k = 0; k < 32; ++k, at += 16) {
"""

# key: i index

from collections.abc import Iterator, Mapping

from codegen.index.atoms import Var
from codegen.index.index import Index, summed
from codegen.opencl.index_text import INT_MAX, INT_MIN, needs_64
from ir.core.frozen import frozen


@frozen
class LoopPlace:
    """The place of a loop that stays a loop in the text: the loop around it (None: there is none),
    its number of turns, and whether it is carried out once in each turn of the loop around it
    (`always`), under no guard and in no loop that is spelled out."""

    around: str | None
    turns: int
    always: bool


@frozen
class Walk:
    """A base address `name` that is `start` where the loop `loop` begins, and is moved on after
    each turn of a loop by the number that `steps` has for it."""

    name: str
    loop: str
    start: Index
    steps: Mapping[str, int]


def walk(
    name: str, i: Index, inner: str, loops: Mapping[str, LoopPlace], tested: frozenset[str]
) -> Walk | None:
    """The walk by which a base address gets the values that the index i has in the loop `inner`;
    None if i is no such sum, or may leave the ints on its way. `loops` are the loops of the text;
    the text may be spelled several times for turns of those in `tested`."""
    path = list(_path(inner, loops, tested))
    while path and not _moves(i, path):
        path.pop()
    if not path:
        return None
    strides = {atom.key: k for atom, k in i.terms if isinstance(atom, Var) and atom.key in path}
    start = summed(tuple((a, k) for a, k in i.terms if a.key not in strides), i.constant)
    if not _stays_int(start, [k * loops[loop].turns for loop, k in strides.items()]):
        return None
    back, steps = 0, dict[str, int]()
    for loop in path:  # the innermost first
        stride = strides.get(loop, 0)
        steps[loop] = stride - back
        back = stride * loops[loop].turns
    return Walk(name, path[-1], start, steps)


def _path(inner: str, loops: Mapping[str, LoopPlace], tested: frozenset[str]) -> Iterator[str]:
    """The loops from `inner` outwards, up to one that is tested, or is not carried out once in each
    turn of the loop around it."""
    loop: str | None = inner
    while loop is not None and loop in loops and loop not in tested:
        yield loop
        loop = loops[loop].around if loops[loop].always else None


def _moves(i: Index, path: list[str]) -> bool:
    """True if the index i changes in the outermost loop of `path`, and in each loop of it by a
    constant a turn."""
    plain = all(isinstance(a, Var) or a.names.isdisjoint(path) for a, _ in i.terms)
    return plain and any(a.key == path[-1] for a, _ in i.terms)


def _stays_int(start: Index, ways: list[int]) -> bool:
    """True if all numbers between `start` and the ends of these `ways` from it are ints."""
    if start.lo is None or start.hi is None or needs_64(start):
        return False
    low = start.lo + sum(min(0, way) for way in ways)
    high = start.hi + sum(max(0, way) for way in ways)
    return low >= INT_MIN and high <= INT_MAX

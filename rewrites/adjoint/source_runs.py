"""Index functions as runs: stretches of an array whose elements come from evenly spaced places of
another array. So edges that repeat elements, and reorderings, can be written as coordinates."""

# key: n size, i place, f function

from collections.abc import Iterator

import numpy as np

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Generate, PadEdge, Param, Program, Reorder, Var
from ir.core.type_rules import size_of
from ir.core.types import FLOAT, Array
from ir.elaborate.bijection import stride
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused

MOST = 64  # runs of one array


@frozen
class Run:
    """The places first, first + 1, …, `size` of them, of an array hold the elements source, source
    + step, … of another array."""

    first: int
    size: int
    source: int
    step: int


def runs_of(e: PadEdge | Reorder) -> list[Run]:
    """The runs of a padding that repeats elements, or of a reordering; Refused if there are too
    many."""
    n = size_of(e.xs)
    assert isinstance(n, int)
    if isinstance(e, Reorder):
        sources = _values(Generate(n, e.f), n)
    else:
        sources = _values(PadEdge(e.edge, e.left, e.right, _numbers(n)), n)
    found = list(_runs(sources))
    if len(found) > MOST:
        raise Refused(
            f"expected a reorder or pad that copies at most {MOST} runs of evenly spaced elements, "
            f"found {len(found)} runs"
        )
    return found


def _numbers(n: int) -> Var:
    """The variable `numbers`, which stands for the array of 0 to n - 1."""
    return Var("numbers", Array(FLOAT, n))


def _values(e: Expr, n: int) -> list[int]:
    """The elements of the array e of whole numbers, in which the variable `numbers` is 0 to n -
    1."""
    numbers = _numbers(n)
    found = evaluate(Program("sources", (Param(numbers),), e), {"numbers": np.arange(float(n))})
    assert isinstance(found, np.ndarray)
    return [int(x) for x in found]


def _runs(sources: list[int]) -> Iterator[Run]:
    first = 0
    while first < len(sources):
        step = sources[first + 1] - sources[first] if first + 1 < len(sources) else 1
        last = first
        while last + 1 < len(sources) and sources[last + 1] - sources[last] == step:
            last += 1
        yield Run(first, last + 1 - first, sources[first], step)
        first = last + 1


def stride_of(e: Reorder) -> int | None:
    """The s of a reordering that is stride(s); None for another reordering."""
    n = size_of(e.xs)
    assert isinstance(n, int)
    return next((s for s in range(2, n) if n % s == 0 and stride(s, n) == e.f), None)

"""Layer by layer: the candidates of a parameter at each node, tested, and where they lead."""

# key: p parameter, c columns by parameter, n size

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from constraints.domains import divisors
from constraints.evaluate import Column, Columns, column, evaluate, predicate
from constraints.order import Choice
from ir.errors import Unsupported
from ir.nat import Size

Index = NDArray[np.intp]
Test = Callable[[Columns], NDArray[np.bool_]]

CHUNK = 1 << 19


@dataclass(frozen=True, slots=True)
class Edges:
    """What may be chosen: from node `sources[e]`, the value `values[e]`, to node `targets[e]`."""

    parameter: str
    nodes: int
    sources: Index
    values: Column
    targets: Index


def grow(steps: Sequence[Choice], ceilings: Mapping[str, int], most: int) -> Iterator[Edges]:
    """All edges that earlier choices allow (some may lead nowhere)."""
    nodes, known, total = 1, dict[str, Column](), 0
    for step in steps:
        tests = [predicate(r, ceilings) for r in step.tests]
        sources, reached = _edges(step, nodes, known, tests, most - total)
        total += len(sources)
        targets, firsts = _merge([reached[p] for p in step.live], len(sources))
        yield Edges(step.parameter, nodes, sources, reached[step.parameter], targets)
        nodes, known = len(firsts), {p: reached[p][firsts] for p in step.live}


def _edges(
    step: Choice, nodes: int, known: Columns, tests: Sequence[Test], most: int
) -> tuple[Index, dict[str, Column]]:
    width = _width(step)
    stride = max(1, CHUNK // width)
    found, total = [], 0
    for start in range(0, max(1, nodes), stride):
        rows = np.arange(start, min(start + stride, nodes))
        part = _kept(step, rows, known, tests)
        total += len(part[0])
        if total > most:
            raise Unsupported(f"too many points to count exactly (at parameter {step.parameter})")
        found.append(part)
    sources = np.concatenate([part[0] for part in found])
    names = [*known, step.parameter]
    return sources, {p: np.concatenate([part[1][p] for part in found]) for p in names}


def _width(step: Choice) -> int:
    if step.values is not None:
        return len(step.values) or 1
    if step.divides is not None or step.high is None:
        return 64
    return max(1, step.high - step.low + 1)


def _kept(
    step: Choice, rows: Index, known: Columns, tests: Sequence[Test]
) -> tuple[Index, dict[str, Column]]:
    sources, values = _candidates(step, rows, {p: c[rows] for p, c in known.items()})
    reached = {p: c[sources] for p, c in known.items()} | {step.parameter: values}
    for test in tests:
        mask = test(reached)
        sources, reached = sources[mask], {p: c[mask] for p, c in reached.items()}
    return sources, reached


def _candidates(step: Choice, rows: Index, known: Columns) -> tuple[Index, Column]:
    if step.divides is not None and step.values is None:
        return _divisors(step, step.divides, rows, known)
    values = column(_range(step) if step.values is None else list(step.values))
    values = values[_inside(values, step)]
    again = np.tile(np.arange(len(values)), len(rows))
    return np.repeat(rows, len(values)), values[again]


def _range(step: Choice) -> list[int]:
    if step.high is None:
        raise Unsupported(f"parameter {step.parameter} has no upper bound")
    return list(range(step.low, step.high + 1))


def _inside(values: Column, step: Choice) -> NDArray[np.bool_]:
    mask = np.asarray(values >= step.low, dtype=np.bool_)
    return mask if step.high is None else mask & np.asarray(values <= step.high, dtype=np.bool_)


def _divisors(
    step: Choice, form: tuple[Size, Size], rows: Index, known: Columns
) -> tuple[Index, Column]:
    """The divisors of n (minus a shift) at each node; any value in range where n = 0."""
    n, shift = (_whole(a, known, len(rows)) for a in form)
    lists = [_divisor_list(step, a, b) for a, b in zip(n, shift, strict=True)]
    sizes = [len(values) for values in lists]
    values = np.concatenate([*lists, column([])]) if lists else column([])
    return np.repeat(rows, np.array(sizes, dtype=np.intp)), values


def _whole(a: Size, known: Columns, rows: int) -> list[int]:
    num, den = evaluate(a, known, rows)
    pairs = zip(num.tolist(), den.tolist(), strict=True)
    return [int(x) // int(y) if y else 0 for x, y in pairs]


def _divisor_list(step: Choice, n: int, shift: int) -> Column:
    values = column(_range(step)) if n == 0 else column([d - shift for d in divisors(abs(n))])
    return values[_inside(values, step)]


def _merge(live: Sequence[Column], rows: int) -> tuple[Index, Index]:
    """For each row the number of its group (equal in all columns), and a row of each group."""
    if not live:
        return np.zeros(rows, dtype=np.intp), np.arange(min(rows, 1))
    key, radix = live[0], 0
    for i, values in enumerate(live):
        key, radix = _dense(values) if i == 0 else _paired(key, radix, values)
    _, firsts, groups = np.unique(key, return_index=True, return_inverse=True)
    return groups.reshape(-1), firsts


def _dense(values: Column) -> tuple[Column, int]:
    """Values renumbered 0, 1, …, and how many there are."""
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.reshape(-1).astype(np.int64), len(distinct)


def _paired(key: Column, radix: int, values: Column) -> tuple[Column, int]:
    other, size = _dense(values)
    return (
        _dense(key * size + other)
        if radix * size >= 1 << 62
        else (key * size + other, radix * size)
    )

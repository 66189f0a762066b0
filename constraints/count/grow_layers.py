"""The layers of the graph of legal points: a layer has nodes, and edges for the values of one
parameter that pass its tests."""

# key: p parameter, c columns by parameter, n size

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from constraints.count.evaluate_columns import (
    SAFE,
    Column,
    Columns,
    column,
    evaluate,
    largest,
    magnitude,
    predicate,
)
from constraints.count.parameter_choice import Choice
from constraints.relations.divisors import Form, divisors
from constraints.relations.inequality import Inequality
from constraints.relations.parameter_bounds import ENDLESS
from ir.core.frozen import frozen
from ir.core.size import ONE, Name, Poly, Size, quotient
from ir.errors import Unsupported

Index = NDArray[np.intp]
Test = Callable[[Columns], NDArray[np.bool_]]

CHUNK = 1 << 19
MOST_CANDIDATES = 1 << 28


@frozen
class Edges:
    """The choices of one parameter: edge e leads from node `sources[e]` by value `values[e]` to
    node `targets[e]`."""

    parameter: str
    nodes: int
    sources: Index
    values: Column
    targets: Index


def grow(
    steps: Sequence[Choice], ceilings: Mapping[str, int], most: int, until: float
) -> Iterator[Edges]:
    """The edges of the graph of legal points, layer by layer: those of each parameter's choice in
    `steps`, in turn. Some lead to nodes from which no point is reached.

    `ceilings` has the largest value of each parameter. Unsupported is raised if there are more
    edges than `most`, or after the clock time `until`.
    """
    nodes, known, total = 1, dict[str, Column](), 0
    for step in steps:
        tests = [predicate(r, ceilings) for r in step.tests]
        sources, reached = _edges(step, nodes, known, tests, ceilings, most - total, until)
        total += len(sources)
        targets, firsts = _merge(_seen(step, reached, ceilings), len(sources))
        yield Edges(step.parameter, nodes, sources, reached[step.parameter], targets)
        nodes, known = len(firsts), {p: reached[p][firsts] for p in step.live}


def _edges(
    step: Choice,
    nodes: int,
    known: Columns,
    tests: Sequence[Test],
    ceilings: Mapping[str, int],
    most: int,
    until: float,
) -> tuple[Index, dict[str, Column]]:
    found: list[tuple[Index, dict[str, Column]]] = []
    total = 0
    for rows, high in _portions(step, nodes, known, ceilings):
        if found and monotonic() > until:
            raise Unsupported(
                "the time was up while the legal points were counted, at parameter "
                f"{step.parameter}: give more with --time-limit"
            )
        part = _kept(step, rows, high, known, tests)
        total += len(part[0])
        if total > most:
            raise Unsupported(
                f"expected at most {most:,} choices of parameter {step.parameter} in the graph of "
                f"legal points, found {total:,}: too many points to count exactly"
            )
        found.append(part)
    sources = np.concatenate([part[0] for part in found])
    names = [*known, step.parameter]
    return sources, {p: np.concatenate([part[1][p] for part in found]) for p in names}


def _portions(
    step: Choice, nodes: int, known: Columns, ceilings: Mapping[str, int]
) -> Iterator[tuple[Index, Column]]:
    """The nodes of a layer in portions, so that a portion has about `CHUNK` candidate values in
    all. A portion is a pair: the numbers of its nodes, and for each the highest value that the
    step's parameter may have there."""
    high = _highest(step, nodes, known, ceilings)
    reach = np.cumsum(_widths(step, high))
    if len(reach) and reach[-1] > MOST_CANDIDATES:
        raise Unsupported(
            f"expected at most {MOST_CANDIDATES:,} values of parameter {step.parameter} to try, "
            f"found {int(reach[-1]):,}: too many points to count exactly, unless it is fixed"
        )
    cuts = np.searchsorted(reach, np.arange(CHUNK, int(reach[-1]) if nodes else 0, CHUNK))
    for rows in np.split(np.arange(nodes), np.unique(cuts)):
        yield rows, high[rows]


def _widths(step: Choice, high: Column) -> NDArray[np.float64]:
    """The approximate number of candidate values of the step's parameter at each node; `high` has
    the highest value at each."""
    if step.values is not None:
        return np.full(len(high), max(1, len(step.values)), dtype=np.float64)
    spans = np.maximum(1.0, (high - step.low + 1).astype(np.float64))
    return spans if step.divides is None else np.minimum(64.0, spans)


def _highest(step: Choice, nodes: int, known: Columns, ceilings: Mapping[str, int]) -> Column:
    """An upper bound of the step's parameter at each of `nodes` nodes, from the inequalities that
    this choice decides; `known` has the values of earlier parameters there, `ceilings` their
    largest values."""
    high = column([_most(step)] * nodes)
    exact = {q: c.astype(object) for q, c in known.items()}
    for cap in step.caps:
        safe = max(largest(cap.left, ceilings), largest(cap.right, ceilings)) < SAFE
        high = np.minimum(high, _capped(cap, step.parameter, known if safe else exact, nodes))
    return high


def _capped(cap: Inequality, p: str, known: Columns, nodes: int) -> Column:
    """The upper bound that the inequality `cap` sets on the parameter p at each node: its right
    side less the terms without p, over the factor of p.

    Powers of p are bounded by p² >= p.
    """
    factor: Column = np.zeros(nodes, dtype=np.int64)
    room = _sum(cap.right, known, nodes)
    for monomial, k in cap.left:
        rest = tuple((atom, n) for atom, n in monomial if atom != Name(p))
        value = _sum(((rest, k),), known, nodes)
        factor, room = (factor + value, room) if rest != monomial else (factor, room - value)
    ceiling = np.maximum(room, -1) // np.maximum(factor, 1)
    return np.where(np.asarray(factor > 0, dtype=np.bool_), ceiling, SAFE)


def _sum(p: Poly, known: Columns, nodes: int) -> Column:
    return evaluate(quotient(p, ONE), known, nodes)[0]


def _kept(
    step: Choice, rows: Index, high: Column, known: Columns, tests: Sequence[Test]
) -> tuple[Index, dict[str, Column]]:
    sources, values = _candidates(step, rows, high, {p: c[rows] for p, c in known.items()})
    reached = {p: c[sources] for p, c in known.items()} | {step.parameter: values}
    for test in tests:
        mask = test(reached)
        sources, reached = sources[mask], {p: c[mask] for p, c in reached.items()}
    return sources, reached


def _candidates(step: Choice, rows: Index, high: Column, known: Columns) -> tuple[Index, Column]:
    if step.values is not None:
        values = column([v for v in step.values if step.low <= v <= _most(step)])
        again = np.tile(np.arange(len(values)), len(rows))
        return np.repeat(rows, len(values)), values[again]
    if step.divides is not None:
        return _divisors(step, step.divides, rows, high, known)
    return _ranges(step.low, rows, high)


def _most(step: Choice) -> int:
    return step.high if step.high is not None else ENDLESS


def _ranges(low: int, rows: Index, high: Column) -> tuple[Index, Column]:
    """The pairs (row, value) for all rows and all values from `low` to the row's `high`."""
    widths = np.maximum(0, high - low + 1).astype(np.intp)
    ends = np.cumsum(widths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(rows, widths), low + np.arange(total) - np.repeat(ends - widths, widths)


def _divisors(
    step: Choice, form: Form, rows: Index, high: Column, known: Columns
) -> tuple[Index, Column]:
    """The pairs (node, value), for the nodes `rows` and values up to `high` there, in which the
    value plus a shift divides a size at the node; `form` has the size and the shift. Where the size
    is 0, all values in range are taken."""
    n, shift = (_whole(a, known, len(rows)) for a in form)
    zero = np.asarray(n == 0, dtype=np.bool_)
    at, found = _each_divisor(np.where(zero, 1, np.abs(n)))
    values = found - shift[at]
    fits = np.asarray((values >= step.low) & (values <= high[at]), dtype=np.bool_) & ~zero[at]
    sources, values = rows[at[fits]], values[fits]
    if not zero.any():
        return sources, values
    if (high[zero] - step.low).max() >= MOST_CANDIDATES:
        raise Unsupported(
            f"expected parameter {step.parameter} to have an upper bound, found none: all that is "
            "asked of it is to divide a size that is 0, and every number does"
        )
    others, free = _ranges(step.low, rows[zero], high[zero])
    order = np.argsort(np.concatenate([sources, others]), kind="stable")
    return np.concatenate([sources, others])[order], np.concatenate([values, free])[order]


def _each_divisor(n: Column) -> tuple[Index, Column]:
    """The pairs (row, divisor) for all divisors of each number in the column n."""
    distinct, which = np.unique(n, return_inverse=True)
    lists = [divisors(int(a)) for a in distinct]
    sizes = np.array([len(values) for values in lists], dtype=np.intp)
    table = column([d for values in lists for d in values])
    places, steps = _ranges(0, np.arange(len(n)), sizes[which] - 1)
    return places, table[(np.cumsum(sizes) - sizes)[which][places] + steps]


def _whole(a: Size, known: Columns, rows: int) -> Column:
    num, den = evaluate(a, known, rows)
    return np.asarray(num // np.where(np.asarray(den == 0, dtype=np.bool_), 1, den))


def _seen(step: Choice, reached: Columns, ceilings: Mapping[str, int]) -> list[Column]:
    """The values of each size in `step.keys` at the points `reached`, as columns. Later choices
    depend on the parameters chosen so far through these sizes alone, so points whose rows are equal
    in all columns may share a node."""
    rows = len(reached[step.parameter])
    exact = {p: c.astype(object) for p, c in reached.items()}
    return [
        evaluate(a, reached if magnitude(a, ceilings) < SAFE else exact, rows)[0] for a in step.keys
    ]


def _merge(live: Sequence[Column], rows: int) -> tuple[Index, Index]:
    """The group of each row, where rows equal in all columns form a group, and one row of each
    group."""
    if not live:
        return np.zeros(rows, dtype=np.intp), np.arange(min(rows, 1))
    key, radix = live[0], 0
    for i, values in enumerate(live):
        key, radix = _dense(values) if i == 0 else _paired(key, radix, values)
    _, firsts, groups = np.unique(key, return_index=True, return_inverse=True)
    return groups.reshape(-1), firsts


def _dense(values: Column) -> tuple[Column, int]:
    """The column with its values renumbered 0, 1, …, and the number of different ones."""
    distinct, groups = np.unique(values, return_inverse=True)
    return groups.reshape(-1).astype(np.int64), len(distinct)


def _paired(key: Column, radix: int, values: Column) -> tuple[Column, int]:
    other, size = _dense(values)
    return (
        _dense(key * size + other)
        if radix * size >= 1 << 62
        else (key * size + other, radix * size)
    )

"""Reductions as folds: which bodies are `acc + g(x)`, and their elements combined all at once.

The body is evaluated once for all elements, on an accumulator that only remembers what is added to
it (`Acc`). If every cell comes back in its place, the reduction is `init + sum of g(x)`.
"""

# key: op one of + * max min, t type

from collections.abc import Callable
from math import prod

import numpy as np

from ir.contract import Named, Numbers, extent, reduce_axes
from ir.inputs import known
from ir.types import Array, Tuple, Type, Vector
from ir.values import (
    Acc,
    Group,
    Leaf,
    NotAFold,
    Value,
    cast,
    check_ceiling,
    constant,
    force,
    from_array,
    pointwise,
    product,
    shape,
    to_array,
    widened,
)

FOLDS: dict[str, np.ufunc] = {
    "+": np.add,
    "*": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _divide(a: Numbers, b: Numbers) -> object:
    return (np.floor_divide if a.dtype.kind in "iu" else np.true_divide)(a, b)


ARITHMETIC: dict[str, Callable[..., object]] = {
    **FOLDS,
    "-": np.subtract,
    "/": _divide,
    "%": np.mod,
}


def binary(op: str, a: Value, b: Value) -> Value:
    """a op b, where one of them may be a reduction's accumulator."""
    match a, b:
        case Leaf(), Leaf():
            return product(a, b) if op == "*" else pointwise(ARITHMETIC[op], (a, b))
        case Acc(), Leaf():
            return accumulate(op, a, b)
        case Leaf(), Acc() if op in FOLDS:
            return accumulate(op, b, a)
    raise NotAFold


def accumulate(op: str, acc: Acc, delta: Leaf) -> Acc:
    """acc op delta; a difference is a sum of the negative."""
    if op == "-":
        op, delta = "+", product(delta, constant(np.asarray(-1)))
    if op not in FOLDS or acc.op not in (None, op):
        raise NotAFold
    return Acc(acc.owner, acc.index, op, (*acc.deltas, widened(delta, shape(acc.index))))


def accumulator(t: Type, dims: tuple[int, ...] = ()) -> Value:
    """An accumulator of type t that has met nothing yet."""
    match t:
        case Array(elem, n):
            return accumulator(elem, (*dims, known(n)))
        case Tuple(parts):
            return tuple(accumulator(part, dims) for part in parts)
        case Vector(_, n):
            dims = (*dims, known(n))
    check_ceiling(8 * prod(dims))
    return Acc(object(), from_array(np.arange(prod(dims)).reshape(dims)))


def finish(start: Value, end: Value, group: Group) -> Value:
    """The accumulator after all elements: each delta combined over the axes of the elements."""
    match start, end:
        case Acc(), Acc() if start.owner is end.owner and _in_place(start.index, end.index):
            op = end.op or "+"
            combined = tuple(_combine(op, delta, group) for delta in end.deltas)
            return Acc(end.owner, end.index, end.op, combined)
        case tuple(), tuple():
            return tuple(finish(a, b, group) for a, b in zip(start, end, strict=True))
    raise NotAFold


def _in_place(start: Leaf, end: Leaf) -> bool:
    own = {axis for group in end.dims for axis in group}
    if any(axis not in own for axis in end.factors[0].axes):
        return False
    return np.array_equal(to_array(start), to_array(end))


def _combine(op: str, delta: Leaf, group: Group) -> Leaf:
    if op == "+":
        total = Leaf(delta.factors, delta.dims, (*delta.summed, *group))
        return total if len(delta.factors) > 1 else force(total)
    (a,) = force(delta).factors
    result = reduce_axes(FOLDS[op], a, [axis for axis in group if axis in a.axes])
    times = extent(axis for axis in group if axis not in a.axes)
    if op == "*" and times > 1:
        power = np.power(result.data, np.asarray(times).astype(result.data.dtype))
        result = Named(np.asarray(power), result.axes)
    return Leaf((result,), delta.dims)


def begin(init: Value, total: Value) -> Value:
    """init combined with what was accumulated."""
    match init, total:
        case ((Leaf() | Acc()), Acc(_, _, op, deltas)):
            for delta in deltas:
                init = _enter_once(op or "+", init, delta)
            return init
        case tuple(), tuple():
            return tuple(map(begin, init, total))
    raise NotAFold


def _enter_once(op: str, init: Leaf | Acc, delta: Leaf) -> Leaf | Acc:
    if isinstance(init, Acc):
        return accumulate(op, init, delta)
    if op == "+" and _is_zero(init):
        return widened(cast((init, delta))[1], shape(init))
    return pointwise(FOLDS[op], (init, delta))


def _is_zero(leaf: Leaf) -> bool:
    return all(not a.axes and not a.data.any() for a in leaf.factors)

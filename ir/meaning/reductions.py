"""Reductions as folds: a reduction whose body is `acc + g(x)` combines all elements at once.

The body is evaluated once for all elements, on an accumulator that only records what is added to it
(`Acc`). If every cell of the accumulator comes back at its own place, the reduction is `init + sum
of g(x)`.
"""

# key: op one of + * max min, t type

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from ir.core.types import Array, Tuple, Type, Vector
from ir.errors import UserError
from ir.meaning.arithmetic import ARITHMETIC, FOLDS, cast, pointwise, product, repeated, shape
from ir.meaning.inputs import known
from ir.meaning.layout import at
from ir.meaning.named_axes import Named, extent, reduce_axes
from ir.meaning.values import (
    Acc,
    Group,
    Leaf,
    NotAFold,
    TooBig,
    Value,
    check_ceiling,
    constant,
    count,
    each,
    enter,
    force,
    from_array,
    halves,
    to_array,
)

LOOP = 100_000  # elements of a reduction taken one after another

Step = Callable[[Value, Value], Value]


def fold(step: Step, acc: Type, init: Value, xs: Value) -> Value:
    """The left fold of xs by `step` from `init`, which is broadcast to the accumulator's type."""
    init = _widen(init, acc)
    try:
        return _at_once(step, acc, init, xs)
    except NotAFold:
        return _loop(step, init, xs)


def _at_once(step: Step, acc: Type, init: Value, xs: Value) -> Value:
    """The left fold of xs by `step` from `init`, of all elements at once, or of one half after the
    other if that is too big; raises NotAFold if the body is not `acc + g(x)`."""
    try:
        elements, group = enter(xs)
        start = accumulator(acc)
        total = finish(start, step(start, elements), group)
    except TooBig:
        if count(xs) == 1:
            raise
    else:
        return begin(init, total)
    first, second = halves(xs)
    return _at_once(step, acc, _at_once(step, acc, init, first), second)


def _loop(step: Step, init: Value, xs: Value) -> Value:
    """The left fold of xs by `step` from `init`, element by element, for all enclosing maps at
    once."""
    if count(xs) > LOOP:
        raise UserError(
            f"a reduction of {count(xs):,} elements whose body is not acc + g(x) "
            f"(or * max min); the interpreter loops over at most {LOOP:,}"
        )
    acc, elements = each(force, init), each(force, xs)
    for k in range(count(elements)):
        acc = each(force, step(acc, each(partial(at, k=k), elements)))
    return acc


def _widen(init: Value, t: Type, dims: tuple[int, ...] = ()) -> Value:
    """The initial value of a reduction as a value of the accumulator's type t: its numbers are
    repeated along the lanes of vectors. `dims` are the sizes of the array dimensions around it."""
    match t:
        case Array(elem, n):
            return _widen(init, elem, (*dims, known(n)))
        case Tuple(parts):
            assert isinstance(init, tuple)
            return tuple(_widen(i, part, dims) for i, part in zip(init, parts, strict=True))
        case Vector(_, n):
            dims = (*dims, known(n))
    return each(lambda leaf: repeated(leaf, dims), init)


def binary(op: str, a: Value, b: Value) -> Value:
    """The value of a op b, where a or b may be the accumulator of a reduction."""
    match a, b:
        case Leaf(), Leaf():
            return product(a, b) if op == "*" else pointwise(ARITHMETIC[op], (a, b))
        case Acc(), Leaf():
            return accumulate(op, a, b)
        case Leaf(), Acc() if op in FOLDS:
            return accumulate(op, b, a)
    raise NotAFold


def accumulate(op: str, acc: Acc, delta: Leaf) -> Acc:
    """The accumulator acc, in which `delta` is recorded as something that is added to it, or
    combined with it by op; if op is a difference, the negative of `delta` is added."""
    if op == "-":
        op, delta = "+", product(delta, _minus_one(delta))
    if op not in FOLDS or acc.op not in (None, op):
        raise NotAFold
    return Acc(acc.owner, acc.index, op, (*acc.deltas, repeated(delta, shape(acc.index))))


def _minus_one(like: Leaf) -> Leaf:
    return constant(np.asarray(-1, like.factors[0].data.dtype))


def accumulator(t: Type, dims: tuple[int, ...] = ()) -> Value:
    """An accumulator of type t to which nothing has been added yet; `dims` are the sizes of the
    array dimensions around it."""
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
    """The accumulator after all elements, from its states before and after one step: each delta
    that the step recorded is combined over the axes `group`, those of the elements.

    Raises NotAFold if a cell of the accumulator did not come back at its own place.
    """
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
    """The value of `init` combined with the deltas that are recorded in `total`, an accumulator."""
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
        return repeated(cast((init, delta))[1], shape(init))
    return pointwise(FOLDS[op], (init, delta))


def _is_zero(leaf: Leaf) -> bool:
    return all(not a.axes and not a.data.any() for a in leaf.factors)

"""Arithmetic on values of the interpreter, element by element, after their axes are aligned."""

# key: f function on arrays

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ir.meaning.named_axes import Axis, Named, Numbers, elementwise, extent, union
from ir.meaning.values import (
    FACTORS,
    Group,
    Leaf,
    Value,
    check_room,
    enter,
    force,
    leaves,
    on_factors,
)

FOLDS: dict[str, np.ufunc] = {
    "+": np.add,
    "*": np.multiply,
    "max": np.fmax,  # a number rather than NaN
    "min": np.fmin,
}


def _divide(a: Numbers, b: Numbers) -> object:
    """The quotient a / b, as NumPy has it: ints round down, and an int divided by 0 gives 0."""
    return (np.floor_divide if a.dtype.kind in "iu" else np.true_divide)(a, b)


def _shift(f: np.ufunc) -> Callable[[Numbers, Numbers], object]:
    """The shift f with its amount reduced modulo the number of bits of the shifted operand."""
    return lambda a, b: f(a, b & np.asarray(8 * a.dtype.itemsize - 1, b.dtype))


ARITHMETIC: dict[str, Callable[..., object]] = {
    **FOLDS,
    "-": np.subtract,
    "/": _divide,
    "%": np.mod,
    "<<": _shift(np.left_shift),
    ">>": _shift(np.right_shift),
    "&": np.bitwise_and,
    "|": np.bitwise_or,
}


COMPARED: dict[str, np.ufunc] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def compared(op: str, whole: "np.dtype[np.generic]") -> Callable[[Numbers, Numbers], object]:
    """The function that compares two arrays by `op`, number by number; its results are 1 or 0, of
    the type `whole`."""
    return lambda a, b: COMPARED[op](a, b).astype(whole)


def chosen(c: Numbers, a: Numbers, b: Numbers) -> object:
    """The numbers of a where c is not 0, and of b elsewhere."""
    return np.where(c != 0, a, b)


def cospi(x: Numbers | float) -> Numbers:
    """The cosine of pi x, exact where it is 0 or ±1."""
    return sinpi(np.asarray(x) + 0.5)


def sinpi(x: Numbers | float) -> Numbers:
    """The sine of pi x, exact where it is 0 or ±1: x is folded into -1/2 … 1/2 first."""
    half = np.asarray(x) - 2 * np.round(np.asarray(x) / 2)
    near = np.where(np.abs(half) > 0.5, np.sign(half) - half, half)
    return np.asarray(np.sin(np.pi * near))


UNARY: dict[str, Callable[..., object]] = {
    "neg": np.negative,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "cospi": cospi,
    "sinpi": sinpi,
    "abs": np.absolute,
}


def unify(found: Sequence[Leaf]) -> list[Leaf]:
    """The leaves with equal dimensions, in the same axes; a leaf with fewer dimensions is
    repeated."""
    depth = max(len(leaf.dims) for leaf in found)
    value: Value = tuple(leaf for leaf in found if leaf.dims)
    dims: tuple[Group, ...] = ()
    for _ in range(depth):
        value, group = enter(value)
        dims = (*dims, group)
    entered = iter(leaves(value))
    return [replace(next(entered) if leaf.dims else leaf, dims=dims) for leaf in found]


def shape(leaf: Leaf) -> tuple[int, ...]:
    """The sizes of a leaf's dimensions."""
    return tuple(map(extent, leaf.dims))


def repeated(leaf: Leaf, sizes: Sequence[int]) -> Leaf:
    """The leaf with dimensions of these sizes added inside, along which it is repeated."""
    lacking = tuple((Axis(n),) for n in sizes[len(leaf.dims) :])
    return replace(leaf, dims=leaf.dims + lacking)


def widened(leaf: Leaf, whole: "np.dtype[np.generic]") -> Leaf:
    """The leaf with whole numbers narrower than `whole` converted to it, after what is multiplied
    or summed to make them, which wraps around in their own type; other numbers are unchanged."""

    def narrow(a: Named) -> bool:
        return a.data.dtype.kind in "iu" and a.data.dtype.itemsize < whole.itemsize

    def wide(a: Named) -> Named:
        return Named(a.data.astype(whole), a.axes) if narrow(a) else a

    return on_factors(force(leaf), wide) if any(map(narrow, leaf.factors)) else leaf


def as_real(leaf: Leaf, real: "np.dtype[np.generic]") -> Leaf:
    """The leaf with its numbers converted to the type `real` if they are whole; what is multiplied
    or summed to make them is computed in whole numbers first."""
    if all(a.data.dtype.kind == "f" for a in leaf.factors):
        return leaf
    return on_factors(force(leaf), lambda a: Named(a.data.astype(real, copy=False), a.axes))


def cast(found: Sequence[Leaf]) -> list[Leaf]:
    """The leaves with integers converted to floats, if there are floats among them."""
    dtypes = [a.data.dtype for leaf in found for a in leaf.factors]
    real = [dtype for dtype in dtypes if dtype.kind == "f"]
    if not real or len(real) == len(dtypes):
        return list(found)
    return [as_real(leaf, real[0]) for leaf in found]


def pointwise(f: Callable[..., object], found: Sequence[Leaf]) -> Leaf:
    """The leaf of f applied to elements at the same place in each of these leaves."""
    forced = [force(leaf) for leaf in unify(cast(found))]
    arrays = [leaf.factors[0] for leaf in forced]
    check_room(union(arrays), forced[0].dims, arrays[0].data.itemsize)
    return Leaf((elementwise(f, arrays),), forced[0].dims)


def product(a: Leaf, b: Leaf) -> Leaf:
    """The leaf a * b, as factors that are not multiplied out."""
    x, y = unify(cast((force(a) if a.summed else a, force(b) if b.summed else b)))
    both = Leaf((*x.factors, *y.factors), x.dims)
    return force(both) if len(both.factors) > FACTORS else both

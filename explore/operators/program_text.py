"""Helpers to write the text of programs: types, numbers, and functions applied to inner arrays."""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import numpy as np

from explore.onnx_model.onnx_graph import SCALARS, Array
from ir.errors import Unsupported

Order: TypeAlias = tuple[int, ...]
"""For each axis of a result the axis of the array that it is."""

NAME = "layer"  # of every program of ours, until it gets a place in a network


@cache
def definitions() -> dict[str, str]:
    """The definitions of `operators.lift` by name, in their order: a later one may call earlier
    ones."""
    text = files("explore.operators").joinpath("operators.lift").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    parts = re.split(r"\n(?=[a-z]\w*\()", f"\n{code}")
    return {part.split("(", 1)[0]: part.rstrip() for part in parts if part.strip()}


def with_helpers(program: str) -> str:
    """The text of a program, below the definitions of `operators.lift` that it uses, directly or
    through others."""
    known = definitions()
    used, left = set[str](), [program]
    while left:
        for name in set(re.findall(r"[a-z]\w*", left.pop())) & known.keys() - used:
            used.add(name)
            left.append(known[name])
    return "\n".join([*(known[name] for name in known if name in used), "", program])


def array_type(dtype: str, dims: Sequence[int]) -> str:
    """The text of the type of an array of these sizes, of numbers of the NumPy type `dtype`;
    Unsupported if the language has no such numbers."""
    if dtype not in SCALARS:
        raise Unsupported(f"the language has no numbers of the type {dtype}")
    text = SCALARS[dtype]
    for n in reversed(dims or (1,)):
        text = f"[{text}]{n}"
    return text


def number(x: float | int) -> str:
    """The text of a number in a program; Unsupported for NaN."""
    if isinstance(x, int):
        return str(x) if x >= 0 else f"({x})"
    if math.isnan(x):
        raise Unsupported("expected a number that a program can hold, found NaN")
    text = "inf" if math.isinf(x) else repr(abs(float(x)))
    return text if math.copysign(1.0, x) > 0 else f"(-{text})"


def literal(array: Array) -> str:
    """The text of the only number of an array, as an int if it is of a whole type."""
    if np.issubdtype(array.dtype, np.integer):
        n = int(array.item())
        return f"{n}i" if n >= 0 else f"(-{-n}i)"
    return number(float(array.item()))


def sizes(ns: Sequence[int]) -> str:
    """The text of several sizes: `(1, 2)`."""
    return f"({', '.join(number(int(n)) for n in ns)})"


def under(depth: int, f: Callable[[str], str], e: str) -> str:
    """The text of f applied to the arrays that lie `depth` levels inside e."""
    if depth == 0:
        return f(e)
    inner = f"in{depth}"
    return f"map({inner} -> {under(depth - 1, f, inner)}, {e})"


def permuted(e: str, order: Order) -> str:
    """The text of the view of e in which the axis number order[k] of e is axis k."""
    now = list(range(len(order)))
    for place, axis in enumerate(order):
        for k in range(now.index(axis), place, -1):
            now[k - 1], now[k] = now[k], now[k - 1]
            e = under(k - 1, lambda inner: f"transpose({inner})", e)
    return e


def channels_last(rank: int) -> Order:
    """The order in which the axes of a tensor are stored with its channels (axis 1) at the end."""
    return (0, *range(2, rank), 1)


def inverse(order: Order) -> Order:
    """The order of axes that undoes another."""
    return tuple(order.index(axis) for axis in range(len(order)))


def flat(e: str, rank: int) -> str:
    """The text of the list of all numbers of e, an array of `rank` axes."""
    return e if rank <= 1 else f"flatten({e})"


def joined_axes(e: str, count: int) -> str:
    """The text of e with its first axes, so many, as one axis."""
    for _ in range(count - 1):
        e = f"join({e})"
    return e


def shaped(e: str, dims: Sequence[int]) -> str:
    """The text of the array of these sizes that holds the numbers of the list e."""
    for n in reversed(list(dims)[1:]):
        e = f"split({n}, {e})"
    return e

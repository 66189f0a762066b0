"""Conversions between number types, on NumPy arrays."""

# key: x y numbers, q the step between neighbouring numbers

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ir.core.conversions import Conversion
from ir.core.frozen import frozen
from ir.core.types import LARGEST, LONG, RANGES
from ir.meaning.named_axes import Numbers

CHUNK = 1 << 14  # numbers that are converted at once

WHOLE: "dict[str, np.dtype[np.generic]]" = {
    "long": np.dtype(np.int64),
    "int": np.dtype(np.int32),
    "short": np.dtype(np.int16),
    "ushort": np.dtype(np.uint16),
    "char": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
}


@frozen
class Format:
    """A format of real numbers: its number of binary `digits`; the `least` exponent e of its normal
    numbers, written as m · 2^e with m from 0.5 up to 1; and its `largest` number."""

    digits: int
    least: int
    largest: float


FORMATS = {
    "half": Format(11, -13, LARGEST["half"]),
    "bfloat": Format(8, -125, LARGEST["bfloat"]),
    "float": Format(24, -125, LARGEST["float"]),
}


def converted(x: Numbers, to: Conversion, real: "np.dtype[np.generic]") -> Numbers:
    """The numbers x converted as `to` says, for an evaluation whose floats have type `real`.

    Narrower real numbers are rounded to their format, but held in type `real` too.
    """
    if to.target.name == "float" and x.dtype.kind == "f":
        return x
    return in_chunks(lambda part: _converted(part, to, real), x)


def _converted(x: Numbers, to: Conversion, real: "np.dtype[np.generic]") -> Numbers:
    name = to.target.name
    if name in WHOLE:
        return _to_whole(x, to)
    if name == "float" and to.rounding == "rte":
        return x.astype(real)
    y = _as_float(x, to.rounding) if x.dtype.kind != "f" else x.astype(np.float64)
    return rounded(y, FORMATS[name], to.rounding).astype(real)


def cut_off(x: Numbers, digits: int) -> Numbers:
    """The floats x with as many leading binary digits, the others cut off, in the type of x."""
    kept = replace(FORMATS["float"], digits=digits)
    return rounded(np.asarray(x, np.float64), kept, "rtz").astype(x.dtype)


def _as_float(x: Numbers, way: str) -> NDArray[np.float64]:
    """The whole numbers x rounded to floats by the rounding `way`, as doubles; the lowest bits of a
    long, which a double lacks, are accounted for."""
    if way == "rte":
        return x.astype(np.float32).astype(np.float64)
    high = np.asarray(x, np.int64)
    low = np.where(np.abs(high) >> 53 != 0, np.sign(high) * (np.abs(high) & 1023), 0)
    return rounded((high - low).astype(np.float64), FORMATS["float"], way)


def _to_whole(x: Numbers, to: Conversion) -> Numbers:
    """The numbers x as whole numbers: rounded to int or long, then wrapped around or saturated to
    the target."""
    if x.dtype.kind == "f":
        y = np.asarray(x, np.float64)
        y = np.where(np.isnan(y), 0.0, np.rint(y) if to.rounding == "rte" else np.trunc(y))
        least, largest = RANGES["long" if to.target == LONG else "int"]
        inside = (y > least) & (y < largest)  # a double rounds the largest long up
        x = np.where(inside, y, 0).astype(np.int64) + np.where(
            inside, 0, np.where(y > 0, largest, least)
        )
    if to.saturates:
        x = np.clip(np.asarray(x, np.int64), *RANGES[to.target.name])
    return np.asarray(x).astype(WHOLE[to.target.name])


def in_chunks(f: Callable[[Numbers], Numbers], x: Numbers) -> Numbers:
    """The numbers f(x), where f works number by number, computed chunk by chunk if they are many:
    the arrays that f makes on the way are then kept in a cache, which is up to 15 times as fast.

    Of windows that overlap in memory, f is computed of each number once.
    """
    if x.size <= CHUNK:
        return f(x)
    step = x.itemsize
    held = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)) // step
    if held < x.size and all(s >= 0 and s % step == 0 for s in x.strides):
        once = _in_chunks(f, as_strided(x, (held,), (step,), writeable=False))
        strides = [s // step * once.itemsize for s in x.strides]
        return as_strided(once, x.shape, strides, writeable=False)
    order = sorted(range(x.ndim), key=lambda d: -abs(x.strides[d]))  # as they lie in memory
    lying = x.transpose(order)
    made = _in_chunks(f, lying.reshape(-1)).reshape(lying.shape)
    return made.transpose(np.argsort(order))


def _in_chunks(f: Callable[[Numbers], Numbers], flat: Numbers) -> Numbers:
    begin = f(flat[:CHUNK])
    made = np.empty(flat.size, begin.dtype)
    made[:CHUNK] = begin
    for start in range(CHUNK, flat.size, CHUNK):
        made[start : start + CHUNK] = f(flat[start : start + CHUNK])
    return made


def rounded(x: NDArray[np.float64], to: Format, way: str) -> NDArray[np.float64]:
    """The numbers x rounded to a format: to nearest, ties to even (rte), or towards zero (rtz)."""
    _, exponent = np.frexp(x)
    q = np.ldexp(1.0, np.maximum(exponent, to.least) - to.digits)
    y = (np.rint if way == "rte" else np.trunc)(x / q) * q
    beyond = np.inf if way == "rte" else to.largest
    y = np.where(np.abs(y) > to.largest, np.copysign(beyond, x), y)
    return np.where(np.isfinite(x), y, x)

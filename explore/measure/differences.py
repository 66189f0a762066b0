"""Two arrays compared number by number, chunk by chunk: differences of large arrays stay in the
cache, and no array is made of them all."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 14  # numbers: as doubles, a part of what the nearest caches hold

Array = NDArray[Any]
Doubles = NDArray[np.float64]


def largest_difference(out: Array, right: Array) -> float:
    """The largest distance between numbers at the same place of two arrays, by doubles; 0 if the
    arrays are empty."""
    return _over(differences(out, right), lambda d: np.abs(d, out=d).max(), np.max)


def norm_of_differences(out: Array, right: Array) -> float:
    """The Euclidean norm of the difference of two arrays."""
    return float(np.sqrt(_over(differences(out, right), _squared, np.sum)))


def norm(xs: Array) -> float:
    """The Euclidean norm of the finite numbers of an array. Like all here it is computed without
    BLAS, whose threads stay awake and disturb later timings."""
    return float(np.sqrt(_over(_chunks(xs), _finite_squared, np.sum)))


def differences(out: Array, right: Array) -> Iterator[Doubles]:
    """The differences of two arrays as doubles, chunk by chunk; each chunk overwrites the one
    before it. Equal infinities, and two that are no numbers, differ by 0; a number that is finite
    or none in one array alone differs infinitely."""
    if out.size != right.size:
        raise ValueError(f"expected {right.size} numbers, found {out.size}")
    flat = np.asarray(right).ravel()
    for place, chunk in enumerate(_chunks(out)):
        start = place * CHUNK
        part = flat[start : start + len(chunk)]
        alike = _alike(chunk, part)
        with np.errstate(invalid="ignore"):
            chunk -= part
        if not np.isfinite(chunk).all():
            chunk[~np.isfinite(chunk)] = np.inf
            chunk[alike] = 0
        yield chunk


def _chunks(xs: Array) -> Iterator[Doubles]:
    """The numbers of an array as doubles, chunk by chunk, each in the place of the one before."""
    flat, room = np.asarray(xs).ravel(), np.empty(CHUNK)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        chunk = room[: len(part)]
        np.copyto(chunk, part, casting="unsafe")
        yield chunk


def _alike(chunk: Doubles, part: Array) -> Any:
    """The mask of the places at which both arrays hold the same infinity, or both no number; False
    where the first has only finite numbers."""
    if np.isfinite(chunk).all():
        return False
    return (chunk == part) | (np.isnan(chunk) & np.isnan(part))


def _finite_squared(chunk: Doubles) -> Any:
    chunk[~np.isfinite(chunk)] = 0
    return _squared(chunk)


def _squared(chunk: Doubles) -> Any:
    return np.square(chunk, out=chunk).sum()


def _over(
    chunks: Iterator[Doubles], each: Callable[[Doubles], Any], all_: Callable[[Any], Any]
) -> float:
    """The number that `all_` makes of what `each` makes of every chunk; 0 if there are none."""
    found = [each(chunk) for chunk in chunks]
    return float(all_(found)) if found else 0.0

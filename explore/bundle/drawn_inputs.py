"""The inputs that are drawn from a seed, in Python as in drawn_inputs.c, for a bundle's programs.
Each number is a hash of the seed, of the array that it is for, and of its place there.

Bundles hold a copy of this file, so it imports nothing of ours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

DTYPES = {
    "float": np.float32,
    "half": np.float16,
    "bfloat": np.uint16,  # the upper bits of a float
    "int": np.int32,
    "long": np.int64,
    "short": np.int16,
    "ushort": np.uint16,
    "char": np.int8,
    "uchar": np.uint8,
}
DIGITS = {"float": 24, "half": 11, "bfloat": 8}  # bits of the numbers that a type holds exactly
SAMPLES = 64  # numbers of each result that are brought back
OUTPUTS = 1000  # streams from this one on are of results; those before, of inputs
CHUNK = 1 << 18  # numbers drawn at once: their hashes fit in a cache


def mixed(z: Bits) -> Bits:
    """The hash (splitmix64's) of each of the numbers z."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def drawn_bits(seed: int, stream: int, first: int, count: int) -> Bits:
    """The hashes for `count` places of an array, from place `first` on, by the seed and the array's
    number `stream`."""
    key: Bits = mixed(np.array([seed % 2**64], np.uint64))
    key = mixed(np.add(key, np.uint64(stream), dtype=np.uint64))
    places: Bits = np.arange(first, first + count, dtype=np.uint64)
    return mixed(np.add(key, places, dtype=np.uint64))


def drawn_input(seed: int, number: int, scalar: str, count: int, whole: bool) -> NDArray[Any]:
    """The `count` numbers of input `number`, as a device stores them in the type `scalar`: reals
    spread over -1 to 1, or, if `whole`, whole numbers from -3 to 3 (from 0 for types without a
    sign)."""
    found = np.empty(count, DTYPES[scalar])
    for first in range(0, count, CHUNK):
        bits = drawn_bits(seed, number, first, min(CHUNK, count - first))
        found[first : first + CHUNK] = _stored(bits, scalar, whole)
    return found


def _stored(bits: Bits, scalar: str, whole: bool) -> NDArray[Any]:
    digits = DIGITS.get(scalar, 0)
    if digits and not whole:
        drawn = (bits >> np.uint64(64 - digits)).astype(np.float64) * 2.0 ** (1 - digits) - 1
    elif scalar in ("ushort", "uchar"):
        drawn = ((bits >> np.uint64(33)) % np.uint64(4)).astype(np.float64)
    else:
        drawn = ((bits >> np.uint64(33)) % np.uint64(7)).astype(np.float64) - 3
    if scalar == "bfloat":
        return (drawn.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return drawn.astype(DTYPES[scalar])


def sampled_places(seed: int, output: int, count: int) -> NDArray[np.intp]:
    """The places whose numbers are brought back as samples: drawn from the seed, in result number
    `output`, which has `count` numbers."""
    bits = drawn_bits(seed, OUTPUTS + output, 0, SAMPLES)
    return (bits % np.uint64(count)).astype(np.intp)


def values_of(stored: NDArray[Any], scalar: str) -> NDArray[np.float64]:
    """The numbers in `stored`, of the type `scalar`, as doubles; −0 becomes 0."""
    if scalar == "bfloat":
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float64) + 0.0


def without_signs_of_zero(stored: NDArray[Any], scalar: str) -> NDArray[Any]:
    """The numbers in `stored` with 0 for −0, so that equal results have equal bytes."""
    if scalar == "bfloat":
        return np.where(stored == 0x8000, 0, stored).astype(np.uint16)
    return np.asarray(stored + DTYPES[scalar](0))

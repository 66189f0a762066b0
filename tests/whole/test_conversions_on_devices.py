"""Tests that conversions between number types give NumPy's results on devices: for every half,
bfloat, byte and short, and for floats and ints at the edges of what a type holds."""

import ml_dtypes
import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from ir.core.conversions import CONVERSIONS
from ir.core.types import RANGES
from ir.meaning.inputs import STORED, Numbers
from ir.meaning.interpret import evaluate
from ir.parse import parse

EVERY = 1 << 16
NARROW = [name for name, dtype in STORED.items() if dtype.itemsize <= 2]


def edges(rng: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    """The floats next to the ends of each type's range, floats halfway between two neighbours of a
    type, and floats of random bits."""
    ends = [float(end) for pair in RANGES.values() for end in pair]
    halves = np.arange(EVERY, dtype=np.uint16).view(np.float16).astype(np.float32)
    bfloats = np.arange(EVERY, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    some = np.concatenate([np.asarray(ends, np.float32), halves[::61], bfloats[::61]])
    with np.errstate(all="ignore"):
        beside = [np.nextafter(some, np.float32(to)) for to in (-np.inf, np.inf)]
        ties = [(some + np.roll(some, 1)) / 2, some + np.float32(0.5), some - np.float32(0.5)]
    bits = rng.integers(0, 2**32, EVERY, dtype=np.uint32).view(np.float32)
    found = np.concatenate([some, *beside, *ties, halves, bfloats, bits])
    return np.resize(found, len(found) // 16 * 16)


def given(source: str) -> Numbers:
    """The numbers of the type `source` that the tests convert: all of them if it has one or two
    bytes, else those at the edges of types."""
    dtype, rng = STORED[source], np.random.default_rng()
    match source:
        case "float":
            return edges(rng)
        case "int" | "long":
            least, largest = RANGES[source]
            ends = [end + k for pair in RANGES.values() for end in pair for k in (-1, 0, 1)]
            known = np.asarray([end for end in ends if least <= end <= largest], dtype)
            drawn = rng.integers(least, largest, EVERY, np.int64)
            some = np.concatenate([known, drawn >> rng.integers(0, 63, EVERY)]).astype(dtype)
            return np.resize(some, EVERY)
    return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)


def same(a: Numbers, b: Numbers) -> bool:
    """True if the numbers are equal, where NaN equals NaN, and zeros have equal signs."""
    if a.dtype == b.dtype and a.dtype.kind in "iu":
        return np.array_equal(a, b)
    x, y = a.astype(np.float64), b.astype(np.float64)
    nan = np.isnan(x)
    alike = np.array_equal(nan, np.isnan(y)) and np.array_equal(x[~nan], y[~nan])
    return alike and np.array_equal(np.signbit(x[~nan]), np.signbit(y[~nan]))


@pytest.mark.parametrize("half_arithmetic", [False, True])
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("source", STORED)
def test_every_conversion_is_the_interpreters_bit_for_bit(
    sessions: tuple[Session, ...], source: str, width: int, half_arithmetic: bool
) -> None:
    if half_arithmetic and source not in ("half", "float", "char"):
        return
    xs = given(source).astype(STORED[source])
    for target in STORED:
        names = [op for op, c in CONVERSIONS.items() if c.target.name == target]
        body = f"x -> ({', '.join(f'{op}(x)' for op in names)})"
        mapped = f"mapGlobal(0)({body}, xs)"
        if width > 1:
            mapped = f"asScalar(mapGlobal(0)(vectorized {body}, asVector({width}, xs)))"
        program = parse(f"f(xs : [{source}]{len(xs)}) = {mapped}")
        plan = generate(program, half_arithmetic=half_arithmetic).plan
        assert not [v for proof in prove_texts(plan) for v in proof.failures]
        right = evaluate(program, {"xs": xs}, np.float32)
        for session in sessions:
            if plan.uses_half and not session.device.half:
                continue
            found = session.build(plan, checking=True)({"xs": xs})
            for op, a, b in zip(names, found, right, strict=True):
                assert same(a, b), (op, _first(xs, a, b))


def _first(xs: Numbers, a: Numbers, b: Numbers) -> tuple[object, ...]:
    x, y = a.astype(np.float64), b.astype(np.float64)
    differ = ~((x == y) | (np.isnan(x) & np.isnan(y))) | (np.signbit(x) != np.signbit(y))
    at = int(np.argmax(differ))
    return xs[at], a[at], b[at], int(differ.sum())


@pytest.mark.parametrize("target", ["half", "bfloat", "float"])
@pytest.mark.parametrize("source", ["half", "bfloat", "float", "char", "uchar", "short", "ushort"])
def test_conversions_to_real_numbers_are_those_of_numpy_and_ml_dtypes(
    sessions: tuple[Session, ...], source: str, target: str
) -> None:
    xs = given(source).astype(STORED[source])
    program = parse(f"f(xs : [{source}]{len(xs)}) = mapGlobal(0)(x -> {target}(x), xs)")
    with np.errstate(all="ignore"):
        right = xs.astype(np.float32).astype(STORED[target])
    for session in sessions:
        found = session.build(generate(program).plan, checking=True)({"xs": xs})
        assert found.dtype == STORED[target]
        assert same(found, right), _first(xs, found, right)

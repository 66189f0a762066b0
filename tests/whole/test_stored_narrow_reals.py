"""Tests that halves and bfloats that are stored in memory have 16 bits there, in the interpreter
and on every device: the results are the same to the last bit."""

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.meaning.inputs import STORED
from ir.meaning.interpret import computed, evaluate
from ir.parse import parse

SUMS = "mapGlobal(0)(p -> reduceSeq(0.0, (a, x) -> a + float(x), p), slide(3, 1, {made}))"
PROGRAMS = {  # in which floats are exact, and products have more bits than are stored
    "stored": SUMS.format(made="store(mapGlobal(0)((x, y) -> x * y, zip(xs, ys)))"),
    "stored in tuples": SUMS.format(
        made="map(p -> p.0, store(mapGlobal(0)((x, y) -> (x * y, 1), zip(xs, ys))))"
    ),
    "local": "join(mapWorkgroup(0)(part -> mapLocal(0)(x -> float(x), "
    "toLocal(mapLocal(0)((x, y) -> x * y, part))), split(11, zip(xs, ys))))",
}


@pytest.mark.parametrize("t", ["half", "bfloat"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_stored_is_rounded_alike(sessions: tuple[Session, ...], t: str, name: str) -> None:
    program = parse(f"f(xs : [{t}]77, ys : [{t}]77) =\n  {PROGRAMS[name]}")
    rng = np.random.default_rng()
    xs, ys = ((rng.integers(-128, 129, 77) / 128).astype(STORED[t]) for _ in range(2))
    right = np.asarray(evaluate(program, {"xs": xs, "ys": ys}))
    rounded = (xs.astype(np.float32) * ys.astype(np.float32)).astype(STORED[t]).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(rounded, 3).sum(axis=-1)
    assert np.array_equal(right, rounded if name == "local" else windows)
    assert t == "half" or not np.array_equal(rounded, xs.astype(np.float64) * ys)
    made = generate(program, max_work_group=64)
    demand_proofs(made)
    for session in sessions:
        out = session.build(made.plan, checking=True)({"xs": xs, "ys": ys})
        assert np.array_equal(np.asarray(out, np.float64), right)


@pytest.mark.parametrize(("t", "most"), [("half", 65504.0), ("bfloat", 3.3895314e38)])
def test_what_16_bits_do_not_hold_is_infinite_where_it_is_stored(t: str, most: float) -> None:
    program = parse(f"f(xs : [{t}]3) = map(x -> float(x), store(map(x -> x + x, xs)))")
    out = np.asarray(evaluate(program, {"xs": np.array([most, -most, 1.0])}))
    assert out.tolist() == [np.inf, -np.inf, 2.0]


EVERY = """
f(xs : [{t}]65536, ys : [{t}]4) = map(y -> map(x -> (x * y, x + y, y - x), xs), ys)
"""
OTHERS = (1.0, -(2.0**-10), 60000.0, 1.0009765625)


@pytest.mark.parametrize("t", ["half", "bfloat"])
def test_results_of_16_bits_are_what_devices_store(sessions: tuple[Session, ...], t: str) -> None:
    """Of every number of 16 bits: ties, what is too large, and what is below normal numbers."""
    program, kind = parse(EVERY.format(t=t)), np.dtype(STORED[t])
    xs = np.arange(65536, dtype=np.uint16).view(kind)
    ys = np.array(OTHERS).astype(kind)
    x, y = xs.astype(np.float32), ys.astype(np.float32)[:, None]
    with np.errstate(all="ignore"):
        right = [made.astype(kind) for made in (x * y, x + y, y - x)]
    made = generate(lowering(program, "naive").program)
    demand_proofs(made)
    results = [evaluate(program, {"xs": xs, "ys": ys})]
    results += [s.build(made.plan, checking=True)({"xs": xs, "ys": ys}) for s in sessions]
    tiny = 0 if t == "half" else 2.0**-126  # devices may take floats below it for 0
    for result in results:
        for out, numbers in zip(result, right, strict=True):
            alike = (np.abs(numbers.astype(float)) >= tiny) | np.isnan(numbers)
            alike &= (np.abs(x) >= tiny) | (x == 0)
            found, wanted = np.asarray(out, float)[alike], numbers.astype(float)[alike]
            assert alike.mean() > 0.7
            assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize(("t", "digits"), [("half", 11), ("bfloat", 8)])
def test_sums_are_rounded_once_where_they_are_results(t: str, digits: int) -> None:
    program = parse(f"f(xs : [{t}]3) = (sum(xs), map(x -> x * x, xs), float(sum(xs)))")
    for last, total in ((2.0**-digits, 1 + 2.0 ** (1 - digits)), (0.0, 1.0)):  # the second: a tie
        inputs = {"xs": np.array([1.0, 2.0**-digits, last])}
        stored, alone = evaluate(program, inputs), computed(program, inputs)
        exact = 1 + 2.0**-digits + last
        assert (stored[0], stored[2], alone[0]) == (total, exact, exact)
        assert np.array_equal(stored[1], np.square(inputs["xs"]))

"""Tests of arrays that stay on the device from one variant's run to the next variant's, and of the
processor time of a call."""

import time
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from codegen.runtime.devices import Device
from codegen.runtime.session import session_of
from explore.api import compile
from explore.run.compiled_variant import Compiled
from ir.errors import UserError
from tests.support.pace import yardstick

SCALED = "p(const w : [float]4, xs : [[float]5]4) = map((x, s) -> map(e -> e * s, x), zip(xs, w))"
PAIRED = "q(xs : [[float]5]4) = (map(row -> sum(row), xs), map(row -> argmax(row), xs))"
HOST = 1 / 200  # of a yardstick: what a call takes beyond the driver's own, at most


@pytest.fixture(scope="module")
def scaled() -> Compiled:
    made = compile(SCALED, "naive")
    made(np.arange(4, dtype=np.float32), np.ones((4, 5), np.float32))
    return made


def test_what_one_variant_makes_on_the_device_another_takes_there(scaled: Compiled) -> None:
    xs = np.random.default_rng().integers(-9, 9, (4, 5)).astype(np.float32)
    there = scaled(xs=scaled.to_device(xs))
    total, largest = compile(PAIRED, "naive")(there)
    expected = xs * np.arange(4, dtype=np.float32)[:, None]
    assert "[4, 5]" in repr(there)
    assert np.array_equal(np.asarray(there), expected)
    assert np.array_equal(np.asarray(total), expected.sum(1))
    assert np.array_equal(np.asarray(largest), expected.argmax(1))
    assert largest.dtype == np.int32
    assert np.asarray(total, np.float64).dtype == np.float64


def test_arrays_of_the_host_stand_beside_those_of_the_device() -> None:
    added = compile("p(a : [float]3, b : [float]3) = map((x, y) -> x + y, zip(a, b))", "naive")
    a, b = np.random.default_rng().integers(0, 9, (2, 3)).astype(np.float32)
    assert np.array_equal(np.asarray(added(a, added.to_device(b))), a + b)
    assert np.array_equal(added(a, b), a + b)


def test_an_array_of_the_device_that_does_not_fit_is_refused(scaled: Compiled) -> None:
    with pytest.raises(UserError, match=r"'xs' is float32 \[5, 4\], expected float32 \[4, 5\]"):
        scaled(xs=scaled.to_device(np.zeros((5, 4), np.float32)))
    with pytest.raises(UserError, match="'xs' is int32"):
        scaled(xs=scaled.to_device(np.zeros((4, 5), np.int32)))
    with pytest.raises(UserError, match="expected a host's array for 'w'"):
        scaled(scaled.to_device(np.zeros(4, np.float32)), np.zeros((4, 5), np.float32))
    with pytest.raises(ValueError, match="copied to be read"):
        np.asarray(scaled.to_device(np.zeros(2, np.float32)), copy=False)


def least_seconds(call: Callable[[], object]) -> float:
    """The processor's seconds that a call takes on its thread, in the quickest of a few batches;
    other processes do not count in it."""
    taken = []
    for _ in range(9):
        begun = time.thread_time_ns()
        for _ in range(100):
            call()
        taken.append((time.thread_time_ns() - begun) / 100e9)
    return min(taken)


def test_a_call_costs_its_host_little_beside_the_driver(scaled: Compiled, device: Device) -> None:
    xs = np.ones((4, 5), np.float32)
    scaled(xs=xs)
    session = session_of(device)
    there, out = session.allocate(xs.nbytes), np.empty_like(xs)
    (name,) = (b.name for b in scaled.plan.buffers if b.role.value == "output")
    made = session.allocate(xs.nbytes)
    buffers = {"xs": there, name: made}
    scaled.built.launch(buffers)
    recorded = scaled.built._launches_on(buffers)

    def driver() -> None:
        cl.enqueue_copy(session.queue, there, xs)
        for call in recorded.calls:
            call()
        cl.enqueue_copy(session.queue, out, made)

    before = yardstick()
    taken = least_seconds(lambda: scaled(xs=xs)) - least_seconds(driver)
    assert taken < HOST * max(before, yardstick())

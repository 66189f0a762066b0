"""Tests of batches of inferences and of launches that are recorded once and repeated: with a
simulated clock, and on devices."""

from collections.abc import Sequence
from itertools import count

import numpy as np
import pyopencl as cl
import pytest

from codegen.runtime.built_program import KEPT
from codegen.runtime.c_calls import loader
from codegen.runtime.queue import Recorded
from codegen.runtime.results import RunFailed
from codegen.runtime.series import MOST, Series, launched
from codegen.runtime.session import Session
from ir.errors import UserError
from tests.codegen.test_runtime import X, Y, adding, chain, numbers, packing


class Queue:
    """A simulated command queue with its host's clock: a launch takes the host `launch_ns`
    nanoseconds, and a kernel the device `kernel_ns`."""

    def __init__(self, launch_ns: int, kernel_ns: int) -> None:
        self.launch_ns, self.kernel_ns = launch_ns, kernel_ns
        self.now = self.free = 0
        self.seen: list[int] = []

    def clock(self) -> int:
        return self.now

    def turn(self, number: int, kernels: int = 1, status: int = 0) -> Recorded:
        def call() -> int:
            self.seen.append(number)
            self.now += self.launch_ns
            self.free = max(self.free, self.now) + self.kernel_ns
            return status

        return Recorded((call,) * kernels)

    def finish(self) -> None:
        self.now = max(self.now, self.free)


def series(queue: Queue, turns: Sequence[Recorded]) -> Series:
    given: object = queue
    return Series(given, turns, queue.clock)  # type: ignore[arg-type]


def test_an_inference_of_long_kernels_takes_what_they_take() -> None:
    queue = Queue(launch_ns=5, kernel_ns=1000)
    assert series(queue, [queue.turn(0, kernels=3)]).batch(100) == pytest.approx(3000, rel=0.001)


def test_an_inference_of_short_kernels_takes_what_launches_take() -> None:
    queue = Queue(launch_ns=5000, kernel_ns=10)
    assert series(queue, [queue.turn(0, kernels=3)]).batch(100) == pytest.approx(15000, rel=0.001)


def test_inputs_come_in_turns_from_batch_to_batch() -> None:
    queue = Queue(1, 1)
    found = series(queue, [queue.turn(number) for number in range(3)])
    for _ in range(3):
        found.batch(2)
    assert queue.seen == [0, 1, 2, 0, 1, 2]


def test_a_batch_has_two_inferences_at_least_and_not_too_many() -> None:
    found = series(Queue(1, 1), [])
    assert found.enough(1e12) == 2
    assert found.enough(1e5) == 80
    assert found.enough(0.0) == MOST


def test_a_launch_that_the_driver_refuses_is_a_failure() -> None:
    queue = Queue(1, 1)
    with pytest.raises(RunFailed, match="OpenCL error -5"):
        series(queue, [queue.turn(0, status=-5)]).batch(1)
    with pytest.raises(RunFailed, match="OpenCL error -5"):
        launched(queue.turn(0, status=-5))


def test_a_series_leaves_what_a_call_gives(sessions: tuple[Session, ...]) -> None:
    for session in sessions:
        program = session.build(chain())
        inputs = [numbers(seed) for seed in (3, 4, 5)]
        turns = [session.copies({"x": x})[0] for x in inputs]
        clock = count().__next__
        program.series({"x": inputs[0]}, turns, clock).batch(5)
        left = np.empty_like(X)
        session.read(left, program._memory.view("z"))
        np.testing.assert_array_equal(left, program({"x": inputs[4 % 3]}))


def test_launches_recorded_once_see_new_contents_of_their_buffers(session: Session) -> None:
    program = session.build(adding())
    flags, given = cl.mem_flags.READ_WRITE, {}
    for name in "xyz":
        given[name] = cl.Buffer(session.context, flags, X.nbytes)
    for seed in (7, 8):
        x = numbers(seed)
        session.write(given["x"], x)
        session.write(given["y"], Y)
        program.launch(given)
        out = np.empty_like(X)
        session.read(out, given["z"])
        np.testing.assert_array_equal(out, x + Y)
    assert len(program._recorded) == 1


def test_buffers_of_the_caller_are_kept_for_the_last_few_sets_only(session: Session) -> None:
    program = session.build(adding())
    for seed in range(KEPT + 3):
        (given,) = session.copies({"x": numbers(seed), "y": Y})
        out = session.allocate(X.nbytes)
        program.launch({**given, "z": out})
        left = np.empty_like(X)
        session.read(left, out)
        np.testing.assert_array_equal(left, numbers(seed) + Y)
    assert len(program._recorded) == KEPT
    program.release()
    assert not program._recorded


def test_constants_set_anew_reach_launches_that_were_recorded(session: Session) -> None:
    program = session.build(packing())
    first = program({"x": X, "w": Y})
    np.testing.assert_array_equal(first, X + 10 * Y[::-1])
    np.testing.assert_array_equal(program({"x": X, "w": X}), X + 10 * X[::-1])


def test_the_loader_is_the_one_that_pyopencl_was_linked_to() -> None:
    assert loader(cl._cl.__file__).clEnqueueNDRangeKernel


def test_a_launch_without_buffers_does_not_run_on_ours(session: Session) -> None:
    program = session.build(adding())
    program({"x": X, "y": Y})
    with pytest.raises(UserError, match="missing"):
        program.launch({})

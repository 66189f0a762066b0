"""The checking and timing of variants, done by the one worker that owns the device.

A variant is timed by two clocks. First come device times of its kernels, in a few runs: they tell
whether the variant is hopeless, and how its time is shared among its kernels. Then comes the time
that counts: inferences back to back, with the yardstick between batches.
"""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from codegen.runtime.built_program import Program as Built
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound
from codegen.runtime.session import Session, open_device
from codegen.runtime.timings import Timing, hopeless
from explore.measure.back_to_back import readings
from explore.measure.measure_tasks import Again, Measure, Passes, turns_of
from explore.measure.reference import (
    Array,
    Expected,
    Reference,
    inputs_of,
)
from explore.measure.reference_file import load_reference
from explore.measure.some_groups import some_groups
from explore.measure.yardstick import Yardstick
from explore.results.pace import Level, Reading, slowdown
from explore.results.records import Failed, Measured
from ir.core.nodes import Program
from ir.meaning.inputs import arrays_of

WARMUP, RUNS, LIMIT = 2, 7, 0.3  # runs, runs, seconds a variant, by the device's clock
STEADY = 0.02  # of the median: runs that agree as much need no others beside them
PASS_BATCHES, PASS_LIMIT = 3, 0.8  # of measuring the front again
LONG = 10e6  # nanoseconds of an inference: what is as long is tried on some of its groups first
FEWEST = 2  # passes: a time without a spread says too little


@dataclass(slots=True)
class Meter:
    """The state of the worker that measures: the open device, two sets of inputs, of real numbers
    (`inputs`) and of whole numbers (`whole`), their right results, the largest error of a right
    result, copies of the inputs that vary, used in turns, and the yardstick."""

    device: Device
    session: Session
    inputs: Mapping[str, Array]
    whole: Mapping[str, Array]
    reference: Reference
    max_error: float
    turns: Sequence[Mapping[str, Any]]  # buffers with the inputs that vary, one after the other
    yardstick: Yardstick


def meter(
    device: Device, program: Program, seed: int, reference: Path | bytes, max_error: float
) -> Meter:
    """The meter for a device, with inputs for `seed`, and with the right results in the file
    `reference`, or in its bytes; results with an error above `max_error` are wrong. It is made once
    in the worker."""
    given = inputs_of(program, seed), inputs_of(program, seed, integers=True)
    varying = [p.var.name for p in program.params if not p.const]
    right = load_reference(reference)
    return meter_of(device, open_device(device), given, varying, right, max_error)


def meter_of(
    device: Device,
    session: Session,
    given: tuple[Mapping[str, Array], Mapping[str, Array]],
    varying: Sequence[str],
    right: Reference,
    max_error: float,
) -> Meter:
    """The meter for a device in a session, with the `given` inputs of real and of whole numbers, of
    which those named in `varying` change from run to run, and with the right results."""
    inputs, whole = given
    changing = {name: inputs[name] for name in varying}
    size = sum(array.nbytes for array in changing.values())
    return Meter(
        device,
        session,
        inputs,
        whole,
        right,
        max_error,
        session.copies(changing, turns_of(size)),
        Yardstick.on(session),
    )


def measure(state: Meter, task: Measure | Again) -> Measured | Failed | Passes:
    """Check and time one plan for its outcome; or several plans, for their readings in each pass.

    A fault of the driver (`RunFailed`) is not caught: it ends the worker, whose context is lost.
    """
    try:
        return _again(state, task) if isinstance(task, Again) else _measured(state, task)
    except BuildFailed as error:
        return Failed("build", (error.log.splitlines() or ["no reason given"])[0], error.log)
    except (GuardViolated, PoisonFound) as error:
        return Failed("verify", str(error))


def _measured(state: Meter, task: Measure) -> Measured | Failed:
    by_some = _by_some_groups(state, task) if task.in_part else None
    if by_some is not None:
        return by_some
    checked = state.session.build(task.plan, checking=True)
    try:
        found = _checked(state, checked, task)
    finally:
        checked.release()
    if isinstance(found, Failed):
        return found
    error, seen = found
    outcome = _timed(state, checked, task, seen)
    return replace(outcome, error=error, build_ns=task.build_ns, code_bytes=checked.code_bytes)


def _by_some_groups(state: Meter, task: Measure) -> Measured | None:
    """The outcome of a plan that takes long by some of its groups, without an error, as no result
    was checked. None for any other plan, and for one with few groups."""
    part = some_groups(task.plan, state.device)
    if not part.few:
        return None
    built = state.session.build(part.plan)
    try:
        foretold = part.foretold(built, state.inputs, state.turns)
    finally:
        built.release()
    if foretold.median_ns < LONG:
        return None
    found = _by_device(foretold, state.yardstick.reading())
    return replace(found, error=None, build_ns=task.build_ns, code_bytes=built.code_bytes)


def _checked(state: Meter, built: Built, task: Measure) -> tuple[float, list[float]] | Failed:
    """The error of a plan's result and the time of each checked run, or a failure if the result is
    wrong.

    Inputs of random numbers in -1 … 1 give the error; for inputs of whole numbers the results must
    be exact, but for the task's `rounding`.
    """
    error = state.reference.error(built(state.inputs))
    seen, exact = [built.checked_ns], state.reference.exact
    if exact is not None:
        wrong = _first_wrong(exact, arrays_of(built(state.whole)), task.rounding)
        if wrong is not None:
            return wrong
        seen.append(built.checked_ns)
    if not error <= state.max_error:
        return Failed("verify", f"error {error:.2g} is over {state.max_error:.2g}", error=error)
    return error, seen


def _first_wrong(exact: Sequence[Expected], out: Sequence[Array], rounding: float) -> Failed | None:
    """A failure that tells the first array of a result which is wrong (by its number, if there are
    several); None if all agree with `exact`, but for `rounding` machine epsilons."""
    for k, (meant, made) in enumerate(zip(exact, out, strict=True)):
        wrong = _wrong(meant, made, rounding)
        if wrong is not None:
            where = f"result {k}: " if len(exact) > 1 else ""
            return replace(wrong, reason=where + wrong.reason)
    return None


def _wrong(exact: Expected, out: Array, rounding: float) -> Failed | None:
    """A failure if an output for whole numbers differs from the exact one; None if it agrees.

    Laws that round may have been used: then up to `rounding` machine epsilons may be lost.
    """
    if exact.agrees(out, rounding):
        return None
    wrong = np.asarray(out, np.float64) != exact.output
    first = [int(i) for i in np.argwhere(wrong)[0]]
    return Failed(
        "verify",
        f"{int(wrong.sum())} of {wrong.size} cells differ on whole-number inputs, first {first}: "
        f"{float(out[tuple(first)]):g}, expected {float(exact.output[tuple(first)]):g}",
        error=exact.lost(out),
    )


def _timed(state: Meter, checked: Built, task: Measure, seen: Sequence[float]) -> Measured:
    """The times of a checked plan, by the device's clock alone if this and the times of its checked
    runs (`seen`) show that it is hopeless, else end to end, too."""
    pace = state.yardstick.reading()
    ceiling = _ceiling_now(task, pace)
    if ceiling is not None and hopeless(seen, ceiling):
        once = min(seen)
        timing = Timing(once, once, once, 1, (), checked.prepack_ns, gave_up=True)
        return _by_device(timing, pace)
    built = checked.unchecked()
    try:
        timing = built.time(state.inputs, RUNS, WARMUP, state.turns, ceiling, LIMIT, STEADY, seen)
        if timing.gave_up:
            return _by_device(timing, pace)
        series = built.series(state.inputs, state.turns)
        return _end_to_end(timing, readings(series, state.yardstick.reading, timing.median_ns))
    finally:
        built.release()


def _ceiling_now(task: Measure, pace_ns: float) -> float | None:
    """The ceiling of a task at the present pace: a slow machine makes all variants slower. None if
    there is no ceiling."""
    if task.ceiling_ns is None:
        return None
    return task.ceiling_ns * max(1.0, slowdown(pace_ns, task.usual_ns))


def _by_device(timing: Timing, pace_ns: float) -> Measured:
    """The outcome of a hopeless variant, by its device times only; `pace_ns` is what the yardstick
    took beside them."""
    return Measured(
        time_ns=timing.median_ns,
        spread=(timing.high_ns - timing.low_ns) / timing.median_ns if timing.median_ns else 0.0,
        error=0.0,
        prepack_ns=timing.prepack_ns,
        runs_ns=(timing.low_ns, timing.median_ns, timing.high_ns),
        kernels_ns=_kernels(timing),
        stopped_early=True,
        clock="device",
        yardstick_ns=pace_ns,
    )


def _end_to_end(timing: Timing, taken: Sequence[Reading]) -> Measured:
    level = Level.of(taken)
    return Measured(
        time_ns=level.median_ns,
        spread=level.spread,
        error=0.0,
        prepack_ns=timing.prepack_ns,
        runs_ns=level.times_ns,
        kernels_ns=_kernels(timing),
        yardstick_ns=level.yardstick_ns,
    )


def _kernels(timing: Timing) -> tuple[float, ...]:
    return tuple(kernel.ns for kernel in timing.kernels)


def _again(state: Meter, task: Again) -> Passes:
    """The readings of a task's plans, pass by pass: each pass runs every plan, so that a slow
    minute affects all of them. The yardstick's first reading does not count: a machine that was
    idle is slow for some milliseconds."""
    found: list[list[Reading]] = [[] for _ in task.plans]
    kernels: list[tuple[float, ...]] = []
    state.yardstick.reading()
    paces = [state.yardstick.reading()]
    until = math.inf if task.limit_s is None else time.monotonic() + task.limit_s
    for turn in range(task.passes):
        if turn >= FEWEST and time.monotonic() > until:
            break
        for taken, plan in zip(found, task.plans, strict=True):
            built = state.session.build(plan)
            timing = built.time(state.inputs, PASS_BATCHES, 1, state.turns, None, PASS_LIMIT)
            series = built.series(state.inputs, state.turns)
            given = (timing.median_ns, PASS_BATCHES, PASS_LIMIT)
            level = Level.of(readings(series, state.yardstick.reading, *given))
            built.release()
            taken.append(Reading(level.median_ns, level.yardstick_ns))
            if turn == 0:
                kernels.append(_kernels(timing))
        paces.append(state.yardstick.reading())
    return Passes(tuple(map(tuple, found)), tuple(kernels), statistics.median(paces))

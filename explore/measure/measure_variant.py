"""The checking and timing of variants on the device, done by the one worker that owns it."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from codegen.plan import Plan
from codegen.runtime.built_program import Program as Built
from codegen.runtime.built_program import hopeless
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound, Timing
from codegen.runtime.session import Session, open_device
from explore.measure.reference import (
    Array,
    Expected,
    Reference,
    inputs_of,
    relative_error,
)
from explore.measure.reference_file import load_reference
from explore.results.records import Failed, Measured
from ir.core.nodes import Program

ROTATED = 64 << 20  # bytes of inputs to go through before one comes again: more than most caches
COPIES = 8
RUN_LIMIT = 60.0  # seconds a variant, checks included
WARMUP, RUNS, LIMIT = 2, 15, 0.6  # runs, runs, seconds a variant
STEADY = 0.02  # of the median: runs that agree as much need no others beside them
PASSES, PASS_RUNS, PASS_LIMIT = 5, 11, 0.8  # of measuring the front again


@dataclass(frozen=True, slots=True)
class Measure:
    """A task to check a plan and time it; one slower than `ceiling_ns` is given up."""

    number: int
    plan: Plan
    ceiling_ns: float | None = None
    build_ns: float = 0.0
    rounding: float = 0.0  # machine epsilons that its derivation may lose on whole numbers


@dataclass(frozen=True, slots=True)
class Again:
    """A task to time plans again that were found right, in turns."""

    plans: tuple[Plan, ...]


@dataclass(slots=True)
class Meter:
    """The state of the worker that measures: the device open, with inputs and references."""

    device: Device
    session: Session
    inputs: Mapping[str, Array]
    whole: Mapping[str, Array]
    reference: Reference
    max_error: float
    turns: Sequence[Mapping[str, Any]]  # buffers with the inputs that vary, one after the other


def meter(device: Device, program: Program, seed: int, reference: Path, max_error: float) -> Meter:
    """A device opened for measuring, with inputs and references; runs once in the worker."""
    inputs, session = inputs_of(program, seed), open_device(device)
    varying = {p.var.name: inputs[p.var.name] for p in program.params if not p.const}
    size = sum(array.nbytes for array in varying.values())
    return Meter(
        device,
        session,
        inputs,
        inputs_of(program, seed, integers=True),
        load_reference(reference),
        max_error,
        session.copies(varying, min(COPIES, max(1, ROTATED // max(1, size)))),
    )


def setup_for(
    device: Device, program: Program, seed: int, reference: Path, max_error: float
) -> "partial[Meter]":
    """The function `meter` with its arguments, as a worker takes it."""
    return partial(meter, device, program, seed, reference, max_error)


def measure(state: Meter, task: Measure | Again) -> Measured | Failed | list[list[float]]:
    """The outcome of checking and timing one plan, or, for several plans, their median times in
    each pass.

    A fault of the driver (`RunFailed`) is not caught: it ends the worker, whose context is lost.
    """
    try:
        return _again(state, task.plans) if isinstance(task, Again) else _measured(state, task)
    except BuildFailed as error:
        return Failed("build", (error.log.splitlines() or ["no reason given"])[0], error.log)
    except (GuardViolated, PoisonFound) as error:
        return Failed("verify", str(error))


def _measured(state: Meter, task: Measure) -> Measured | Failed:
    checked = state.session.build(task.plan, checking=True)
    try:
        found = _checked(state, checked, task)
    finally:
        checked.release()
    if isinstance(found, Failed):
        return found
    error, seen = found
    timing = _timed(state, checked, task, seen)
    return Measured(
        time_ns=timing.median_ns,
        spread=_spread(timing),
        error=error,
        prepack_ns=timing.prepack_ns,
        build_ns=task.build_ns,
        code_bytes=checked.code_bytes,
        runs_ns=(timing.low_ns, timing.median_ns, timing.high_ns),
        kernels_ns=tuple(kernel.ns for kernel in timing.kernels),
        stopped_early=timing.gave_up,
    )


def _checked(state: Meter, built: Built, task: Measure) -> tuple[float, list[float]] | Failed:
    """The error of a plan's result and the time of each checked run, or a failure if the result is
    wrong.

    Random numbers in -1 … 1 give the error; results of whole numbers must be exact.
    """
    error = relative_error(built(state.inputs), state.reference.output)
    seen, exact = [built.checked_ns], state.reference.exact
    if exact is not None:
        wrong = _wrong(exact, built(state.whole), task.rounding)
        if wrong is not None:
            return wrong
        seen.append(built.checked_ns)
    if not error <= state.max_error:
        return Failed("verify", f"error {error:.2g} is over {state.max_error:.2g}", error=error)
    return error, seen


def _hopeless(seen: Sequence[float], task: Measure) -> bool:
    """True if the checked runs were so slow that the variant is not worth timing."""
    return task.ceiling_ns is not None and hopeless(seen, task.ceiling_ns)


def _wrong(exact: Expected, out: Array, rounding: float) -> Failed | None:
    """A failure if results of whole numbers differ from the exact ones; None if they agree.

    Where laws that round were used, they may differ by what these may lose.
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


def _timed(state: Meter, checked: Built, task: Measure, seen: Sequence[float]) -> Timing:
    if _hopeless(seen, task):
        once = min(seen)
        return Timing(once, once, once, 1, (), checked.prepack_ns, gave_up=True)
    built = checked.unchecked()
    try:
        ceiling = task.ceiling_ns
        return built.time(state.inputs, RUNS, WARMUP, state.turns, ceiling, LIMIT, STEADY, seen)
    finally:
        built.release()


def _spread(timing: Timing) -> float:
    return (timing.high_ns - timing.low_ns) / timing.median_ns if timing.median_ns else 0.0


def _again(state: Meter, plans: Sequence[Plan]) -> list[list[float]]:
    """The median times of each plan, pass by pass over all, so that a slow minute falls on all
    alike."""
    found: list[list[float]] = [[] for _ in plans]
    for _ in range(PASSES):
        for medians, plan in zip(found, plans, strict=True):
            built = state.session.build(plan)
            timing = built.time(state.inputs, PASS_RUNS, 1, state.turns, None, PASS_LIMIT)
            built.release()
            medians.append(timing.median_ns)
    return found


def remeasured(before: Measured, medians: Sequence[float]) -> Measured:
    """The outcome `before` with its time taken from new medians of passes."""
    low, middle, high = np.percentile(medians, (25, 50, 75))
    return Measured(
        time_ns=float(statistics.median(medians)),
        spread=float(high - low) / float(middle) if middle else 0.0,
        error=before.error,
        prepack_ns=before.prepack_ns,
        build_ns=before.build_ns,
        code_bytes=before.code_bytes,
        runs_ns=tuple(medians),
        kernels_ns=before.kernels_ns,
    )

"""A variant in words: its derivation, its time and memory, and how far these are from the
bounds."""

from collections.abc import Iterator

from explore.options.units import show_bytes, show_time
from explore.report.traffic_against_bounds import (
    bound_of,
    dataflow_traffic,
    least_traffic,
    sums_on_chip,
)
from explore.results.kernel_code import KernelCode
from explore.results.pace import clock_ns, slower_words
from explore.results.records import Bounds, Clock, Failed, Measured, Predicted, Record, Variant

BEYOND = (
    "; over 100 %, as the form needs fewer operations than the program as written, or what it "
    "reads was in a cache, or the machine was slower than usual when either was measured"
)

UNCHECKED = "not checked, as some of its groups showed that it is hopeless"


def summary(record: Record, bounds: Bounds) -> list[str]:
    """The lines that compare a record's outcome with the bounds, one fact a line."""
    variant = record.variant
    parameters = " ".join(f"{name}={value}" for name, value in variant.parameters)
    facts = [("family", f"{variant.family} {variant.form}".rstrip())]
    facts += [("parameters", parameters or "none"), *_outcome(record), *_bounds(record, bounds)]
    facts += _plan(record)
    return [variant.id, *(f"  {name:<11} {text}" for name, text in facts)]


def _outcome(record: Record) -> Iterator[tuple[str, str]]:
    match record.outcome:
        case Failed(stage, reason):
            yield "failed", f"at {stage}: {reason}"
        case Measured(error=error, prepack_ns=prepack, code_bytes=code):
            yield "time", f"{time_words(record.outcome)}, {clock_words(record.outcome.clock)}"
            yield from _pace(record.outcome)
            yield from _device_times(record)
            yield "error", UNCHECKED if error is None else f"{error:.1e}{_known(record)}"
            yield "prepack", show_time(prepack)
            yield "code", show_bytes(code)
        case Predicted(time, code, least, most):
            between = f", {show_time(least)} to {show_time(most)}" if least and most else ""
            yield "time", f"{show_time(time)} (predicted, never run{between})"
            yield from (("compiled", code_words(c)) for c in code)


def _known(record: Record) -> str:
    """The words for the known error of a record beside the measured one; none where nothing is
    known to be lost."""
    known = record.variant.known_error
    return f", known {known:.1e}" if known else ""


def time_words(outcome: Measured) -> str:
    """A measured time in words, with its spread: `41.1 µs ± 2.0%`."""
    noisy = ", noisy" if outcome.noisy else ""
    how = "in few runs" if outcome.stopped_early else f"± {outcome.spread:.1%}{noisy}"
    return f"{show_time(outcome.time_ns)} {how}"


def pace_words(outcome: Measured) -> str:
    """The pace at which a time was measured, in words; empty if it was the usual one."""
    if outcome.slowdown == 1:
        return ""
    read = show_time(clock_ns(outcome))
    return f"{slower_words(outcome.slowdown)} times slower than usual: the clock read {read}"


def code_words(code: KernelCode) -> str:
    """The code that a compiler made of a kernel, in words: its bytes, the registers that it spills,
    the threads that it leaves room for, and its instructions."""
    spilled = f"{code.spills}:{code.fills} spills:fills, {show_bytes(code.private_bytes)} private"
    numbers = [f"{n:g} {name.replace('_', ' ')}" for name, n in code.counts]
    items = ", ".join(f"{n:.4g} {name.replace('_', ' ')}" for name, n in code.done)
    return (
        f"{code.kernel}: {show_bytes(code.bytes)}, {spilled}, {code.threads:.0%} of the threads; "
        f"{', '.join(numbers)}; a work-item does {items or 'what is not known'} ({code.compiler})"
    )


def clock_words(clock: Clock) -> str:
    """The words for what a time by this clock is: that of an inference end to end, or the sum of
    the times of its kernels on the device."""
    return "end to end" if clock == "end to end" else "the sum of its kernels on the device"


def _pace(outcome: Measured) -> Iterator[tuple[str, str]]:
    """The fact (name, text) that a time was measured at another pace than the usual one; none if it
    was not."""
    if words := pace_words(outcome):
        yield "pace", words


def _device_times(record: Record) -> Iterator[tuple[str, str]]:
    """The fact (name, text) of the kernels' device times and their sum; none if these are not
    known."""
    outcome, plan = record.outcome, record.variant.plan
    if not isinstance(outcome, Measured) or plan is None or not outcome.kernels_ns:
        return
    names = (kernel.name for kernel in plan.kernels if not kernel.prepack)
    each = ", ".join(f"{n} {show_time(t)}" for n, t in zip(names, outcome.kernels_ns, strict=False))
    yield "on device", f"{show_time(outcome.device_ns)}: {each}"


def floor_words(bounds: Bounds) -> str | None:
    """The floor of a device in words: the time of an empty launch; None if it is not known."""
    if bounds.launch_ns is None:
        return None
    event = f", its event says {show_time(bounds.event_ns)}" if bounds.event_ns else ""
    return f"an empty launch takes {show_time(bounds.launch_ns)}{event}"


def _bounds(record: Record, bounds: Bounds) -> Iterator[tuple[str, str]]:
    if bounds.roofline_ns and isinstance(record.outcome, Measured) and record.time_ns:
        share = bounds.roofline_ns / record.time_ns
        yield "roofline", f"{share:.0%} of what the device can do" + (BEYOND if share > 1 else "")
    if floor := floor_words(bounds):
        yield "floor", floor
    yield from _traffic(record.variant, bounds)


def _traffic(variant: Variant, bounds: Bounds) -> Iterator[tuple[str, str]]:
    moved, least = variant.traffic_bytes, least_traffic(variant, bounds)
    if moved is None or not least:
        return
    held = f" with {show_bytes(variant.chip_bytes)} on chip" if variant.chip_bytes else ""
    times = f"{moved / least:.3g} times the bound of {show_bytes(least)}{held}"
    yield "traffic", f"{show_bytes(moved)}, {times} ({bound_of(variant, bounds)})"
    if bounds.products and (volume := dataflow_traffic(variant, bounds)):
        kept = f"with {sums_on_chip(variant, bounds.products.word):,} sums on chip"
        best = f"{show_bytes(volume)} of the io-optimal dataflow {kept}"
        yield "dataflow", f"{moved / volume:.3g} times the {best}"


def _plan(record: Record) -> Iterator[tuple[str, str]]:
    plan = record.variant.plan
    if plan is None:
        return
    yield "memory", show_bytes(plan.memory_bytes)
    yield "workspace", show_bytes(plan.workspace_bytes)
    if record.variant.bank_conflicts is not None:
        yield "banks", f"{record.variant.bank_conflicts:,} turns of local memory lost to conflicts"
    for kernel in plan.kernels:
        once = ", once for the constants" if kernel.prepack else ""
        grid, group = _by(kernel.global_size), _by(kernel.local_size)
        yield "kernel", f"{kernel.name}: {grid} in groups of {group}{once}"
    for buffer in plan.buffers:
        shape = "".join(f"[{n}]" for n in buffer.shape)
        yield "buffer", f"{buffer.name}: {buffer.role.value} {shape}, {show_bytes(buffer.bytes)}"


def _by(size: tuple[int, int, int]) -> str:
    return "×".join(map(str, size))

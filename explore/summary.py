"""A variant in words: how it was made, what it takes, and how far that is from the bounds."""

from collections.abc import Iterator

from explore.records import Bounds, Failed, Measured, Record, least_traffic
from explore.units import show_bytes, show_time


def summary(record: Record, bounds: Bounds) -> list[str]:
    """One fact a line."""
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
        case Measured(time, spread, error, prepack, _, code):
            yield "time", f"{show_time(time)} ± {spread:.1%}"
            yield "error", f"{error:.1e}"
            yield "prepack", show_time(prepack)
            yield "code", show_bytes(code)
        case _:
            yield "time", f"{show_time(record.time_ns)} (predicted, never run)"


def _bounds(record: Record, bounds: Bounds) -> Iterator[tuple[str, str]]:
    variant, least = record.variant, least_traffic(record.variant, bounds)
    if bounds.floor_ns and isinstance(record.outcome, Measured):
        share = bounds.floor_ns / record.outcome.time_ns
        yield "roofline", f"{share:.0%} of what the device can do"
    if variant.traffic_bytes is not None and least:
        moved, times = show_bytes(variant.traffic_bytes), variant.traffic_bytes / least
        held = f" with {show_bytes(variant.chip_bytes)} on chip" if variant.chip_bytes else ""
        yield "traffic", f"{moved}, {times:.3g} times the bound of {show_bytes(least)}{held}"


def _plan(record: Record) -> Iterator[tuple[str, str]]:
    plan = record.variant.plan
    if plan is None:
        return
    yield "memory", show_bytes(plan.memory_bytes)
    yield "workspace", show_bytes(plan.workspace_bytes)
    for kernel in plan.kernels:
        once = ", once for the constants" if kernel.prepack else ""
        grid, group = _by(kernel.global_size), _by(kernel.local_size)
        yield "kernel", f"{kernel.name}: {grid} in groups of {group}{once}"
    for buffer in plan.buffers:
        shape = "".join(f"[{n}]" for n in buffer.shape)
        yield "buffer", f"{buffer.name}: {buffer.role.value} {shape}, {show_bytes(buffer.bytes)}"


def _by(size: tuple[int, int, int]) -> str:
    return "×".join(map(str, size))

"""What the worker on a device does. It alone loads what opens devices, when it begins: the process
that asks knows tasks and results only, and so starts sooner."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.runtime.devices import Device
from explore.measure.measure_tasks import Again, Measure, Passes
from explore.results.records import Failed, Measured
from ir.core.nodes import Program

if TYPE_CHECKING:
    from explore.measure.measure_variant import Meter


def load() -> None:
    """Load what the worker needs."""
    import explore.measure.measure_variant  # noqa: F401


def setup_for(
    device: Device, program: Program, seed: int, reference: Path, max_error: float
) -> "partial[Meter]":
    """A function without arguments that makes the meter for a device; a worker runs it when it
    starts."""
    return partial(meter_for, device, program, seed, reference, max_error)


def meter_for(
    device: Device, program: Program, seed: int, reference: Path | bytes, max_error: float
) -> "Meter":
    """The meter of a worker."""
    from explore.measure.measure_variant import meter

    return meter(device, program, seed, reference, max_error)


def measure(state: "Meter", task: Measure | Again) -> Measured | Failed | Passes:
    """The outcome of a task."""
    from explore.measure import measure_variant

    return measure_variant.measure(state, task)

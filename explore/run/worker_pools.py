"""The processes of a run: those that build variants, and the one that runs them on the device."""

from pathlib import Path

from codegen.runtime.devices import Device
from explore.building.build_variant import setup_for as builder_setup
from explore.building.build_worker import work
from explore.measure.measure_variant import RUN_LIMIT, measure
from explore.measure.measure_variant import setup_for as meter_setup
from explore.measure.reference import largest_error
from explore.options.options import Options
from explore.run.target import Target
from explore.workers.pool import Pool
from explore.workers.workers import Workers
from ir.core.nodes import Program

BUILD_LIMIT = 10.0  # seconds a variant
BUILD_MEMORY = 6 << 30  # bytes a build worker may take


def builder_pool(options: Options, target: Target) -> Workers:
    """The pool of the workers that derive forms and build variants for a target."""
    device, profile = target.device, target.profile
    return Pool(
        work,
        workers=options.workers,
        timeout=BUILD_LIMIT,
        stage="build",
        setup=builder_setup(device, profile.group_items, profile.half_arithmetic),
        max_memory=BUILD_MEMORY,
    )


def device_pool(file: Path, program: Program, options: Options, device: Device) -> Workers:
    """The pool of the one worker that runs things on the device; `file` holds the right results."""
    error = largest_error(program, options.max_error)
    return Pool(
        measure,
        workers=1,
        timeout=RUN_LIMIT,
        stage="run",
        setup=meter_setup(device, program, options.seed, file, error),
    )

"""The processes of a run: those that build variants, and the one that runs them on the device."""

from collections.abc import Mapping
from pathlib import Path

from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.building import build_worker
from explore.building.build_worker import BUILD_LIMIT, BUILD_MEMORY
from explore.measure import measure_worker
from explore.measure.measure_tasks import RUN_LIMIT
from explore.measure.reference import largest_error
from explore.options.options import Options
from explore.record_book.device_facts import DeviceFacts
from explore.workers.hands import Hands
from explore.workers.pool import Pool
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.core.nodes import Program


class Here:
    """The hands of a run on this machine: processes that build, and one that measures."""

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The pool of the workers that derive forms and build variants for a device."""
        return builder_pool(options, device, profile)

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The pool of the one worker that runs variants on the device; `file` holds the right
        results."""
        return device_pool(file, program, options, device)

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of the instructions that the device really has, found by running each in
        another process; a UserError if the device hangs or dies there."""
        from explore.measure.instruction_worker import instructions_in_time  # seldom needed

        return instructions_in_time(device)

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of a device by their names in `Bounds`, measured here; None for what could not
        be measured."""
        from explore.measure.roofline import measured  # seldom needed

        return measured(device)


@frozen
class Knowing:
    """Hands for which the facts of a device are known, so that they are not measured; `others`
    build and measure."""

    others: Hands
    facts: DeviceFacts

    def builders(self, options: Options, device: Device | None, profile: Profile) -> Workers:
        """The workers of the other hands that derive forms and build variants."""
        return self.others.builders(options, device, profile)

    def meters(self, file: Path, program: Program, options: Options, device: Device) -> Workers:
        """The workers of the other hands that run variants on the device; `file` holds the right
        results."""
        return self.others.meters(file, program, options, device)

    def instructions(self, device: Device) -> tuple[str, ...]:
        """The names of the device's instructions, as the facts have them."""
        return self.facts.instructions

    def limits(self, device: Device) -> Mapping[str, float | None]:
        """The limits of the device by their names in `Bounds`, as the facts have them; None for
        what could not be measured."""
        return self.facts.limits


def builder_pool(options: Options, device: Device | None, profile: Profile) -> Workers:
    """The pool of the workers that derive forms and build variants for a device."""
    return Pool(
        build_worker.work,
        workers=options.workers,
        timeout=BUILD_LIMIT,
        stage="build",
        setup=build_worker.setup_for(device, profile),
        load=build_worker.load,
        max_memory=BUILD_MEMORY,
    )


def device_pool(file: Path, program: Program, options: Options, device: Device) -> Workers:
    """The pool of the one worker that runs things on the device; `file` holds the right results."""
    error = largest_error(program, options.max_error)
    return Pool(
        measure_worker.measure,
        workers=1,
        timeout=RUN_LIMIT,
        stage="run",
        setup=measure_worker.setup_for(device, program, options.seed, file, error),
        load=measure_worker.load,
    )

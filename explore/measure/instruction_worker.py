"""The trial of a device's instructions in a process of its own: a device that hangs or dies in it
costs that process alone."""

from codegen.instruction_trial import own_instructions
from codegen.runtime.devices import Device
from explore.results.records import Failed
from explore.workers.pool import Pool
from explore.workers.wait_any import each_done
from ir.errors import UserError

LIMIT = 120.0  # seconds: compilers of phones are slow


def instructions_in_time(device: Device) -> tuple[str, ...]:
    """The names of the instructions that a device really has, found by running each in another
    process; a UserError if the device hangs or dies there."""
    with Pool[Device, tuple[str, ...]](own_instructions, timeout=LIMIT, stage="run") as pool:
        (done,) = each_done(pool, [device])
    if isinstance(done.result, Failed):
        raise UserError(
            f"expected {device.name} ({device.platform}, driver {device.driver}) to run small "
            f"kernels that try its instructions, found: {done.result.reason}; restart the device's "
            "driver, or choose another device with --device"
        )
    return done.result

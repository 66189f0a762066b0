"""The target of a run: a device that is here, or one that is not, given by its profile."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from codegen.runtime.devices import Broken, Device, choose, devices, working
from constraints.devices import (
    CPU,
    H200,
    NUMBERS,
    Limit,
    Profile,
    profile,
    results_of_cpu,
    with_overrides,
)
from explore.options.options import Options
from explore.results.run_environment import Environment
from explore.workers.hands import Hands
from ir.core.frozen import frozen
from ir.errors import UserError

# Operations of a kernel once unrolled: more takes compilers seconds, and seldom pays.
QUICK_CODE = {"gpu": 1 << 11, "cpu": 1 << 9}
Devices = Callable[[], Sequence[Device | Broken]]  # that are there

MOST_ITEMS = 1024  # of a group: CPU runtimes allow more, and run them one after the other


@frozen
class Target:
    """The target of a run: a device that is here, or the profile of one that is not."""

    profile: Profile
    device: Device | None

    @property
    def name(self) -> str:
        return self.device.name if self.device else f"{self.profile.name} (profile)"

    @property
    def platform(self) -> str:
        return self.device.platform if self.device else ""

    @property
    def driver(self) -> str:
        return self.device.driver if self.device else "none: not run"

    @property
    def disturbed_by_builds(self) -> bool:
        """True if the device is a CPU of this machine, so that builds would disturb times measured
        on it."""
        return self.device is not None and self.device.kind != "gpu"


def profile_of(device: Device) -> Profile:
    """The profile of a device: numbers that the driver tells, and for the rest those of its
    kind."""
    base = H200 if device.kind == "gpu" else CPU
    vector = device.vector if device.kind == "cpu" else base.vector
    x, y, z = (*device.max_work_item_sizes, 1, 1, 1)[:3]
    return replace(
        base,
        name=device.name,
        group_items=min(device.max_work_group, MOST_ITEMS),
        group_dims=(x, y, z),
        cores=device.compute_units,
        local_bytes=device.local_bytes,
        dedicated_local=device.local_is_dedicated,
        memory_bytes=device.global_bytes,
        buffer_bytes=device.max_alloc_bytes,
        vector=vector,
        half_arithmetic=device.half,
        results=results_of_cpu(vector) if device.kind == "cpu" else base.results,
        quick_code=QUICK_CODE.get(device.kind, QUICK_CODE["cpu"]),
    )


def target_of(
    device: str | int | Device | None, profile_name: str | None, limits: Iterable[Limit]
) -> Target:
    """The target that a user means: a device, by number or part of its name, or a profile; else the
    best device. `limits` replace numbers of the device or profile."""
    if profile_name is not None:
        if device is not None:
            raise UserError("expected a device or a profile, found both")
        return Target(with_overrides(profile(profile_name), limits), None)
    found = device_meant(device)
    return Target(with_overrides(profile_of(found), limits), found)


def device_meant(device: str | int | Device | None) -> Device:
    """The device that a user names by number or part of its name; None means the best one."""
    if isinstance(device, Device):
        return device
    return choose(None if device is None else str(device))


def tried(target: Target, hands: Hands) -> Target:
    """The target with the instructions that its device really has, found by running them on it;
    unchanged if it is a profile without a device."""
    if target.device is None:
        return target
    found = hands.instructions(target.device)
    return replace(target, profile=replace(target.profile, instructions=found))


def target_again(stored: Environment, options: Options, there: Devices = devices) -> Target:
    """The target of a stored run. Its device is the one of `there` with the name of the run's (best
    with its driver, too), or else the best one: on another device one can look at the run, but not
    go on with it."""
    if name := stored.options.get("profile"):
        return Target(with_overrides(profile(name), options.limits), None)
    device = _likest(stored, there) or choose(None, there())
    return Target(with_overrides(profile_of(device), options.limits), device)


def numbers_of(limits: Profile) -> dict[str, list[int]]:
    """The numbers of a profile, each as a list, as a run stores them."""
    return {
        name: [int(n) for n in (value if isinstance(value, tuple) else (value,))]
        for name in NUMBERS
        if (value := getattr(limits, name)) is not None
    }


def stored_profile(stored: Environment, options: Options) -> Profile:
    """The profile of a stored run's target, as numbers: its device need not be here."""
    if not stored.numbers:
        return target_again(stored, options).profile
    numbers = ((name, tuple(values)) for name, values in stored.numbers.items())
    return with_overrides(replace(CPU, name=stored.device), numbers)


def device_of(stored: Environment) -> Device:
    """The device that a run was made on; a UserError if it is not here, or has another driver
    now."""
    found = _likest(stored, devices)
    if found is None:
        raise UserError(
            f"{stored.where} is not here: the run was made on it, and its kernels are for it; "
            f"{_broken_here()}`explore devices` lists those that are here"
        )
    if found.driver != stored.driver:
        raise UserError(
            f"{stored.where} has driver {found.driver} here, the run was made with driver "
            f"{stored.driver}: times of one do not hold for the other; start a new run"
        )
    return found


def _broken_here() -> str:
    """The devices that do not work here, each with the reason, in words that other words follow;
    the empty text if all work."""
    found = (entry for entry in devices() if isinstance(entry, Broken))
    return "".join(f"{broken.name} does not work now ({broken.reason}); " for broken in found)


def _likest(stored: Environment, there: Devices) -> Device | None:
    """The device of `there` with the name of the stored run's device; if several have it, one with
    the same driver. None if no device has the name."""
    name = (stored.device, stored.platform)
    found = [d for d in working(there()) if (d.name, d.platform) == name]
    return max(found, key=lambda d: d.driver == stored.driver, default=None)

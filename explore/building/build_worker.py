"""What build workers do: they derive forms, and make variants of them.

A worker alone loads the compiler, when it begins: the process that asks knows tasks and results
only, and so starts sooner.
"""

from functools import partial
from typing import TYPE_CHECKING

from codegen.plan import Plan
from codegen.runtime.devices import Device
from constraints.devices import Profile
from explore.building.build_tasks import Again, Made, Task
from explore.results.records import Failed, Variant
from explore.space.derivations import derived
from explore.space.derive_at import DeriveAt
from explore.space.derive_form import Derived, Inapplicable
from explore.space.forms_to_derive import Derive

if TYPE_CHECKING:
    from explore.building.build_variant import Builder

BUILD_LIMIT = 10.0  # seconds a variant
BUILD_MEMORY = 6 << 30  # bytes a build worker may take


def load() -> None:
    """Load what all build workers need."""
    import explore.building.build_variant
    import explore.building.make_again  # noqa: F401


def setup_for(device: Device | None, profile: Profile) -> "partial[Builder]":
    """A function without arguments that makes the builder for a device (None: for one that is not
    here); a worker runs it when it starts."""
    return partial(builder_for, device, profile)


def builder_for(device: Device | None, profile: Profile) -> "Builder":
    """The builder of a worker."""
    from explore.building.build_variant import Builder

    return Builder(device, profile)


def work(
    state: "Builder", task: Derive | DeriveAt | Task | Again
) -> Derived | Inapplicable | Made | Variant | Failed:
    """The result of a task: a derived form, a built variant, or one that is made again. The same
    workers do all of these, so that they share caches."""
    from explore.building.build_variant import make
    from explore.building.make_again import variant_again

    match task:
        case Derive() | DeriveAt():
            return derived(task)
        case Task():
            return make(state, task)
        case Again():
            return variant_again(task)


def remade(task: Again) -> Plan | Failed:
    """The proved plan of a variant that is made again, or the failure of its first stage that
    fails."""
    from explore.building.make_again import make_again

    return make_again(task)

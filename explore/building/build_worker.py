"""The tasks of build workers: to derive a form, or to make a variant of one."""

from explore.building.build_variant import Builder, Made, Task, make
from explore.space.derivations import derived
from explore.space.derive_at import DeriveAt
from explore.space.derive_form import Derived, Inapplicable
from explore.space.forms_to_derive import Derive

BUILD_LIMIT = 10.0  # seconds a variant
BUILD_MEMORY = 6 << 30  # bytes a build worker may take


def work(state: Builder, task: Derive | DeriveAt | Task) -> Derived | Inapplicable | Made:
    """The result of a task: a derived form, or a built variant. The same workers do both, so that
    they share caches."""
    match task:
        case Derive() | DeriveAt():
            return derived(task)
        case Task():
            return make(state, task)

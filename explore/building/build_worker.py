"""The tasks of build workers: they derive forms, then make variants of them."""

from explore.building.build_variant import Builder, Made, Task, make
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive


def work(state: Builder, task: Derive | Task) -> Derived | Inapplicable | Made:
    """The result of a worker's task: a form derived, or a variant made. One process does both, and
    remembers for both."""
    return derive(task) if isinstance(task, Derive) else make(state, task)

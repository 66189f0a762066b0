"""Tasks of the workers that build: forms are derived, then their variants are made."""

from explore.building.build_variant import Builder, Made, Task, make
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive


def work(state: Builder, task: Derive | Task) -> Derived | Inapplicable | Made:
    """Derive a form or make a variant: one process does both, so what it knows serves both."""
    return derive(task) if isinstance(task, Derive) else make(state, task)

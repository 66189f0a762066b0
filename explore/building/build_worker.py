"""What the workers that build do: forms are derived, then their variants are made."""

from explore.building.build_variant import Builder, Made, Task, make
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive


def work(state: Builder, task: Derive | Task) -> Derived | Inapplicable | Made:
    """One process does both, so what it knows of terms serves both."""
    return derive(task) if isinstance(task, Derive) else make(state, task)

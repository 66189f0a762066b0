"""What the workers that build do: forms are derived, then their variants are made."""

from explore.space import Derived, Inapplicable, derive
from explore.tasks import Derive
from explore.variant import Builder, Made, Task, make


def work(state: Builder, task: Derive | Task) -> Derived | Inapplicable | Made:
    """One process does both, so what it knows of terms serves both."""
    return derive(task) if isinstance(task, Derive) else make(state, task)

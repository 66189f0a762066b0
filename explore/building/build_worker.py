"""The tasks of build workers: to derive a form, or to make a variant of one."""

from explore.building.build_variant import Builder, Made, Task, make
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive


def work(state: Builder, task: Derive | Task) -> Derived | Inapplicable | Made:
    """The result of a task: a form derived, or a variant made. One worker does both kinds, so that
    caches serve both."""
    return derive(task) if isinstance(task, Derive) else make(state, task)

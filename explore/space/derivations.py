"""The derivation of forms by workers for a run, while their other tasks go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from explore.results.records import Failed
from explore.space.derive_at import DeriveAt
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive
from explore.workers.done import Done
from explore.workers.workers import Workers
from rewrites.tuning.family import Form

LIMIT = 60.0  # seconds a form

Named = tuple[str, str]  # a family and a form
Derivation: TypeAlias = Derive | DeriveAt
Result: TypeAlias = Derived | Inapplicable


Saw = Callable[[int, int], None]  # how many forms of how many are derived


class Lost(Protocol):
    """The function that is told of a form that a worker could not derive, and why."""

    def __call__(self, form: Form, failed: Failed, /) -> None: ...


class Deriving(Protocol):
    """An object that derives forms: it begins with some when asked to, and gives their results
    later."""

    def begin(self, todo: Sequence[Derive]) -> None:
        """Begin to derive these forms."""

    def taken(self) -> list[Result]:
        """The results of all forms begun since the last call, in the order in which they were
        begun."""


@dataclass(slots=True)
class Here:
    """The derivation of forms in this process, when their results are asked for."""

    begun: list[Derive] = field(default_factory=list)

    def begin(self, todo: Sequence[Derive]) -> None:
        self.begun += todo

    def taken(self) -> list[Result]:
        todo, self.begun = self.begun, []
        return [derive(task) for task in todo]


@dataclass(slots=True)
class Derivations:
    """The derivation of forms by workers: the forms `begun`, and the results of those that are
    `done`. Other tasks that the workers finish meanwhile (builds of the last round) are added to
    `strays`, and `lost` is told of forms that could not be derived."""

    workers: Workers
    lost: Lost
    strays: list[Done[Any, Any]] = field(default_factory=list)
    begun: list[Derivation] = field(default_factory=list)
    done: dict[Named, Result] = field(default_factory=dict)

    def begin(self, todo: Sequence[Derivation]) -> None:
        """Give these forms to the workers."""
        for task in todo:
            self.workers.submit(task, LIMIT)
        self.begun += todo

    def taken(self, saw: Saw = lambda done, total: None) -> list[Result]:
        """The results of all forms begun since the last call, in the order in which they were
        begun; waits until all are derived. `saw` is told how many are done, and how many there
        are."""
        while not all(_key(task.form) in self.done for task in self.begun):
            self.strays += [done for done in self.workers.results() if not self.took(done)]
            saw(len(self.done), len(self.begun))
        todo, self.begun = self.begun, []
        return [self.done.pop(_key(task.form)) for task in todo]

    def took(self, done: Done[Any, Any]) -> bool:
        """Take in a finished task if it was the derivation of a form; returns True if it was."""
        if not isinstance(done.task, Derive | DeriveAt):
            return False
        form, result = done.task.form, done.result
        if isinstance(result, Failed):
            self.lost(form, result)
            result = Inapplicable(form.family, form.name, result.reason)
        self.done[_key(form)] = result
        return True


def _key(form: Form) -> Named:
    return form.family, form.name

"""The derivation of forms by workers for a run, while their other tasks go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from explore.results.records import Failed
from explore.space.derive_at import DeriveAt, derive_at
from explore.space.derive_form import Derived, Inapplicable, derive
from explore.space.forms_to_derive import Derive
from explore.workers.done import Done
from explore.workers.workers import Workers
from rewrites.tuning.family import Form

LIMIT = 60.0  # seconds a form
GLANCE = 1.0  # seconds between looks at the clock

Named = tuple[str, str]  # a family and a form
Derivation: TypeAlias = Derive | DeriveAt
Result: TypeAlias = Derived | Inapplicable


Saw = Callable[[int, int], None]  # how many forms of how many are derived


def unseen(done: int, total: int) -> None:
    """Nobody is told how many forms are derived."""


class Lost(Protocol):
    """The function that is told of a form that a worker could not derive, and why."""

    def __call__(self, form: Form, failed: Failed, /) -> None: ...


class Deriving(Protocol):
    """An object that derives forms: it begins with some when asked to, and gives their results
    later."""

    def begin(self, todo: Sequence[Derivation]) -> None:
        """Begin to derive these forms."""

    def taken(self, saw: Saw = unseen) -> list[Result]:
        """The results of all forms begun since the last call, in the order in which they were
        begun; `saw` is told how many are done, and how many there are."""


def derived(task: Derivation) -> Result:
    """The result of deriving a form in this process."""
    return derive_at(task) if isinstance(task, DeriveAt) else derive(task)


@dataclass(slots=True)
class Here:
    """The derivation of forms in this process, when their results are asked for."""

    begun: list[Derivation] = field(default_factory=list)

    def begin(self, todo: Sequence[Derivation]) -> None:
        self.begun += todo

    def taken(self, saw: Saw = unseen) -> list[Result]:
        todo, self.begun = self.begun, []
        return [derived(task) for task in todo]


@dataclass(slots=True)
class Derivations:
    """The derivation of forms by workers: the forms `begun`, and the results of those that are
    `done`. Other tasks that the workers finish meanwhile (builds of the last round) are added to
    `strays`, and `lost` is told of forms that could not be derived. Once `late()` is true, nothing
    is waited for."""

    workers: Workers
    lost: Lost
    strays: list[Done[Any, Any]] = field(default_factory=list)
    begun: list[Derivation] = field(default_factory=list)
    done: dict[tuple[Named, bool], Result] = field(default_factory=dict)
    late: Callable[[], bool] = lambda: False

    def begin(self, todo: Sequence[Derivation]) -> None:
        """Give these forms to the workers."""
        for task in todo:
            self.workers.submit(task, LIMIT)
        self.begun += todo

    def taken(self, saw: Saw = unseen) -> list[Result]:
        """The results of all forms begun since the last call, in the order in which they were
        begun; waits until all are derived, or until it is late: then the rest is given up. `saw` is
        told how many are done, and how many there are."""
        while not all(_key(task) in self.done for task in self.begun) and not self.late():
            self.strays += [done for done in self.workers.results(GLANCE) if not self.took(done)]
            saw(len(self.done), len(self.begun))
        todo, self.begun = self.begun, []
        return [self.done.pop(_key(task)) for task in todo if _key(task) in self.done]

    def took(self, done: Done[Any, Any]) -> bool:
        """Take in a finished task if it was the derivation of a form; returns True if it was."""
        if not isinstance(done.task, Derive | DeriveAt):
            return False
        form, result = done.task.form, done.result
        if isinstance(result, Failed):
            self.lost(form, result)
            result = Inapplicable(form.family, form.name, result.reason)
        self.done[_key(done.task)] = result
        return True


def _key(task: Derivation) -> tuple[Named, bool]:
    """The family and form of a task, and whether it asks for points of its own."""
    return (task.form.family, task.form.name), isinstance(task, DeriveAt)

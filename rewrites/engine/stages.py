"""Stages of a derivation: the steps that a strategy makes are told together, by its name.

The steps stay one flat list, in which some open stages and some close them, as brackets do; stages
lie inside each other to any depth. `outline` reads the tree of them off any such list.
"""

# key: s strategy, e term

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ir.core.nodes import Expr
from rewrites.engine.rule import Rewritten, Step, Strategy


class Bracketed(Protocol):
    """A step of a derivation, whole or as it is stored: which stages it opens and closes."""

    @property
    def opens(self) -> Sequence[str]: ...
    @property
    def closes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """The steps from `first` up to `end`, by name, and the stages inside."""

    name: str
    first: int
    end: int
    inside: tuple["Stage", ...] = ()

    def all(self) -> Iterator["Stage"]:
        """This stage and those inside it, in order."""
        yield self
        for stage in self.inside:
            yield from stage.all()


def stage(name: str, s: Strategy) -> Strategy:
    """s, with its steps told as one stage of this name."""

    def run(e: Expr) -> Rewritten | None:
        done = s(e)
        return None if done is None else (done[0], staged(name, done[1]))

    return run


def staged(name: str, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps as one stage; where there are none, there is no stage."""
    if not steps:
        return steps
    steps = (replace(steps[0], opens=(name, *steps[0].opens)), *steps[1:])
    return (*steps[:-1], replace(steps[-1], closes=steps[-1].closes + 1))


def outline(steps: Sequence[Bracketed]) -> tuple[Stage, ...]:
    """The outermost stages of a list of steps, each with those inside it."""
    around: list[list[Stage]] = [[]]
    begun: list[tuple[str, int]] = []
    for n, step in enumerate(steps):
        for name in step.opens:
            begun.append((name, n))
            around.append([])
        for _ in range(step.closes):
            inside = tuple(around.pop())
            around[-1].append(Stage(*begun.pop(), n + 1, inside))
    return tuple(around[0])

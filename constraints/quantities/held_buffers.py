"""Buffers of a kernel, and what a term and its variables hold of them where it stands."""

# key: e term, b buffer, p pattern

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ir.core.nodes import Expr, Pattern
from ir.core.size import Size
from ir.core.terms import free, variables


class Space(Enum):
    """Who shares a buffer."""

    LOCAL = "local"
    PRIVATE = "private"


class Place(Enum):
    """Whether a result has somewhere to go."""

    NONE = "none"
    MEMORY = "memory"
    PRIVATE = "private"  # in place: an accumulator needs no other


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a kernel holds for a while."""

    number: int
    space: Space
    bytes: Size
    origin: str
    pool: str = ""  # buffers of other pools have other storage
    alone: bool = False  # its storage serves nothing else


Live = frozenset[Buffer]
NOTHING: Live = frozenset()


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a term stands: what its variables hold, where its result goes, and how many work-items
    of the group stand there apart."""

    env: Mapping[str, Live]
    to: Place
    items: Size

    def toward(self, to: Place) -> "Scope":
        return replace(self, to=to)

    def bound(self, p: Pattern, hold: Live) -> "Scope":
        return replace(self, env={**self.env, **{v.name: hold for v in variables(p)}})

    def reads(self, *later: Expr) -> Live:
        """The local buffers that terms read that come later."""
        names = frozenset().union(*map(free, later))
        held = NOTHING.union(*(self.env.get(name, NOTHING) for name in names))
        return frozenset(b for b in held if b.space is Space.LOCAL)


@dataclass(frozen=True, slots=True)
class Use:
    """What a value needs while it is used, and the largest sets live while it is made."""

    hold: Live
    peaks: frozenset[Live]


def maximal(sets: Iterable[Live]) -> frozenset[Live]:
    every = set(sets)
    return frozenset(s for s in every if not any(s < other for other in every))


def after(*steps: tuple[Use, Live]) -> Use:
    """One step after the other, each held while the later ones are made, with what those read."""
    held, peaks = NOTHING, [NOTHING]
    for step, later in steps:
        peaks += [held | later | peak for peak in step.peaks]
        held |= step.hold
        peaks.append(held)
    return Use(held, maximal(peaks))


def during(held: Live, use: Use) -> frozenset[Live]:
    return maximal([held, *(held | peak for peak in use.peaks)])

"""The local and private buffers of a kernel, and the sets of them that are live at each term."""

# key: e term, b buffer, p pattern

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum

from ir.core.frozen import frozen
from ir.core.nodes import (
    Expr,
    Lam,
    Map,
    MapPar,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    ToLocal,
    ToPrivate,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import children, free, once, over, rebuild, subterms, variables
from ir.core.type_rules import type_of


class Space(Enum):
    """The memory of a buffer, which says who shares it: a work-group, or one work-item alone."""

    LOCAL = "local"
    PRIVATE = "private"


class Place(Enum):
    """The memory to which a result goes: MEMORY or PRIVATE if a buffer for the result is there
    already, NONE if the result needs a buffer of its own."""

    NONE = "none"
    MEMORY = "memory"
    PRIVATE = "private"  # in place: an accumulator needs no other


@frozen
class Buffer:
    """A buffer of a kernel: its memory, its bytes, and the text of the term that it holds
    (`origin`). Only buffers of one `pool` may share storage, and none with a buffer that is
    `alone`."""

    number: int
    space: Space
    bytes: Size
    origin: str
    pool: str = ""  # buffers of other pools have other storage
    alone: bool = False  # its storage serves nothing else


Live = frozenset[Buffer]
NOTHING: Live = frozenset()


@frozen
class Scope:
    """The surroundings of a term: the buffers that hold the values of its variables (`env`), the
    place where its result goes (`to`), and how many work-items of a group (`items`) compute it,
    each for itself."""

    env: Mapping[str, Live]
    to: Place
    items: Size

    def toward(self, to: Place) -> "Scope":
        """This scope for a term whose result goes to `to`."""
        return replace(self, to=to)

    def bound(self, p: Pattern, hold: Live) -> "Scope":
        """This scope with each variable of the pattern p bound to the buffers `hold`."""
        return replace(self, env={**self.env, **{v.name: hold for v in variables(p)}})

    def reads(self, *later: Expr) -> Live:
        """The local buffers that the terms `later`, which run afterwards, still read."""
        names = frozenset().union(*map(free, later))
        held = NOTHING.union(*(self.env.get(name, NOTHING) for name in names))
        return frozenset(b for b in held if b.space is Space.LOCAL)


@frozen
class Use:
    """The buffers that hold a value while it is used, and the largest sets of buffers that are live
    while it is made."""

    hold: Live
    peaks: frozenset[Live]


def maximal(sets: Iterable[Live]) -> frozenset[Live]:
    """The sets of buffers in `sets` that are contained in no other of them."""
    every = set(sets)
    return frozenset(s for s in every if not any(s < other for other in every))


def after(*steps: tuple[Use, Live]) -> Use:
    """The use of steps done in order; each is a pair: its use, and the buffers that later steps
    read, which stay live meanwhile."""
    held, peaks = NOTHING, [NOTHING]
    for step, later in steps:
        peaks += [held | later | peak for peak in step.peaks]
        held |= step.hold
        peaks.append(held)
    return Use(held, maximal(peaks))


def during(held: Live, use: Use) -> frozenset[Live]:
    """The largest sets of buffers that are live during `use` while the buffers `held` are live
    too."""
    return maximal([held, *(held | peak for peak in use.peaks)])


@once
def without_unread(e: Expr) -> Expr:
    """The term e with a variable in place of each part of a `zip` that a function does not use.

    map(((a, b), c) -> a + c, zip(zip(xs, ys), zs)) does not read ys.
    """
    inner = over(without_unread, e)
    match inner:
        case Map(f, xs) | MapSeq(f, xs, _) | MapPar(_, _, f, xs):
            return rebuild(inner, (*children(inner)[:-1], _read(f.pattern, f, xs)))
        case ReduceSeq(_, Lam((_, p)) as f, xs, _) | Reduce(_, Lam((_, p)) as f, xs):
            return rebuild(inner, (*children(inner)[:-1], _read(p, f, xs)))
    return inner


def _read(p: Pattern, f: Lam, xs: Expr) -> Expr:
    """The array xs without the components that f does not use through the pattern p; components
    stored in a memory stay."""
    read = any(v.name in free(f.body) for v in variables(p))
    if not read and not any(isinstance(e, ToLocal | ToPrivate) for e in subterms(xs)):
        return Var("unread", type_of(xs))
    if isinstance(xs, Zip) and isinstance(p, tuple):
        return Zip(tuple(_read(q, f, part) for q, part in zip(p, xs.parts, strict=True)))
    return xs

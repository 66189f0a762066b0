"""The copies that a work-item begins, and what the work-items of its group do before they are done.

Until it is awaited, a copy reads and writes at any time: the work-item itself may not touch the
cells that it writes, nor write those that it reads. Others of the group may not either, from the
next barrier on until the first one after the copy is awaited; up to the next barrier the proof of
races keeps them away. None is left at the end.

Copies may be under way while a loop goes on. A place where a work-item awaits copies closes a
group, so those that are begun in one iteration are awaited a fixed number of iterations later.
"""

# key: a b p accesses, name a loop's variable

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from codegen.proof.access_series import as_series
from codegen.proof.accesses import (
    Access,
    Awaits,
    AwaitsProducts,
    Begun,
    Branch,
    Footprint,
    Gather,
    Loop,
    Meet,
    Node,
    Sequence,
    Settles,
    Touch,
    Uses,
)
from codegen.proof.barrier_intervals import Item, Meeting, Pins, accesses_in
from ir.core.frozen import frozen

FIRST = 8  # iterations of a loop that are told apart


@frozen
class Awaited:
    """The claims about a kernel's copies that are to be shown: the `meetings` of a copy with what
    the same work-item may do before it awaits it, those with what `others` may do, too, and the
    copies that are `left` at the end, where they are begun in these iterations at all."""

    meetings: tuple[Meeting, ...]
    others: tuple[Meeting, ...]
    left: tuple[Item, ...]
    begun: tuple[Access, ...]


@frozen
class Pending:
    """A copy that was begun, by its access. `groups` are the places passed since, at which copies
    are awaited (None: it is awaited). With `crossed` there was a barrier since: it meets others,
    too, until there is one after it is awaited. `turns` are how many iterations ago it was begun,
    of each loop around (from `FIRST` on: some number), and `pins` the iterations of loops that have
    ended since."""

    access: Access
    groups: int | None = 0
    crossed: bool = False
    turns: tuple[tuple[str, int], ...] = ()
    pins: Pins = ()


State = frozenset[Pending]


def awaited(found: Footprint) -> Awaited:
    """The claims to be shown about the copies in a kernel with the footprint `found`."""
    begun = tuple([a for a in found.accesses if a.begun and a.writes])
    if not begun:
        return Awaited((), (), (), ())
    walker = _Walker()
    rest = walker.after(found.root, frozenset(), {})
    left = [Item(p.access, p.pins) for p in rest if p.groups is not None]
    return Awaited(tuple(walker.own), tuple(walker.others), tuple(left), begun)


@dataclass(slots=True)
class _Walker:
    own: dict[Meeting, None] = field(default_factory=dict)
    others: dict[Meeting, None] = field(default_factory=dict)

    def after(self, node: Node, pending: State, around: Mapping[str, int | None]) -> State:
        """The copies that may be under way after a node, where those in `pending` may be before it.
        `around` are the loops around it, each with the number of its iteration, None for any."""
        match node:
            case Sequence(parts):
                for part in _joined(parts):
                    pending = self.after(part, pending, around)
                return pending
            case Branch(_, _, body):
                return pending | self.after(body, pending, around)
            case Loop():
                return self.loop(node, pending, around)
            case Touch(accesses):
                self.meet(pending, accesses, around)
                turns = tuple((name, 0) for name in around)
                return pending | {Pending(a, turns=turns) for a in accesses if a.begun}
            case Meet():
                return frozenset(replace(p, crossed=True) for p in pending if p.groups is not None)
            case Awaits(later):
                return frozenset(_after_awaits(pending, later))
            case Gather() | Begun() | Uses() | AwaitsProducts() | Settles():
                return pending

    def loop(self, loop: Loop, pending: State, around: Mapping[str, int | None]) -> State:
        """The copies that may be under way after a loop. As long as there are copies from before
        it, its iterations are looked at one by one; then an iteration is like the one before."""
        name, seen, n = loop.name, set[State](), 0
        while n < loop.count and pending not in seen:
            earlier = any(name not in dict(p.turns) for p in pending)
            if not earlier or n >= FIRST:
                seen.add(pending)
            turn = n if earlier and n < FIRST else None
            made = self.after(loop.body, pending, {**around, name: turn})
            pending = frozenset(_later(p, name) for p in made)
            n += 1
        return frozenset(_ended(p, name, loop.count) for p in pending)

    def meet(
        self, pending: State, accesses: tuple[Access, ...], around: Mapping[str, int | None]
    ) -> None:
        """Note the meetings of copies with these accesses, in iterations of the loops `around`."""
        for p in pending:
            for a in accesses:
                if a.memory is p.access.memory and (a.writes or p.access.writes):
                    meeting = _meeting(p, a, around)
                    if p.crossed:
                        self.others[meeting] = None
                    elif p.groups is not None:
                        self.own[meeting] = None


def _joined(parts: Iterable[Node]) -> Iterator[Node]:
    """The parts in their order, with neighbours that only touch memory, and begin no copies, as one
    that touches as many cells in fewer accesses."""
    for plain, run in groupby(parts, _is_plain):
        if plain:
            yield Touch(tuple(as_series(a for part in run for a in accesses_in(part))))
        else:
            yield from run


def _is_plain(node: Node) -> bool:
    """True if a node only touches memory at once: it begins no copies."""
    return isinstance(node, Touch) and not any(a.begun for a in node.accesses)


def _after_awaits(pending: Iterable[Pending], later: int) -> Iterator[Pending]:
    """What is left of `pending` after a place where all groups but the `later` latest are
    awaited. Of those that are awaited, it is the ones that others of the group may still meet."""
    for p in pending:
        if p.groups is None or p.groups >= later:
            if p.crossed:
                yield replace(p, groups=None)
        else:
            yield replace(p, groups=p.groups + 1)


def _later(p: Pending, name: str) -> Pending:
    """The copy p, seen from the next iteration of the loop `name`."""
    return replace(p, turns=tuple((loop, min(n + (loop == name), FIRST)) for loop, n in p.turns))


def _ended(p: Pending, name: str, count: int) -> Pending:
    """The copy p after the end of the loop `name`, which has so many iterations."""
    ago = dict(p.turns).get(name)
    if ago is None:
        return p
    turns = tuple((loop, n) for loop, n in p.turns if loop != name)
    pins = p.pins if ago == FIRST else (*p.pins, (name, count - ago))
    return replace(p, turns=turns, pins=pins)


def _meeting(p: Pending, a: Access, around: Mapping[str, int | None]) -> Meeting:
    """The meeting of the copy p with the access a: loops up to the outermost one of which they are
    in different iterations have one value in both."""
    turns, shared = dict(p.turns), list[str]()
    pins = tuple((name, n) for name, n in around.items() if n is not None)
    for name in around:
        if turns.get(name, FIRST) == FIRST:
            break
        if turns[name]:
            first, second = Item(p.access, p.pins), Item(a, pins)
            return Meeting(first, second, frozenset(shared), name, by=turns[name])
        shared.append(name)
    return Meeting(Item(p.access, p.pins), Item(a, pins), frozenset(shared))

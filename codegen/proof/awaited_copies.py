"""The copies that a work-item begins, and what it does before it awaits them.

Until it is awaited, a copy reads and writes at any time: the work-item itself may not touch the
cells that it writes, nor write those that it reads. No copy is left at a barrier, where the others
begin to rely on it, nor at the end.
"""

# key: a b p accesses, name a loop's variable

from collections.abc import Iterator
from dataclasses import dataclass, field

from codegen.proof.accesses import (
    Access,
    Awaits,
    Branch,
    Footprint,
    Gather,
    Loop,
    Meet,
    Node,
    Sequence,
    Touch,
)
from codegen.proof.barrier_intervals import Item, Meeting

Pending = tuple[Access, ...]  # of copies that are begun and not awaited


@dataclass(frozen=True, slots=True)
class Awaited:
    """The claims about a kernel's copies that are to be shown: the `meetings` of a copy with what
    the same work-item may do before it awaits it, and the copies that are `left` at a barrier or at
    the end."""

    meetings: tuple[Meeting, ...]
    left: Pending
    begun: Pending


def awaited(found: Footprint) -> Awaited:
    """The claims to be shown about the copies in a kernel with the footprint `found`."""
    begun = tuple([a for a in found.accesses if a.begun and a.writes])
    if not begun:
        return Awaited((), (), ())
    walker = _Walker()
    rest = walker.after(found.root, (), frozenset())
    return Awaited(tuple(walker.meetings), _once((*walker.left, *rest)), begun)


@dataclass(slots=True)
class _Walker:
    meetings: list[Meeting] = field(default_factory=list)
    left: list[Access] = field(default_factory=list)

    def after(self, node: Node, pending: Pending, shared: frozenset[str]) -> Pending:
        """The copies that may be under way after a node, where those in `pending` may be before it.
        `shared` are the loops around it of which all that meets is in one iteration."""
        match node:
            case Sequence(parts):
                for part in parts:
                    pending = self.after(part, pending, shared)
                return pending
            case Branch(_, _, body):
                return _once((*pending, *self.after(body, pending, shared)))
            case Loop():
                return self.loop(node, pending, shared)
            case Touch(accesses):
                self.meetings.extend(_meetings(pending, accesses, shared))
                return _once((*pending, *(a for a in accesses if a.begun)))
            case Meet():
                self.left.extend(pending)
                return ()
            case Awaits():
                return ()
            case Gather():
                return pending

    def loop(self, loop: Loop, pending: Pending, shared: frozenset[str]) -> Pending:
        """The copies that may be under way after a loop. Where none are at the beginning and at the
        end of an iteration, all that meets in its body is in one iteration."""
        if not pending and not _Walker().after(loop.body, (), shared):
            return self.after(loop.body, (), shared | {loop.name})
        once = self.after(loop.body, pending, shared)
        return self.after(loop.body, _once((*pending, *once)), shared)


def _meetings(
    pending: Pending, accesses: tuple[Access, ...], shared: frozenset[str]
) -> Iterator[Meeting]:
    for p in pending:
        for a in accesses:
            if a.memory is p.memory and (a.writes or p.writes):
                yield Meeting(Item(p), Item(a), shared)


def _once(pending: Pending) -> Pending:
    return tuple(dict.fromkeys(pending))

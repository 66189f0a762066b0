"""The pairs of accesses that two work-items of a group may make with no barrier between them.

A loop whose every iteration passes a barrier is walked by all work-items together: accesses in one
interval of its body see one value of its variable, and those after the body's last barrier meet
those before its first in the next iteration.
"""

# key: a b items, name a loop's variable

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from codegen.proof.access_series import as_series
from codegen.proof.accesses import Access, Branch, Loop, Meet, Node, Sequence, Touch, parts_of
from codegen.tree.memories import Memory, Space
from ir.core.frozen import distinct, frozen

Pins = tuple[tuple[str, int], ...]


@distinct
class Item:
    """An access; if there are `pins`, pairs (variable, value), only as made in the iteration in
    which these loop variables have these values."""

    access: Access
    pins: Pins = ()


@frozen
class Meeting:
    """Two accesses, by different work-items, that no barrier keeps apart.

    The variables `shared` have one value in both; the variable `step`, if there is one, is `by`
    more in b. If `exact` is false, the kernel has a barrier inside a branch, which was not counted
    on, and which may keep the two apart after all.
    """

    a: Item
    b: Item
    shared: frozenset[str] = frozenset()
    step: str | None = None
    exact: bool = True
    by: int = 1


@frozen
class _Span:
    """The accesses of a part of the kernel before its first barrier and after its last; `open` if a
    work-item may pass it without meeting a barrier."""

    first: tuple[Item, ...]
    last: tuple[Item, ...]
    open: bool


def everywhere(accesses: Iterable[Access]) -> list[Meeting]:
    """The pairs of accesses to one memory of which at least one is a write, as if there were no
    barriers."""
    items = tuple([Item(a) for a in as_series(accesses)])
    return list(_among(items, frozenset()))


def between_barriers(root: Node, space: Space) -> list[Meeting]:
    """The pairs of accesses to one memory in `space`, at least one a write, that two work-items may
    make with no barrier between them."""
    walker = _Walker(space, [])
    walker.span(root, frozenset())
    exact = not any(isinstance(n, Branch) and walker.meets(n) for n in nodes(root))
    return [m if exact else replace(m, exact=False) for m in walker.found]


@frozen
class _Walker:
    space: Space
    found: list[Meeting]

    def meets(self, node: Node) -> bool:
        return any(isinstance(n, Meet) and self.space in n.spaces for n in nodes(node))

    def span(self, node: Node, shared: frozenset[str]) -> _Span:
        if not self.meets(node):
            accesses = [a for a in accesses_in(node) if a.memory.space is self.space]
            items = tuple([Item(a) for a in as_series(accesses)])
            self.found.extend(_among(items, shared))
            return _Span(items, items, True)
        match node:
            case Sequence(parts):
                return self.sequence(parts, shared)
            case Loop():
                return self.loop(node, shared)
            case Branch(_, _, body):
                return replace(self.span(body, shared), open=True)
        return _Span((), (), False)

    def sequence(self, parts: tuple[Node, ...], shared: frozenset[str]) -> _Span:
        done = _Span((), (), True)
        for part in self.stretches(parts):
            new = self.span(part, shared)
            self.found.extend(_between(done.last, new.first, shared))
            done = _Span(
                done.first + new.first if done.open else done.first,
                done.last + new.last if new.open else new.last,
                done.open and new.open,
            )
        return done

    def stretches(self, parts: tuple[Node, ...]) -> Iterator[Node]:
        """The parts in their order, where neighbours without barriers are joined to one part."""
        for meets, run in groupby(parts, self.meets):
            if meets:
                yield from run
            else:
                yield Sequence(tuple(run))

    def loop(self, loop: Loop, shared: frozenset[str]) -> _Span:
        name = loop.name
        body = self.span(loop.body, shared | {name})
        if body.open:
            self.found.extend(_between(body.last, body.first, shared))
            return body
        self.found.extend(_between(body.last, body.first, shared, name))
        return _Span(_pinned(body.first, name, 0), _pinned(body.last, name, loop.count - 1), False)


def _pinned(items: tuple[Item, ...], name: str, value: int) -> tuple[Item, ...]:
    return tuple([Item(item.access, (*item.pins, (name, value))) for item in items])


def _among(items: tuple[Item, ...], shared: frozenset[str]) -> Iterator[Meeting]:
    for same in _by_memory(items).values():
        if any(item.access.writes for item in same):
            for k, a in enumerate(same):
                for b in same[k:]:
                    if a.access.writes or b.access.writes:
                        yield Meeting(a, b, shared)


def _between(
    before: tuple[Item, ...],
    after: tuple[Item, ...],
    shared: frozenset[str],
    step: str | None = None,
) -> Iterator[Meeting]:
    later = _by_memory(after)
    for a in before:
        for b in later.get(a.access.memory, ()):
            if a.access.writes or b.access.writes:
                yield Meeting(a, b, shared, step)


def _by_memory(items: tuple[Item, ...]) -> dict[Memory, list[Item]]:
    found: dict[Memory, list[Item]] = {}
    for item in items:
        found.setdefault(item.access.memory, []).append(item)
    return found


# ---- looking through shapes


def nodes(node: Node) -> Iterator[Node]:
    yield node
    for part in parts_of(node):
        yield from nodes(part)


def accesses_in(node: Node) -> Iterator[Access]:
    for inner in nodes(node):
        if isinstance(inner, Touch):
            yield from inner.accesses

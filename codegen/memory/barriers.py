"""The placing of barriers, where one work-item may read from shared memory what another writes.

A barrier goes as far out as the two accesses allow: between the statements of the innermost block
that holds both. Accesses after the last barrier in a loop's body meet those before the first one in
the next iteration. No barrier stands where only some work-items pass: a guard around one is pushed
inwards, around the statements on each side of it.
"""

# key: s statement, p access before, a access after

from dataclasses import field, replace

from codegen.index.condition import Condition, bounds
from codegen.index.index import Index, as_index, var
from codegen.index.injectivity import impossible
from codegen.index.remainders import never_equal
from codegen.index.substitute import substitute
from codegen.tree.array_axes import bare
from codegen.tree.kernel_values import kind_of, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Await,
    Barrier,
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    block,
    statements,
)
from ir.core.frozen import frozen

Loops = tuple[tuple[str, int], ...]
"""Names and trip counts; also ids that are under a bound here."""


@frozen
class Access:
    """A read of shared memory, or a write if it `writes`, of `width` scalars from `index` on,
    counted in the half with the number `half` if the memory has two. `loops` are the loops around
    it, with their trip counts; `ids` are the ids of the work-items that make it, with how many
    values each has there."""

    memory: Memory
    writes: bool
    index: Index
    half: Index | None
    width: int
    loops: Loops
    ids: tuple[tuple[str, int], ...]
    begun: bool = False  # a copy that is not awaited


Pending = tuple[Access, ...]  # since the last barrier


def with_barriers(kernel: Kernel) -> Kernel:
    """The kernel with a barrier wherever a work-item may read from shared memory what another of
    its group writes; copies that were begun are awaited before it."""
    items = [(i.name, i.extent) for i in kernel.ids if i.kind != "group"]
    if kernel.local_size == (1, 1, 1):
        return kernel
    both = frozenset(kernel.reads) & frozenset(kernel.writes)
    placer = _Placer(tuple(items), both)
    body, _ = placer.block(kernel.body, (), ())
    return replace(kernel, body=body)


@frozen
class _Placer:
    items: tuple[tuple[str, int], ...]  # ids that tell work-items of a group apart
    globals: frozenset[Memory]  # read and written by this kernel
    answers: dict[tuple[Access, Access], bool] = field(default_factory=dict)
    quiet: dict[int, tuple[Statement, bool]] = field(default_factory=dict)  # by identity
    settled: dict[int, tuple[Statement, Loops]] = field(default_factory=dict)  # by identity

    def block(self, body: Block, loops: Loops, pending: Pending) -> tuple[Block, Pending]:
        """The block `body` with its barriers, and the accesses that have no barrier between them
        and its end. `pending` are the accesses that have none between them and its beginning,
        `loops` the loops around it."""
        done: list[Statement] = []
        for s in body.statements:
            for part in self.inside(s, loops):
                if self.meets(part, loops, pending):
                    done.extend([Await()] if any(p.begun for p in pending) else [])
                    done.append(Barrier(self.spaces(part, loops, pending)))
                    pending = ()
                done.append(part)
                pending = self.after(part, loops, pending)
        return block(done), pending

    def inside(self, s: Statement, loops: Loops) -> list[Statement]:
        """The statements that replace s: s with the barriers that it needs inside. `loops` are the
        loops around it."""
        match s:
            case For() | If() if self.is_quiet(s):
                return [s]
            case For() if self.settled.get(id(s)) == (s, loops):
                return [s]
            case For(name, count, body, _):
                made = replace(s, body=self.cycle(body, name, (*loops, (name, count))))
                self.settled[id(made)] = made, loops
                return [made]
            case If(_, body):
                new, _ = self.block(body, self.passing(s, loops), ())
                s = replace(s, body=new)
                return self.pushed(s) if _has_barrier(new) else [s]
        return [s]

    def cycle(self, body: Block, name: str, loops: Loops) -> Block:
        """The body of the loop `name`, with barriers where the end of an iteration meets the
        beginning of the next; `loops` are those around the body, this one included."""
        body, _ = self.block(body, loops, ())
        for distance in (1, 2):
            if distance == 2 and _has_barrier(body):
                break
            left = self.after(body, loops, ())
            body, _ = self.block(body, loops, tuple([_earlier(p, name, distance) for p in left]))
        return body

    def meets(self, s: Statement, loops: Loops, pending: Pending) -> bool:
        """True if s, before any barrier in it, conflicts with one of the `pending` accesses."""
        return bool(pending) and any(
            self.conflict(p, a) for a in self.before(s, loops) for p in pending
        )

    def spaces(self, s: Statement, loops: Loops, pending: Pending) -> frozenset[Space]:
        return frozenset(
            p.memory.space for a in self.before(s, loops) for p in pending if self.conflict(p, a)
        )

    def before(self, s: Statement, loops: Loops) -> Pending:
        """The accesses of s that may come before the first barrier in it."""
        found, _ = self.reach(s, loops)
        return found

    def reach(self, s: Statement, loops: Loops) -> tuple[Pending, bool]:
        """The accesses of s before its first barrier, and True if there is a barrier."""
        match s:
            case Barrier():
                return (), True
            case _ if self.is_quiet(s):
                return (), False
            case Store():
                return self.accesses(s, loops), False
            case Block(inner):
                found: list[Access] = []
                for each in inner:
                    some, stopped = self.reach(each, loops)
                    found.extend(some)
                    if stopped:
                        return tuple(found), True
                return tuple(found), False
            case For(name, count, body, _):
                return self.reach(body, (*loops, (name, count)))
            case If(_, body):
                return self.reach(body, self.passing(s, loops))
        return (), False

    def after(self, s: Statement, loops: Loops, pending: Pending) -> Pending:
        """The accesses with no barrier since them after s; `pending` are those before s."""
        match s:
            case Barrier():
                return ()
            case Await():
                return _without_twins(tuple([replace(p, begun=False) for p in pending]))
            case _ if self.is_quiet(s):
                return pending
            case Store():
                return _without_twins((*pending, *self.accesses(s, loops)))
            case Block(inner):
                for each in inner:
                    pending = self.after(each, loops, pending)
                return pending
            case For(name, count, body, _):
                return self.after(body, (*loops, (name, count)), pending)
            case If(_, body):
                return self.after(body, self.passing(s, loops), pending)
        return pending

    def accesses(self, s: Store, loops: Loops) -> Pending:
        limits = dict(self.items) | dict(loops)
        ids = tuple([(name, limits[name]) for name, _ in self.items])
        around = tuple([loop for loop in loops if loop[0] not in dict(ids)])
        found = [
            Access(load.memory, False, load.index, load.half, load.width, around, ids)
            for load in loads(s.value)
            if self.is_shared(load.memory)
        ]
        if self.is_shared(s.memory):
            width = kind_of(s.value).width
            found.append(Access(s.memory, True, s.index, s.half, width, around, ids, s.begun))
        return tuple(found)

    def passing(self, s: If, loops: Loops) -> Loops:
        """The loops, and besides each id, with its number of values, of which only some values pass
        the guard s."""
        limits = dict(self.items) | dict(loops)
        passed = [(name, _under(s.condition, name, limits[name])) for name, _ in self.items]
        return (*loops, *[each for each in passed if each[1] < limits[each[0]]])

    def is_quiet(self, s: Statement) -> bool:
        """True if s has no barrier and does not touch shared memory."""
        known = self.quiet.get(id(s))
        if known is None:
            known = self.quiet[id(s)] = s, self._is_quiet(s)
        return known[1]

    def _is_quiet(self, s: Statement) -> bool:
        match s:
            case Barrier():
                return False
            case Store(memory, _, value, _):
                mine = self.is_shared(memory)
                return not mine and not any(self.is_shared(x.memory) for x in loads(value))
            case Block(inner):
                return all(map(self.is_quiet, inner))
            case For(_, _, body, _) | If(_, body):
                return self.is_quiet(body)
        return True

    def is_shared(self, memory: Memory) -> bool:
        return memory.space is Space.LOCAL or memory in self.globals

    def conflict(self, p: Access, a: Access) -> bool:
        """True if one of the accesses p and a may read what another work-item writes by the other
        access.

        Two writes are no conflict: the proof of races excludes that they meet in a cell, unless a
        read of that cell comes between them, which then is a conflict with each. Buffers that share
        memory are read, each before the next is written.
        """
        if p.memory is not a.memory or p.writes == a.writes:
            return False
        if (p, a) not in self.answers:
            apart = _beside(p, a) or _other_part(p.half, a.half)
            self.answers[p, a] = not apart and not self.own(p, a)
        return self.answers[p, a]

    def own(self, p: Access, a: Access) -> bool:
        """True if p and a touch one cell only where one work-item makes both accesses."""
        if p.width != a.width or not (_on_grain(p) and _on_grain(a)):
            return False
        mine = {name: _below(name, n) for name, n in p.ids}
        other = {name: _below(f"{name}_other", n) for name, n in a.ids}
        inner = {x: _below(f"{x}_other", n) for x, n in a.loops if (x, n) not in p.loops}
        meeting = substitute(bare(p.index), mine) - substitute(bare(a.index), other | inner)
        return impossible([meeting], [mine[name] - other[name] for name in mine])

    # ---- guards

    def pushed(self, s: If) -> list[Statement]:
        """The statements that a guard becomes if the barriers in its body must stand outside of it:
        the guard again, around each run of statements without a barrier.

        A guard that does not depend on ids of work-items stays as it is.
        """
        if not any(name in s.condition.names for name, _ in self.items):
            return [s]
        done: list[Statement] = []
        run: list[Statement] = []
        for each in s.body.statements:
            if isinstance(each, Declare):
                done.append(each)
            elif not _has_barrier(each):
                run.append(each)
            else:
                done.extend([If(s.condition, Block(tuple(run)))] if run else [])
                run = []
                done.extend(self.around(s, each))
        return [*done, *([If(s.condition, Block(tuple(run)))] if run else [])]

    def around(self, s: If, inner: Statement) -> list[Statement]:
        match inner:
            case For(_, _, body, _):
                return [replace(inner, body=block(self.pushed(If(s.condition, body))))]
            case If(_, body):
                return [replace(inner, body=block(self.pushed(If(s.condition, body))))]
        return [inner]


def _below(name: str, n: int) -> Index:
    return var(name, 0, n - 1) if n > 1 else as_index(0)


def _under(condition: Condition, name: str, n: int) -> int:
    """The number of values, at least 1 and at most n, that the id `name` can have where the
    condition holds: they are 0 … the result − 1."""
    _, high = bounds(condition, var(name, 0, n - 1))
    return n if high is None else max(1, min(n, high + 1))


def _on_grain(a: Access) -> bool:
    """True if the index of a vector's access is sure to be a multiple of its width."""
    index = bare(a.index)
    return index.constant % a.width == 0 and all(k % a.width == 0 for _, k in index.terms)


def _has_barrier(s: Statement) -> bool:
    return any(isinstance(each, Barrier) for each in statements(s))


def _without_twins(pending: Pending) -> Pending:
    return tuple(dict.fromkeys(pending))


def _earlier(p: Access, name: str, distance: int) -> Access:
    """The access p as it was made `distance` iterations earlier of the loop `name`; the loops
    inside that loop may have been at any iteration."""
    at = [loop for loop, _ in p.loops].index(name)
    before = {loop: var(f"{loop}_before", 0, n - 1) for loop, n in p.loops[at:]}
    renamed = tuple((f"{loop}_before", n) for loop, n in p.loops[at:])
    half = p.half
    if half is not None:
        half = substitute(half, {name: var(name, None, None) - distance})
    return replace(p, index=substitute(p.index, before), half=half, loops=(*p.loops[:at], *renamed))


def _beside(p: Access, a: Access) -> bool:
    """True if one access ends before the other begins, as accesses to buffers that share a memory
    do."""
    if p.half is not None or a.half is not None:
        return False
    return _ends_before(p, a) or _ends_before(a, p)


def _ends_before(p: Access, a: Access) -> bool:
    return p.index.hi is not None and a.index.lo is not None and p.index.hi + p.width <= a.index.lo


def _other_part(p: Index | None, a: Index | None) -> bool:
    return p is not None and a is not None and never_equal(p, a)

"""Loops whose turns load what they pass to matrix instructions a step before it is multiplied.

A turn of such a loop meets the other work-items at a barrier, begins copies for later turns, and
then goes over the steps of a chunk in local memory. In the loop that is made of it, the products of
a step come after the loads of the next one: those of a chunk's last step after the barrier of the
next turn, and after the loads of its first step. So no work-item waits for a load alone, neither
between steps nor after a barrier. Copies are begun behind the first of these loads and
products, which they would hold up, and before all others.

Two sets of registers take turns. The one that the products of the first turn read begins with
zeros: what a matrix instruction makes of zeros is the sum that it is given.
"""

# key: s statement, e value, n count

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from codegen.index.condition import ALWAYS, NEVER, Condition, both, bounds, substitute_in
from codegen.index.index import Index, as_index, var
from codegen.index.substitute import substitute, unassumed
from codegen.memory.kept_for_turns import Turns
from codegen.tree.emitted_names import apart, in_use
from codegen.tree.kernel_values import (
    Broadcast,
    Call,
    Load,
    Number,
    Repack,
    Select,
    Value,
    kind_of,
    loads,
    rewrite,
)
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
    Unroll,
    block,
    remembered,
    statements,
)
from codegen.tree.value_builders import substituted
from ir.core.frozen import frozen
from ir.errors import Unsupported
from ir.instructions.table import MATRIX

Step = tuple[Block, Turns]  # statements, and the turns at which they make a step


@remembered
def with_steps_ahead(kernel: Kernel) -> Kernel:
    """The kernel in which each loop marked `ahead` loads the operands of its products one step
    before they are multiplied."""
    if not any(isinstance(s, For) and s.ahead for s in statements(kernel.body)):
        return kernel
    return replace(kernel, body=_block(kernel.body, in_use(kernel)))


def _block(body: Block, taken: set[str]) -> Block:
    done: list[Statement] = []
    for s in body.statements:
        match s:
            case For() if s.ahead:
                done.extend(_Rotation(s, taken).statements())
            case For(_, _, inner, _) | If(_, inner):
                done.append(replace(s, body=_block(inner, taken)))
            case _:
                done.append(s)
    return block(done)


@frozen
class _Held:
    """A set of registers for the operand `of` of a step, with a part for each turn of the `loops`
    around the place where it is loaded."""

    memory: Memory
    of: Memory
    loops: tuple[For, ...]

    def place(self, index: Index, turns: Turns) -> Index:
        """The place of what the operand has at this index, at these turns of loops."""
        at = as_index(0)
        for loop in self.loops:
            at = at * loop.count + turns[loop.var]
        return at * self.of.elements + index


@dataclass(slots=True)
class _Rotation:
    """The loop `loop` while it is turned: two sets of registers are `held` by their operands, and
    names are `taken`."""

    loop: For
    taken: set[str]
    held: tuple[dict[Memory, _Held], dict[Memory, _Held]] = field(default_factory=lambda: ({}, {}))

    def statements(self) -> list[Statement]:
        """The statements in the place of the loop: what it holds in registers, the loop itself, and
        the products of its last step."""
        front, sums, end = _parted(self.loop.body)
        parts = _Turn(front, _steps(self.apart(Block(tuple(sums)))), end)
        self.hold(parts.steps[0][0], ())
        at_once = 1 + len(parts.steps) % 2  # turns after which the first set is next again
        count, rest = divmod(self.loop.count, at_once)
        i = var(self.loop.var, 0, count - 1) if count > 1 else as_index(0)
        inner = block([self.turn(k, i * at_once + k, parts) for k in range(at_once)])
        made = replace(self.loop, count=count, body=inner, ahead=False) if count > 1 else inner
        more = [self.turn(0, as_index(self.loop.count - 1), parts)] if rest else []
        zeros = [_zero(s) for s in self.loaded(parts.steps[-1], as_index(0), 1)]
        held = [Declare(h.memory) for each in self.held for h in each.values()]
        last = self.products(parts.steps[-1], 1 - rest)
        waits = [Await()] if any(isinstance(s, Await) for s in end) else []
        return [*held, *zeros, made, *more, *last, *waits]

    def turn(self, k: int, i: Index, parts: "_Turn") -> Statement:
        """The statements of the turn i of the loop, the k-th that is spelled out."""
        slots: list[tuple[Statement, ...]] = []
        for n, step in enumerate(parts.steps):
            to = (k * len(parts.steps) + n) % 2
            first, *rest = self.products(parts.steps[n - 1], 1 - to)
            slots.extend([(*self.loaded(step, i, to), first), *((s,) for s in rest)])
        waits = [s for s in parts.front if isinstance(s, Barrier | Await)]
        copies = [*_copies(parts.front, ALWAYS, {self.loop.var: i})]
        return block([*waits, *_between(slots, copies), *parts.end])

    def loaded(self, step: Step, i: Index, to: int) -> list[Statement]:
        """The statements that load the operands of a step in the turn i of the loop, into the set
        of registers with the number `to`."""
        body, at = step
        return [*self.loads(body, {**at, self.loop.var: i}, to)]

    def loads(self, body: Block, turns: Turns, to: int) -> Iterator[Statement]:
        for s in body.statements:
            match s:
                case Store(memory, index, value) if memory in self.held[to]:
                    held, e = self.held[to][memory], self.value(value, turns, to)
                    yield Store(held.memory, held.place(substitute(index, turns), turns), e)
                case For(name, n, inner, how):
                    new = apart(name, "", self.taken)
                    at = {**turns, name: var(new, 0, n - 1)}
                    made = [*self.loads(inner, at, to)]
                    if made:
                        yield For(new, n, block(made), how)
                case Declare() | Store():
                    pass
                case _:
                    raise Unsupported(f"expected sums in a turn, found {type(s).__name__}")

    def apart(self, body: Block) -> Block:
        """The statements of a step with each operand of a product that is loaded where it is
        multiplied in a variable of its own."""
        done: list[Statement] = []
        for s in body.statements:
            match s:
                case For():
                    done.append(replace(s, body=self.apart(s.body)))
                case Store(_, _, Call() as call) if call.instruction.name in MATRIX:
                    given = [self.own(e, done) for e in call.arguments]
                    done.append(replace(s, value=replace(call, arguments=tuple(given))))
                case _:
                    done.append(s)
        return Block(tuple(done))

    def own(self, e: Value, before: list[Statement]) -> Value:
        """The operand e, or a variable that statements added to `before` put it in, if it is loaded
        from memory that other work-items see."""
        if all(load.memory.space is Space.PRIVATE for load in loads(e)):
            return e
        kind, first = kind_of(e), next(loads(e)).memory
        name = apart(f"{first.name}lanes", "_", self.taken)
        memory = Memory(name, Space.PRIVATE, kind.scalar, kind.width, shape=(kind.width,))
        before.extend([Declare(memory), Store(memory, as_index(0), e)])
        return Load(memory, as_index(0), kind.width)

    def hold(self, body: Block, around: tuple[For, ...]) -> None:
        """Take registers for each operand that a step declares inside the loops `around`."""
        for s in body.statements:
            if isinstance(s, Declare):
                for held in self.held:
                    held[s.memory] = _Held(self.memory(s.memory, around), s.memory, around)
            elif isinstance(s, For):
                self.hold(s.body, (*around, s))

    def memory(self, of: Memory, around: tuple[For, ...]) -> Memory:
        """Registers for the operand `of`, with a part for each turn of the loops `around`."""
        turns = [loop.count for loop in around]
        name = apart(of.name.rstrip("_"), "_", self.taken)
        elements, shape = prod(turns) * of.elements, (*turns, *of.shape)
        return Memory(name, Space.PRIVATE, of.scalar, elements, shape=shape)

    def value(self, e: Value, turns: Turns, which: int) -> Value:
        """The value e at these turns, of operands in the set of registers `which`."""

        def known(e: Value) -> Value:
            if isinstance(e, Load) and e.memory in self.held[which]:
                held = self.held[which][e.memory]
                return replace(e, memory=held.memory, index=held.place(e.index, turns))
            return e

        return rewrite(substituted(e, turns), known)

    def products(self, step: Step, which: int) -> list[Statement]:
        """The statements that multiply the operands of a step in the set of registers `which`, with
        outer loops spelled out."""
        body, _ = step
        found = list[Statement]()
        for s in body.statements:
            match s:
                case For(name, n, inner, _):
                    turns: list[Turns] = [{name: k} for k in range(n)]
                    made = [block([*self.sums(inner, at, which)]) for at in turns]
                    found.extend([each for each in made if each.statements])
                case _:
                    found.extend(self.sums(Block((s,)), {}, which))
        return found

    def sums(self, body: Block, turns: Turns, which: int) -> Iterator[Statement]:
        for s in body.statements:
            match s:
                case Declare():
                    pass
                case Store(memory, index, value):
                    if memory not in self.held[which]:
                        yield _product(
                            replace(
                                s,
                                index=substitute(index, turns),
                                value=self.value(value, turns, which),
                            ),
                            {self.loop.var},
                        )
                case For(name, n, inner, how):
                    new = apart(name, "", self.taken)
                    made = [*self.sums(inner, {**turns, name: var(new, 0, n - 1)}, which)]
                    if made:
                        yield For(new, n, block(made), how)


@frozen
class _Turn:
    """The parts of a turn: barriers and copies that are begun, steps, and what awaits copies."""

    front: Sequence[Statement]
    steps: Sequence[Step]
    end: Sequence[Statement]


def _parted(body: Block) -> tuple[list[Statement], list[Statement], list[Statement]]:
    """The parts of a turn: barriers and copies that are begun, its sums, and what awaits copies."""
    every = [*body.statements]
    first = next((n for n, s in enumerate(every) if not _is_front(s)), len(every))
    last = len(every)
    while last > first and isinstance(every[last - 1], Await):
        last -= 1
    return every[:first], every[first:last], every[last:]


def _is_front(s: Statement) -> bool:
    if isinstance(s, Store):
        return s.memory.space is Space.LOCAL
    if isinstance(s, For | If):
        return all(map(_is_front, s.body.statements))
    return isinstance(s, Barrier | Await)


def _steps(sums: Block) -> list[Step]:
    """The steps of a turn: those of the only loop, or all of it as one."""
    match sums.statements:
        case (For(name, count, body, Unroll.YES),):
            return [(body, {name: as_index(k)}) for k in range(count)]
    return [(sums, {})]


def _copies(front: Iterable[Statement], where: Condition, turns: Turns) -> Iterator[Statement]:
    """The copies that these statements begin, one by one, where a condition holds: elsewhere they
    are zeros, which nothing reads."""
    for s in front:
        match s:
            case If(condition, body):
                more = both(where, substitute_in(condition, turns))
                yield from _copies(body.statements, more, turns)
            case For(name, n, body, _):
                for k in range(n):
                    yield from _copies(body.statements, where, {**turns, name: as_index(k)})
            case Store(_, index, value, half) if where != NEVER:
                half = None if half is None else substitute(half, turns)
                e, at = substituted(value, turns), substitute(index, turns)
                past = replace(s, index=at, value=e, half=half, past=s.begun)
                yield _where(where, past, turns)


def _where(condition: Condition, s: Store, turns: Turns) -> Statement:
    """The copy s, at these turns of loops, where the condition holds. Elsewhere it is of zeros, so
    that no branch stands between products. But there is none elsewhere if the condition is not on
    turns alone, as others may write that cell; if it holds in one turn, for which the cell may have
    been simplified; or if s copies the bits of numbers."""
    if condition == ALWAYS:
        return s
    ours = frozenset[str]().union(*(as_index(i).names for i in turns.values()))
    ranges = [bounds(condition, var(name, 0, None)) for name in condition.names]
    if not s.begun or not condition.names <= ours or any(low == high for low, high in ranges):
        return If(condition, Block((s,)))
    match s.value:
        case Repack():
            return If(condition, Block((s,)))
        case Select(also, e, zero):
            value = Select(both(condition, also), e, zero)
        case e:
            value = Select(condition, e, Number(0, kind_of(e).scalar))
    half = None if s.half is None else unassumed(s.half)
    return replace(s, index=unassumed(s.index), value=value, half=half)


def _between(
    slots: Sequence[tuple[Statement, ...]], copies: Sequence[Statement]
) -> list[Statement]:
    """The statements of all slots, with the copies behind the first one: its loads go before them,
    and what is begun late may be awaited long."""
    first, *others = slots
    return [*first, *copies, *(s for slot in others for s in slot)]


def _product(s: Store, outside: set[str]) -> Store:
    """The statement s; Unsupported if it is not a product by a matrix instruction, of registers
    alone, the same in all turns of loops `outside`."""
    e = s.value
    if not isinstance(e, Call) or e.instruction.name not in MATRIX:
        raise Unsupported("expected products by matrix instructions alone, found other statements")
    found = [*loads(e)]
    names = frozenset[str]().union(s.index.names, *(load.index.names for load in found))
    if names & outside or any(load.memory.space is not Space.PRIVATE for load in found):
        raise Unsupported("expected products of what lanes hold in registers, found others")
    return s


def _zero(s: Statement) -> Statement:
    """The statement s with zeros in the place of what it stores."""
    match s:
        case For():
            return replace(s, body=block([_zero(each) for each in s.body.statements]))
        case Store():
            kind = kind_of(s.value)
            zero = Number(0, kind.scalar)
            return replace(s, value=zero if kind.width == 1 else Broadcast(zero, kind))
    raise Unsupported(f"expected loads of operands, found {type(s).__name__}")

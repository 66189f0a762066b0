"""The state of emission: a kernel's open blocks, its names, its memories, and its ids."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from codegen.index.condition import ALWAYS, NEVER, Condition, both, less
from codegen.index.index import Index, assume, constant, var
from codegen.tree.array_axes import Axis, Joined, Owned, Plain
from codegen.tree.emitted_names import apart, stem
from codegen.tree.kernel_values import Load, Value
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, Declare, For, If, Statement, Store, Unroll, block
from ir.core.frozen import distinct, frozen
from ir.core.nodes import Level

T = TypeVar("T")


@frozen
class Worker:
    """The id of a work-item or work-group along one parallel dimension; it counts from 0 to count −
    1."""

    level: Level
    dim: int
    count: int

    @property
    def name(self) -> str:
        return {Level.GLOBAL: "gid", Level.GROUP: "grp", Level.LOCAL: "lid"}[self.level] + str(
            self.dim
        )

    @property
    def id(self) -> Index:
        return var(self.name, 0, self.count - 1)


Workers = dict[tuple[Level, int], Worker]


@distinct
class Mark:
    """A position in an open block of statements; if `block` is None, it stands for any position."""

    block: list[Statement] | None
    length: int


@dataclass(slots=True)
class Scope:
    """The state of emitting one kernel: its parallel dimensions (`workers`), the names in use, the
    open blocks of statements (the innermost last), the parallel maps around (`active`), the memory
    that each alias stands for, and the constant tables.

    `by_name` is above 0 while what is emitted stands inside one expression; `lanes` is the number
    of variables for lanes so far.
    """

    workers: Workers
    names: set[str] = field(default_factory=set)
    blocks: list[list[Statement]] = field(default_factory=lambda: [[]])
    active: list[Worker] = field(default_factory=list)  # parallel maps around this place
    aliases: dict[Memory, Memory] = field(default_factory=dict)
    tables: dict[tuple[str, tuple[float | int, ...]], Memory] = field(default_factory=dict)
    by_name: int = 0  # > 0: what is emitted here stands inside one expression
    lanes: int = 0

    # ---- names

    def variable(self, hint: str) -> str:
        """A new name for a memory, made from `hint`, a name in the program."""
        return apart(stem(hint), "_", self.names)

    # ---- memories

    def memory(
        self,
        hint: str,
        space: Space,
        scalar: str,
        shape: tuple[int, ...] | int,
        halves: int = 1,
    ) -> Memory:
        """A new memory of `halves` equal parts, each of scalars of type `scalar` in the shape
        `shape`, declared by a statement that is added here; its name is made from `hint`."""
        dims = (shape,) if isinstance(shape, int) else shape
        memory = Memory(self.variable(hint), space, scalar, prod(dims), halves, dims)
        self.add(Declare(memory))
        return memory

    def table(self, scalar: str, values: tuple[float | int, ...]) -> Memory:
        """The constant table of these values, of type `scalar`: one memory for all that ask for the
        same."""
        if (scalar, values) not in self.tables:
            name = self.variable("table")
            n = len(values)
            self.tables[scalar, values] = Memory(name, Space.CONSTANT, scalar, n, values=values)
        return self.tables[scalar, values]

    def storage(self, memory: Memory) -> Memory:
        """The memory that an alias stands for; a memory that is no alias stands for itself."""
        while memory in self.aliases:
            memory = self.aliases[memory]
        return memory

    # ---- statements

    def add(self, statement: Statement) -> None:
        self.blocks[-1].append(statement)

    def capture(self, body: Callable[[], T]) -> tuple[T, Block]:
        """The result of `body`, and the statements that it would have added here."""
        self.blocks.append([])
        try:
            result = body()
        finally:
            inner = self.blocks.pop()
        return result, block(inner)

    def mark(self) -> Mark:
        """The mark of the position of the next statement."""
        return Mark(self.blocks[-1], len(self.blocks[-1]))

    def since(self, start: Mark) -> Mark:
        """The mark from which on results computed since `start` can be read: any position, if they
        took no statements."""
        assert start.block is self.blocks[-1]
        return Mark(None, 0) if len(self.blocks[-1]) == start.length else start

    def is_open(self, mark: Mark) -> bool:
        """True if results computed at the marked position can be read from here: its block is still
        open."""
        return mark.block is None or any(block is mark.block for block in self.blocks)

    def expression(self, body: Callable[[], T]) -> tuple[T, Block]:
        """The result of `body` and its statements, as `capture` gives them. Meanwhile `by_name`
        says that an expression is being emitted, in which statements are to be avoided."""
        self.by_name += 1
        try:
            return self.capture(body)
        finally:
            self.by_name -= 1

    def lane(self) -> str:
        """A new name for the variable that stands for the lane of a vector while the vector is
        formed; it never reaches the text."""
        self.lanes += 1
        return f"lane_{self.lanes}_"

    def loop(
        self,
        hint: str,
        count: int,
        body: Callable[[Index], None],
        unroll: Unroll = Unroll.NO,
        ahead: bool = False,
    ) -> None:
        """Add a loop in which body(i) runs for i from 0 to count − 1; the variable i is named after
        `hint`. If it is `ahead`, what a step multiplies is loaded one step before."""
        if count == 1:
            body(constant(0))
        elif count > 1:
            name = apart(hint, "", self.names)
            i = var(name, 0, count - 1)
            _, inner = self.capture(lambda: body(i))
            if inner.statements:
                self.add(For(name, count, inner, unroll, ahead))
            elif name in self.names:
                self.names.discard(name)

    def when(self, condition: Condition, body: Callable[[], None]) -> None:
        """Add the statements of `body` under a condition."""
        if condition == ALWAYS:
            body()
        elif condition != NEVER:
            _, inner = self.capture(body)
            if inner.statements:
                self.add(If(condition, inner))

    def each(
        self,
        hint: str,
        axis: Axis,
        body: Callable[[Index], None],
        unroll: Unroll = Unroll.FREE,
    ) -> None:
        """Add the statements of body(i) for the elements i of an axis: all elements of a plain
        axis, those that the work-item owns of a shared one. Loop variables are named after
        `hint`."""
        match axis:
            case Plain(n):
                self.loop(hint, n, body, unroll)
            case Owned(n, owner, count):
                self._own(hint, n, owner, count, body)
            case Joined(outer, inner):
                self.each(
                    hint,
                    outer,
                    lambda o: self.each(hint, inner, lambda i: body(o * inner.size + i), unroll),
                    unroll,
                )

    def _own(
        self, hint: str, n: int, owner: Index, count: int, body: Callable[[Index], None]
    ) -> None:
        def turn(r: Index) -> None:
            i = owner + r * count
            self.when(less(i, n), lambda: body(assume(i, 0, n - 1)))

        mine = [w for w in self.workers.values() if w.id == owner and self._joins(w)]
        self.active.extend(mine)
        try:
            self.loop(hint, -(-n // count), turn, Unroll.FREE)
        finally:
            del self.active[len(self.active) - len(mine) :]

    def _joins(self, w: Worker) -> bool:
        """True if the parallel dimension of w has several work-items, and no map around the current
        place goes over it."""
        return w.count > 1 and w not in self.active

    # ---- writing

    def store(self, memory: Memory, index: Index, value: Value, half: Index | None = None) -> None:
        """Add the store memory[index] = value, or nothing if the value was just read from that
        cell. If the memory has two halves, `index` is counted in the half with the number `half`.

        Where several work-items see the memory and no map around divides work among them, only the
        first of them stores.
        """
        match value:
            case Load(source, i, _, h) if i == index and h == half:
                if self.storage(source) is self.storage(memory):
                    return
        condition = self._once(memory.space)
        self.when(condition, lambda: self.add(Store(memory, index, value, half)))

    def _once(self, space: Space) -> Condition:
        """The condition that each id which no map around uses is 0. One work-item meets it among
        all those that see the same memory in `space` and do the same work here: it stores for all
        of them."""
        if space is Space.PRIVATE:
            return ALWAYS
        sees = (Level.LOCAL,) if space is Space.LOCAL else tuple(Level)
        idle = [
            w
            for w in self.workers.values()
            if w.level in sees and w.count > 1 and w not in self.active
        ]
        return both(*(less(w.id, 1) for w in idle))

"""Statement trees: kernels before they are spelled as text.

Loops that are to be unrolled stay loops here (`Unroll`), and only printing expands them, so that a
tree stays as small as the program it came from. All trip counts are numbers.
"""

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

from codegen.index.condition import Condition
from codegen.index.index import Index
from codegen.tree.kernel_values import Call, Load, Value, subvalues
from codegen.tree.memories import Memory, Space
from ir.core.frozen import distinct, frozen


class Unroll(Enum):
    """The choice whether to spell out a loop: NO, YES (asked for), or FREE (as reads best)."""

    NO = "no"
    YES = "yes"
    FREE = "free"


@frozen
class Block:
    """The statements of a block, one after the other."""

    statements: tuple["Statement", ...]


@frozen
class For:
    """The loop that runs `body` for var = 0 … count − 1 (count ≥ 2; no other loop uses the name).
    If it is `ahead`, what a step multiplies is loaded one step before."""

    var: str
    count: int
    body: Block
    unroll: Unroll = Unroll.NO
    ahead: bool = False


@frozen
class If:
    """The statement that runs `body` where the condition holds."""

    condition: Condition
    body: Block


@frozen
class Declare:
    """The declaration of a private or local memory, whose life ends with the enclosing block."""

    memory: Memory


@frozen
class Store:
    """The store memory[half][index …] = value, as wide as the value. If it is `begun`, a copy to
    local memory, it may happen at any time until the work-item awaits it; and if it goes `past` the
    first-level cache, what it copies is not kept there."""

    memory: Memory
    index: Index
    value: Value
    half: Index | None = None
    begun: bool = False
    past: bool = False


@frozen
class Await:
    """The place where a work-item waits for copies that it has begun: those begun since the last
    such place are a group, and all groups but the `later` latest are awaited."""

    later: int = 0


@frozen
class AwaitProducts:
    """The place where work-items wait for products of instructions that went on after they were
    called: those begun since the last such place are a group, and all groups but the `later` latest
    are awaited. The `results` of some, in registers, are used from here on."""

    results: tuple[Load, ...] = ()
    later: int = 0


@frozen
class Barrier:
    """A barrier: all work-items of the group meet here, and see each other's writes to these
    spaces."""

    spaces: frozenset[Space]


Statement = Block | For | If | Declare | Store | Await | AwaitProducts | Barrier


@frozen
class Id:
    """The id `name` = get_{kind}_id(dimension), 0 … extent − 1; kind is "global", "group" or
    "local"."""

    name: str
    kind: str
    dimension: int
    extent: int


@distinct
class Kernel:
    """A kernel and its launch: the buffers that it reads and writes, the ids that it uses (global
    ids, or group and local ones), its numbers of work-items and of groups, and its statements.

    A kernel equals only itself. Programs with a kernel in common share the object, so that a
    function under `remembered` is computed once for it.
    """

    name: str
    reads: tuple[Memory, ...]
    writes: tuple[Memory, ...]
    ids: tuple[Id, ...]
    local_size: tuple[int, int, int]
    groups: tuple[int, int, int]
    body: Block


remembered = lru_cache(maxsize=512)

# ---- looking through trees


def statements(s: Statement) -> Iterator[Statement]:
    """The statement s and every statement inside it, in the order of the text."""
    left = [s]
    while left:
        each = left.pop()
        yield each
        match each:
            case Block(inner):
                left.extend(reversed(inner))
            case For(_, _, body, _) | If(_, body):
                left.append(body)


def calls(kernel: Kernel) -> Iterator[Call]:
    """The calls of instructions in the values that a kernel stores."""
    for s in statements(kernel.body):
        if isinstance(s, Store):
            yield from (e for e in subvalues(s.value) if isinstance(e, Call))


def block(items: list[Statement]) -> Block:
    """A block of these statements without empty parts, nested blocks opened, neighbours under one
    guard joined."""
    flat: list[Statement] = []
    for item in items:
        match item:
            case Block(inner):
                flat.extend(inner)
            case For(_, _, Block(()), _) | If(_, Block(())):
                pass
            case If(condition, body) if flat and _is_guard(flat[-1], condition):
                flat[-1] = If(condition, _joined(flat[-1], body))
            case _:
                flat.append(item)
    return Block(tuple(flat))


def _is_guard(s: Statement, condition: Condition) -> bool:
    return isinstance(s, If) and s.condition == condition


def _joined(first: Statement, then: Block) -> Block:
    assert isinstance(first, If)
    return block([*first.body.statements, *then.statements])

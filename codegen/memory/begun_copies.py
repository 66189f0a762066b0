"""Statements that fill local memory from global memory, as copies that a work-item begins and
awaits later."""

# key: s statement, e value

from collections import Counter
from dataclasses import replace

from codegen.tree.kernel_values import Load, Number, Select, Value, kind_of, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    calls,
    remembered,
    statements,
)
from ir.core.types import BYTES

WIDTHS = (4, 8, 16)  # bytes of a copy


def begun(filling: Block) -> Block:
    """The statements `filling` with each store to local memory begun that copies what is in global
    memory, or zeros outside of an array."""
    return Block(tuple(map(_begun, _without_carriers(filling))))


@remembered
def with_copies_past(kernel: Kernel) -> Kernel:
    """The kernel in which copies that are begun go past the first-level cache, if its instructions
    read local memory themselves: neighbours copy whole sectors for them, which nothing else
    reads."""
    if not any(call.instruction.placed for call in calls(kernel)):
        return kernel
    return replace(kernel, body=_past(kernel.body))


def _past(body: Block) -> Block:
    done = list[Statement]()
    for s in body.statements:
        match s:
            case Store() if s.begun:
                s = replace(s, past=True)
            case For(_, _, inner) | If(_, inner):
                s = replace(s, body=_past(inner))
            case Block():
                s = _past(s)
        done.append(s)
    return Block(tuple(done))


def begins(body: Block) -> bool:
    """True if one of these statements begins a copy."""
    return any(isinstance(s, Store) and s.begun for s in statements(body))


def _without_carriers(body: Block) -> list[Statement]:
    """The statements of a block, where local memory is filled with a value itself and not with a
    private copy of it that nothing else reads."""
    stores = (s for s in statements(body) if isinstance(s, Store))
    read = Counter(load.memory for s in stores for load in loads(s.value))
    own = {s.memory for s in body.statements if isinstance(s, Declare) and read[s.memory] == 1}
    done: list[Statement] = []
    gone = set[Memory]()
    for s in body.statements:
        before = done[-1] if done else None
        if isinstance(s, Store) and isinstance(before, Store) and before.memory in own:
            width = kind_of(before.value).width
            if s.value == Load(before.memory, before.index, width, before.half):
                s = replace(s, value=before.value)
                gone.add(before.memory)
                done.pop()
        done.append(s)
    return [s for s in done if not (isinstance(s, Declare) and s.memory in gone)]


def _begun(s: Statement) -> Statement:
    match s:
        case Store(memory, _, value) if memory.space is Space.LOCAL:
            return replace(s, begun=_is_copy(value, memory.scalar))
        case Block():
            return begun(s)
        case For(_, _, body) | If(_, body):
            return replace(s, body=begun(body))
    return s


def _is_copy(e: Value, scalar: str) -> bool:
    """True if e is a number or vector of the type `scalar`, as it lies in global memory, of a size
    that is copied at once; or such a one where a condition holds, else zero."""
    match e:
        case Select(_, Load() as load, Number(value)):
            return value == 0 and _is_copy(load, scalar)
        case Load(memory, _, width):
            in_order = memory.space is Space.GLOBAL and memory.scalar == scalar
            return in_order and BYTES[scalar] * width in WIDTHS
    return False

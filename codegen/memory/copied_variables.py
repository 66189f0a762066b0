"""Kernels without private variables whose value is only copied into another one: the value is
stored there at once."""

# key: s statement, m memory

from collections import Counter
from dataclasses import replace

from codegen.tree.kernel_values import Load, kind_of, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    remembered,
    statements,
)


@remembered
def without_copied_variables(kernel: Kernel) -> Kernel:
    """The kernel without each private variable of which the one use is a copy, in the statement
    after the one that sets it. The copy is into other private memory, or the variable is itself a
    copy; elsewhere its name keeps a long line short."""
    body = _block(kernel.body, _touched(kernel.body))
    return kernel if body == kernel.body else replace(kernel, body=body)


def _touched(body: Block) -> Counter[Memory]:
    """The number of stores to and loads from each private memory in the text."""
    found = Counter[Memory]()
    for s in statements(body):
        if isinstance(s, Store):
            found.update([s.memory, *(load.memory for load in loads(s.value))])
    return found


def _block(body: Block, touched: Counter[Memory]) -> Block:
    own = {s.memory for s in body.statements if isinstance(s, Declare)}
    carriers = {m for m in own if m.space is Space.PRIVATE and touched[m] == 2}
    done: list[Statement] = []
    gone = set[Memory]()
    for s in body.statements:
        inner = _inner(s, touched)
        before = done[-1] if done else None
        if (
            isinstance(inner, Store)
            and isinstance(before, Store)
            and _copies(inner, before, carriers)
        ):
            gone.add(before.memory)
            done.pop()
            inner = replace(inner, value=before.value)
        done.append(inner)
    return Block(tuple([s for s in done if not (isinstance(s, Declare) and s.memory in gone)]))


def _inner(s: Statement, touched: Counter[Memory]) -> Statement:
    match s:
        case Block():
            return _block(s, touched)
        case For(_, _, body, _) | If(_, body):
            return replace(s, body=_block(body, touched))
    return s


def _copies(s: Store, before: Store, carriers: set[Memory]) -> bool:
    """True if s only copies what the statement `before` has put into one of the `carriers`, and is
    as short without."""
    if before.memory not in carriers:
        return False
    if s.memory.space is not Space.PRIVATE and not isinstance(before.value, Load):
        return False
    width = kind_of(before.value).width
    return s.value == Load(before.memory, before.index, width, before.half)

"""Kernels without memory of their own that is written, and never read for a result."""

# key: s statement

from dataclasses import replace

from codegen.tree.kernel_values import loads
from codegen.tree.memories import Memory
from codegen.tree.statements import (
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


def without_unread_memory(kernel: Kernel) -> Kernel:
    """The kernel without each local or private array on which no result depends, and without what
    was computed for it alone: parts of tuples, say, that a group makes whole to read other parts of
    them."""
    unread = _declared(kernel.body) - _needed(kernel.body)
    return replace(kernel, body=_without(kernel.body, unread)) if unread else kernel


def _declared(body: Block) -> set[Memory]:
    return {s.memory for s in statements(body) if isinstance(s, Declare)}


def _needed(body: Block) -> set[Memory]:
    """The memories that the kernel's results are in, and those from which these are computed."""
    sources: dict[Memory, set[Memory]] = {}
    for s in statements(body):
        if isinstance(s, Store):
            sources.setdefault(s.memory, set()).update(load.memory for load in loads(s.value))
    left, found = [*(sources.keys() - _declared(body))], set[Memory]()
    while left:
        memory = left.pop()
        if memory not in found:
            found.add(memory)
            left.extend(sources.get(memory, ()))
    return found


def _without(body: Block, unread: set[Memory]) -> Block:
    return block([_kept(s, unread) for s in body.statements])


def _kept(s: Statement, unread: set[Memory]) -> Statement:
    match s:
        case Block():
            return _without(s, unread)
        case For(_, _, body, _) | If(_, body):
            return replace(s, body=_without(body, unread))
        case Store(memory) | Declare(memory) if memory in unread:
            return Block(())
    return s

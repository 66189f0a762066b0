"""Kernels whose lanes gather numbers that lie beside each other: they are loaded as vectors."""

# key: s statement, e value

from collections.abc import Collection
from dataclasses import replace

from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.statements import (
    Block,
    Build,
    For,
    If,
    Kernel,
    Lane,
    Load,
    Space,
    Statement,
    Store,
    Value,
    remembered,
    rewrite,
)


@remembered
def with_pairs_loaded(kernel: Kernel) -> Kernel:
    """The kernel in which two floats of a vector that is gathered from global memory are lanes of
    one load, where they are the halves of an aligned vector there."""
    body = _block(kernel.body)
    return kernel if body == kernel.body else replace(kernel, body=body)


def _block(body: Block) -> Block:
    return Block(tuple([_statement(s) for s in body.statements]))


def _statement(s: Statement) -> Statement:
    match s:
        case Block():
            return _block(s)
        case For(_, _, body, _) | If(_, body):
            return replace(s, body=_block(body))
        case Store(_, _, value):
            return replace(s, value=rewrite(value, _in_pairs))
    return s


def _in_pairs(e: Value) -> Value:
    if not isinstance(e, Build):
        return e
    single = [part for part in e.parts if isinstance(part, Load) and _is_single(part)]
    parts = tuple([_lane(part, single) for part in e.parts])
    return e if parts == e.parts else replace(e, parts=parts)


def _lane(e: Value, others: Collection[Load]) -> Value:
    """The value e, or, if it is a load and half of a pair with one of `others`, a lane of both."""
    if not isinstance(e, Load) or e not in others:
        return e
    for lane in (0, 1):
        pair = replace(e, index=e.index - lane, width=2)
        other = replace(e, index=e.index + (1 - 2 * lane))
        if is_aligned(pair.index, 2) and other in others:
            return Lane(pair, lane)
    return e


def _is_single(e: Load) -> bool:
    return e.memory.space is Space.GLOBAL and e.width == 1 and e.memory.scalar == "float"

"""Statements whose buffers move to other memories, and every read and write with them."""

from collections.abc import Mapping
from dataclasses import replace

from codegen.index.index import Index
from codegen.tree.kernel_values import Load, Value, rewrite
from codegen.tree.memories import Memory
from codegen.tree.statements import Block, Declare, For, If, Statement, Store
from ir.core.frozen import frozen


@frozen
class Location:
    """The location of a buffer: a memory, and the cell of it that the buffer starts at."""

    within: Memory
    start: int | Index = 0


def moved(body: Block, to: Mapping[Memory, Location]) -> Block:
    """The statements of `body` with each memory that `to` maps replaced by its location there."""

    def in_value(e: Value) -> Value:
        match e:
            case Load(memory, index) if memory in to:
                return replace(e, memory=to[memory].within, index=index + to[memory].start)
        return e

    def in_statement(s: Statement) -> Statement:
        match s:
            case Block(inner):
                return Block(tuple([in_statement(each) for each in inner]))
            case For(_, _, inner, _) | If(_, inner):
                return replace(s, body=moved(inner, to))
            case Store(memory, index, value, _):
                there = to.get(memory, Location(memory))
                value = rewrite(value, in_value)
                return replace(s, memory=there.within, index=index + there.start, value=value)
            case Declare(memory):
                return Declare(to[memory].within if memory in to else memory)
        return s

    return Block(tuple([in_statement(each) for each in body.statements]))

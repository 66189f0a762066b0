"""Kernels whose halves and bfloats are narrow in memory only: loaded as floats, computed with as
floats, and rounded where they are stored or a conversion asks for it."""

# key: m memory, e value

from dataclasses import dataclass, field, replace

import numpy as np

from codegen.tree.kernel_values import (
    Apply,
    Broadcast,
    Build,
    Call,
    Convert,
    Kind,
    Load,
    Number,
    Repack,
    Value,
    kind_of,
    operands,
    with_operands,
)
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, Declare, For, If, Kernel, Statement, Store, remembered
from ir.core.types import NARROW_REALS
from ir.meaning.conversions import FORMATS, rounded

NARROW = frozenset(t.name for t in NARROW_REALS)
KEPT = (Space.GLOBAL, Space.LOCAL)  # where numbers are as narrow as their type


@remembered
def computed_as_floats(kernel: Kernel, narrow: frozenset[str]) -> Kernel:
    """The kernel with floats for all numbers of the `narrow` types outside of arrays in memory."""
    return replace(kernel, body=_Widening(narrow).block(kernel.body))


def same_bits(e: Value) -> bool:
    """True if e is what lies in memory, a load or its bits, and nothing computed from it."""
    match e:
        case Repack(inner, Kind("ushort")):
            return isinstance(inner, Load)
    return isinstance(e, Load)


@dataclass(slots=True)
class _Widening:
    narrow: frozenset[str]
    memories: dict[Memory, Memory] = field(default_factory=dict)

    def block(self, body: Block) -> Block:
        return Block(tuple([self.statement(s) for s in body.statements]))

    def statement(self, s: Statement) -> Statement:
        match s:
            case Block():
                return self.block(s)
            case For(_, _, body, _) | If(_, body):
                return replace(s, body=self.block(body))
            case Declare(m):
                return Declare(self.memory(m))
            case Store(m, _, value):
                stored = self.stored(m, self.value(value))
                begun = s.begun and (m.scalar not in self.narrow or same_bits(stored))
                return replace(s, memory=self.memory(m), value=stored, begun=begun)
        return s

    def memory(self, m: Memory) -> Memory:
        """The memory in place of m: one of floats, or m itself if it is of another type or its
        space keeps numbers narrow."""
        if m.scalar not in self.narrow or m.space in KEPT:
            return m
        if m not in self.memories:
            values = tuple([self.number(v, m.scalar) for v in m.values])
            self.memories[m] = replace(m, scalar="float", values=values)
        return self.memories[m]

    def number(self, value: float, scalar: str) -> float:
        with np.errstate(all="ignore"):
            return float(rounded(np.asarray(value, np.float64), FORMATS[scalar], "rte"))

    def stored(self, m: Memory, e: Value) -> Value:
        """The value e in the form in which it is stored in the memory m."""
        if m.scalar not in self.narrow or m.space not in KEPT:
            return e
        match e:
            case Repack(Load(memory=other, width=w), _) if other.scalar == m.scalar:
                return e.e if m.scalar == "bfloat" else Repack(e.e, Kind("ushort", w))
            case Apply(op, (inner,), kind) if op == f"{m.scalar}_rte":
                return Repack(inner, Kind(m.scalar, kind.width))
        return Repack(e, Kind(m.scalar, kind_of(e).width))

    def operand(self, e: Value) -> Value:
        """The value e as an instruction takes it: narrow numbers as their bits."""
        kind = kind_of(e)
        if kind.scalar not in NARROW:
            return self.value(e)
        bits = Kind("ushort", kind.width)
        if isinstance(e, Call):
            return replace(e, arguments=tuple(map(self.operand, e.arguments)), kind=bits)
        if isinstance(e, Build):
            return Build(tuple(map(self.operand, e.parts)), bits)
        if kind.scalar not in self.narrow or (isinstance(e, Load) and e.memory.space in KEPT):
            return Repack(e, bits)
        wide = self.value(e)
        if isinstance(wide, Apply) and wide.op == f"{kind.scalar}_rte":
            (wide,) = wide.arguments
        return Repack(wide, kind)

    def value(self, e: Value) -> Value:
        if isinstance(e, Call):
            return replace(e, arguments=tuple(map(self.operand, e.arguments)))
        new = tuple([self.value(inner) for inner in operands(e)])
        match e:
            case Load(m, _, w, _):
                load = replace(e, memory=self.memory(m))
                wide = load.memory.scalar not in self.narrow
                return load if wide else Repack(load, Kind("float", w))
            case Number(value, scalar) if scalar in self.narrow:
                return Number(self.number(value, scalar), "float")
            case Convert(_, kind, rounding, _) if kind.scalar in self.narrow:
                return self.rounded(new[0], kind, rounding)
            case Convert(_, Kind("float")) if kind_of(new[0]).scalar == "float":
                return new[0]
        made = with_operands(e, new)
        if isinstance(made, Apply | Broadcast | Build) and made.kind.scalar in self.narrow:
            return replace(made, kind=Kind("float", made.kind.width))
        return made

    def rounded(self, e: Value, kind: Kind, rounding: str) -> Value:
        """The value e, as a float, rounded to a number of the narrow type of `kind`: to nearest,
        unless `rounding` is rtz (towards zero)."""
        wide = Kind("float", kind.width)
        e = e if kind_of(e).scalar == "float" else Convert(e, wide)
        return Apply(f"{kind.scalar}_{rounding or 'rte'}", (e,), wide)

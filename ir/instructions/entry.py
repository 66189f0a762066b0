"""The entry of an instruction in the table: the program that it computes, and the layouts of its
matrices over lanes."""

from dataclasses import dataclass
from functools import cached_property

from ir.core.nodes import Expr, Instruct, Instruction, Lam, MakeTuple, Var
from ir.core.terms import apply, variables
from ir.core.type_rules import type_of
from ir.instructions.fragments import Fragment, as_lanes, as_matrix


@dataclass(frozen=True)
class Entry:
    """An instruction: `program` is what it computes on matrices, `fragments` are the layouts of its
    operands and result over lanes.

    `text` holds the OpenCL functions that carry it out, one of which has its name. `brought` are
    the layouts in which operands are loaded: the steps of a sum may be reordered, alike in all
    operands, so that what a lane holds lies together in memory.
    """

    name: str
    program: Lam
    fragments: tuple[Fragment, ...]
    brought: tuple[Fragment, ...]
    lanes: int
    rounding: float
    text: str
    native: str  # what the compilers define that have the instruction itself, and no emulation

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction as nodes hold it: on operands in the layout of lanes."""
        operands = variables(self.program.pattern)
        held = tuple(
            Var(v.name, type_of(as_lanes(f, v)))
            for v, f in zip(operands, self.fragments, strict=True)
        )
        matrices = map(as_matrix, self.fragments, held)
        meaning = as_lanes(self.fragments[-1], apply(self.program, MakeTuple(tuple(matrices))))
        return Instruction(self.name, Lam(held, meaning), self.lanes, self.rounding, self.text)

    def carried_out(self, *matrices: Expr) -> Expr:
        """The term that computes the entry's `program` on these matrices by using the
        instruction."""
        held = tuple(map(as_lanes, self.brought, matrices))
        return as_matrix(self.brought[-1], Instruct(self.instruction, held))

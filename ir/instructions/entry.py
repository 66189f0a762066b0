"""The entry of an instruction in the table: a small program, and how its matrices lie over
lanes."""

from dataclasses import dataclass
from functools import cached_property

from ir.core.nodes import Expr, Instruct, Instruction, Lam, MakeTuple, Var
from ir.core.terms import apply, variables
from ir.core.type_rules import type_of
from ir.instructions.fragments import Fragment, as_lanes, as_matrix


@dataclass(frozen=True)
class Entry:
    """An instruction: `program` says what it computes on matrices, `fragments` how operands and
    result lie over lanes.

    `text` holds the OpenCL functions that carry it out, one of this name. `brought` says how
    operands are brought to it: the steps of a sum may be taken in another order, the same in all
    operands, so that what a lane holds lies together in memory.
    """

    name: str
    program: Lam
    fragments: tuple[Fragment, ...]
    brought: tuple[Fragment, ...]
    lanes: int
    rounding: float
    text: str

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction as programs hold it, on operands as lanes hold them."""
        operands = variables(self.program.pattern)
        held = tuple(
            Var(v.name, type_of(as_lanes(f, v)))
            for v, f in zip(operands, self.fragments, strict=True)
        )
        matrices = map(as_matrix, self.fragments, held)
        meaning = as_lanes(self.fragments[-1], apply(self.program, MakeTuple(tuple(matrices))))
        return Instruction(self.name, Lam(held, meaning), self.lanes, self.rounding, self.text)

    def carried_out(self, *matrices: Expr) -> Expr:
        """The term that computes the entry's program on these matrices by the instruction."""
        held = tuple(map(as_lanes, self.brought, matrices))
        return as_matrix(self.brought[-1], Instruct(self.instruction, held))

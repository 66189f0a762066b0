"""The entries of instructions in the table: the programs that they compute, and the layouts of
matrices over lanes."""

from dataclasses import dataclass
from functools import cached_property

from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Expr,
    Instruct,
    Instruction,
    Lam,
    MakeArray,
    MakeTuple,
    Var,
)
from ir.core.terms import apply, variables
from ir.core.type_rules import type_of
from ir.core.types import Array
from ir.instructions.fragments import Fragment, as_lanes, as_matrix


@dataclass(frozen=True)
class Entry:
    """An instruction: `program` is what it computes on matrices, `fragments` are the layouts of its
    operands and result over lanes, and `rounding` is the relative error of its result, in machine
    epsilons.

    `text` holds the OpenCL functions that carry it out, one of which has its name; `native` is the
    preprocessor's condition for a device that has the instruction itself. `brought` are the layouts
    in which operands are loaded and the result is stored. In them the steps of a sum may have
    another order, the same in all operands, so that what a lane holds lies together in memory.
    """

    name: str
    program: Lam
    fragments: tuple[Fragment, ...]
    brought: tuple[Fragment, ...]
    lanes: int
    rounding: float
    text: str
    native: str  # a condition of the preprocessor: true where nothing is emulated

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


@dataclass(frozen=True)
class Alone:
    """An instruction that each work-item carries out by itself, so that `lanes` is 1. `program` is
    the function that it computes, on numbers and arrays; where it has an array, the instruction
    takes a vector. `rounding` is the relative error of its result, in machine epsilons.

    `text` holds the OpenCL functions that carry it out; `native` is the preprocessor's condition
    for a device that has the instruction itself.
    """

    name: str
    program: Lam
    text: str
    native: str
    rounding: float = 0.0
    lanes: int = 1

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction as terms contain it: a function of vectors and numbers, not of arrays."""
        operands = variables(self.program.pattern)
        held = tuple(Var(v.name, type_of(_as_vector(v))) for v in operands)
        given = (
            AsScalar(MakeArray((x,))) if isinstance(v.type, Array) else x
            for v, x in zip(operands, held, strict=True)
        )
        meaning = apply(self.program, MakeTuple(tuple(given)))
        return Instruction(self.name, Lam(held, meaning), self.lanes, self.rounding, self.text)

    def carried_out(self, *operands: Expr) -> Expr:
        """The term that computes the entry's `program` on these operands by using the
        instruction."""
        return Instruct(self.instruction, tuple(map(_as_vector, operands)))


def _as_vector(e: Expr) -> Expr:
    """The array e as one vector; e itself if it is a number."""
    t = type_of(e)
    return At(0, AsVector(t.size, e)) if isinstance(t, Array) else e

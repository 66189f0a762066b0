"""The entries of instructions in the table: the programs that they compute, the layouts of matrices
over lanes, and their texts for each target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from ir.core.instruction import Instruct, Instruction, Placed
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Expr,
    Generate,
    Join,
    Lam,
    MakeArray,
    MakeTuple,
    Map,
    Split,
    Var,
)
from ir.core.size import Size
from ir.core.terms import apply, lam, variables
from ir.core.type_rules import elem_of, type_of
from ir.core.types import INT, Array, Scalar, Type, Vector
from ir.instructions.fragments import Fragment, as_lanes, as_matrix, same_but_for_steps


class Spelled:
    """The texts of an instruction: `spelled` for each target's condition of the preprocessor, and
    `emulated` wherever no condition holds."""

    spelled: Mapping[str, str]
    emulated: str

    @property
    def text(self) -> str:
        """The functions or macros of OpenCL that carry out the instruction on any device."""
        parts = [f"#elif {condition}\n{text.strip()}" for condition, text in self.spelled.items()]
        parts += ["#else", self.emulated.strip(), "#endif"]
        return "\n".join(parts).replace("#elif", "#if", 1)

    @property
    def native(self) -> str:
        """The preprocessor's condition for a device that has the instruction itself."""
        return " || ".join(self.spelled)


@dataclass(frozen=True)
class Entry(Spelled):
    """An instruction: `program` is what it computes on matrices, `fragments` are the layouts of its
    operands and result over lanes, and `rounding` is the relative error of its result, in machine
    epsilons. A device reads the leading `read` bits of an operand and keeps the leading `kept` bits
    of a sum, and cuts others off; None: it reads all, or rounds as ordinary additions do. The lanes
    are those of `sub_groups` sub-groups. Operands in `placed` have to lie in local memory, where
    the instruction reads them itself. If it `goes_on`, a call of it ends before its products are
    made (`ir/instructions/under_way.py`). `beside` has, for each number of calls side by side that
    one call may stand for, the texts that carry these out (`several_name`).

    `spelled` has, for each target's condition of the preprocessor, the OpenCL functions that carry
    the instruction out there, one of which has its name; `emulated` has those that do so by
    shuffles, wherever no condition holds. `brought` are the layouts in which operands are loaded
    and the result is stored. In them the steps of a sum may have another order, the same in all
    operands, so that what a lane holds lies together in memory.

    A ValueError if the layouts do not fit the program or the lanes, or are brought in another way.
    """

    name: str
    program: Lam
    fragments: tuple[Fragment, ...]
    brought: tuple[Fragment, ...]
    lanes: int
    rounding: float
    spelled: Mapping[str, str]
    emulated: str
    read: int | None = None
    kept: int | None = None
    sub_groups: int = 1
    placed: tuple[Placed, ...] = ()
    goes_on: bool = False
    beside: Mapping[int, Spelled] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sides = [_shape(v.type) for v in variables(self.program.pattern)]
        for layouts in (self.fragments, self.brought):
            if [f.sides for f in layouts] != sides:
                raise ValueError(f"{self.name}: expected layouts of matrices of {sides}")
            if {f.count(f.lanes) for f in layouts} != {self.lanes}:
                raise ValueError(f"{self.name}: expected layouts over {self.lanes} lanes")
        if any(prod(placed.digits) != self.lanes for placed in self.placed):
            raise ValueError(f"{self.name}: expected a piece for each of {self.lanes} lanes")
        if not same_but_for_steps(self.fragments, self.brought):
            raise ValueError(
                f"{self.name}: expected operands to be brought as lanes hold them, but for one "
                "order of a sum's steps in all operands; found other rows, columns or orders"
            )

    @property
    def steps(self) -> int:
        """The number of steps of a sum that the instruction makes: the rows of its operands."""
        return self.fragments[0].sides[0]

    @property
    def reads_along(self) -> bool:
        """True if the pieces of the second operand have its steps side by side, not its columns."""
        held = self.fragments[1]
        return {*held.registers} <= {*held.rows}

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
        f, bits = Lam(held, meaning), (self.read, self.kept)
        return Instruction(
            self.name,
            f,
            self.lanes,
            self.rounding,
            self.text,
            *bits,
            placed=self.placed,
            sub_groups=self.sub_groups,
            goes_on=self.goes_on,
            beside={count: found.text for count, found in self.beside.items()},
        )

    def carried_out(self, *matrices: Expr) -> Expr:
        """The term that computes the entry's `program` on these matrices by using the
        instruction."""
        return self._in_layouts(self.brought, matrices)

    def in_order(self, *matrices: Expr) -> Expr:
        """The term that computes the entry's `program` on these matrices by using the instruction,
        with the steps of the sum in the order of its `fragments`."""
        return self._in_layouts(self.fragments, matrices)

    def _in_layouts(self, layouts: Sequence[Fragment], matrices: Sequence[Expr]) -> Expr:
        held = tuple(map(as_lanes, layouts, matrices))
        return as_matrix(layouts[-1], Instruct(self.instruction, held))


@dataclass(frozen=True)
class Alone(Spelled):
    """An instruction that each work-item carries out by itself, so that `lanes` is 1. `program` is
    the function that it computes, on numbers and arrays; where it has an array, the instruction
    takes a vector. `rounding` is the relative error of its result, in machine epsilons.

    `spelled` has, for each target's condition of the preprocessor, the OpenCL functions that carry
    the instruction out there; `emulated` has those that do so wherever no condition holds.
    """

    name: str
    program: Lam
    spelled: Mapping[str, str]
    emulated: str
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


@dataclass(frozen=True)
class Across(Spelled):
    """An instruction by which the lanes of a sub-group exchange numbers: each lane gives one of
    each operand, and gets one. `program` is the function that it computes on arrays of a number for
    each lane. Where its result is one number, such as their sum, every lane gets that. `rounding`
    is the relative error of a result, in machine epsilons, beside that of ordinary operations.

    `spelled` has, for each target's condition of the preprocessor, the OpenCL functions that carry
    the instruction out there; `emulated` has those that do so by shuffles, wherever no condition
    holds. A ValueError if an operand is no array of numbers, one for each lane, or the result is
    neither one number nor such an array.
    """

    name: str
    program: Lam
    lanes: int
    spelled: Mapping[str, str]
    emulated: str
    rounding: float = 0.0

    def __post_init__(self) -> None:
        result = type_of(self.program.body)
        given = [v.type for v in variables(self.program.pattern)]
        for t in (*given, *([result] if isinstance(result, Array) else [])):
            if not (isinstance(t, Array) and t.size == self.lanes and isinstance(t.elem, Scalar)):
                raise ValueError(f"{self.name}: expected a number for each of {self.lanes} lanes")

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction as terms contain it: a function to what each lane gets."""
        held, meaning = variables(self.program.pattern), self.program.body
        if not isinstance(type_of(meaning), Array):
            meaning = Map(lam("lane", elem_of(held[0]), lambda _: self.program.body), held[0])
        return Instruction(self.name, Lam(held, meaning), self.lanes, self.rounding, self.text)

    def carried_out(self, *operands: Expr) -> Expr:
        """The term that computes the entry's `program` on these operands by using the instruction:
        what lanes get, or, of one result for all lanes, what the first gets."""
        made = Instruct(self.instruction, operands)
        return made if isinstance(type_of(self.program.body), Array) else At(0, made)


@dataclass(frozen=True)
class Loading(Spelled):
    """An instruction by which the lanes of a sub-group load a matrix of numbers of the type
    `scalar` from local memory. Each of the first lanes gives the place of a row, numbers that lie
    together there, in the layout `given`; then lanes hold the matrix in the layout `held`. Lanes
    beyond those of `given` give the same places again.

    `spelled` has, for each target's condition of the preprocessor, a function or macro of the
    entry's name, whose argument is the row as it is read, an element that has an address;
    `emulated` has a function of the row, by shuffles, wherever no condition holds. A ValueError if
    the layouts are not of one matrix or the lanes are too few.
    """

    name: str
    scalar: Scalar
    given: Fragment
    held: Fragment
    lanes: int
    spelled: Mapping[str, str]
    emulated: str
    rounding: float = 0.0

    def __post_init__(self) -> None:
        if self.given.sides != self.held.sides:
            raise ValueError(f"{self.name}: expected two layouts of one matrix")
        if self.held.count(self.held.lanes) != self.lanes or self.lanes % self._rows:
            raise ValueError(f"{self.name}: expected layouts over {self.lanes} lanes")

    @property
    def program(self) -> Lam:
        """The function that the instruction computes: from a matrix to what lanes hold of it."""
        rows, columns = self.held.sides
        matrix = Array(Array(self.scalar, columns), rows)
        return lam("rows", matrix, lambda m: as_lanes(self.held, m))

    @cached_property
    def instruction(self) -> Instruction:
        """The instruction as terms contain it: a function of the rows that lanes give."""
        width = self.given.count(self.given.registers)
        given = Var("rows", Array(Vector(self.scalar, width), self.lanes))
        first = At(0, Split(self._rows, given))
        meaning = as_lanes(self.held, as_matrix(self.given, first))
        return Instruction(
            self.name, Lam((given,), meaning), self.lanes, 0.0, self.text, by_place=True
        )

    def carried_out(self, matrix: Expr) -> Expr:
        """The term that computes the entry's `program` on a matrix by using the instruction."""
        return self.of_rows(as_lanes(self.given, matrix))

    def of_rows(self, rows: Expr) -> Expr:
        """The term that loads what lanes hold of a matrix whose `rows` these are, a vector each."""
        again = self.lanes // self._rows
        if again > 1:
            rows = Join(Generate(again, lam("again", INT, lambda _: rows)))
        return Instruct(self.instruction, (rows,))

    @property
    def _rows(self) -> int:
        return self.given.count(self.given.lanes)


@dataclass(frozen=True)
class Copying(Spelled):
    """An instruction by which a work-item begins a copy of `widths` bytes from global to local
    memory, or of zeros, and goes on; its meaning is `toLocal`. Terms say where it is used by
    `toLocalInFlight`.

    `spelled` has, for each target's condition of the preprocessor, the macros `COPY_N(to, from)`,
    `COPY_N_OR_ZERO(to, test, from)` for each width N, `AWAIT_COPIES()`, and
    `AWAIT_COPIES_BUT(later)`: what was begun since the last of these is a group, and all groups but
    the `later` latest are awaited. `emulated` has those that copy at once, wherever no condition
    holds.
    """

    name: str
    widths: tuple[int, ...]
    spelled: Mapping[str, str]
    emulated: str
    rounding: float = 0.0
    lanes: int = 1


Called = Entry | Alone | Across | Loading  # instructions that terms call by their names
Listed = Called | Copying  # what the table has


def _shape(t: Type) -> tuple[Size, ...]:
    """The sizes of the dimensions of an array type, outermost first; none for other types."""
    return (t.size, *_shape(t.elem)) if isinstance(t, Array) else ()


def _as_vector(e: Expr) -> Expr:
    """The array e as one vector; e itself if it is a number."""
    t = type_of(e)
    return At(0, AsVector(t.size, e)) if isinstance(t, Array) else e

"""Calls of instructions in a text: what they read from local memory themselves, and which registers
they use until their products are awaited."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from codegen.index.index import constant, var
from codegen.index.pieces import LINES, PIECE_BYTES, PIECES, at_distances, beyond_lines
from codegen.proof.accesses import (
    Access,
    Begun,
    Footprint,
    Loop,
    Node,
    Sequence,
    Touch,
    Uses,
    Where,
)
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.c_values import Meaning, Register, Storage
from codegen.text_proof.expression_meaning import Expressions
from codegen.text_proof.reading import Reading
from codegen.text_proof.work_item_ids import LoopVariables
from codegen.text_reader.c_syntax import Call, CExpr, Target
from codegen.text_reader.names_used import names_in, written
from codegen.tree.memories import Space
from ir.core.instruction import Instruction


@dataclass(slots=True)
class InstructionCalls:
    """The reader of the calls of instructions in one kernel, whose accesses are added to `found`.
    `lanes` are the variables that tell lanes apart; `follows` says that some instruction goes on
    after its call, so that the uses of registers are followed."""

    expressions: Expressions
    found: Footprint
    loops: LoopVariables
    lanes: frozenset[str]
    follows: bool

    @property
    def reading(self) -> Reading:
        """The state of reading the text."""
        return self.expressions.reading

    @property
    def scope(self) -> Mapping[str, Meaning]:
        """The meaning of each name at this place."""
        return self.expressions.scope

    def going_on(self, call: Call, target: Target) -> Iterator[Node]:
        """What the statement target = instruction(…) does with registers, if products that go on
        after calls are followed here."""
        instruction = self.scope[call.function]
        assert isinstance(instruction, Instruction)
        others = [e for e in call.arguments if e != target]
        names = self.registers(name for e in others for name in names_in(e))
        if instruction.goes_on:
            yield Begun(call.function, written(target), names, target in call.arguments)
        elif self.follows:
            yield Uses(names, self.registers([written(target)]))

    def registers(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names that are private variables or arrays."""
        return tuple(name for name in dict.fromkeys(names) if self.is_private(name))

    def is_private(self, name: str) -> bool:
        match self.scope.get(name):
            case Register():
                return True
            case Storage(memory):
                return memory.space is Space.PRIVATE
        return False

    def pieces(self, call: Call, where: Where) -> Iterator[Loop]:
        """The loops in which each lane of an instruction reads all pieces of those operands that
        the instruction reads from local memory itself."""
        instruction, more = self.scope[call.function], 0
        assert isinstance(instruction, Instruction)
        for placed in instruction.placed:
            at = placed.operand + more
            place, *apart = call.arguments[at : at + len(placed.digits) + 1]
            more += len(apart)
            distances = [self.expressions.int_value(n, where).index for n in apart]
            first = self.place_of(place, where)
            fixed = all(n.is_constant and n.constant >= 0 for n in distances)
            if not fixed or not self.lanes.isdisjoint(first.index.names):
                raise self.reading.refused(
                    f"{call.function}: expected one place for all lanes, and distances that are "
                    "numbers, found others"
                )
            self.begins_lines(first, distances[-1].constant, where)
            name = self.loops.variable("piece·", instruction.lanes)
            inside = replace(where, loops=(*where.loops, (name, instruction.lanes)))
            piece = var(name, 0, instruction.lanes - 1)
            told = [n.constant for n in distances]
            index = at_distances(first.index, piece, placed.digits, told, first.width)
            read = replace(first, index=index, where=inside)
            self.found.accesses.append(read)
            yield Loop(name, instruction.lanes, Sequence((Touch((read,)),)))

    def begins_lines(self, first: Access, line: int, where: Where) -> None:
        """Demand that the first piece of an operand, in lines of so many pieces, lies where the
        exchange of pieces begins again, in an array that begins so, too."""
        if line not in LINES:
            raise self.reading.refused(f"expected lines of {LINES} pieces, found {line}")
        if line > 1:
            storage = self.scope[first.memory.name]
            assert isinstance(storage, Storage)
            begins = constant(-(storage.aligned % (PIECE_BYTES * PIECES * line)))
            beyond = beyond_lines(first.index, line, first.width)
            self.reading.demand(About.ALIGNMENT, "lines of pieces", [begins, -beyond], where)

    def place_of(self, e: CExpr, where: Where) -> Access:
        """The only access to local memory of the expression e, which reads a vector from there."""
        arrays = self.expressions.arrays
        outer, arrays.accesses = arrays.accesses, []
        self.expressions.value(e, where)
        found, arrays.accesses = arrays.accesses, outer
        if len(found) != 1 or found[0].memory.space is not Space.LOCAL:
            raise self.reading.refused("expected a piece in local memory, found another value")
        return found[0]

    def is_instruction(self, name: str) -> bool:
        """True if `name` is the name of an instruction of this text that several lanes carry out
        together."""
        found = self.scope.get(name)
        return isinstance(found, Instruction) and found.lanes > 1

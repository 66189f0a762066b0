"""The footprint of a kernel's text on memory, with the demands on its arithmetic."""

# key: s statement, d dimension

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from codegen.index.index import Index, constant, var
from codegen.proof.accesses import (
    Access,
    Awaits,
    AwaitsProducts,
    Branch,
    Footprint,
    Gather,
    Loop,
    Meet,
    Node,
    Sequence,
    Settles,
    Touch,
    Uses,
    Where,
)
from codegen.text_proof.advances import Advances
from codegen.text_proof.c_values import Int, Meaning, Register, Storage
from codegen.text_proof.expression_meaning import Expressions
from codegen.text_proof.instruction_calls import InstructionCalls
from codegen.text_proof.int_arithmetic import data_of
from codegen.text_proof.reading import Reading
from codegen.text_proof.work_item_ids import LoopVariables, Size, asked_id, ids_of
from codegen.text_reader.c_syntax import (
    ArrayOf,
    Assign,
    AwaitCopies,
    AwaitProducts,
    Begin,
    Braces,
    Branches,
    Call,
    Counted,
    CStatement,
    Define,
    Element,
    Fence,
    KernelText,
    Lanes,
    Name,
    Pointed,
    Registers,
    Settled,
    StoreVector,
    Target,
    statements_in,
)
from codegen.text_reader.c_words import SIZES, has_meaning
from codegen.text_reader.names_used import read_and_written, written
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Memory, Space
from ir.instructions.local_writes import ORDERED_BARRIER
from ir.instructions.under_way import AWAIT_PRODUCTS

ALIGNED = 64  # bytes that every global buffer begins at a multiple of
SHOWN = 120  # characters of a line in a message


def text_footprint(
    text: KernelText, elements: dict[str, int], group: Size, groups: Size
) -> Footprint:
    """The footprint of a kernel's text launched as `groups` groups of `group` work-items along each
    dimension; `elements` has the length of each buffer, by the name of its parameter."""
    found = Footprint({}, {}, {})
    ids = ids_of(text, found, group, groups)
    walker = _Walker(text, found, ids)
    for p in text.parameters:
        memory = Memory(p.name, Space.GLOBAL, p.scalar, elements[p.name])
        walker.declare(p.name, Storage(memory, Kind(p.scalar), ALIGNED, p.const))
    for function in text.functions:
        walker.declare(function.name, function)
    for instruction in text.instructions:
        walker.declare(instruction.name, instruction)
    found.root = walker.braces(text.body, walker.top)
    found.demands.extend(walker.reading.demands)
    return found


# ---- statements


class _Walker:
    def __init__(self, text: KernelText, found: Footprint, ids: dict[str, list[Index]]) -> None:
        self.lines = text.lines
        self.found = found
        self.ids = ids
        self.orders = any(instruction.placed for instruction in text.instructions)
        self.top = Where()
        self.scope: dict[str, Meaning] = {}
        self.reading = Reading()
        self.expressions = Expressions(self.reading, self.scope)
        self.arrays = self.expressions.arrays
        self.advances = Advances(self.reading)
        self.walkers = set[str]()  # the ints in scope that loops add numbers to
        self.declared: list[str] = []  # what is in scope, innermost last
        self.loops = LoopVariables(dict.fromkeys((*found.groups, *found.locals), 0))
        self.calls = InstructionCalls(
            self.expressions,
            found,
            self.loops,
            lanes=frozenset(ids["local"][0].names),
            follows=any(instruction.goes_on for instruction in text.instructions),
        )

    def declare(self, name: str, meaning: Meaning) -> None:
        if name in self.scope or has_meaning(name):
            raise self.reading.refused(
                f"expected a new name in a declaration, found {name}, which has a meaning already"
            )
        self.scope[name] = meaning
        self.declared.append(name)

    def forget(self, before: int) -> None:
        """Remove all declared names but the first `before` ones: names declared later go out of
        scope."""
        while len(self.declared) > before:
            name = self.declared.pop()
            del self.scope[name]
            self.walkers.discard(name)

    def braces(self, body: Braces, where: Where) -> Sequence:
        before = len(self.declared)
        parts = [self.statement(s, where) for s in body.statements]
        self.forget(before)
        return Sequence(tuple([part for part in parts if part is not None]))

    def statement(self, s: CStatement, where: Where) -> Node | None:
        together = self.calls.is_instruction
        match s:
            case Braces():
                return self.braces(s, where)
            case _:
                self.at(s.line)
        match s:
            case Assign(((Name() | Element()) as target,), Call(name) as call) if together(name):
                return self.instructed(call, where, target, lambda: self.store(target, where))
            case Registers(kind, ((given, Call(name) as call),)) if together(name):
                declared = partial(self.declare, given, Register(kind))
                return self.instructed(call, where, Name(given), declared)
            case Assign() | StoreVector() | Registers():
                touched = self.touching(s, where)
                if not self.calls.follows:
                    return touched
                used = Uses(*map(self.calls.registers, read_and_written(s)))
                return Sequence((used, *([touched] if touched else [])))
            case Begin():
                return self.begin(s, where)
            case AwaitCopies(later):
                return Awaits(later)
            case AwaitProducts(later) if later:  # others may still be under way
                return Gather(AWAIT_PRODUCTS)
            case AwaitProducts():
                return Sequence((Gather(AWAIT_PRODUCTS), AwaitsProducts()))
            case Settled(result):
                self.store(result, where)
                return Settles(written(result))
            case Define():
                return self.define(s, where)
            case Counted():
                return self.loop(s, where)
            case Branches():
                return self.branches(s, where)
            case Fence(spaces, _, ordered):
                if Space.LOCAL in spaces and self.orders and not ordered:
                    raise self.reading.refused(
                        f"expected {ORDERED_BARRIER} beside instructions that read local memory "
                        "themselves, found barrier"
                    )
                return Meet(spaces)
            case ArrayOf():
                self.array(s, where)
                return None
        raise AssertionError(f"expected a statement that kernels have, found {s}")

    def at(self, line: int) -> None:
        words = self.lines[line - 1].strip()
        self.reading.text = f"line {line}: {words[:SHOWN]}"

    # ---- names

    def define(self, s: Define, where: Where) -> Node | None:
        asked, wide = asked_id(s), s.scalar == "long"
        if asked is not None:
            kind, d = asked
            if d > 2:
                raise self.reading.refused(f"expected dimension 0, 1 or 2 of an id, found {d}")
            index = self.ids[kind][d]
        else:
            index = self.expressions.int_value(s.value, where).index
        self.declare(s.name, Int(self.expressions.arithmetic.fitting(index, wide, where), wide))
        return self.touched()

    def array(self, s: ArrayOf, where: Where) -> None:
        if (
            s.space is Space.GLOBAL
            or s.size < 1
            or (s.space is Space.LOCAL and where is not self.top)
        ):
            raise self.reading.refused(
                f"expected a private array, or a local one at the kernel's top, found {s.name}"
            )
        if s.kind.width == 3:
            raise self.reading.refused(
                f"expected vectors of 1, 2, 4, 8 or 16 in an array, found 3 in {s.name}"
            )
        memory = Memory(s.name, s.space, s.kind.scalar, s.size * s.kind.width)
        aligned = s.aligned or s.kind.width * SIZES[s.kind.scalar]
        self.declare(s.name, Storage(memory, s.kind, aligned, s.space is Space.CONSTANT))

    # ---- accesses

    def touching(self, s: Assign | StoreVector | Registers, where: Where) -> Node | None:
        match s:
            case Registers(kind, names, _):
                for name, value in names:
                    if value is not None:
                        self.expressions.value(value, where)
                    self.declare(name, Register(kind))
            case Assign(targets, value, _):
                self.expressions.value(value, where)
                for target in targets:
                    self.store(target, where)
            case StoreVector(width, halves, value, offset, pointer, _):
                self.expressions.value(value, where)
                storage = self.arrays.at_pointer(offset, pointer, width, where, writes=True)
                if halves:
                    self.arrays.demand_halves(storage, "vstore_half")
        return self.touched()

    def begin(self, s: Begin, where: Where) -> Node | None:
        """The node of a copy that is begun, from an element of global memory to one of local memory
        with as many bytes."""
        tested = None if s.test is None else self.expressions.test(s.test, where)
        if s.test is not None and tested is None:
            raise self.reading.refused("expected a test of ids and loops, found one of data")
        here = where if tested is None else self.expressions.holding(where, tested)
        given = data_of(self.expressions.value(s.value, here)).kind
        from_memory = {a.memory.space for a in self.arrays.accesses}
        before = len(self.arrays.accesses)
        self.store(s.target, where)
        written = self.arrays.accesses[before:]
        elements = all(isinstance(e, Element | Pointed) for e in (s.target, s.value))
        if not elements or [a.memory.space for a in written] != [Space.LOCAL]:
            raise self.reading.refused("expected a copy to an element of local memory")
        (write,) = written
        if from_memory != {Space.GLOBAL} or write.memory.scalar != given.scalar:
            raise self.reading.refused(f"expected {write.memory.scalar}s of global memory to copy")
        if not s.bytes == SIZES[given.scalar] * given.width == SIZES[given.scalar] * write.width:
            raise self.reading.refused(
                f"expected a copy of {SIZES[given.scalar] * given.width} bytes, found {s.bytes}"
            )
        self.arrays.accesses = [replace(a, begun=True) for a in self.arrays.accesses]
        return self.touched()

    def instructed(
        self, call: Call, where: Where, target: Target, kept: Callable[[], None]
    ) -> Node:
        """The node of the statement target = instruction(…), where the target is a register or an
        element of an array. `kept` notes that it is written, and declares it if the statement
        does."""
        self.expressions.carried_out(call, where)
        read = [*self.calls.pieces(call, where)]
        kept()
        touched = self.touched()
        done = [*read, *([] if touched is None else [touched]), *self.calls.going_on(call, target)]
        return Sequence((Gather(call.function), *done))

    def store(self, target: Target, where: Where) -> None:
        match target:
            case Element():
                self.arrays.element(target, where, writes=True)
            case Pointed():
                self.arrays.pointed(target, where, writes=True)
            case Lanes(Name() | Element() | Pointed() as whole, lanes):
                self.expressions.lanes(data_of(self.expressions.value(whole, where)), lanes)
                self.store(whole, where)
            case Name(name) if isinstance(self.scope.get(name), Register):
                pass
            case _:
                raise self.reading.refused(
                    "expected an assignment to a register or an array, "
                    f"found {type(target).__name__}"
                )

    def touched(self) -> Node | None:
        """The node of a statement's accesses, each once; None if there are none."""
        found = self.arrays.accesses
        if not found:
            return None
        once: dict[tuple[object, ...], Access] = {}
        for a in found:
            once.setdefault((a.memory, a.index.key, a.width, a.writes, a.where), a)
        self.arrays.accesses = []
        self.found.accesses.extend(once.values())
        return Touch(tuple(once.values()))

    # ---- control flow

    def gathers(self, s: CStatement) -> bool:
        """True if work-items wait for each other at s: a barrier, or a call of an instruction of a
        sub-group, such as mma_tf32."""
        match s:
            case Assign((Name() | Element(),), Call(name)) | Registers(_, ((_, Call(name)),)):
                return self.calls.is_instruction(name)
        return isinstance(s, Fence)

    def loop(self, s: Counted, where: Where) -> Loop:
        most = 2**63 - 1 if s.scalar == "long" else 2**31 - 1
        if not 1 <= s.count <= most:
            raise self.reading.refused(
                f"expected a loop of 1 to {most} iterations, found {s.count}"
            )
        name = self.loops.variable(s.name, s.count)
        index = var(name, 0, s.count - 1)
        before = len(self.declared)
        for walker, start in s.walks:
            value = self.expressions.int_value(start, where).index
            fitting = self.expressions.arithmetic.fitting(value, False, where)
            self.declare(walker, Int(fitting, False))
            self.walkers.add(walker)
        begun = self.walking(self.advances.of_turn(s))
        self.declare(s.name, Int(index, s.scalar == "long"))
        inside = replace(where, loops=(*where.loops, (name, s.count)))
        self.walk(begun, index, inside)
        body = self.braces(s.body, inside)
        self.walk(begun, constant(s.count), where)
        self.forget(before)
        return Loop(name, s.count, body)

    def walking(self, steps: Mapping[str, int]) -> dict[str, tuple[Index, int]]:
        """The values now, and the steps of a turn, of those names to which a loop adds `steps`."""
        found = dict[str, tuple[Index, int]]()
        for name, step in steps.items():
            value = self.scope.get(name)
            if name not in self.walkers or not isinstance(value, Int):
                raise self.reading.refused(f"expected a number to add to, found {name}")
            found[name] = value.index, step
        return found

    def walk(self, begun: Mapping[str, tuple[Index, int]], turns: Index, where: Where) -> None:
        """Give each name the value that it has after so many turns of a loop, from the value and
        the step in `begun`."""
        for name, (index, step) in begun.items():
            now = self.expressions.arithmetic.fitting(index + turns * step, False, where)
            self.scope[name] = Int(now, False)

    def branches(self, s: Branches, where: Where) -> Node:
        condition = self.expressions.test(s.test, where)
        tested = self.touched()
        if condition is None:
            raise self.reading.refused(
                "expected a test of ids, loops and numbers, found one of data"
            )
        if any(map(self.gathers, statements_in(s.otherwise))):
            raise self.reading.refused(
                "expected no barrier and no instruction under an else, found one"
            )
        before = {name: self.scope[name] for name in self.advances.of(s) if name in self.scope}
        then = self.braces(s.then, self.expressions.holding(where, condition))
        parts: list[Node | None] = [tested, Branch(condition, where, then)]
        if condition.parts:
            self.scope |= before
            parts.append(self.braces(s.otherwise, self.expressions.denying(where, condition)))
        return Sequence(tuple([part for part in parts if part is not None]))

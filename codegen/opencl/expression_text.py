"""Values as OpenCL C expressions, for one choice of values of the spelled-out loops around them."""

# key: e value, i index, w width

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from codegen.index.condition import ALWAYS, NEVER, Condition
from codegen.index.index import Index
from codegen.index.substitute import evaluate
from codegen.memory.unrolled_registers import is_aligned, lanes_of_registers
from codegen.numbers.byte_columns import ROWS, column_of
from codegen.numbers.byte_fours import FOURS, WIDTH, byte_four
from codegen.numbers.byte_pairs import byte_pair
from codegen.numbers.byte_sums import ByteSum, byte_sum
from codegen.numbers.integer_text import (
    WRAPS,
    Division,
    as_signed,
    as_unsigned,
    division_helpers,
    division_name,
    in_memory,
    is_amount,
    may_trap,
    suffix,
    type_text,
)
from codegen.numbers.number_functions import NUMBER_FUNCTIONS, named, texts
from codegen.numbers.number_text import number_text
from codegen.numbers.operator_text import CHOICE, PRIMARY, SUM, UNARY, cast_text, infix
from codegen.opencl.address_names import flat
from codegen.opencl.index_text import condition_to_c, needs_64
from codegen.opencl.loop_versions import NO_FACTS, Facts
from codegen.opencl.place_text import Places, as_const, in_vectors, lanes_text
from codegen.tree.kernel_values import (
    Apply,
    Broadcast,
    Build,
    Call,
    Convert,
    Kind,
    Lane,
    Load,
    Number,
    Repack,
    Select,
    Value,
    Whole,
    kind_of,
)
from codegen.tree.memories import Space
from codegen.tree.value_builders import is_whole
from ir.core.instruction import Instruction
from ir.core.terms import variables
from ir.core.type_rules import COMPARISONS
from ir.core.types import BYTES, NARROW_REALS, RANGES, leaves, scalar_of

INTS = {1: "char", 2: "short", 4: "int", 8: "long"}  # by their bytes
FUNCTIONS = frozenset({"exp", "log", "sqrt", "tanh", "cospi", "sinpi", "fma"})


def is_plain(e: Load) -> bool:
    """True if e loads one float of global memory.

    A choice between such a load and another value can be spelled as a load of some cell in any case
    and a select, without a branch: loads and products that no branch divides need few registers.
    """
    return e.memory.space is Space.GLOBAL and e.width == 1 and e.memory.scalar == "float"


@dataclass(slots=True)
class Expressions:
    """The state of spelling the values of one kernel as text: the places that they are loaded from
    (`places`), the facts known here, and the divisions, functions and instructions that the text
    calls."""

    places: Places
    facts: Facts = NO_FACTS
    divisions: set[Division] = field(default_factory=set)
    functions: set[tuple[str, int]] = field(default_factory=set)  # those on numbers, and widths
    instructions: dict[str, Instruction] = field(default_factory=dict)

    # ---- values

    def text(self, e: Value) -> str:
        return self.value(e)[0]

    def operand(self, e: Value, tight: int) -> str:
        text, holds = self.value(e)
        return text if holds >= tight else f"({text})"

    def value(self, e: Value) -> tuple[str, int]:
        """The text of a value, and how tightly its operators bind."""
        match e:
            case Load():
                text = self.places.load(e)
                return text, UNARY if text.startswith("*") else PRIMARY
            case Number(number, scalar):
                text = number_text(number, scalar)
                return text, UNARY if text.startswith(("-", "(")) else PRIMARY
            case Whole(i):
                return self.places.hole(
                    ("whole", i), i.names, lambda: self.whole(self.places.settled(i))
                ), PRIMARY
            case Apply():
                return self.apply(e)
            case Convert():
                return self.convert(e)
            case Repack(inner, kind):
                return self.repack(inner, kind), PRIMARY
            case Broadcast(inner, kind):
                return f"({type_text(kind)})({self.text(inner)})", UNARY
            case Build(parts, kind):
                if (loads := lanes_of_registers(e, self.places.layouts)) is not None:
                    names = frozenset[str]().union(*(load.index.names for load in loads))
                    column = column_of(e, self.places.layouts) is not None
                    spell = self.column if column else self.gathered
                    return self.places.hole(e, names, lambda: spell(kind, loads)), UNARY
                return f"({type_text(kind)})({', '.join(map(self.text, parts))})", UNARY
            case Call(instruction, arguments, _):
                self.instructions[instruction.name] = instruction
                return f"{instruction.name}({', '.join(map(self.text, arguments))})", PRIMARY
            case Lane(inner, lane):
                return f"{self.operand(inner, PRIMARY)}.s{lane:x}", PRIMARY
            case Select(condition, a, b):
                return self.choice(condition, a, b)

    def gathered(self, kind: Kind, loads: Sequence[Load]) -> str:
        """The text of the vector of the lanes that `loads` read from vectors in registers: some
        lanes of one vector, `x.s0044`, if all are of it."""
        registers, lanes = self.registers_of(loads)
        if len({*registers}) == 1:
            return registers[0] + lanes_text(*lanes)
        each = (f"{x}{lanes_text(lane)}" for x, lane in zip(registers, lanes, strict=True))
        return f"({type_text(kind)})({', '.join(each)})"

    def column(self, kind: Kind, loads: Sequence[Load]) -> str:
        """The text of the vector of the bytes that `loads` read from vectors in registers; by a
        function of its own if all are the same lane of their vectors."""
        registers, lanes = self.registers_of(loads)
        if len({*lanes}) > 1:
            return self.gathered(kind, loads)
        function = f"lane{lanes[0]}_of_{kind.scalar}"
        self.functions.add((function, ROWS))
        return f"{named(function, ROWS)}({', '.join(registers)})"

    def registers_of(self, loads: Sequence[Load]) -> tuple[list[str], list[int]]:
        """The registers that the loads of single lanes read, and the lanes of these."""
        widths = [self.places.layouts[load.memory].width for load in loads]
        places = [evaluate(load.index, self.places.values) for load in loads]
        every = list(zip(loads, places, widths, strict=True))
        registers = [self.places.spelled[x.memory].names[at // width] for x, at, width in every]
        return registers, [at % width for _, at, width in every]

    def sum_of_bytes(self, kind: Kind, made: ByteSum) -> tuple[str, int]:
        """The text of a sum in bytes, of this kind: of unsigned ones, which wrap around."""
        to, bits = type_text(kind), type_text(Kind("uchar", kind.width))
        signed = kind_of(made.e).scalar == "char"
        given = f"as_{bits}({self.text(made.e)})" if signed else self.operand(made.e, SUM)
        total = f"{given} + ({bits})({made.n})"
        return (total, SUM) if to == bits else (f"as_{to}({total})", PRIMARY)

    def convert(self, e: Convert) -> tuple[str, int]:
        """The text of a conversion: a cast, or a function where rounding or range matter."""
        if (made := byte_sum(e)) is not None:
            return self.sum_of_bytes(e.kind, made)
        text, holds, kind = *self.value(e.e), kind_of(e.e)
        if is_whole(e.kind) and not is_whole(kind):
            if e.saturates and e.kind.scalar not in ("int", "long"):
                return self.function(f"{e.kind.scalar}_sat_{e.rounding or 'rtz'}", e.e), PRIMARY
            kind = Kind("long" if e.kind.scalar == "long" else "int", kind.width)
            name = f"{kind.scalar}_{e.rounding or 'rtz'}"
            text, holds = self.function(name, e.e), PRIMARY
        if e.kind == kind:
            return text, holds
        to = type_text(e.kind)
        if e.saturates and kind.scalar == "int" and BYTES[e.kind.scalar] < BYTES["int"]:
            # convert_char_sat is a function that Intel's compiler lacks for 32 work-items at once
            bounds = [str(bound) for bound in RANGES[e.kind.scalar]]
            if kind.width > 1:  # by one number, Oclgrind bounds lane 0 only
                bounds = [f"({type_text(kind)})({bound})" for bound in bounds]
            return cast_text(e.kind, f"clamp({text}, {', '.join(bounds)})", PRIMARY)
        if e.saturates:
            return f"convert_{to}_sat({text})", PRIMARY
        if e.rounding and not is_whole(e.kind):
            return f"convert_{to}_{e.rounding}({text})", PRIMARY
        return cast_text(e.kind, text, holds)

    def repack(self, inner: Value, kind: Kind) -> str:
        """The text of the value `inner`, converted to `kind`: halves or bfloats from memory to
        floats; floats to bfloats or halves, as their bits; or halves or bfloats to their bits (kind
        ushort). Halves that are stored to memory are made by `assigned`, not here."""
        if kind.scalar in ("bfloat", "half"):
            return self.function(f"to_{kind.scalar}", inner)
        if kind.scalar == "ushort":
            return self.bits(inner, kind)
        assert isinstance(inner, Load)
        if inner.memory.scalar == "bfloat":
            return self.function("from_bfloat", inner)
        if in_vectors(inner.memory, inner.index, inner.half, kind.width):
            return self.function("from_half", Repack(inner, Kind("ushort", kind.width)))
        place = as_const(self.places.pointer(inner.memory, inner.index, inner.half))
        return f"vload_half{suffix(kind.width)}(0, {place})"

    def bits(self, e: Value, kind: Kind) -> str:
        """The text of the halves or bfloats e as their bits: numbers of `kind`, whole numbers of 16
        bits. If e is a load, its numbers are loaded as such; what is computed is reinterpreted."""
        if isinstance(e, Repack):  # packed by a function that gives bits
            return self.text(e)
        if not isinstance(e, Load):
            return f"as_{type_text(kind)}({self.text(e)})"
        if in_memory(e.memory) == kind.scalar:
            return self.places.load(e)
        if e.width > 1 and not is_aligned(flat(e.memory, e.index, e.half), e.width):
            lanes = (replace(e, index=e.index + n, width=1) for n in range(e.width))
            one = Kind(kind.scalar)
            return f"({type_text(kind)})({', '.join(self.bits(lane, one) for lane in lanes)})"
        return as_const(self.places.pointed(e.memory, e.index, kind, e.half))

    def function(self, name: str, e: Value) -> str:
        """The text of a call of the function on numbers `name` with the value e; the function's own
        text is put before the kernel."""
        w = kind_of(e).width
        self.functions.add((name, w))
        return f"{named(name, w)}({self.text(e)})"

    def called(self, function: str, arguments: Sequence[Value], w: int) -> str:
        """The text of a sum of products of vectors of w bytes, by a function of its own."""
        self.functions.add((function, w))
        return f"{named(function, w)}({', '.join(map(self.text, arguments))})"

    def whole(self, index: Index) -> str:
        i = self.places.settled(index)
        text = self.places.naming.text(i)
        if needs_64(i):
            return f"((int)({text}))"
        return text if text.isidentifier() or text.isdecimal() else f"({text})"

    def choice(self, condition: Condition, a: Value, b: Value) -> tuple[str, int]:
        here = self.facts.tested(condition, self.places.values)
        if here == NEVER:
            return self.value(b)
        if here == ALWAYS:
            return self.value(a)
        test = self.condition(here)
        if self.facts.steady and isinstance(a, Load) and is_plain(a):
            return f"select({self.text(b)}, {self.places.cell_or_first(test, a)}, {test})", PRIMARY
        return f"({test} ? {self.operand(a, SUM)} : {self.operand(b, SUM)})", PRIMARY

    def condition(self, condition: Condition) -> str:
        return condition_to_c(condition, self.places.naming.atoms, needs_64(condition))

    def apply(self, e: Apply) -> tuple[str, int]:
        if e.op == "select":
            return self.chosen(e), PRIMARY
        if e.op in COMPARISONS:
            return self.compared(e)
        if is_whole(e.kind):
            return self.integer(e)
        match e.op:
            case op if op in NUMBER_FUNCTIONS:
                return self.function(op, e.arguments[0]), PRIMARY
            case "+" | "-" | "*" | "/":
                return infix(e, self.operand)
            case "max" | "min" | "abs":
                name = f"f{e.op}"
            case "neg":
                return f"-{self.operand(e.arguments[0], PRIMARY)}", UNARY
            case name if name in FUNCTIONS:
                pass
            case op:
                raise AssertionError(f"expected an operation that OpenCL has on floats, found {op}")
        return self.call(name, e), PRIMARY

    def compared(self, e: Apply) -> tuple[str, int]:
        """The text of a comparison whose result is 1 or 0 in each lane, and how tightly it binds;
        OpenCL's own comparisons of vectors give -1 for true."""
        if e.kind.width == 1:
            return self.comparison(e), CHOICE
        same = BYTES[kind_of(e.arguments[0]).scalar] == BYTES["int"]
        text = f"({self.comparison(e)})" if same else self.as_lanes(self.comparison(e), e.kind)
        return f"-{text}", UNARY

    def comparison(self, e: Apply) -> str:
        """The text of a comparison by OpenCL's operator alone, which gives -1 for true in lanes of
        vectors."""
        return infix(e, self.operand)[0]

    def as_lanes(self, mask: str, kind: Kind) -> str:
        """The text `mask`, a comparison of vectors, converted to whole numbers as wide as those of
        a kind."""
        return f"convert_{INTS[BYTES[kind.scalar]]}{suffix(kind.width)}({mask})"

    def chosen(self, e: Apply) -> str:
        """The text of a choice (select) whose condition is computed."""
        c, a, b = e.arguments
        one = c.e if isinstance(c, Broadcast) else c
        test, lane = f"{self.operand(one, SUM)} != 0", kind_of(one).scalar
        if isinstance(one, Apply) and one.op in COMPARISONS:
            test, lane = self.comparison(one), kind_of(one.arguments[0]).scalar
        if kind_of(one).width == 1:
            return f"({test} ? {self.operand(a, SUM)} : {self.operand(b, SUM)})"
        if BYTES[lane] != BYTES[e.kind.scalar]:
            test = self.as_lanes(test, e.kind)
        return f"select({self.text(b)}, {self.text(a)}, {test})"

    def call(self, name: str, e: Apply) -> str:
        return f"{name}({', '.join(map(self.text, e.arguments))})"

    # ---- ints

    def integer(self, e: Apply) -> tuple[str, int]:
        kind = e.kind
        match e.op:
            case op if op in WRAPS:
                return as_signed(self.unsigned(e, SUM), kind), PRIMARY
            case "/" | "%":
                division = e.op, kind, may_trap(e.arguments[1])
                self.divisions.add(division)
                return self.call(division_name(division), e), PRIMARY
            case "<<":
                x, by = e.arguments
                return as_signed(f"{self.unsigned(x, PRIMARY)} << {self.amount(by)}", kind), PRIMARY
            case ">>":
                x, by = e.arguments
                return f"({self.operand(x, PRIMARY)} >> {self.amount(by)})", PRIMARY
            case "&" | "|":
                a, b = (self.operand(x, PRIMARY) for x in e.arguments)
                return f"({a} {e.op} {b})", PRIMARY
            case "abs":
                return as_signed(self.call("abs", e), kind), PRIMARY
            case "max" | "min":
                return self.call(e.op, e), PRIMARY
        raise AssertionError(f"expected an operation that OpenCL has on ints, found {e.op}")

    def amount(self, by: Value) -> str:
        """The text of the amount of a shift, modulo the bits that are shifted."""
        kind, text = kind_of(by), self.operand(by, PRIMARY)
        return text if is_amount(by, kind) else f"({text} & {8 * BYTES[kind.scalar] - 1})"

    def unsigned(self, e: Value, tight: int) -> str:
        """The text of an int as an unsigned number, whose arithmetic wraps; it is in parentheses
        unless its operators bind at least as tightly as `tight`."""
        match e:
            case Apply("neg", (a,), _):
                text, holds = f"-{self.unsigned(a, PRIMARY)}", UNARY
            case Apply() if (four := byte_four(e)) is not None:
                return as_unsigned(self.called(FOURS, four.arguments, WIDTH), e.kind)
            case Apply() if (pair := byte_pair(e)) is not None:
                return as_unsigned(self.called(pair.function, pair.arguments, e.kind.width), e.kind)
            case Apply(op, _, _) if op in WRAPS:
                text, holds = infix(e, self.unsigned)
            case Apply("abs", _, _):
                return self.call("abs", e)
            case Whole(i) if i.is_constant:
                return as_unsigned(number_text(i.constant, "int"), Kind("int"))
            case _:
                return as_unsigned(self.text(e), kind_of(e))
        return text if holds >= tight else f"({text})"

    def helpers(self) -> list[str]:
        """The texts of the functions that the expressions call."""
        carried_out = [self.instructions[name].text for name in sorted(self.instructions)]
        numbers = texts(self.functions, any(map(takes_narrow, self.instructions.values())))
        return [*division_helpers(self.divisions), *numbers, *carried_out]


def takes_narrow(instruction: Instruction) -> bool:
    """True if an instruction takes halves or bfloats; a device that has the instruction can compute
    with these."""
    operands = variables(instruction.meaning.pattern)
    return any(scalar_of(leaf) in NARROW_REALS for v in operands for leaf in leaves(v.type))

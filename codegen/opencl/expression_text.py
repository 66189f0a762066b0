"""Values as OpenCL C expressions, for one choice of values of the spelled-out loops around them."""

# key: e value, i index, w width

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from codegen.index.condition import ALWAYS, NEVER, Condition, beyond, substitute_in
from codegen.index.index import Index
from codegen.index.substitute import evaluate, substitute
from codegen.memory.narrow_reals import same_bits
from codegen.memory.unrolled_registers import InMemory, Layout, Registers, is_aligned
from codegen.opencl.address_names import Naming, flat
from codegen.opencl.byte_columns import ROWS, column_of
from codegen.opencl.byte_pairs import BytePair, byte_pair
from codegen.opencl.common_guards import in_all_turns
from codegen.opencl.constant_folding import Folding, folded
from codegen.opencl.index_text import condition_to_c, needs_64
from codegen.opencl.integer_text import (
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
from codegen.opencl.memory_names import Spellings
from codegen.opencl.number_functions import NUMBER_FUNCTIONS, named, texts
from codegen.opencl.text_patterns import Pattern, Varying
from codegen.tree.statements import (
    Apply,
    Broadcast,
    Build,
    Call,
    Convert,
    Kind,
    Lane,
    Load,
    Memory,
    Number,
    Repack,
    Select,
    Space,
    Store,
    Value,
    Whole,
    kind_of,
)
from codegen.tree.value_builders import is_whole
from ir.core.nodes import Instruction
from ir.core.terms import variables
from ir.core.type_rules import COMPARISONS
from ir.core.types import BYTES, NARROW_REALS, RANGES, leaves, scalar_of

ALIGNED = 64  # bytes that every array begins at a multiple of
CHOICE, SUM, PRODUCT, UNARY, PRIMARY = range(5)  # how tightly a text holds together
INTS = {1: "char", 2: "short", 4: "int", 8: "long"}  # by their bytes
FUNCTIONS = frozenset({"exp", "log", "sqrt", "tanh", "cospi", "sinpi", "fma"})


def is_plain(e: Load) -> bool:
    """True if e loads one float of global memory.

    A choice between such a load and another value can be spelled as a load of some cell in any case
    and a select, without a branch: loads and products that no branch divides need few registers.
    """
    return e.memory.space is Space.GLOBAL and e.width == 1 and e.memory.scalar == "float"


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts known at a place of the text: a condition that holds (`known`, in all turns of the
    `running` loops), and conditions that do not hold (`denied`). `steady` says that guards do not
    vary in the loop around that place."""

    known: Condition = ALWAYS
    denied: tuple[Condition, ...] = ()
    steady: bool = False
    running: Mapping[str, int] = field(default_factory=dict)


NO_FACTS = Facts()


@dataclass(slots=True)
class Expressions:
    """The state of spelling the values of one kernel as text: how its memories are laid out
    (`layouts`) and named (`spelled`), the names for parts of indices (`naming`), the folded values
    of stores (`folding`), the values of the spelled-out loops around (`values`), the facts known
    here, and the divisions, functions and instructions that the text calls.

    `copies` and `holes` keep texts that are spelled once for all copies of a store; `open` are the
    holes of the pattern that is being spelled.
    """

    layouts: Mapping[Memory, Layout]
    spelled: Spellings
    naming: Naming
    folding: Folding
    values: dict[str, int] = field(default_factory=dict)  # of the spelled-out loops around
    facts: Facts = NO_FACTS
    divisions: set[Division] = field(default_factory=set)
    functions: set[tuple[str, int]] = field(default_factory=set)  # those on numbers, and widths
    instructions: dict[str, Instruction] = field(default_factory=dict)
    copies: dict[int, Varying[Pattern | None]] = field(default_factory=dict)  # of stores, by id
    holes: dict[object, Varying[str]] = field(default_factory=dict)
    open: list[Varying[str]] = field(default_factory=list)  # of the pattern that is being spelled

    def given(self, facts: Facts) -> None:
        """Set the facts that hold for the text that is written from here on."""
        self.facts = facts
        self.copies.clear()

    # ---- copies

    def statement(self, s: Store) -> str | None:
        """The text of a store, with the values of the spelled-out loops around; None for a store
        that would change nothing."""
        copies = self.copies.get(id(s))
        if copies is None:
            value = self.folding.of(s, self.values)
            copies = Varying[Pattern | None](
                value.names, lambda here: self.pattern(s, value.at(here))
            )
            self.copies[id(s)] = copies
        pattern = copies.at(self.values)
        return None if pattern is None else pattern.at(self.values)

    def pattern(self, s: Store, value: Value) -> Pattern | None:
        """The text of the store s for all copies in which its value is folded to `value`; None if
        the store would change nothing."""
        if self.facts.denied:
            value = folded(value, self.values, self.tested)
            if value == Load(s.memory, s.index, kind_of(s.value).width, s.half):
                return None
        self.open = []
        return Pattern(self.assigned(s, value), tuple(self.open))

    def tested(self, condition: Condition, values: Mapping[str, int]) -> Condition:
        """The part of a condition that has to be tested here, with these values of loops; NEVER if
        the condition is known to be false."""
        here = beyond(substitute_in(condition, values), self.facts.known)
        left = tuple(part for part in here.parts if not self.follows(part))
        here = here if len(left) == len(here.parts) else Condition(left)
        denied = any({*other.parts} <= {*here.parts} for other in self.facts.denied)
        return NEVER if denied else here

    def follows(self, part: Index) -> bool:
        """True if part ≥ 0 follows, in all turns of the running loops, from the facts known
        here."""
        asked = in_all_turns(Condition((part,)), self.facts.running)
        return beyond(asked, self.facts.known) == ALWAYS

    def hole(self, what: object, names: frozenset[str], spell: Callable[[], str]) -> str:
        """The text that `spell` gives for `what`; or, if that text changes with the spelled-out
        loops named in `names`, a hole that stands for it."""
        names &= self.values.keys()
        if not names:
            return spell()
        if what not in self.holes:
            self.holes[what] = Varying(names, lambda _: spell())
        self.open.append(self.holes[what])
        return f"{{{len(self.open) - 1}}}"

    def assigned(self, s: Store, e: Value) -> str:
        w = kind_of(s.value).width
        if s.memory.scalar == "half" and isinstance(e, Repack) and same_bits(e):
            same = Kind("ushort", w)
            if w == 1 or self.in_vectors(s.memory, s.index, s.half, w):
                to = self.pointed(s.memory, s.index, same, s.half)
                return f"{to} = {self.repack(e.e, same)};"
            e = Repack(Repack(e.e, Kind("float", w)), Kind("half", w))
        if isinstance(e, Repack) and e.kind.scalar == "half":
            if self.in_vectors(s.memory, s.index, s.half, w):
                bits = self.pointed(s.memory, s.index, Kind("ushort", w), s.half)
                return f"{bits} = {self.function('to_half', e.e)};"
            value, place = self.text(e.e), self.pointer(s.memory, s.index, s.half)
            return f"vstore_half{suffix(w)}_rte({value}, 0, {place});"
        value = self.text(e)
        cell = self.cell(s.memory, s.index, w, s.half)
        if cell is None:
            return f"vstore{w}({value}, 0, {self.pointer(s.memory, s.index, s.half)});"
        return f"{cell} = {value};"

    # ---- memory

    def place(self, i: Index) -> Index:
        """The index i, with the values of the spelled-out loops around in place of their
        variables."""
        return substitute(i, self.values) if self.values else i

    def address(self, memory: Memory, i: Index, half: Index | None, unit: int = 1) -> str:
        """The text of the index of scalar i of a memory, counted in units of `unit` scalars. If the
        memory has two halves, i is counted in the half with the number `half`, and the index in the
        whole memory; else `half` is None."""
        whole = self.naming.counted(memory, i, half)
        if unit > 1:
            whole = whole // unit
        short = self.naming.shortened(whole)
        return self.hole(short, short.names, lambda: self.naming.text(self.place(short)))

    def subscript(self, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of the index of scalar i of a memory, in the array that the memory is in the
        text, or of the scalar's distance in bytes from that array's beginning. If the memory has
        two halves, i is counted in the half with the number `half`; else `half` is None."""
        text = self.address(memory, i, half)
        return text if text.isdecimal() else self.made_unsigned(text, memory, i, half)

    def made_unsigned(self, text: str, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of the index i of an access, `text`, cast to unsigned if it counts bytes in 32
        bits, as extending a sign takes instructions. It is at least 0, so its value stays the
        same."""
        counted = self.naming.by_bytes(memory)
        fits = counted and not needs_64(self.naming.counted(memory, i, half))
        if not fits:
            return text
        return f"(uint){text}" if text.isidentifier() else f"(uint)({text})"

    def pointer(self, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of a pointer to scalar i of a memory. If the memory has two halves, i is counted
        in the half with the number `half`; else `half` is None."""
        at = self.subscript(memory, i, half)
        if self.naming.by_bytes(memory):
            return self.behind(memory, at, Kind(in_memory(memory)))
        return f"{self.name(memory)} + {at}"

    def behind(self, memory: Memory, at: str, kind: Kind) -> str:
        """The text of a pointer to a value of this kind that lies behind the beginning of a global
        memory by as many bytes as the text `at` says."""
        return f"(__global {type_text(kind)} *)((__global char *){self.name(memory)} + {at})"

    def name(self, memory: Memory) -> str:
        """The name, in the text, of a memory that is an array there."""
        found = self.spelled.get(memory)
        return found.names[0] if found else memory.name

    def cell(self, memory: Memory, i: Index, w: int, half: Index | None) -> str | None:
        """The text of w scalars at index i of a memory, as something that can be read and assigned
        to; None if reading them takes a function. If the memory has two halves, i is counted in the
        half with the number `half`; else `half` is None."""
        layout, name = self.layouts.get(memory), self.name(memory)
        if isinstance(layout, Registers):
            return self.lanes(memory, layout.width, i, w)
        if isinstance(layout, InMemory) and layout.width > 1:
            return f"{name}[{self.address(memory, i, half, w)}]" if w == layout.width else None
        if w == 1 and self.naming.by_bytes(memory):
            return self.pointed(memory, i, Kind(in_memory(memory)), half)
        if w == 1:
            return f"{name}[{self.subscript(memory, i, half)}]"
        fits = w in (2, 4, 8, 16) and w * BYTES[memory.scalar] <= ALIGNED
        if layout is None and fits and is_aligned(flat(memory, i, half), w):
            return self.pointed(memory, i, Kind(in_memory(memory), w), half)
        return None

    def pointed(self, memory: Memory, i: Index, kind: Kind, half: Index | None) -> str:
        """The text of the vector of this kind at index i of a memory, by a pointer to the vector's
        type; it must be aligned. If the memory has two halves, i is counted in the half with the
        number `half`; else `half` is None.

        In local and private memory the pointer is the array plus the index, not the address of an
        element: for an element, NVIDIA's compiler takes the alignment of the array's scalars, and
        loads these one by one; for a sum it takes the alignment of the vector.
        """
        to = f"*(__{memory.space.value} {type_text(kind)} *)"
        if self.naming.by_bytes(memory):
            return f"*{self.behind(memory, self.subscript(memory, i, half), kind)}"
        if memory.space is Space.GLOBAL:
            return f"{to}&{self.name(memory)}[{self.subscript(memory, i, half)}]"
        return f"{to}({self.pointer(memory, i, half)})"

    def lanes(self, memory: Memory, whole: int, i: Index, w: int) -> str:
        names = self.spelled[memory].names

        def spelled() -> str:
            at = evaluate(i, self.values)
            return names[at // whole] + (lanes_text(at % whole, w) if w < whole else "")

        return self.hole((memory, i, w), i.names, spelled)

    def load(self, e: Load) -> str:
        cell = self.cell(e.memory, e.index, e.width, e.half)
        if cell is None:
            return f"vload{e.width}(0, {as_const(self.pointer(e.memory, e.index, e.half))})"
        return as_const(cell)

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
                text = self.load(e)
                return text, UNARY if text.startswith("*") else PRIMARY
            case Number(number, scalar):
                text = number_text(number, scalar)
                return text, UNARY if text.startswith(("-", "(")) else PRIMARY
            case Whole(i):
                return self.hole(("whole", i), i.names, lambda: self.whole(self.place(i))), PRIMARY
            case Apply():
                return self.apply(e)
            case Convert():
                return self.convert(e)
            case Repack(inner, kind):
                return self.repack(inner, kind), PRIMARY
            case Broadcast(inner, kind):
                return f"({type_text(kind)})({self.text(inner)})", UNARY
            case Build(parts, kind):
                if (loads := column_of(e, self.layouts)) is not None:
                    names = frozenset[str]().union(*(load.index.names for load in loads))
                    return self.hole(e, names, lambda: self.column(kind, loads)), PRIMARY
                return f"({type_text(kind)})({', '.join(map(self.text, parts))})", UNARY
            case Call(instruction, arguments, _):
                self.instructions[instruction.name] = instruction
                return f"{instruction.name}({', '.join(map(self.text, arguments))})", PRIMARY
            case Lane(inner, lane):
                return f"{self.operand(inner, PRIMARY)}.s{lane:x}", PRIMARY
            case Select(condition, a, b):
                return self.choice(condition, a, b)

    def column(self, kind: Kind, loads: Sequence[Load]) -> str:
        """The text of the vector of the bytes that `loads` read from vectors in registers; by a
        function of its own if all are the same lane of their vectors."""
        places = [(load, evaluate(load.index, self.values)) for load in loads]
        rows = [self.spelled[load.memory].names[at // ROWS] for load, at in places]
        lanes = [at % ROWS for _, at in places]
        if len({*lanes}) > 1:
            each = (f"{row}.s{lane}" for row, lane in zip(rows, lanes, strict=True))
            return f"(({type_text(kind)})({', '.join(each)}))"
        function = f"lane{lanes[0]}_of_{kind.scalar}"
        self.functions.add((function, ROWS))
        return f"{named(function, ROWS)}({', '.join(rows)})"

    def convert(self, e: Convert) -> tuple[str, int]:
        """The text of a conversion: a cast, or a function where rounding or range matter."""
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
        if self.in_vectors(inner.memory, inner.index, inner.half, kind.width):
            return self.function("from_half", Repack(inner, Kind("ushort", kind.width)))
        place = as_const(self.pointer(inner.memory, inner.index, inner.half))
        return f"vload_half{suffix(kind.width)}(0, {place})"

    def in_vectors(self, memory: Memory, i: Index, half: Index | None, w: int) -> bool:
        """True if the w 16-bit numbers at index i of a memory can be loaded or stored as one
        aligned vector of whole numbers that hold their bits. If the memory has two halves, `half`
        is the number, 0 or 1, of the half that i counts in; else it is None.

        `vload_halfN` and `vstore_halfN`, which convert halves on the way, need no alignment, but
        NVIDIA's compiler makes w single accesses of each of them.
        """
        return w in (2, 4, 8, 16) and is_aligned(flat(memory, i, half), w)

    def bits(self, e: Value, kind: Kind) -> str:
        """The text of the halves or bfloats e as their bits: numbers of `kind`, whole numbers of 16
        bits. If e is a load, its numbers are loaded as such; what is computed is reinterpreted."""
        if not isinstance(e, Load):
            return f"as_{type_text(kind)}({self.text(e)})"
        if in_memory(e.memory) == kind.scalar:
            return self.load(e)
        if e.width > 1 and not is_aligned(flat(e.memory, e.index, e.half), e.width):
            lanes = (replace(e, index=e.index + n, width=1) for n in range(e.width))
            one = Kind(kind.scalar)
            return f"({type_text(kind)})({', '.join(self.bits(lane, one) for lane in lanes)})"
        return as_const(self.pointed(e.memory, e.index, kind, e.half))

    def function(self, name: str, e: Value) -> str:
        """The text of a call of the function on numbers `name` with the value e; the function's own
        text is put before the kernel."""
        w = kind_of(e).width
        self.functions.add((name, w))
        return f"{named(name, w)}({self.text(e)})"

    def paired(self, pair: BytePair, w: int) -> str:
        """The text of a sum of two products of vectors of w bytes, by a function of its own."""
        self.functions.add((pair.function, w))
        return f"{named(pair.function, w)}({', '.join(map(self.text, pair.arguments))})"

    def whole(self, i: Index) -> str:
        text = self.naming.text(i)
        if needs_64(i):
            return f"((int)({text}))"
        return text if text.isidentifier() or text.isdecimal() else f"({text})"

    def choice(self, condition: Condition, a: Value, b: Value) -> tuple[str, int]:
        here = self.tested(condition, self.values)
        if here == NEVER:
            return self.value(b)
        if here == ALWAYS:
            return self.value(a)
        test = self.condition(here)
        if self.facts.steady and isinstance(a, Load) and is_plain(a):
            at = f"{test} ? {self.address(a.memory, a.index, a.half)} : 0"
            at = self.made_unsigned(at, a.memory, a.index, a.half)
            cell = f"{self.name(a.memory)}[{at}]"
            if self.naming.by_bytes(a.memory):
                cell = as_const(f"*{self.behind(a.memory, at, Kind(in_memory(a.memory)))}")
            return f"select({self.text(b)}, {cell}, {test})", PRIMARY
        return f"({test} ? {self.operand(a, SUM)} : {self.operand(b, SUM)})", PRIMARY

    def condition(self, condition: Condition) -> str:
        return condition_to_c(condition, self.naming.atoms, needs_64(condition))

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
            case Apply() if (pair := byte_pair(e)) is not None:
                return as_unsigned(self.paired(pair, e.kind.width), e.kind)
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


def infix(e: Apply, operand: Callable[[Value, int], str]) -> tuple[str, int]:
    """The text of a op b, and how tightly it binds. `operand` gives the text of an operand, in
    parentheses unless that binds at least as tightly as a given number. A scalar beside a vector is
    written as a scalar: OpenCL fills the vector itself."""
    a, b = e.arguments
    if isinstance(a, Broadcast) != isinstance(b, Broadcast):
        a = a.e if isinstance(a, Broadcast) else a
        b = b.e if isinstance(b, Broadcast) else b
    if e.op in COMPARISONS:
        return f"{operand(a, SUM)} {e.op} {operand(b, SUM)}", CHOICE
    holds = SUM if e.op in "+-" else PRODUCT
    return f"{operand(a, holds)} {e.op} {operand(b, holds + (e.op in '-/'))}", holds


def takes_narrow(instruction: Instruction) -> bool:
    """True if an instruction takes halves or bfloats; a device that has the instruction can compute
    with these."""
    operands = variables(instruction.meaning.pattern)
    return any(scalar_of(leaf) in NARROW_REALS for v in operands for leaf in leaves(v.type))


def as_const(cell: str) -> str:
    """The text `cell` of a number that is only read, or of a pointer to one: pointers to global
    memory that it begins with are made ones to `const`."""
    if not cell.startswith(("*(__global", "(__global")):
        return cell
    return cell.replace("(__global", "(const __global", 2)


def cast_text(kind: Kind, text: str, holds: int) -> tuple[str, int]:
    """The text of a conversion of `text` to a kind, lane by lane, and how tightly it binds; `holds`
    is how tightly `text` binds."""
    to = type_text(kind)
    if kind.width > 1:
        return f"convert_{to}({text})", PRIMARY
    return f"({to}){text if holds >= UNARY else f'({text})'}", UNARY


def lanes_text(first: int, w: int) -> str:
    return ".s" + "".join("0123456789abcdef"[first : first + w])


def number_text(number: float, scalar: str) -> str:
    """The text of a number as a literal of the scalar type `scalar`."""
    if scalar in RANGES:
        return _whole_text(int(number), scalar)
    number = float(number)
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        infinity = "(half)INFINITY" if scalar == "half" else "INFINITY"
        return infinity if number > 0 else f"-{infinity}"
    text = repr(number)
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("h" if scalar == "half" else "f")


def _whole_text(number: int, scalar: str) -> str:
    mark, (least, _) = "L" if scalar == "long" else "", RANGES[scalar]
    if scalar not in ("int", "long"):
        return f"({scalar}){number}"
    return f"{number}{mark}" if number > least else f"({least + 1}{mark} - 1{mark})"

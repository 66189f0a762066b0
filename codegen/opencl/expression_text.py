"""Values as OpenCL C expressions, at one place inside spelled-out loops."""

# key: e value, i index, w width

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from codegen.index.condition import ALWAYS, NEVER, Condition, beyond, substitute_in
from codegen.index.index import Index
from codegen.index.substitute import evaluate, substitute
from codegen.memory.unrolled_registers import InMemory, Layout, Registers, is_aligned
from codegen.opencl.constant_folding import Folding, folded
from codegen.opencl.index_text import condition_to_c, needs_64
from codegen.opencl.name_addresses import Naming, flat
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
    Select,
    Space,
    Store,
    Value,
    Whole,
    kind_of,
)
from ir.core.nodes import Instruction

CHOICE, SUM, PRODUCT, UNARY, PRIMARY = range(5)  # how tightly a text holds together
FUNCTIONS = frozenset({"exp", "log", "sqrt", "tanh", "cospi", "sinpi", "fma"})


def is_plain(e: Load) -> bool:
    """A number of global memory: where it is not wanted, another cell may be loaded instead. Loads
    and products that no branch divides need few registers."""
    return e.memory.space is Space.GLOBAL and e.width == 1 and e.memory.scalar == "float"


@dataclass(slots=True)
class Expressions:
    """How the values of one kernel are spelled."""

    layouts: Mapping[Memory, Layout]
    registers: Mapping[Memory, list[str]]
    naming: Naming
    folding: Folding
    values: dict[str, int] = field(default_factory=dict)  # of the spelled-out loops around
    known: Condition = ALWAYS  # what holds here
    denied: Condition = NEVER  # what does not hold here
    steady: bool = False  # whether guards are the same in the whole loop here
    division: set[tuple[str, int]] = field(default_factory=set)
    instructions: dict[str, Instruction] = field(default_factory=dict)
    copies: dict[int, Varying[Pattern | None]] = field(default_factory=dict)  # of stores, by id
    holes: dict[object, Varying[str]] = field(default_factory=dict)
    open: list[Varying[str]] = field(default_factory=list)  # of the pattern that is being spelled

    def guarded(self, known: Condition, denied: Condition, steady: bool) -> None:
        """From here on this holds and that does not."""
        self.known, self.denied, self.steady = known, denied, steady
        self.copies.clear()

    # ---- copies

    def statement(self, s: Store) -> str | None:
        """The text of a store; None where it would leave everything as it is."""
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
        """The text that a store has wherever its value is folded to this."""
        if self.denied != NEVER:
            value = folded(value, self.values, self.tested)
            if value == Load(s.memory, s.index, kind_of(s.value).width, s.half):
                return None
        self.open = []
        return Pattern(self.assigned(s, self.text(value)), tuple(self.open))

    def tested(self, condition: Condition, values: Mapping[str, int]) -> Condition:
        """What is left of a condition here."""
        here = beyond(substitute_in(condition, values), self.known)
        return NEVER if {*self.denied.parts} <= {*here.parts} else here

    def hole(self, what: object, names: frozenset[str], spell: Callable[[], str]) -> str:
        """The text of `what`: a hole if it changes with the spelled-out loops around."""
        names &= self.values.keys()
        if not names:
            return spell()
        if what not in self.holes:
            self.holes[what] = Varying(names, lambda _: spell())
        self.open.append(self.holes[what])
        return f"{{{len(self.open) - 1}}}"

    def assigned(self, s: Store, value: str) -> str:
        w = kind_of(s.value).width
        cell = self.cell(s.memory, s.index, w, s.half)
        if cell is None:
            at = self.address(s.memory, s.index, s.half)
            return f"vstore{w}({value}, 0, {s.memory.name} + {at});"
        return f"{cell} = {value};"

    # ---- memory

    def place(self, i: Index) -> Index:
        """An index inside the spelled-out loops around this place."""
        return substitute(i, self.values) if self.values else i

    def address(self, memory: Memory, i: Index, half: Index | None, unit: int = 1) -> str:
        """The text of an index, in units of so many scalars."""
        whole = flat(memory, i, half)
        if unit > 1:
            whole = whole // unit
        short = self.naming.shortened(whole)
        return self.hole(short, short.names, lambda: self.naming.text(self.place(short)))

    def cell(self, memory: Memory, i: Index, w: int, half: Index | None) -> str | None:
        """The text of a place that can be read and assigned; None where it takes a function."""
        layout = self.layouts.get(memory)
        if isinstance(layout, Registers):
            return self.lanes(memory, layout.width, i, w)
        if isinstance(layout, InMemory) and layout.width > 1:
            return (
                f"{memory.name}[{self.address(memory, i, half, w)}]" if w == layout.width else None
            )
        if w == 1:
            return f"{memory.name}[{self.address(memory, i, half)}]"
        if layout is None and w in (2, 4, 8, 16) and is_aligned(flat(memory, i, half), w):
            space = f"__{memory.space.value}"
            kind = type_text(Kind(memory.scalar, w))
            return f"*({space} {kind} *)&{memory.name}[{self.address(memory, i, half)}]"
        return None

    def lanes(self, memory: Memory, whole: int, i: Index, w: int) -> str:
        names = self.registers[memory]

        def spelled() -> str:
            at = evaluate(i, self.values)
            return names[at // whole] + (lanes_text(at % whole, w) if w < whole else "")

        return self.hole((memory, i, w), i.names, spelled)

    def load(self, e: Load) -> str:
        cell = self.cell(e.memory, e.index, e.width, e.half)
        if cell is None:
            at = self.address(e.memory, e.index, e.half)
            return f"vload{e.width}(0, {e.memory.name} + {at})"
        if cell.startswith("*(__global"):
            return cell.replace("*(__global", "*(const __global", 1)
        return cell

    # ---- values

    def text(self, e: Value) -> str:
        return self.value(e)[0]

    def operand(self, e: Value, tight: int) -> str:
        text, holds = self.value(e)
        return text if holds >= tight else f"({text})"

    def value(self, e: Value) -> tuple[str, int]:
        """The text of a value, and how tightly it holds together."""
        match e:
            case Load():
                text = self.load(e)
                return text, UNARY if text.startswith("*") else PRIMARY
            case Number(number, scalar):
                text = number_text(number, scalar)
                return text, UNARY if text.startswith("-") else PRIMARY
            case Whole(i):
                return self.hole(("whole", i), i.names, lambda: self.whole(self.place(i))), PRIMARY
            case Apply():
                return self.apply(e)
            case Convert(inner, kind):
                if kind.width == 1:
                    return f"({kind.scalar}){self.operand(inner, UNARY)}", UNARY
                return f"convert_{type_text(kind)}({self.text(inner)})", PRIMARY
            case Broadcast(inner, kind):
                return f"({type_text(kind)})({self.text(inner)})", UNARY
            case Build(parts, kind):
                return f"({type_text(kind)})({', '.join(map(self.text, parts))})", UNARY
            case Call(instruction, arguments, _):
                self.instructions[instruction.name] = instruction
                return f"{instruction.name}({', '.join(map(self.text, arguments))})", PRIMARY
            case Lane(inner, lane):
                return f"{self.operand(inner, PRIMARY)}.s{lane:x}", PRIMARY
            case Select(condition, a, b):
                return self.choice(condition, a, b)

    def whole(self, i: Index) -> str:
        text = self.naming.text(i)
        return f"((int)({text}))" if needs_64(i) else f"({text})"

    def choice(self, condition: Condition, a: Value, b: Value) -> tuple[str, int]:
        here = self.tested(condition, self.values)
        if here == NEVER:
            return self.value(b)
        if here == ALWAYS:
            return self.value(a)
        test = self.condition(here)
        if self.steady and isinstance(a, Load) and is_plain(a):
            at = self.address(a.memory, a.index, a.half)
            return f"select({self.text(b)}, {a.memory.name}[{test} ? {at} : 0], {test})", PRIMARY
        return f"({test} ? {self.operand(a, SUM)} : {self.operand(b, SUM)})", PRIMARY

    def condition(self, condition: Condition) -> str:
        return condition_to_c(condition, self.naming.atoms, needs_64(condition))

    def apply(self, e: Apply) -> tuple[str, int]:
        integer = e.kind.scalar == "int"
        match e.op:
            case "+" | "-" | "*":
                return self.infix(e)
            case "/" if not integer:
                return self.infix(e)
            case "/" | "%":
                name = self.rounding(e.op, e.kind)
            case "max" | "min":
                name = e.op if integer else f"f{e.op}"
            case "abs":
                name = "abs" if integer else "fabs"
            case "neg":
                return f"-{self.operand(e.arguments[0], PRIMARY)}", UNARY
            case name if name in FUNCTIONS:
                pass
            case op:
                raise AssertionError(f"no OpenCL for {op}")
        call = f"{name}({', '.join(map(self.text, e.arguments))})"
        if name == "abs":
            call = f"convert_{type_text(e.kind)}({call})" if e.kind.width > 1 else f"(int){call}"
        return call, PRIMARY

    def infix(self, e: Apply) -> tuple[str, int]:
        """a op b; a scalar needs no broadcast beside a vector"""
        a, b = e.arguments
        if isinstance(a, Broadcast) != isinstance(b, Broadcast):
            a = a.e if isinstance(a, Broadcast) else a
            b = b.e if isinstance(b, Broadcast) else b
        holds = SUM if e.op in "+-" else PRODUCT
        left = self.operand(a, holds)
        right = self.operand(b, holds + (e.op in "-/"))
        return f"{left} {e.op} {right}", holds

    def rounding(self, op: str, kind: Kind) -> str:
        self.division.add((op, kind.width))
        return f"floor_{'div' if op == '/' else 'mod'}{_suffix(kind.width)}"

    def helpers(self) -> list[str]:
        """Functions that the text calls."""
        carried_out = [self.instructions[name].text for name in sorted(self.instructions)]
        return [*(_rounding(op, w) for op, w in sorted(self.division)), *carried_out]


def lanes_text(first: int, w: int) -> str:
    return ".s" + "".join("0123456789abcdef"[first : first + w])


def _rounding(op: str, w: int) -> str:
    """C rounds towards zero; true is 1 in a scalar and -1 in a vector."""
    kind, suffix = type_text(Kind("int", w)), _suffix(w)
    less, more = ("-", "+") if w == 1 else ("+", "-")
    differ = "((a % b != 0) & ((a ^ b) < 0))"
    name, result = f"floor_div{suffix}", f"a / b {less} {differ}"
    if op == "%":
        name, result = f"floor_mod{suffix}", f"a % b {more} b * {differ}"
    return f"{kind} {name}({kind} a, {kind} b) {{ return {result}; }}"


def _suffix(w: int) -> str:
    return "" if w == 1 else str(w)


def type_text(kind: Kind) -> str:
    return f"{kind.scalar}{_suffix(kind.width)}"


def number_text(number: float, scalar: str) -> str:
    """A literal."""
    number = float(number)
    if scalar == "int":
        return str(int(number))
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        infinity = "(half)INFINITY" if scalar == "half" else "INFINITY"
        return infinity if number > 0 else f"-{infinity}"
    text = repr(number)
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("h" if scalar == "half" else "f")

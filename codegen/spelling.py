"""Statements and values as lines of OpenCL C, unrolled loops expanded on the way."""

# key: e value, s statement, i index, w width

from collections.abc import Mapping

from codegen.condition import ALWAYS, NEVER, Condition, substitute_in
from codegen.expand import InMemory, Layout, Registers, is_aligned, layouts, unrolled_loops
from codegen.index import Index
from codegen.index_text import condition_to_c, needs_64, to_c
from codegen.substitute import evaluate, substitute
from codegen.tree import (
    Apply,
    Barrier,
    Block,
    Broadcast,
    Build,
    Convert,
    Declare,
    For,
    If,
    Kind,
    Lane,
    Load,
    Memory,
    Number,
    Select,
    Space,
    Statement,
    Store,
    Value,
    Whole,
    kind_of,
)

SUM, PRODUCT, UNARY, PRIMARY = 1, 2, 3, 4  # how tightly a text holds together
CHOICE = 0
FUNCTIONS = {"exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "fma": "fma"}
FENCES = {Space.LOCAL: "CLK_LOCAL_MEM_FENCE", Space.GLOBAL: "CLK_GLOBAL_MEM_FENCE"}


class Writer:
    """The text of one kernel's body, line by line."""

    def __init__(self, body: Block) -> None:
        self.unrolled = unrolled_loops(body)
        self.layouts: Mapping[Memory, Layout] = layouts(body, self.unrolled)
        self.lines: list[str] = []
        self.values: dict[str, int] = {}  # of the unrolled loops around this place
        self.division: set[tuple[str, int]] = set()

    # ---- statements

    def block(self, block: Block, depth: int) -> None:
        items = list(block.statements)
        at = 0
        while at < len(items):
            match items[at : at + 2]:
                case [Declare(memory), Store(target, _, value, None)] if self.begins(
                    memory, target, value
                ):
                    name = self.register(memory, 0)
                    self.line(depth, f"{_type(kind_of(value))} {name} = {self.text(value)};")
                    at += 2
                case _:
                    self.statement(items[at], depth)
                    at += 1

    def begins(self, memory: Memory, target: Memory, value: Value) -> bool:
        """Whether a store gives all of a register its first value."""
        return (
            memory is target
            and self.layouts[memory] == Registers(memory.elements)
            and kind_of(value).width == memory.elements
        )

    def statement(self, s: Statement, depth: int) -> None:
        match s:
            case Block():
                self.block(s, depth)
            case For(var, count, body, _) if var in self.unrolled:
                self.expanded(var, count, body, depth)
            case For(var, count, body, _):
                self.line(depth, f"for (int {var} = 0; {var} < {count}; ++{var}) {{")
                self.block(body, depth + 1)
                self.line(depth, "}")
            case If(condition, body):
                self.guarded(condition, body, depth)
            case Declare(memory):
                self.declare(memory, depth)
            case Store():
                self.line(depth, self.store(s))
            case Barrier(spaces):
                fences = " | ".join(FENCES[space] for space in Space if space in spaces)
                self.line(depth, f"barrier({fences});")

    def expanded(self, var: str, count: int, body: Block, depth: int) -> None:
        braces = any(isinstance(s, Declare) for s in body.statements)
        for n in range(count):
            self.values[var] = n
            if braces:
                self.line(depth, "{")
            self.block(body, depth + braces)
            if braces:
                self.line(depth, "}")
        del self.values[var]

    def guarded(self, condition: Condition, body: Block, depth: int) -> None:
        here = substitute_in(condition, self.values)
        if here == ALWAYS:
            self.block(body, depth)
        elif here != NEVER:
            self.line(depth, f"if ({self.condition(here)}) {{")
            self.block(body, depth + 1)
            self.line(depth, "}")

    def declare(self, memory: Memory, depth: int) -> None:
        if memory.space is Space.LOCAL or memory not in self.layouts:
            return
        match self.layouts[memory]:
            case Registers(w):
                names = [self.register(memory, n) for n in range(-(-memory.elements // w))]
                for start in range(0, len(names), 8):
                    some = ", ".join(names[start : start + 8])
                    self.line(depth, f"{_type(Kind(memory.scalar, w))} {some};")
            case InMemory(w):
                kind = _type(Kind(memory.scalar, w))
                self.line(depth, f"{kind} {memory.name}[{memory.elements // w}];")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    # ---- memory

    def place(self, i: Index) -> Index:
        """An index inside the unrolled loops around this place."""
        return substitute(i, self.values) if self.values else i

    def flat(self, memory: Memory, i: Index, half: Index | None) -> Index:
        return self.place(i if half is None else i + half * memory.elements)

    def index(self, i: Index) -> str:
        return to_c(i, None, needs_64(i))

    def register(self, memory: Memory, n: int) -> str:
        layout = self.layouts[memory]
        return memory.name if memory.elements <= layout.width else f"{memory.name}_{n}"

    def cell(self, memory: Memory, i: Index, w: int, half: Index | None) -> str | None:
        """The text of a place that can be read and assigned; None where it takes a function."""
        layout = self.layouts.get(memory)
        if isinstance(layout, Registers):
            return self.lanes(memory, layout.width, evaluate(i, self.values), w)
        at = self.flat(memory, i, half)
        if w == 1:
            return f"{memory.name}[{self.index(at)}]"
        if isinstance(layout, InMemory):
            if layout.width != w:
                return None
            return f"{memory.name}[{self.index(at // w)}]"
        if w in (2, 4, 8, 16) and is_aligned(at, w):
            return f"*({self.pointer(memory, w)})&{memory.name}[{self.index(at)}]"
        return None

    def pointer(self, memory: Memory, w: int) -> str:
        return f"__{memory.space.value} {_type(Kind(memory.scalar, w))} *"

    def lanes(self, memory: Memory, whole: int, at: int, w: int) -> str:
        name = self.register(memory, at // whole)
        if w == whole:
            return name
        first = at % whole
        return f"{name}.s" + "".join("0123456789abcdef"[l] for l in range(first, first + w))

    def load(self, e: Load) -> str:
        cell = self.cell(e.memory, e.index, e.width, e.half)
        if cell is not None:
            if cell.startswith("*") and e.memory.space is Space.GLOBAL:
                return cell.replace("*(__", "*(const __", 1)
            return cell
        at = self.index(self.flat(e.memory, e.index, e.half))
        return f"vload{e.width}(0, {e.memory.name} + {at})"

    def store(self, s: Store) -> str:
        w = kind_of(s.value).width
        cell = self.cell(s.memory, s.index, w, s.half)
        if cell is not None:
            return f"{cell} = {self.text(s.value)};"
        at = self.index(self.flat(s.memory, s.index, s.half))
        return f"vstore{w}({self.text(s.value)}, 0, {s.memory.name} + {at});"

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
                text = _number(float(number), scalar)
                return text, UNARY if text.startswith("-") else PRIMARY
            case Whole(i):
                return f"({self.whole(self.place(i))})", PRIMARY
            case Apply():
                return self.apply(e)
            case Convert(inner, kind):
                if kind.width == 1:
                    return f"({kind.scalar}){self.operand(inner, UNARY)}", UNARY
                return f"convert_{_type(kind)}({self.text(inner)})", PRIMARY
            case Broadcast(inner, kind):
                return f"({_type(kind)})({self.text(inner)})", UNARY
            case Build(parts, kind):
                return f"({_type(kind)})({', '.join(map(self.text, parts))})", UNARY
            case Lane(inner, lane):
                return f"{self.operand(inner, PRIMARY)}.s{lane:x}", PRIMARY
            case Select(condition, a, b):
                return self.choice(condition, a, b)

    def whole(self, i: Index) -> str:
        return f"(int)({to_c(i, None, True)})" if needs_64(i) else to_c(i)

    def choice(self, condition: Condition, a: Value, b: Value) -> tuple[str, int]:
        here = substitute_in(condition, self.values)
        if here == ALWAYS:
            return self.value(a)
        if here == NEVER:
            return self.value(b)
        test = self.condition(here)
        return f"({test} ? {self.operand(a, SUM)} : {self.operand(b, SUM)})", PRIMARY

    def condition(self, condition: Condition) -> str:
        return condition_to_c(condition, None, needs_64(condition))

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
            case op:
                name = FUNCTIONS[op]
        call = f"{name}({', '.join(map(self.text, e.arguments))})"
        if name == "abs":
            call = f"convert_{_type(e.kind)}({call})" if e.kind.width > 1 else f"(int){call}"
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
        return [_rounding(op, w) for op, w in sorted(self.division)]


def _rounding(op: str, w: int) -> str:
    """C rounds towards zero; true is 1 in a scalar and -1 in a vector."""
    kind, suffix = _type(Kind("int", w)), _suffix(w)
    less, more = ("-", "+") if w == 1 else ("+", "-")
    differ = "((a % b != 0) & ((a ^ b) < 0))"
    name, result = f"floor_div{suffix}", f"a / b {less} {differ}"
    if op == "%":
        name, result = f"floor_mod{suffix}", f"a % b {more} b * {differ}"
    return f"{kind} {name}({kind} a, {kind} b) {{ return {result}; }}"


def _suffix(w: int) -> str:
    return "" if w == 1 else str(w)


def _type(kind: Kind) -> str:
    return f"{kind.scalar}{_suffix(kind.width)}"


def _number(number: float, scalar: str) -> str:
    if scalar == "int":
        return str(int(number))
    if number != number:
        return "NAN"
    if number in (float("inf"), float("-inf")):
        return "INFINITY" if number > 0 else "-INFINITY"
    text = repr(number)
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("h" if scalar == "half" else "f")

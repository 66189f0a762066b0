"""Statements and values as lines of OpenCL C, unrolled loops expanded on the way."""

# key: e value, s statement, i index, w width

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from codegen.condition import ALWAYS, NEVER, Condition, substitute_in
from codegen.expand import InMemory, Layout, Registers, is_aligned, layouts, unrolled_loops
from codegen.index import Index
from codegen.index_text import condition_to_c, needs_64
from codegen.naming import flat, naming
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
    Kernel,
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
    statements,
)

SUM, PRODUCT, UNARY, PRIMARY = 1, 2, 3, 4  # how tightly a text holds together
CHOICE = 0
FUNCTIONS = {"exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "fma": "fma"}
FENCES = {Space.LOCAL: "CLK_LOCAL_MEM_FENCE", Space.GLOBAL: "CLK_GLOBAL_MEM_FENCE"}


@dataclass(slots=True)
class _Undeclared:
    """Registers whose type is still to be written: with their first value, or else in a line."""

    line: int
    depth: int
    kind: str
    names: list[str]


class Writer:
    """The text of one kernel's body, line by line."""

    def __init__(self, kernel: Kernel) -> None:
        body = kernel.body
        self.unrolled = unrolled_loops(body)
        self.layouts: Mapping[Memory, Layout] = layouts(body, self.unrolled)
        held = frozenset(m for m, layout in self.layouts.items() if isinstance(layout, Registers))
        taken = _names(kernel)
        self.registers = {m: _register_names(m, self.layouts[m].width, taken) for m in held}
        self.naming = naming(body, self.unrolled, held, taken)
        self.lines: list[str] = []
        self.values: dict[str, int] = {}  # of the unrolled loops around this place
        self.division: set[tuple[str, int]] = set()
        self.undeclared: dict[str, _Undeclared] = {}
        self.all_undeclared: list[_Undeclared] = []

    def write(self, body: Block) -> list[str]:
        """The lines of a kernel's body."""
        self.definitions(None, 1)
        self.block(body, 1)
        return self.finished()

    def finished(self) -> list[str]:
        at = {entry.line: entry for entry in self.all_undeclared}
        lines: list[str] = []
        for n, line in enumerate(self.lines):
            entry = at.get(n)
            if entry is None:
                lines.append(line)
            else:
                for start in range(0, len(entry.names), 8):
                    some = ", ".join(entry.names[start : start + 8])
                    lines.append("  " * entry.depth + f"{entry.kind} {some};")
        return lines

    # ---- statements

    def block(self, block: Block, depth: int) -> None:
        for s in block.statements:
            self.statement(s, depth)

    def statement(self, s: Statement, depth: int) -> None:
        match s:
            case Block():
                self.block(s, depth)
            case For(_, _, body, _) if (fill := self.filled(s)) is not None:
                self.fill(*fill, depth)
            case For(var, count, body, _) if var in self.unrolled:
                self.expanded(var, count, body, depth)
            case For(var, count, body, _):
                self.line(depth, f"for (int {var} = 0; {var} < {count}; ++{var}) {{")
                self.definitions(var, depth + 1)
                self.block(body, depth + 1)
                self.line(depth, "}")
            case If(condition, body):
                self.guarded(condition, body, depth)
            case Declare(memory):
                self.declare(memory, depth)
            case Store():
                self.store(s, depth)
            case Barrier(spaces):
                fences = " | ".join(FENCES[space] for space in Space if space in spaces)
                self.line(depth, f"barrier({fences});")

    def definitions(self, loop: str | None, depth: int) -> None:
        for text in self.naming.lines(loop):
            self.line(depth, text)

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

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    # ---- declarations

    def declare(self, memory: Memory, depth: int) -> None:
        if memory.space is Space.LOCAL or memory not in self.layouts:
            return
        layout = self.layouts[memory]
        kind = _type(Kind(memory.scalar, layout.width))
        if isinstance(layout, InMemory):
            self.line(depth, f"{kind} {memory.name}[{-(-memory.elements // layout.width)}];")
            return
        names = self.registers[memory]
        entry = _Undeclared(len(self.lines), depth, kind, list(names))
        self.undeclared.update(dict.fromkeys(names, entry))
        self.all_undeclared.append(entry)
        self.lines.append("")

    def declared_by(self, name: str, depth: int) -> str:
        """The type in front of a register's first value, where that is also where it lives."""
        entry = self.undeclared.pop(name, None)
        if entry is None or entry.depth != depth:
            return ""
        entry.names.remove(name)
        return f"{entry.kind} "

    def filled(self, s: For) -> tuple[list[str], str] | None:
        """The registers that nested unrolled loops do nothing but fill with one literal."""
        counts: list[tuple[str, int]] = []
        inner: Statement = s
        while isinstance(inner, For) and inner.var in self.unrolled:
            counts.append((inner.var, inner.count))
            if len(inner.body.statements) != 1:
                return None
            inner = inner.body.statements[0]
        if not isinstance(inner, Store) or inner.memory not in self.registers:
            return None
        value = inner.value.e if isinstance(inner.value, Broadcast) else inner.value
        width = self.layouts[inner.memory].width
        if not isinstance(value, Number) or kind_of(inner.value).width != width or not counts:
            return None
        names = []
        for choice in product(*(range(count) for _, count in counts)):
            values = {**self.values, **dict(zip((v for v, _ in counts), choice, strict=True))}
            at = evaluate(inner.index, values)
            names.append(self.registers[inner.memory][at // width])
        return names, self.text(inner.value)

    def fill(self, names: list[str], literal: str, depth: int) -> None:
        """float a = 0, b = 0; or, where they are declared elsewhere, a = b = 0;"""
        for start in range(0, len(names), 4):
            some = names[start : start + 4]
            kinds = [self.declared_by(name, depth) for name in some]
            if kinds[0] and len(set(kinds)) == 1:
                each = ", ".join(f"{name} = {literal}" for name in some)
                self.line(depth, f"{kinds[0]}{each};")
            else:
                for kind, name in zip(kinds, some, strict=True):
                    if kind:
                        self.line(depth, f"{kind}{name};")
                self.line(depth, f"{' = '.join(some)} = {literal};")

    # ---- memory

    def place(self, i: Index) -> Index:
        """An index inside the unrolled loops around this place."""
        return substitute(i, self.values) if self.values else i

    def address(self, memory: Memory, i: Index, half: Index | None, unit: int = 1) -> str:
        """The text of an index, in units of so many scalars."""
        whole = flat(memory, i, half)
        if unit > 1:
            whole = whole // unit
        return self.naming.text(self.place(self.naming.shortened(whole)))

    def cell(self, memory: Memory, i: Index, w: int, half: Index | None) -> str | None:
        """The text of a place that can be read and assigned; None where it takes a function."""
        layout = self.layouts.get(memory)
        if isinstance(layout, Registers):
            return self.lanes(memory, layout.width, evaluate(i, self.values), w)
        if isinstance(layout, InMemory) and layout.width > 1:
            return (
                f"{memory.name}[{self.address(memory, i, half, w)}]" if w == layout.width else None
            )
        if w == 1:
            return f"{memory.name}[{self.address(memory, i, half)}]"
        if layout is None and w in (2, 4, 8, 16) and is_aligned(flat(memory, i, half), w):
            space = "__local" if memory.space is Space.LOCAL else "__global"
            kind = _type(Kind(memory.scalar, w))
            return f"*({space} {kind} *)&{memory.name}[{self.address(memory, i, half)}]"
        return None

    def lanes(self, memory: Memory, whole: int, at: int, w: int) -> str:
        name = self.registers[memory][at // whole]
        if w == whole:
            return name
        first = at % whole
        return f"{name}.s" + "".join("0123456789abcdef"[l] for l in range(first, first + w))

    def load(self, e: Load) -> str:
        cell = self.cell(e.memory, e.index, e.width, e.half)
        if cell is None:
            at = self.address(e.memory, e.index, e.half)
            return f"vload{e.width}(0, {e.memory.name} + {at})"
        if cell.startswith("*(__global"):
            return cell.replace("*(__global", "*(const __global", 1)
        return cell

    def store(self, s: Store, depth: int) -> None:
        w = kind_of(s.value).width
        cell = self.cell(s.memory, s.index, w, s.half)
        if cell is None:
            at = self.address(s.memory, s.index, s.half)
            self.line(depth, f"vstore{w}({self.text(s.value)}, 0, {s.memory.name} + {at});")
        elif "." in cell and s.memory in self.registers:
            self.undeclared.pop(cell.split(".")[0], None)
            self.line(depth, f"{cell} = {self.text(s.value)};")
        else:
            text = self.text(s.value)
            self.line(depth, f"{self.declared_by(cell, depth)}{cell} = {text};")

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
            case Convert(Whole(i), kind) if kind.width == 1 and self.place(i).is_constant:
                return self.value(Number(float(self.place(i).constant), kind.scalar))
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
        text = self.naming.text(i)
        return f"(int)({text})" if needs_64(i) else text

    def choice(self, condition: Condition, a: Value, b: Value) -> tuple[str, int]:
        here = substitute_in(condition, self.values)
        if here == ALWAYS:
            return self.value(a)
        if here == NEVER:
            return self.value(b)
        test = self.condition(here)
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


def _names(kernel: Kernel) -> set[str]:
    """Every name in use in a kernel."""
    taken = {m.name for m in (*kernel.reads, *kernel.writes)} | {i.name for i in kernel.ids}
    for s in statements(kernel.body):
        match s:
            case For(name, _, _, _):
                taken.add(name)
            case Declare(memory):
                taken.add(memory.name)
    return taken | {kernel.name}


def _register_names(memory: Memory, width: int, taken: set[str]) -> list[str]:
    """acc_0_1 for element [0][1] of private memory: dimensions of one element are left out."""
    cells = -(-memory.elements // width)
    if cells == 1:
        return [memory.name]
    dims = [n for n in _cells_shape(memory.shape, width) if n > 1]
    if prod(dims) != cells:
        dims = [cells]
    tails = ["_".join(map(str, at)) for at in product(*map(range, dims))]
    stem = memory.name
    while any(f"{stem}_{tail}" in taken for tail in tails):
        stem += "_"
    names = [f"{stem}_{tail}" for tail in tails]
    taken.update(names)
    return names


def _cells_shape(shape: tuple[int, ...], width: int) -> list[int]:
    """The dimensions in units of `width` scalars of the last ones."""
    dims = list(shape)
    for at in reversed(range(len(dims))):
        if width % dims[at] == 0:
            width, dims[at] = width // dims[at], 1
        elif dims[at] % width == 0:
            width, dims[at] = 1, dims[at] // width
        else:
            break
    return dims


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

"""Statements as lines of OpenCL C, loops over registers expanded on the way."""

# key: s statement, w width

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from codegen.index.condition import ALWAYS, NEVER, Condition, substitute_in
from codegen.index.substitute import evaluate
from codegen.memory.unrolled_registers import InMemory, Layout, Registers, layouts, spelled_loops
from codegen.numbers.integer_text import type_text
from codegen.opencl.calls_beside import Beside, beside
from codegen.opencl.common_guards import CommonGuards, told_apart
from codegen.opencl.constant_folding import folding
from codegen.opencl.expression_text import Expressions
from codegen.opencl.index_text import counter
from codegen.opencl.loop_versions import guards_to_test, versions
from codegen.opencl.memory_names import spellings
from codegen.opencl.name_addresses import naming
from codegen.opencl.place_text import Places
from codegen.opencl.store_text import Stores
from codegen.tree.emitted_names import given_names
from codegen.tree.kernel_values import Broadcast, Kind, Number, kind_of
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Await,
    AwaitProducts,
    Barrier,
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Unroll,
    calls,
)
from ir.core.types import BYTES
from ir.instructions.entries.copies import PAST
from ir.instructions.local_writes import ORDERED_BARRIER
from ir.instructions.under_way import AWAIT_PRODUCTS, AWAIT_PRODUCTS_BUT, SETTLED

AWAIT, PLAIN = "AWAIT_COPIES", "barrier"
ZERO = re.compile(r"0(\.0f)?|\(\w+\)\(0(\.0f)?\)")
FENCES = {Space.LOCAL: "CLK_LOCAL_MEM_FENCE", Space.GLOBAL: "CLK_GLOBAL_MEM_FENCE"}


@dataclass(slots=True)
class _Undeclared:
    """Registers (`names`) of a type (`kind`) that is not written yet. It is written before the
    first value of each, if that stands at `depth`; otherwise in the line with the number `line`,
    which is kept for it."""

    line: int
    depth: int
    kind: str
    names: list[str]


class Writer:
    """The writer of one kernel's body as text, line by line."""

    def __init__(self, kernel: Kernel, in_bytes: bool = False) -> None:
        body = kernel.body
        self.spelled = spelled_loops(kernel)
        self.layouts: Mapping[Memory, Layout] = layouts(body, self.spelled)
        held = frozenset(m for m, layout in self.layouts.items() if isinstance(layout, Registers))
        taken = given_names(kernel)
        self.names = spellings(kernel, self.layouts, taken)
        self.registers = {m: self.names[m].names for m in held}
        self.apart = told_apart(kernel)
        self.settled = False  # whether the guards of the loops here have been seen to
        self.naming = naming(body, self.spelled, held, self.names, taken, in_bytes=in_bytes)
        self.spell = Expressions(Places(self.layouts, self.names, self.naming))
        self.stores = Stores(self.spell, folding(kernel))
        placed = any(call.instruction.placed for call in calls(kernel))
        self.barrier = ORDERED_BARRIER if placed else PLAIN
        self.lines: list[str] = []
        self.closed: tuple[int, int, str] | None = None  # where a guard's braces ended just now
        self.beside: dict[int, Beside] = {}  # calls in the lines just before, by the lines' numbers
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
            case Store():
                self.store(s, depth)
            case Block():
                self.block(s, depth)
            case For(_, _, body, _) if (fill := self.filled(s)) is not None:
                self.fill(*fill, depth)
            case For(var, count, body, _) if var in self.spelled:
                self.expanded(var, count, body, depth)
            case For() if not self.settled and (guards := self.guards(s)) is not None:
                self.apart_by(guards, s, depth)
            case For():
                self.loop(s, depth)
            case If(condition, body):
                self.guarded(condition, body, depth)
            case Declare(memory):
                self.declare(memory, depth)
            case Await(0):
                self.line(depth, f"{AWAIT}();")
            case Await(later):
                self.line(depth, f"{AWAIT}_BUT({later});")
            case AwaitProducts(_, later) if later:
                self.line(depth, f"{AWAIT_PRODUCTS_BUT}({later});")
            case AwaitProducts(results):
                self.line(depth, f"{AWAIT_PRODUCTS}();")
                for result in results:
                    self.line(depth, f"{SETTLED}({self.spell.text(result)});")
            case Barrier(spaces):
                fences = " | ".join(FENCES[space] for space in Space if space in spaces)
                self.line(depth, f"{self.barrier if Space.LOCAL in spaces else PLAIN}({fences});")

    def loop(self, s: For, depth: int) -> None:
        """Write the lines of the loop s, indented by `depth`; none if its body has none."""
        before = len(self.lines)
        if s.unroll is Unroll.YES:
            self.line(depth, "#pragma unroll")
        start = ", ".join([f"{counter(s.count)} {s.var} = 0", *self.naming.begun(s.var)])
        step = ", ".join([f"++{s.var}", *self.naming.stepped(s.var)])
        self.line(depth, f"for ({start}; {s.var} < {s.count}; {step}) {{")
        self.definitions(s.var, depth + 1)
        begun = len(self.lines)
        self.block(s.body, depth + 1)
        if len(self.lines) == begun and not self.naming.moves_others(s.var):
            del self.lines[before:]
        else:
            self.line(depth, "}")

    def guards(self, s: For) -> CommonGuards | None:
        """The guards to test before the loop s; None if there are none."""
        values = self.spell.places.values
        return guards_to_test(s, self.spelled, values, self.apart, self.spell.facts)

    def apart_by(self, guards: CommonGuards, s: For, depth: int) -> None:
        """Write the loop s, indented by `depth`, several times: once under each test of `guards`,
        without the guards that hold then, and once with all its guards, for when no test holds."""
        settled, facts, start = self.settled, self.spell.facts, "if"
        for version in versions(guards, facts):
            test = version.test
            condition = "" if test is None else self.spell.condition(test)
            self.line(depth, f"{start} ({condition}) {{" if condition else "} else {")
            self.settled = version.settled
            self.stores.given(version.facts)
            begun, start = len(self.lines), "} else if"
            self.loop(s, depth + 1)
            if test is None and len(self.lines) == begun:
                self.lines.pop()
        self.line(depth, "}")
        self.settled = settled
        self.stores.given(facts)

    def definitions(self, loop: str | None, depth: int) -> None:
        for text in self.naming.lines(loop):
            self.line(depth, text)

    def expanded(self, var: str, count: int, body: Block, depth: int) -> None:
        braces = any(isinstance(s, Declare) for s in body.statements)
        for n in range(count):
            self.spell.places.values[var] = n
            if braces:
                self.line(depth, "{")
            self.block(body, depth + braces)
            if braces:
                self.line(depth, "}")
        del self.spell.places.values[var]

    def guarded(self, condition: Condition, body: Block, depth: int) -> None:
        here = substitute_in(condition, self.spell.places.values)
        if here == ALWAYS:
            self.block(body, depth)
        elif here != NEVER:
            opening = f"if ({self.spell.condition(here)}) {{"
            if self.closed == (len(self.lines), depth, opening):
                self.lines.pop()  # a copy under the guard of the one before it
            else:
                self.line(depth, opening)
            self.block(body, depth + 1)
            self.line(depth, "}")
            declares = any(isinstance(s, Declare) for s in body.statements)
            self.closed = None if declares else (len(self.lines), depth, opening)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    # ---- declarations

    def declare(self, memory: Memory, depth: int) -> None:
        if memory.space is Space.LOCAL or memory not in self.layouts:
            return
        layout = self.layouts[memory]
        kind = type_text(Kind(memory.scalar, layout.width))
        if isinstance(layout, InMemory):
            cells = -(-memory.elements // layout.width)
            self.line(depth, f"{kind} {self.spell.places.name(memory)}[{cells}];")
            return
        names = self.registers[memory]
        if len(shape := self.names[memory].shape) > 1:
            block = " x ".join(map(str, shape))
            self.line(depth, f"// {names[0]} to {names[-1]}: {block} of {kind}")
        entry = _Undeclared(len(self.lines), depth, kind, list(names))
        self.undeclared.update(dict.fromkeys(names, entry))
        self.all_undeclared.append(entry)
        self.lines.append("")

    def declared_by(self, name: str, depth: int) -> str:
        """The type to write before the first value of the register `name`, if that value is written
        at `depth`; nothing if the register is declared elsewhere."""
        entry = self.undeclared.pop(name, None)
        if entry is None or entry.depth != depth:
            return ""
        entry.names.remove(name)
        return f"{entry.kind} "

    def filled(self, s: For) -> tuple[list[str], str] | None:
        """The registers that the loop s fills, and the literal that it fills them with, if s is
        nothing but spelled-out loops around one store of that literal; None for another loop."""
        counts: list[tuple[str, int]] = []
        inner: Statement = s
        while isinstance(inner, For) and inner.var in self.spelled:
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
            values = {
                **self.spell.places.values,
                **dict(zip((v for v, _ in counts), choice, strict=True)),
            }
            at = evaluate(inner.index, values)
            names.append(self.registers[inner.memory][at // width])
        return names, self.spell.text(inner.value)

    def fill(self, names: list[str], literal: str, depth: int) -> None:
        """Write the lines, indented by `depth`, that fill the registers `names` with a literal:
        float a = 0, b = 0; or, where the registers are declared elsewhere, a = b = 0;"""
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

    def store(self, s: Store, depth: int) -> None:
        text = self.stores.statement(s)
        if text is None:
            return
        if s.begun:
            text = _begun(text, kind_of(s.value), s.past)
        if s.memory in self.registers:
            cell = text[: text.index(" ")]
            if "." in cell:
                self.undeclared.pop(cell.split(".")[0], None)
            else:
                text = self.declared_by(cell, depth) + text
        call = beside(s, text, self.spell.places.values)
        if call is None:
            self.line(depth, text)
        else:
            self.called(call, depth)

    def called(self, call: Beside, depth: int) -> None:
        """Write a call, or one that stands for it and those just before it that it goes on from.
        Calls that add to the same sums stay in their order."""
        if len(self.lines) - 1 not in self.beside:
            self.beside.clear()
        added = [n for n, before in self.beside.items() if {*call.sums} & {*before.sums}]
        for n, before in self.beside.items():
            if n > max(added, default=-1) and (both := before.joined(call)) is not None:
                self.beside[n] = both
                self.lines[n] = "  " * depth + both.text
                return
        self.beside[len(self.lines)] = call
        self.line(depth, call.text)


def _begun(text: str, kind: Kind, past: bool) -> str:
    """The text of an assignment as that of a copy which is begun there, of a value of a kind, and
    goes `past` the first-level cache or not. It is the text itself where it stores zeros (the
    number is never one of an array), or stores or loads vectors by functions, which are given no
    addresses."""
    to, _, given = text.removesuffix(";").partition(" = ")
    if not given or ZERO.fullmatch(given) or "vload" in given or "vstore" in to:
        return text
    size = BYTES[kind.scalar] * kind.width
    copy = f"COPY_{size}{'_PAST' * (past and size in PAST)}"
    if " ? " not in given:
        return f"{copy}({to}, {given});"
    test, _, rest = given.removeprefix("(").removesuffix(")").partition(" ? ")
    value, _, zero = rest.rpartition(" : ")
    if not given.startswith("(") or " ? " in value or not ZERO.fullmatch(zero):
        return text
    return f"{copy}_OR_ZERO({to}, {test}, {value});"

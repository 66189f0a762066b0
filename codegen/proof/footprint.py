"""The footprint of a statement tree: the accesses, loops, branches and barriers in it.

In a kernel that has global ids and shares local memory, a global id is spelled as
group · local size + local id.
"""

# key: c condition, e value, s statement, n trip count

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from codegen.index.assumptions import each_with_its_grounds
from codegen.index.atoms import Assume, Var
from codegen.index.condition import Condition, substitute_in
from codegen.index.index import Index, inner_atoms, var
from codegen.index.pieces import LINES, PIECES, at_distances, beyond_lines
from codegen.index.substitute import substitute
from codegen.proof.accesses import (
    Access,
    Awaits,
    AwaitsProducts,
    Begun,
    Branch,
    Claim,
    Demand,
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
    without,
)
from codegen.proof.verdicts import Kind as About
from codegen.tree.kernel_values import (
    Call,
    Load,
    Select,
    Value,
    Whole,
    gathers,
    kind_of,
    loads,
    operands,
    placed_operands,
)
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
    calls,
    remembered,
    statements,
)
from ir.instructions.under_way import AWAIT_PRODUCTS


@remembered
def footprint(kernel: Kernel) -> Footprint:
    """The footprint of a kernel's statement tree: its accesses, and the loops, branches and
    barriers around them."""
    found = _with_ids(kernel)
    lanes = [i.name for i in kernel.ids if (i.kind, i.dimension) == ("local", 0)]
    follows = any(call.instruction.goes_on for call in calls(kernel))
    scope = {**found.groups, **found.locals}
    walker = _Walker(found, scope, next(iter(lanes), "item_0"), follows)
    found.root = walker.block(kernel.body, Where())
    return found


def _with_ids(kernel: Kernel) -> Footprint:
    """An empty footprint of a kernel with ids for all its dimensions, whether or not it uses
    them."""
    names = {(i.kind, i.dimension): i.name for i in kernel.ids}
    sharing = any(_shares(s) for s in statements(kernel.body))
    found = Footprint({}, {}, {})
    for d, (size, count) in enumerate(zip(kernel.local_size, kernel.groups, strict=True)):
        whole = names.get(("global", d))
        if whole is not None and not sharing:
            found.groups[whole] = size * count
            continue
        group = names.get(("group", d), f"group_{d}")
        item = names.get(("local", d), f"item_{d}")
        found.groups[group], found.locals[item] = count, size
        if whole is not None:
            found.respelled[whole] = var(group, 0, count - 1) * size + var(item, 0, size - 1)
    return found


def _shares(s: Statement) -> bool:
    match s:
        case Barrier():
            return True
        case Store(memory) | Declare(memory):
            return memory.space is Space.LOCAL
    return False


@dataclass(slots=True)
class _Walker:
    found: Footprint
    scope: dict[str, int]  # how many values each variable in sight takes
    lane: str  # the id along dimension 0 of a group
    follows: bool  # products that go on after calls are followed
    seen: dict[tuple[Where, str], Index] = field(default_factory=dict)
    within: dict[tuple[Where, Condition], Where] = field(default_factory=dict)

    # ---- statements

    def block(self, block: Block, where: Where) -> Sequence:
        parts = [self.statement(s, where) for s in block.statements]
        return Sequence(tuple([part for part in parts if part is not None]))

    def statement(self, s: Statement, where: Where) -> Node | None:
        match s:
            case Block():
                return self.block(s, where)
            case For(name, count, body):
                return self.loop(name, count, body, where)
            case If(condition, body):
                c = self.condition(condition, where, "if")
                return Branch(c, where, self.block(body, self.holding(where, c)))
            case Store(_, _, Call(instruction, _, _) as call) if gathers(call):
                read = self.pieces(call, where)
                rest = (*read, self.store(s, where), *self.registers(s))
                return Sequence((Gather(instruction.name), *rest))
            case Store():
                return Sequence((*self.registers(s), self.store(s, where)))
            case AwaitProducts(_, later) if later:  # others may still be under way
                return Gather(AWAIT_PRODUCTS)
            case AwaitProducts(results):
                return Sequence((Gather(AWAIT_PRODUCTS), AwaitsProducts(), *_settled(results)))
            case Barrier(spaces):
                return Meet(spaces)
            case Await(later):
                return Awaits(later)
            case Declare():
                return None

    def loop(self, name: str, count: int, body: Block, where: Where) -> Loop:
        if name in self.scope:
            self.found.strangers.append(f"{name} is the variable of two nested loops, or an id")
        outer = self.scope
        self.scope = {**outer, name: count}
        where = replace(where, loops=(*where.loops, (name, count)))
        try:
            return Loop(name, count, self.block(body, where))
        finally:
            self.scope = outer

    def pieces(self, call: Call, where: Where) -> list[Node]:
        """The loops in which each lane of an instruction reads all pieces of those operands that
        the instruction reads from local memory itself."""
        made = list[Node]()
        for e, digits, apart in placed_operands(call):
            if self.lane in e.index.names:
                self.found.strangers.append(f"{call.instruction.name} has a place for each lane")
            if e.memory.space is not Space.LOCAL:
                self.found.strangers.append(f"{call.instruction.name} reads {e.memory.name}")
            self.lines(call.instruction.name, e, apart[-1], where)
            count = call.instruction.lanes
            name = f"piece·{count}"  # no name that a kernel has
            piece = var(name, 0, count - 1)
            index = at_distances(e.index, piece, digits, apart, e.width)
            outer, self.scope = self.scope, {**self.scope, name: count}
            inside = replace(where, loops=(*where.loops, (name, count)))
            text = f"a piece of {_cell(e.memory, e.index, e.half)} for {call.instruction.name}"
            read = self.access(replace(e, index=index), inside, text, False)
            self.scope = outer
            self.found.accesses.append(read)
            made.append(Loop(name, count, Sequence((Touch((read,)),))))
        return made

    def lines(self, name: str, e: Load, line: int, where: Where) -> None:
        """Demand that the first piece e of an operand, in lines of so many pieces, lies where the
        exchange of pieces begins again."""
        again = PIECES * line * e.width
        if line not in LINES or (e.half is not None and e.memory.elements % again):
            self.found.strangers.append(f"{name} reads lines of {line} pieces")
        elif line > 1:
            beyond = beyond_lines(self.index(e.index, where, name), line, e.width)
            text = f"{_cell(e.memory, e.index, e.half)} begins lines"
            self.found.demands.append(Demand(About.ALIGNMENT, text, (-beyond,), where))

    def registers(self, s: Store) -> list[Node]:
        """What s does with registers, if this kernel has products that go on after calls."""
        if not self.follows:
            return []
        used = [load for load in loads(s.value) if load.memory.space is Space.PRIVATE]
        read = [load.memory.name for load in used]
        to = s.memory.name
        if not isinstance(s.value, Call) or not s.value.instruction.goes_on:
            return [Uses(tuple(read), (to,) if s.memory.space is Space.PRIVATE else ())]
        same = [e.memory is s.memory and e.index == s.index and e.half == s.half for e in used]
        others = [name for name, added in zip(read, same, strict=True) if not added]
        return [Begun(s.value.instruction.name, to, tuple(others), any(same))]

    def store(self, s: Store, where: Where) -> Touch:
        text = f"{_cell(s.memory, s.index, s.half)} = …"
        found: list[Access] = []
        self.value(s.value, where, text, found)
        width = kind_of(s.value).width
        to = self.access(Load(s.memory, s.index, width, s.half), where, text, True)
        found = [replace(a, begun=s.begun) for a in (*found, to)]
        once: dict[tuple[object, ...], Access] = {}
        for a in found:
            half = None if a.half is None else a.half.key
            once.setdefault((a.memory, a.index.key, a.width, half, a.writes, a.where), a)
        self.found.accesses.extend(once.values())
        return Touch(tuple(once.values()))

    # ---- values

    def value(self, e: Value, where: Where, text: str, found: list[Access]) -> None:
        match e:
            case Load(memory, index, _, half):
                words = f"{_cell(memory, index, half)} in {text}"
                found.append(self.access(e, where, words, False))
            case Whole(index):
                self.index(index, where, text)
            case Select(condition, a, b):
                self.no_call(e)
                c = self.condition(condition, where, text)
                self.value(a, self.holding(where, c), text, found)
                self.value(b, without(where, c), text, found)
            case _:
                self.no_call(e)
                for inner in operands(e):
                    self.value(inner, where, text, found)

    def no_call(self, e: Value) -> None:
        """Record, in the footprint's `strangers`, each instruction of several lanes that is called
        as an operand of e: perhaps not all lanes reach it."""
        for inner in operands(e):
            if isinstance(inner, Call) and gathers(inner):
                self.found.strangers.append(f"{inner.instruction.name} inside another value")

    def access(self, e: Load, where: Where, text: str, writes: bool) -> Access:
        half = None if e.half is None else self.index(e.half, where, text)
        index = self.index(e.index, where, text)
        return Access(e.memory, index, e.width, half, writes, where, text)

    # ---- indices

    def index(self, index: Index, where: Where, text: str) -> Index:
        """The index, at the place `where`, with global ids respelled; its assumptions are recorded
        as claims, for messages in the words `text`."""
        key = (where, index.key)
        if key not in self.seen:
            if self.found.respelled:
                index = substitute(index, self.found.respelled)
            self.seen[key] = index
            self._look_into(index, where, text)
        return self.seen[key]

    def condition(self, c: Condition, where: Where, text: str) -> Condition:
        """The condition c, tested at the place `where`, with global ids respelled; its assumptions
        are recorded as claims, for messages in the words `text`.

        The assumptions in a comparison of c may be proved from those comparisons of c that make
        fewer assumptions, since c holds only if all of them do.
        """
        if self.found.respelled:
            c = substitute_in(c, self.found.respelled)
        for part, less in each_with_its_grounds(c.parts):
            inside = replace(where, given=(*where.given, *less)) if less else where
            self._look_into(part, inside, text)
        return c

    def holding(self, where: Where, c: Condition) -> Where:
        if (where, c) not in self.within:
            self.within[where, c] = replace(where, given=(*where.given, *c.parts))
        return self.within[where, c]

    def _look_into(self, index: Index, where: Where, text: str) -> None:
        for atom in inner_atoms(index):
            match atom:
                case Var(name, lo, hi):
                    self._variable(name, lo, hi)
                case Assume():
                    self.found.claims.append(Claim(atom, where, text))

    def _variable(self, name: str, lo: int | None, hi: int | None) -> None:
        count = self.scope.get(name)
        if count is None:
            self.found.strangers.append(f"{name} is no loop variable and no id here")
        elif (lo is not None and lo > 0) or (hi is not None and hi < count - 1):
            self.found.strangers.append(f"{name} is taken for {lo} … {hi}, is 0 … {count - 1}")


def _settled(results: tuple[Load, ...]) -> Iterator[Settles]:
    """The names of the memories all of whose registers are among these results."""
    found: dict[Memory, set[str]] = {}
    for e in results:
        found.setdefault(e.memory, set()).add(e.index.key)
        if len(found[e.memory]) * e.width == e.memory.elements:
            yield Settles(e.memory.name)


def _cell(memory: Memory, index: Index, half: Index | None) -> str:
    return f"{memory.name}{'' if half is None else f'[{half.key}]'}[{index.key}]"

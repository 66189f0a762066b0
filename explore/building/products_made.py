"""The products that kernels' texts make, of floats or of whole numbers, counted on their statement
trees as the texts are spelled: copy by copy, and loops in versions of which one is carried out.

A product with a factor that is known to be 0 does not count, as compilers leave it out where they
spell out the loop around it. Such factors are registers that hold padding, where a version of a
loop is carried out in the padding alone, or where a copy never lies inside an array. Products of
floats by powers of two count; those of whole numbers do not, as compilers shift in their place, nor
do those of indices.
"""

# key: s statement, e value

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from codegen.index.condition import ALWAYS, NEVER, Condition, both, substitute_in
from codegen.index.substitute import evaluate
from codegen.memory.unrolled_registers import spelled_loops
from codegen.opencl.common_guards import CommonGuards, told_apart
from codegen.opencl.constant_folding import Folding, folded, folding
from codegen.opencl.loop_versions import NO_FACTS, Facts, guards_to_test, versions
from codegen.tree.kernel_values import (
    Apply,
    Broadcast,
    Build,
    Call,
    Convert,
    Lane,
    Load,
    Number,
    Repack,
    Select,
    Value,
    Whole,
    kind_of,
    operands,
    subvalues,
)
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Block, For, If, Kernel, Statement, Store, statements
from codegen.tree.value_builders import is_whole
from explore.building.guard_shares import share
from ir.core.nodes import Binary, Expr, Reduce
from ir.core.terms import children
from ir.core.type_rules import size_of

Cell = tuple[Memory, int]
# A share of work-items and turns: the sum of those in which conditions hold, some subtracted.
Part = tuple[tuple[int, Condition], ...]


def products_made(kernels: Sequence[Kernel]) -> float:
    """The number of products of floats that all work-items of these kernels make."""
    return sum(_of(kernel, False) for kernel in kernels)


def whole_products_made(kernels: Sequence[Kernel]) -> float:
    """The number of products of whole numbers that all work-items of these kernels make, those in
    dot products among them."""
    return sum(_of(kernel, True) for kernel in kernels)


def _of(kernel: Kernel, whole: bool) -> float:
    counts = {each.name: each.extent for each in kernel.ids}
    times = prod(kernel.local_size) * prod(kernel.groups)
    known = (folding(kernel), spelled_loops(kernel), told_apart(kernel))
    walk = _Walk(*known, whole, counts=counts, times=times)
    walk.statement(kernel.body)
    return walk.made


@dataclass(slots=True)
class _Walk:
    """A walk through a kernel's text, which counts products of floats or, if `whole`, of whole
    numbers. `values` are those of the spelled-out loops around, `counts`
    has the numbers of values of ids and of other loops' counters, `times` is how often these loops
    and work-items repeat what stands here, and `part` the share of it that guards let be done.
    `zeros` are the cells of private memory that hold 0, and `made` the products so far."""

    folding: Folding
    spelled: frozenset[str]
    apart: frozenset[str]
    whole: bool
    counts: dict[str, int]
    times: int
    facts: Facts = NO_FACTS
    settled: bool = False
    values: dict[str, int] = field(default_factory=dict)
    part: Part = ((1, ALWAYS),)
    zeros: frozenset[Cell] = frozenset()
    made: float = 0.0
    shares: dict[Condition, float] = field(default_factory=dict)

    def statement(self, s: Statement) -> None:
        match s:
            case Block(inner):
                for each in inner:
                    self.statement(each)
            case For(var, count, body, _) if var in self.spelled:
                for n in range(count):
                    self.values[var] = n
                    self.statement(body)
                del self.values[var]
            case For() if not self.settled and (guards := self.guards(s)) is not None:
                self.versions(s, guards)
            case For():
                self.loop(s)
            case If(condition, body):
                here = substitute_in(condition, self.values)
                if here != NEVER:
                    self.guarded(here, body)
            case Store():
                self.store(s)

    def guards(self, s: For) -> CommonGuards | None:
        return guards_to_test(s, self.spelled, self.values, self.apart, self.facts)

    def loop(self, s: For) -> None:
        """Count what a loop makes in all its turns; what it stores is not known to be 0 in them."""
        stored = {each.memory for each in statements(s) if isinstance(each, Store)}
        self.zeros = frozenset(cell for cell in self.zeros if cell[0] not in stored)
        times, self.times = self.times, self.times * s.count
        self.counts[s.var] = s.count
        self.statement(s.body)
        self.times = times

    def guarded(self, condition: Condition, body: Statement) -> None:
        part, zeros = self.part, self.zeros
        self.part = _under(part, condition)
        self.statement(body)
        self.part, self.zeros = part, self.zeros & zeros

    def versions(self, s: For, guards: CommonGuards) -> None:
        """Count what a loop makes that is spelled in versions, each where the tests before it do
        not hold."""
        part, facts, settled, zeros = self.part, self.facts, self.settled, self.zeros
        ends, left = [], part
        for version in versions(guards, facts):
            test = version.test
            self.part = left if test is None else _under(left, test)
            if test is not None:
                left = (*left, *((-sign, condition) for sign, condition in self.part))
            self.facts, self.settled, self.zeros = version.facts, version.settled, zeros
            self.loop(s)
            ends.append(self.zeros)
        self.part, self.facts, self.settled = part, facts, settled
        self.zeros = frozenset.intersection(*ends)

    def store(self, s: Store) -> None:
        value = self.folding.of(s, self.values).at(self.values)
        if self.facts is not NO_FACTS:
            value = folded(value, self.values, self.facts.tested)
        if products := self.products(value):
            self.made += products * self.times * self.often()
        if s.memory.space is Space.PRIVATE and s.half is None:
            at = evaluate(s.index, self.values) if self.settles(s.index.names) else None
            width = kind_of(s.value).width
            cells = (
                {cell for cell in self.zeros if cell[0] == s.memory}
                if at is None
                else {(s.memory, at + n) for n in range(width)}
            )
            zero = at is not None and self.is_zero(value)
            self.zeros = self.zeros | cells if zero else self.zeros - cells

    def settles(self, names: frozenset[str]) -> bool:
        """True if all these variables are those of spelled-out loops around."""
        return names <= self.values.keys()

    def often(self) -> float:
        """The share of what stands here that is done."""
        found = 0.0
        for sign, condition in self.part:
            if condition not in self.shares:
                self.shares[condition] = share(condition, self.counts)
            found += sign * self.shares[condition]
        return found

    def products(self, e: Value) -> int:
        """The number of products that the value e takes here."""
        if self.is_zero(e):
            return 0
        own = 0
        if isinstance(e, Apply) and e.op in ("*", "fma") and is_whole(e.kind) == self.whole:
            if any(self.is_zero(x) for x in e.arguments[:2]):
                return sum(map(self.products, e.arguments[2:]))  # of a fused one
            own = e.kind.width if not self.whole or _multiplies(e) else 0
        if isinstance(e, Call) and self.whole:
            own = _inside(e.instruction.meaning.body)
        return own + sum(map(self.products, operands(e)))

    def is_zero(self, e: Value) -> bool:
        """True if the value e is known to be 0 here, in all lanes."""
        match e:
            case Number(value, _):
                return value == 0
            case Load(Memory(space=Space.PRIVATE) as memory, index, width, None):
                if not self.zeros or not self.settles(index.names):
                    return False
                at = evaluate(index, self.values)
                return all((memory, at + n) in self.zeros for n in range(width))
            case Apply("*", arguments, _):
                return any(map(self.is_zero, arguments))
            case Apply("fma", (x, y, z), _):
                return (self.is_zero(x) or self.is_zero(y)) and self.is_zero(z)
            case Apply("+" | "-" | "max" | "min" | "neg", arguments, _):
                return all(map(self.is_zero, arguments))
            case Build() | Broadcast() | Convert() | Repack() | Lane() | Select():
                return all(map(self.is_zero, operands(e)))
            case _:
                return False


def _under(part: Part, condition: Condition) -> Part:
    """That share of a part in which a condition holds, too."""
    return tuple((sign, both(each, condition)) for sign, each in part)


def _multiplies(e: Apply) -> bool:
    """True if compilers multiply for this product of whole numbers: of none by a power of two, and
    of none that is made of indices alone."""
    factors = e.arguments[:2]
    loaded = any(isinstance(part, Load) for x in factors for part in subvalues(x))
    return loaded and not any(_is_power(x) for x in factors)


def _is_power(x: Value) -> bool:
    """True if the value x is a number, known before the kernel runs, that is a power of two."""
    match x:
        case Number(value, _):
            return int(value).bit_count() == 1
        case Whole(index):
            return not index.names and evaluate(index, {}).bit_count() == 1
        case Convert() | Broadcast():
            return _is_power(x.e)
    return False


def _inside(e: Expr) -> int:
    """The number of products that an instruction of one work-item makes, which has the meaning
    e."""
    own = int(isinstance(e, Binary) and e.op == "*")
    if isinstance(e, Reduce):
        turns = size_of(e.xs)
        return turns * _inside(e.f.body) if isinstance(turns, int) else 0
    return own + sum(map(_inside, children(e)))

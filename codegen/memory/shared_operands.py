"""Kernels that compute an operand that several calls of an instruction have in common once, before
these calls."""

# key: s statement, e value

from dataclasses import dataclass, field, replace

from codegen.memory.kept_for_turns import Kept, Loops, computed, kept
from codegen.memory.narrow_reals import NARROW
from codegen.tree.emitted_names import in_use
from codegen.tree.kernel_values import (
    Apply,
    Call,
    Kind,
    Repack,
    Value,
    gathers,
    kind_of,
    loads,
    subvalues,
)
from codegen.tree.memories import Memory
from codegen.tree.statements import (
    Await,
    Barrier,
    Block,
    Declare,
    For,
    If,
    Kernel,
    Statement,
    Store,
    Unroll,
    block,
    remembered,
    statements,
)
from codegen.tree.value_builders import names_in


@remembered
def with_shared_operands(kernel: Kernel) -> Kernel:
    """The kernel in which an operand of an instruction that is gathered or computed, and is the
    same in all turns of an unrolled loop, is computed once before that loop.

    Spelled in each turn it costs nothing more in the end, as compilers find out that it is the
    same. But before they do, the text is so long that they leave the loops around it rolled up, and
    the loads for the next turn wait for the products of this one.
    """
    sharing = _Sharing(in_use(kernel))
    body = sharing.block(kernel.body, ())
    return replace(kernel, body=body) if sharing.found or sharing.alone else kernel


@dataclass(slots=True)
class _Sharing:
    """The operands that are shared, each by the loop that it is computed before and its value;
    `taken` are the names in use."""

    taken: set[str]
    found: dict[tuple[str, Value], Kept] = field(default_factory=dict)
    alone: bool = False  # operands of single calls are computed before these

    def block(self, body: Block, around: Loops) -> Block:
        """The statements of `body`, inside the unrolled loops `around`, with shared operands."""
        done: list[Statement] = []
        for s in body.statements:
            made = self.statement(s, around)
            if isinstance(made, Store):
                given, made = self.apart(made)
                done.extend(given)
            if isinstance(s, For):
                done.extend(self.computed(s))
            done.append(made)
        return block(done)

    def statement(self, s: Statement, around: Loops) -> Statement:
        match s:
            case Block():
                return self.block(s, around)
            case For(_, _, body, unroll):
                rolled = unroll is Unroll.NO or _meets(body)
                return replace(s, body=self.block(body, () if rolled else (*around, s)))
            case If(_, body):
                return replace(s, body=self.block(body, ()))
            case Store(_, _, Call(_, arguments, _) as call) if gathers(call):
                shared = tuple([self.operand(e, around) for e in arguments])
                return replace(s, value=replace(call, arguments=shared))
        return s

    def apart(self, s: Store) -> tuple[list[Statement], Store]:
        """The statement s with each call of an instruction of several lanes in a variable of its
        own, if it is an operand of another; and the statements that make these variables."""
        if not isinstance(s.value, Call) or not any(map(gathers, s.value.arguments)):
            return [], s
        before, given = list[Statement](), list[Value]()
        for e in s.value.arguments:
            if gathers(e):
                shared = self.place(e, ())
                self.alone = True
                before.extend([Declare(shared.memory), computed([(e, shared)], self.taken)])
                e = shared.here()
            given.append(e)
        return before, replace(s, value=replace(s.value, arguments=tuple(given)))

    def operand(self, e: Value, around: Loops) -> Value:
        """The operand e of a call inside the unrolled loops `around`, or a load of what is computed
        before the innermost loops in a row of which no turn changes it."""
        names = names_in(e)
        steady = [n for n, loop in enumerate(around) if loop.var not in names]
        if not steady or not _costs(e):
            return e
        outermost = next(n for n in reversed(steady) if n == 0 or n - 1 not in steady)
        before = around[outermost]
        if _stored(before) & {load.memory for load in loads(e)}:
            return e
        e = _in_bits(e)
        if (before.var, e) not in self.found:
            inner = tuple([loop for loop in around[outermost:] if loop.var in names])
            self.found[before.var, e] = self.place(e, inner)
        return self.found[before.var, e].here()

    def place(self, e: Value, inner: Loops) -> Kept:
        """The place for the operand e, one for each turn of the loops `inner`."""
        return kept(f"{next(loads(e)).memory.name}lanes", kind_of(e), inner, self.taken)

    def computed(self, before: For) -> list[Statement]:
        """The statements that compute the operands which are shared by all turns of a loop."""
        shared = [(e, its) for (name, e), its in self.found.items() if name == before.var]
        groups: dict[Loops, list[tuple[Value, Kept]]] = {}
        for e, its in shared:
            groups.setdefault(its.loops, []).append((e, its))
        made = [computed(group, self.taken) for group in groups.values()]
        return [*(Declare(its.memory) for _, its in shared), *made]


def _in_bits(e: Value) -> Value:
    """The operand e as what a variable can hold: halves and bfloats as their bits."""
    kind = kind_of(e)
    return Repack(e, Kind("ushort", kind.width)) if kind.scalar in NARROW else e


def _costs(e: Value) -> bool:
    """True if the value e is more than one load, converted at most."""
    if gathers(e):
        return True
    return len([*loads(e)]) > 1 or any(isinstance(inner, Apply) for inner in subvalues(e))


def _meets(body: Block) -> bool:
    return any(isinstance(s, Barrier | Await) for s in statements(body))


def _stored(loop: For) -> set[Memory]:
    return {s.memory for s in statements(loop) if isinstance(s, Store)}

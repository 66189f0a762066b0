"""The operations of compiled kernels, counted on their statement trees. Guarded statements count as
executed."""

# key: s statement, n trip count

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import frexp, prod
from typing import TypeGuard

from codegen.index.condition import ALWAYS, NEVER, Condition, both, substitute_in
from codegen.memory.unrolled_registers import spelled_loops
from codegen.opencl.constant_folding import Folding, folding
from codegen.opencl.text_patterns import Varying
from codegen.tree.kernel_values import Apply, Broadcast, Number, Value, kind_of, subvalues
from codegen.tree.statements import Block, For, If, Kernel, Statement, Store
from codegen.tree.value_builders import is_whole
from explore.bounds.program_work import FREE
from ir.core.frozen import frozen
from ir.core.type_rules import COMPARISONS


def flops(kernels: Sequence[Kernel]) -> int:
    """The number of operations on floats, redundant ones too; a fused multiply-add counts twice."""
    return sum(n * _operations(e) for k in kernels for n, e in _stored(k))


def multiplications(kernels: Sequence[Kernel]) -> int:
    """The number of products of floats, redundant ones too, without those by 0, ±1 and ±2^k."""
    return sum(n * _products(e) for k in kernels for n, e in _stored(k))


def scalings(kernels: Sequence[Kernel]) -> int:
    """The number of products of floats by ±2^k, without those that are part of a fused
    multiply-add."""
    return sum(n * _scalings(e) for k in kernels for n, e in _stored(k))


def _stored(k: Kernel) -> Iterator[tuple[int, Value]]:
    """Every value that a kernel stores, with constants folded as its text has them, and how often
    it is stored."""
    launches = prod(k.local_size) * prod(k.groups)
    return _values(k.body, _Around(folding(k), launches, spelled_loops(k)))


EVERYWHERE = Varying[int]((), lambda _: 1)


@frozen
class _Around:
    """The surroundings of a statement. `times` is how often it is repeated by work-items and by
    loops that stay loops. `spelled` are the variables of the kernel's loops that are spelled out,
    and `loops` those around the statement, with their turns. `guard` is its condition, and `holds`
    is 1 for copies of the statement for which it may hold, and 0 for others."""

    folding: Folding
    times: int
    spelled: frozenset[str]
    loops: tuple[tuple[str, int], ...] = ()
    guard: Condition = ALWAYS
    holds: Varying[int] = EVERYWHERE

    def inside(self, loop: For) -> "_Around":
        if loop.var in self.spelled:
            return replace(self, loops=(*self.loops, (loop.var, loop.count)))
        return replace(self, times=self.times * loop.count)

    def under(self, guard: Condition) -> "_Around":
        every = both(self.guard, guard)
        names = every.names & {var for var, _ in self.loops}
        holds = Varying(names, lambda here: int(substitute_in(every, here) != NEVER))
        return replace(self, guard=every, holds=holds)

    def copies(self, s: Store) -> Iterator[tuple[int, Value]]:
        """The values that a statement stores in its copies, where its loops are spelled out: each
        value with the number of copies that store it, as pairs (number, value)."""
        value = self.folding.of(s, [var for var, _ in self.loops])
        differ = value.names | self.holds.names
        same = self.times * prod(n for var, n in self.loops if var not in differ)
        names = [var for var, _ in self.loops if var in differ]
        found = defaultdict[tuple[tuple[str, int], ...], int](int)
        for choice in product(*(range(n) for var, n in self.loops if var in differ)):
            here = dict(zip(names, choice, strict=True))
            if times := same * self.holds.at(here):
                found[tuple((var, n) for var, n in here.items() if var in value.names)] += times
        return ((n, value.at(dict(here))) for here, n in found.items())


def _values(s: Statement, around: _Around) -> Iterator[tuple[int, Value]]:
    match s:
        case Block(inner):
            for each in inner:
                yield from _values(each, around)
        case For(_, _, body, _):
            yield from _values(body, around.inside(s))
        case If(condition, body):
            yield from _values(body, around.under(condition))
        case Store():
            yield from around.copies(s)


def _products(value: Value) -> int:
    found = (e for e in subvalues(value) if _multiplies(e, ("*", "fma")))
    return sum(kind_of(e).width for e in found if not _by_power(e))


def _scalings(value: Value) -> int:
    found = (e for e in subvalues(value) if _multiplies(e, ("*",)))
    return sum(kind_of(e).width for e in found if _by_power(e))


def _operations(value: Value) -> int:
    return sum(map(_cost, subvalues(value)))


def _cost(e: Value) -> int:
    match e:
        case Apply(op, (x, _), kind) if op in COMPARISONS:
            return 0 if is_whole(kind_of(x)) else kind.width
        case Apply(op, _, kind) if not is_whole(kind) and op not in FREE:
            return kind.width * (2 if op == "fma" else 1)
        case _:
            return 0


def _multiplies(e: Value, ways: Sequence[str]) -> TypeGuard[Apply]:
    return isinstance(e, Apply) and e.op in ways and not is_whole(e.kind)


def _by_power(e: Apply) -> bool:
    return any(_only_shifts(a) for a in e.arguments[:2])


def _only_shifts(e: Value) -> bool:
    """True if multiplying by the value e changes no more than a sign and an exponent."""
    if isinstance(e, Broadcast):
        return _only_shifts(e.e)
    return isinstance(e, Number) and abs(frexp(e.value)[0]) in (0.0, 0.5)

"""The operations of a compiled program, counted on its trees. Guards count as taken."""

# key: s statement, n trip count

from collections.abc import Iterator, Mapping, Sequence
from math import frexp, prod

from codegen.condition import NEVER, substitute_in
from codegen.constant import folded
from codegen.expand import spelled_loops
from codegen.tree import (
    Apply,
    Block,
    Broadcast,
    Convert,
    For,
    If,
    Kernel,
    Load,
    Number,
    Select,
    Space,
    Statement,
    Store,
    Value,
    kind_of,
    subvalues,
)

FREE = frozenset({"neg"})


def flops(kernels: Sequence[Kernel]) -> int:
    """Arithmetic on floats, redundant work too; fma counts twice."""
    return sum(n * _operations(e) for k in kernels for n, e in _stored(k))


def multiplications(kernels: Sequence[Kernel]) -> int:
    """Products of floats, redundant ones too; by 0, ±1 and ±2^k none is counted."""
    return sum(n * _products(e) for k in kernels for n, e in _stored(k))


def _stored(k: Kernel) -> Iterator[tuple[int, Value]]:
    """Every value that a kernel stores, its constants folded as they are spelled; how often."""
    launches, spelled = prod(k.local_size) * prod(k.groups), spelled_loops(k.body)
    return ((launches * n, e) for n, e in _values(k.body, spelled, {}))


def _values(
    s: Statement, spelled: frozenset[str], known: Mapping[str, int]
) -> Iterator[tuple[int, Value]]:
    """`known`: where the loops that are spelled out are."""
    match s:
        case Block(inner):
            for each in inner:
                yield from _values(each, spelled, known)
        case For(var, n, body, _) if var in spelled and _folds(body):
            for i in range(n):
                yield from _values(body, spelled, {**known, var: i})
        case For(_, n, body, _):
            yield from ((n * times, e) for times, e in _values(body, spelled, known))
        case If(condition, body):
            if substitute_in(condition, known) != NEVER:
                yield from _values(body, spelled, known)
        case Store(_, _, value, _):
            yield 1, folded(value, known)


def _folds(s: Statement) -> bool:
    """Whether values in it depend on what a loop counts, other than by where they are read."""
    match s:
        case Block(inner):
            return any(map(_folds, inner))
        case For(_, _, body, _) | If(_, body):
            return _folds(body)
        case Store(_, _, value, _):
            return any(isinstance(e, Convert | Select) or _of_table(e) for e in subvalues(value))
    return False


def _of_table(e: Value) -> bool:
    return isinstance(e, Load) and e.memory.space is Space.CONSTANT


def _products(value: Value) -> int:
    return sum(kind_of(e).width for e in subvalues(value) if _multiplies(e))


def _operations(value: Value) -> int:
    return sum(map(_cost, subvalues(value)))


def _cost(e: Value) -> int:
    match e:
        case Apply(op, _, kind) if kind.scalar != "int" and op not in FREE:
            return kind.width * (2 if op == "fma" else 1)
        case _:
            return 0


def _multiplies(e: Value) -> bool:
    if not isinstance(e, Apply) or e.op not in ("*", "fma") or e.kind.scalar == "int":
        return False
    return not any(_only_shifts(a) for a in e.arguments[:2])


def _only_shifts(e: Value) -> bool:
    """Whether multiplying by a value changes no more than a sign and an exponent."""
    if isinstance(e, Broadcast):
        return _only_shifts(e.e)
    return isinstance(e, Number) and abs(frexp(e.value)[0]) in (0.0, 0.5)

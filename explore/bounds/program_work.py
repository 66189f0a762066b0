"""The least work of a program under any schedule: its operations, and the bytes that it must
move."""

# key: e term, n trips

from functools import partial

from constraints.quantities.value_bytes import bytes_of as bytes_of_type
from ir.core.conversions import CONVERSIONS
from ir.core.nodes import (
    Binary,
    Expr,
    Generate,
    Lam,
    Map,
    MapPar,
    MapSeq,
    Program,
    Reduce,
    ReduceSeq,
    Unary,
)
from ir.core.terms import children
from ir.core.type_rules import COMPARISONS, join_scalars, size_of, type_of
from ir.core.types import is_whole
from ir.meaning.inputs import known

FREE = frozenset({"neg", "select", *CONVERSIONS})  # operations that nobody counts


def operations(program: Program) -> int:
    """The number of operations on floats that a program asks for, repetitions by maps and
    reductions included."""
    return _cost(program.body, whole=False)


def whole_operations(program: Program) -> int:
    """The number of operations on whole numbers in a program, without conversions."""
    return _cost(program.body, whole=True)


def least_bytes(program: Program) -> int:
    """The bytes of all inputs, each read once, and of the output, written once: no schedule moves
    less."""
    return sum(map(bytes_of, (*(p.var for p in program.params), program.body)))


def bytes_of(e: Expr) -> int:
    """The bytes of the value of a term, whose sizes must be numbers."""
    return known(bytes_of_type(type_of(e)))


def _cost(e: Expr, whole: bool) -> int:
    cost = partial(_cost, whole=whole)
    match e:
        case Map(f, xs) | MapPar(_, _, f, xs) | MapSeq(f, xs, _):
            return cost(xs) + known(size_of(xs)) * cost(f.body)
        case Reduce(init, f, xs) | ReduceSeq(init, f, xs, _):
            return cost(init) + cost(xs) + known(size_of(xs)) * cost(f.body)
        case Generate(n, f):
            return known(n) * cost(f.body)
        case Binary(op, a, b) if op in COMPARISONS:
            return cost(a) + cost(b) + (is_whole(join_scalars(type_of(a), type_of(b))) == whole)
        case Binary(_, a, b):
            return cost(a) + cost(b) + (is_whole(type_of(e)) == whole)
        case Unary(op, a):
            return cost(a) + (op not in FREE and is_whole(type_of(e)) == whole)
        case Lam():
            return 0
        case _:
            return sum(map(cost, children(e)))

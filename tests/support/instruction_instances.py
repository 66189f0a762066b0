"""Random terms to which each law of instructions applies."""

# key: g source of terms, n m sizes

from collections.abc import Callable

from ir.core.nodes import (
    AsVector,
    Binary,
    Expr,
    Join,
    Lam,
    MakeTuple,
    Map,
    Reduce,
    Split,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, lam
from ir.core.type_rules import elem_of
from ir.core.types import FLOAT, Array
from ir.instructions.fragments import as_lanes, as_matrix
from ir.instructions.table import TABLE
from rewrites.engine.rule import Rule
from rewrites.laws import instructions
from tests.support.instances import Instance, plain
from tests.support.random_terms import Terms


def a_program(g: Terms) -> Instance:
    """A random term that computes what an instruction does, and the instruction's name."""
    name = g.one_of(*TABLE)
    sides = [(f.count(f.rows), f.count(f.columns)) for f in TABLE[name].fragments]
    operands = tuple(g.xs(Array(FLOAT, columns), rows) for rows, columns in sides)
    return apply(TABLE[name].program, MakeTuple(operands)), {"name": name}


def in_lanes_again(g: Terms) -> Expr:
    """A matrix that lanes hold, brought into the form in which lanes hold it."""
    entry = TABLE[g.one_of(*TABLE)]
    f = g.one_of(*entry.brought)
    width = f.count(f.registers)
    held = AsVector(width, g.xs(FLOAT, entry.lanes * width))
    return as_lanes(f, as_matrix(f, held))


def seen_through_a_view(g: Terms) -> Expr:
    """A random reduction to a square array, whose function shows what it makes through a view."""
    n, xs = g.size(2, 3), g.xs()
    square = Array(Array(g.scalar(), n), n)
    f = g.step(square, elem_of(xs))
    shown = g.one_of(Transpose(f.body), _rows_again(f.body), Split(n, Join(Transpose(f.body))))
    return Reduce(g.value(square, depth=1), Lam(f.pattern, shown), xs)


def _rows_again(e: Expr) -> Expr:
    return Map(lam("row", elem_of(e), lambda row: Join(Split(1, row))), Transpose(e))


def one_by_one(g: Terms) -> Expr:
    """A random function of each element of one or two arrays, the first seen through a view."""
    n, m = g.size(2, 3), g.size(2, 3)
    xs = g.one_of(Transpose(g.xs(Array(FLOAT, n), m)), Split(m, Join(g.xs(Array(FLOAT, m), n))))
    ys = g.xs(Array(FLOAT, m), n)
    if g.rng.random() < 0.5:
        rows = lam("row", elem_of(xs), lambda row: Map(g.function(FLOAT, FLOAT), row))
        return Map(rows, xs)
    x, y = Var("x", FLOAT), Var("y", FLOAT)
    row, other = Var("row", elem_of(xs)), Var("other", elem_of(ys))
    both = Binary(g.one_of("+", "*", "max"), x, g.one_of(y, Unary("neg", y)))
    return Map(Lam((row, other), Map(Lam((x, y), both), Zip((row, other)))), Zip((xs, ys)))


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    instructions.instruct: a_program,
    instructions.still_in_lanes: plain(in_lanes_again),
    instructions.reduce_inside_view: plain(seen_through_a_view),
    instructions.map_inside_view: plain(one_by_one),
}

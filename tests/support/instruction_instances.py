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
from rewrites.analysis.number_parts import HIGH, LOW, part_of
from rewrites.engine.rule import Argument, Rule
from rewrites.laws import instructions, precision
from tests.support.instances import Instance, a_nest, plain
from tests.support.random_terms import Terms


def a_program(g: Terms) -> Instance:
    """A random term that is the program of an instruction, and the instruction's name as an
    argument of the rule."""
    name = g.one_of(*TABLE)
    sides = [(f.count(f.rows), f.count(f.columns)) for f in TABLE[name].fragments]
    left, right, sums = (g.xs(Array(FLOAT, columns), rows) for rows, columns in sides)
    given: dict[str, Argument] = {"name": name}
    if g.rng.random() < 0.5:
        part, other = g.one_of((LOW, HIGH), (HIGH, LOW), (HIGH, HIGH))
        left, right, given = part_of(part, left), part_of(other, right), {**given, "parts": True}
    return apply(TABLE[name].program, MakeTuple((left, right, sums))), given


def a_product(g: Terms) -> Instance:
    """A random term that is the program of an instruction, and the instruction's name as the only
    argument of the rule."""
    e, given = a_program(g)
    return e, {"name": given["name"]}


def sums_of_sums(g: Terms) -> Expr:
    """A random nest of folds, two or three deep."""
    rows = g.xs(Array(g.scalar(), g.size(1, 3)), g.size(1, 3))
    return a_nest(g, rows)


def in_lanes_again(g: Terms) -> Expr:
    """A random term that makes a matrix of what lanes hold of a fragment, and brings it into the
    same lanes."""
    entry = TABLE[g.one_of(*TABLE)]
    f = g.one_of(*entry.brought)
    width = f.count(f.registers)
    held = AsVector(width, g.xs(FLOAT, entry.lanes * width))
    return as_lanes(f, as_matrix(f, held))


def seen_through_a_view(g: Terms) -> Expr:
    """A random reduction with a square array as its accumulator, the result of whose function is
    seen through a view."""
    n, xs = g.size(2, 3), g.xs()
    square = Array(Array(g.scalar(), n), n)
    f = g.step(square, elem_of(xs))
    shown = g.one_of(Transpose(f.body), _rows_again(f.body), Split(n, Join(Transpose(f.body))))
    return Reduce(g.value(square, depth=1), Lam(f.pattern, shown), xs)


def _rows_again(e: Expr) -> Expr:
    return Map(lam("row", elem_of(e), lambda row: Join(Split(1, row))), Transpose(e))


def one_by_one(g: Terms) -> Expr:
    """A random map over the elements of one array or of two, the first of which is seen through a
    view."""
    n, m = g.size(2, 3), g.size(2, 3)
    xs = g.one_of(Transpose(g.xs(Array(FLOAT, n), m)), Split(m, Join(g.xs(Array(FLOAT, m), n))))
    ys = g.xs(Array(FLOAT, m), n)
    if g.rng.random() < 0.5:
        rows = lam("row", elem_of(xs), lambda row: Map(g.function(FLOAT, FLOAT), row))
        return Map(rows, xs)
    x, y = Var("x", FLOAT), Var("y", FLOAT)
    row, other = Var("row", elem_of(xs)), Var("other", elem_of(ys))
    both = Binary(g.one_of("+", "*", "max"), x, g.one_of(y, Unary("neg", y)))
    if g.rng.random() < 0.5:  # the view is the second of the two
        return Map(Lam((other, row), Map(Lam((y, x), both), Zip((other, row)))), Zip((ys, xs)))
    return Map(Lam((row, other), Map(Lam((x, y), both), Zip((row, other)))), Zip((xs, ys)))


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    instructions.instruct: a_program,
    instructions.still_in_lanes: plain(in_lanes_again),
    instructions.reduce_inside_view: plain(seen_through_a_view),
    instructions.map_inside_view: plain(one_by_one),
    precision.in_parts: a_product,
    precision.afresh: plain(sums_of_sums),
}

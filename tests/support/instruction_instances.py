"""Random terms to which each law of instructions applies."""

# key: g source of terms, n m sizes

from collections.abc import Callable

from ir.core.nodes import (
    AsVector,
    Binary,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    MakeTuple,
    Map,
    Reduce,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import apply, lam, variables
from ir.core.type_rules import array_of, elem_of, type_of
from ir.core.types import BFLOAT, FLOAT, HALF, Array, Tuple, Type
from ir.instructions.fragments import as_lanes, as_matrix
from ir.instructions.table import ACROSS, MATRIX
from rewrites.analysis.number_parts import (
    HIGH,
    LOW,
    all_parts,
    high_part,
    low_part,
    mapped,
)
from rewrites.engine.rule import Argument, Rule
from rewrites.laws import functions_of_elements as functions
from rewrites.number_laws import instructions, lane_results, precision, read_beside
from tests.support.instances import Instance, a_nest, a_view, plain
from tests.support.narrowed import number
from tests.support.random_terms import Terms


def a_program(g: Terms) -> Instance:
    """A random term that is the program of an instruction on random matrices; and the rule's
    argument, the instruction's name."""
    name = g.one_of(*MATRIX, *ACROSS)
    if name in ACROSS:
        return apply(ACROSS[name].program, g.xs(FLOAT, ACROSS[name].lanes)), {"name": name}
    left, right, sums = _operands(g, MATRIX[name].program)
    given: dict[str, Argument] = {"name": name}
    if name == "mma_tf32" and g.rng.random() < 0.5:
        part, other = g.one_of((LOW, HIGH), (HIGH, LOW), (HIGH, HIGH))
        left, right, given = mapped(part, left), mapped(other, right), {**given, "parts": True}
    return apply(MATRIX[name].program, MakeTuple((left, right, sums))), given


def a_product(*names: str) -> Callable[[Terms], Instance]:
    """A source of instances for a rule that takes an instruction's name: each is the program of one
    of the instructions `names`, drawn at random and computed in floats, and the name."""

    def draw(g: Terms) -> Instance:
        name = g.one_of(*names)
        program = precision.of_floats(MATRIX[name].program)
        return apply(program, MakeTuple(_operands(g, program))), {"name": name}

    return draw


def in_two_or_three(g: Terms) -> Instance:
    """A random term in which floats are multiplied as an instruction would multiply others; and the
    arguments of the law of parts: the instruction's name, and how many parts a number has."""
    e, given = a_product("mma_tf32", "mma_bf16", "mma_f16")(g)
    three = given["name"] == "mma_bf16" and g.rng.random() < 0.5
    return e, {**given, **({"count": 3} if three else {})}


def two_factors(g: Terms) -> Instance:
    """The product of two random floats, and the name of an instruction of bfloats or halves."""
    return Binary("*", g.value(FLOAT), g.value(FLOAT)), {"name": g.one_of("mma_bf16", "mma_f16")}


def _operands(g: Terms, program: Lam) -> tuple[Expr, ...]:
    """A random matrix for each variable of an instruction's program."""
    matrices = (array_of(v) for v in variables(program.pattern))
    return tuple(g.xs(t.elem, number(t.size)) for t in matrices)


def a_function(g: Terms) -> Lam:
    """A random function of one float, whose result is a number or a pair."""
    other = lam("x", FLOAT, lambda x: Binary(g.one_of("*", "max"), x, g.literal(FLOAT)))
    pair = lam("x", FLOAT, lambda x: MakeTuple((Unary("neg", x), Binary("*", x, x))))
    t = g.one_of(FLOAT, BFLOAT, HALF)
    three = all_parts(BFLOAT, 3)
    return g.one_of(other, pair, high_part(t), low_part(t), all_parts(t), three)


def of_each_number(g: Terms) -> Instance:
    """A random `let` that names an array of numbers, whose body applies a function to each number
    of a view of the array; and that function, the rule's argument."""
    f, x = a_function(g), g.xs(g.some_type(FLOAT, Array(FLOAT, g.size(1, 3))))
    name = Var(g.one_of("x", "y", "tile"), type_of(x))
    e = mapped(lam("y", FLOAT, lambda y: _some_part(g, apply(f, y))), _some_view(g, name))
    return Let(name, x, e), {"f": f}


def _some_view(g: Terms, e: Expr) -> Expr:
    for _ in range(g.size(0, 2)):
        e = a_view(g, e)
    return e


def _some_part(g: Terms, e: Expr) -> Expr:
    """A float made of e, which is a number or a tuple of numbers: one of these numbers, or the sum
    of the first and the last."""
    parts = [Unary("float", p) for p in (e.parts if isinstance(e, MakeTuple) else (e,))]
    return g.one_of(*parts, Binary("+", parts[0], parts[-1]))


def seen_after(g: Terms) -> Expr:
    """A random view of an array that a function of single numbers makes of another array."""
    xs = g.xs(g.some_type(FLOAT, Array(FLOAT, g.size(1, 3))))
    return a_view(g, a_view(g, mapped(a_function(g), xs)))


def of_what_is_stored(g: Terms) -> Expr:
    """A random function applied to each number of an array that is stored."""
    return mapped(a_function(g), Store(g.xs(g.some_type(FLOAT, Array(FLOAT, g.size(1, 3))))))


def sums_of_sums(g: Terms) -> Expr:
    """A random nest of folds, two or three deep."""
    rows = g.xs(Array(g.scalar(), g.size(1, 3)), g.size(1, 3))
    return a_nest(g, rows)


def in_lanes_again(g: Terms) -> Expr:
    """A random term that makes a matrix of the registers in which lanes hold a fragment of it, and
    distributes this matrix over the lanes again in the same way."""
    entry = MATRIX[g.one_of(*MATRIX)]
    f = g.one_of(*entry.brought)
    width = f.count(f.registers)
    held = AsVector(width, g.xs(FLOAT, entry.lanes * width))
    return as_lanes(f, as_matrix(f, held))


def results_of_an_instruction(g: Terms) -> Instance:
    """A random matrix of the shape of a matrix instruction's results, or an array of such matrices
    in one or two dimensions; and the rule's arguments: the instruction's name, and the number of
    these dimensions (0 for a matrix alone)."""
    name, level = g.one_of(*MATRIX), g.size(0, 2)
    t: Type = variables(MATRIX[name].program.pattern)[-1].type
    for _ in range(level):
        t = Array(t, g.size(1, 3))
    return g.value(t, depth=1), {"name": name, "level": level}


def seen_through_a_view(g: Terms) -> Expr:
    """A random reduction to a square matrix, whose function ends with a view of the new matrix."""
    n, xs = g.size(2, 3), g.xs()
    square = Array(Array(g.scalar(), n), n)
    f = g.step(square, elem_of(xs))
    shown = g.one_of(Transpose(f.body), _rows_again(f.body), Split(n, Join(Transpose(f.body))))
    return Reduce(g.value(square, depth=1), Lam(f.pattern, shown), xs)


def _rows_again(e: Expr) -> Expr:
    return Map(lam("row", elem_of(e), lambda row: Join(Split(1, row))), Transpose(e))


def one_by_one(g: Terms) -> Expr:
    """A random map over all numbers of one matrix, which is seen through a view, or over those of
    two matrices together, one of which is seen through a view."""
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


def beside_rows_and_columns(g: Terms) -> Expr:
    """A random map over all numbers of a matrix that is seen through a view, each of which meets a
    number of its row, of its column, or both; or that number alone counts, or is named first."""
    n, m = g.size(2, 3), g.size(2, 3)
    seen = g.one_of(Transpose(g.xs(Array(FLOAT, n), m)), Split(m, Join(g.xs(Array(FLOAT, m), n))))
    pair, x, row = Var("pair", Tuple((FLOAT, FLOAT))), Var("x", FLOAT), Var("row", elem_of(seen))
    of_row: Expr = g.one_of(Var("a", FLOAT), Get(0, pair))
    of_column = Var("b", FLOAT)
    given: list[Expr] = g.one_of([of_row], [of_column], [of_row, of_column])
    made: Expr = x
    for a in given:
        op, named = g.one_of("+", "*", "max"), Var("y", FLOAT)
        let = Let(named, Binary(op, a, made), Binary("+", named, a))
        made = g.one_of(Binary(op, a, made), Binary(op, made, Unary("neg", made)), let, a)
    inner = Map(Lam(x, made), row)
    if of_column in given:
        inner = Map(Lam((of_column, x), made), Zip((g.xs(FLOAT, m), row)))
    if of_row not in given:
        return Map(Lam(row, inner), seen)
    if isinstance(of_row, Var):
        return Map(Lam((of_row, row), inner), Zip((g.xs(FLOAT, n), seen)))
    return Map(Lam((pair, row), inner), Zip((Zip((g.xs(FLOAT, n), g.xs(FLOAT, n))), seen)))


def of_the_first_lane(g: Terms) -> Expr:
    """A random map to numbers, each made of what an instruction gives to the first lane."""
    entry, xs = ACROSS[g.one_of("lanes_sum_32", "lanes_max_16", "lanes_first_32")], g.xs()
    given = g.xs(FLOAT, entry.lanes)

    def made(_: Expr) -> Expr:
        got = entry.carried_out(given)
        return g.one_of(got, Binary(g.one_of("+", "max"), got, g.literal(FLOAT)), Unary("neg", got))

    return Map(lam("x", elem_of(xs), made), xs)


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    instructions.instruct: a_program,
    lane_results.first_lane: plain(of_the_first_lane),
    instructions.still_in_lanes: plain(in_lanes_again),
    instructions.lanes_open: results_of_an_instruction,
    instructions.reduce_inside_view: plain(seen_through_a_view),
    instructions.map_inside_view: plain(one_by_one),
    read_beside.read_beside: plain(beside_rows_and_columns),
    precision.in_parts: in_two_or_three,
    precision.narrowed: a_product("mma_bf16", "mma_f16"),
    precision.narrowed_factors: two_factors,
    functions.let_mapped: of_each_number,
    functions.map_after_view: plain(seen_after),
    functions.map_into_store: plain(of_what_is_stored),
    precision.afresh: plain(sums_of_sums),
}

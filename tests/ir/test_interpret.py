"""Tests of the interpreter against definitions of every node, written as plain loops over lists."""

# key: e term, xs array, t type, n m sizes

import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ir.meaning.named_axes
import ir.meaning.values
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Level,
    Lit,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Param,
    Pattern,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.size import named
from ir.core.terms import lam, lam2
from ir.core.type_rules import COMPARISONS, elem_of, size_of, type_of
from ir.core.types import FLOAT, HALF, INT, Array, Scalar, Tuple, Type, Vector, lift
from ir.errors import UserError
from ir.meaning import named_axes
from ir.meaning.inputs import check_inputs, random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from tests.support.narrowed import number, one

# ---- the definition: arrays are lists, tuples are tuples, vectors are Lanes


class Lanes(list[float]):
    """The value of a vector in the results of the definitions: its lanes, as a list."""


def meaning(e: Expr, env: Mapping[str, Any]) -> Any:
    """The value of e by definition, one element after another; `env` has the values of
    variables."""
    match e:
        case Var(name, _):
            return env[name]
        case Lit(value, _) | SizeOf(value):
            return value
        case Unary(op, a):
            return lanewise(ONE[op], meaning(a, env))
        case Binary(op, a, b):
            f = operator.floordiv if op == "/" and type_of(e) == INT else TWO[op]
            return lanewise(f, meaning(a, env), meaning(b, env))
        case Select(c, a, b):
            chosen = (meaning(part, env) for part in (c, a, b))
            return lanewise(lambda test, x, y: x if test else y, *chosen)
        case MakeTuple(parts):
            return tuple(meaning(part, env) for part in parts)
        case Get(i, a):
            return meaning(a, env)[i]
        case Let(p, value, body):
            return meaning(body, {**env, **matched(p, meaning(value, env))})
        case Map(f, xs) | MapSeq(f, xs, _) | MapPar(_, _, f, xs):
            return [call(f, x, env) for x in meaning(xs, env)]
        case Generate(n, f):
            return [call(f, i, env) for i in range(number(n))]
        case Reduce(init, f, xs) | ReduceSeq(init, f, xs, _):
            acc = repeated(meaning(init, env), type_of(e))
            for x in meaning(xs, env):
                acc = call(f, (acc, x), env)
            return acc
        case Store(a) | ToLocal(a, _) | ToPrivate(a):
            return meaning(a, env)
        case Zip(parts):
            return list(zip(*(meaning(part, env) for part in parts), strict=True))
        case Split(m, xs):
            found, width = meaning(xs, env), number(m)
            return [found[i : i + width] for i in range(0, len(found), width)]
        case Join(xs):
            return [x for row in meaning(xs, env) for x in row]
        case Slide(size, step, xs, _):
            found, width = meaning(xs, env), number(size)
            starts = range(0, len(found) - width + 1, number(step))
            return [found[i : i + width] for i in starts]
        case Transpose(xs):
            return [list(column) for column in zip(*meaning(xs, env), strict=True)]
        case Pad(l, r, value, xs):
            found, v = meaning(xs, env), meaning(value, env)
            fill, n = repeated(v, elem_of(xs)), len(found)
            places = range(-number(l), n + number(r))
            return [found[i] if 0 <= i < n else fill for i in places]
        case PadEdge(edge, l, r, xs):
            found = meaning(xs, env)
            places = range(-number(l), len(found) + number(r))
            return [edge_element(edge, i, found) for i in places]
        case Reorder(f, xs):
            found = meaning(xs, env)
            return [found[call(f, i, env)] for i in range(len(found))]
        case Concat(a, b):
            return meaning(a, env) + meaning(b, env)
        case At(k, xs):
            return meaning(xs, env)[k]
        case AsVector(n, xs):
            found, width = meaning(xs, env), number(n)
            return [packed(found[i : i + width]) for i in range(0, len(found), width)]
        case AsScalar(xs):
            return [lane for x in meaning(xs, env) for lane in unpacked(x)]
    raise AssertionError(e)


def of_half_turns(f: Callable[[float], float], x: float) -> float:
    """The value f(πx) of a function such as sine, which is exactly 0 or ±1 at every half turn."""
    return float(round(f(math.pi * x))) if (2 * x).is_integer() else f(math.pi * x)


ONE: dict[str, Callable[[float], float]] = {
    "neg": operator.neg,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "cospi": partial(of_half_turns, math.cos),
    "sinpi": partial(of_half_turns, math.sin),
    "abs": abs,
}
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "max": max,
    "min": min,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


def call(f: Lam, argument: Any, env: Mapping[str, Any]) -> Any:
    return meaning(f.body, {**env, **matched(f.pattern, argument)})


def matched(p: Pattern, value: Any) -> dict[str, Any]:
    if isinstance(p, Var):
        return {p.name: value}
    return {k: v for q, part in zip(p, value, strict=True) for k, v in matched(q, part).items()}


def lanewise(f: Callable[..., Any], *args: Any) -> Any:
    widths = {len(a) for a in args if isinstance(a, Lanes)}
    if not widths:
        return f(*args)
    (n,) = widths
    return Lanes(f(*(a[i] if isinstance(a, Lanes) else a for a in args)) for i in range(n))


def repeated(value: Any, t: Type) -> Any:
    match t:
        case Array(elem, n):
            rows = value if isinstance(value, list) else [value] * number(n)
            return [repeated(row, elem) for row in rows]
        case Tuple(parts):
            values = value if isinstance(value, tuple) else [value] * len(parts)
            return tuple(map(repeated, values, parts))
        case Vector(_, n) if not isinstance(value, Lanes):
            return Lanes([value] * number(n))
    return value


def edge_element(edge: Edge, i: int, found: list[Any]) -> Any:
    n = len(found)
    match edge:
        case Edge.CLAMP:
            return found[min(max(i, 0), n - 1)]
        case Edge.WRAP:
            return found[i % n]
        case Edge.MIRROR:
            while not 0 <= i < n:
                i = -1 - i if i < 0 else 2 * n - 1 - i
            return found[i]
        case Edge.ANY:
            return found[i] if 0 <= i < n else math.nan
    raise AssertionError(edge)


def packed(found: list[Any]) -> Any:
    match found[0]:
        case list():
            return [packed(list(column)) for column in zip(*found, strict=True)]
        case tuple():
            return tuple(packed(list(column)) for column in zip(*found, strict=True))
    return Lanes(found)


def unpacked(x: Any) -> list[Any]:
    match x:
        case Lanes():
            return list(x)
        case list():
            return [list(row) for row in zip(*map(unpacked, x), strict=True)]
        case tuple():
            return list(zip(*map(unpacked, x), strict=True))
    raise AssertionError(x)


# ---- between the two forms of data


def as_lists(data: Any, t: Type) -> Any:
    """The data of type t in the form that the definitions use: an array of tuples, which the
    interpreter keeps as a tuple of arrays, becomes a list of tuples."""
    match t:
        case Array(elem, n):
            return [as_lists(element(data, i), elem) for i in range(number(n))]
        case Tuple(parts):
            return tuple(map(as_lists, data, parts))
        case Vector(scalar, n):
            return Lanes(as_lists(element(data, i), scalar) for i in range(number(n)))
    return data.item()


def element(data: Any, i: int) -> Any:
    return tuple(element(d, i) for d in data) if isinstance(data, tuple) else data[i]


def agree(e: Expr, *params: Var, seed: int = 0) -> Any:
    """The interpreter's value of e for random inputs `params`; asserts that the definition gives an
    equal value."""
    program = Program("test", tuple(map(Param, params)), e)
    inputs = random_inputs(program, seed)
    out = evaluate(program, inputs)
    expected = meaning(e, {p.name: as_lists(inputs[p.name], p.type) for p in params})
    found = as_lists(out, type_of(e))
    assert found == expected
    return out


# ---- terms


def arr(*sizes: int, of: Type = FLOAT) -> Type:
    for n in reversed(sizes):
        of = Array(of, n)
    return of


def each(xs: Expr, f: Callable[[Expr], Expr]) -> Map:
    return Map(lam("x", elem_of(xs), f), xs)


Fold = Callable[[Expr, Lam, Expr], Expr]


def fold(init: Expr, xs: Expr, f: Callable[[Expr, Expr], Expr], node: Fold = Reduce) -> Expr:
    return node(init, lam2(("acc", "x"), (type_of(init), elem_of(xs)), f), xs)


def num(value: float) -> Lit:
    return Lit(float(value), FLOAT)


def int_(value: int) -> Lit:
    return Lit(value, INT)


def add(a: Expr, b: Expr) -> Expr:
    return Binary("+", a, b)


def times(a: Expr, b: Expr) -> Expr:
    return Binary("*", a, b)


def index_function(f: Callable[[Expr], Expr]) -> Lam:
    return lam("i", INT, f)


def strided(s: int, n: int) -> Lam:
    q = int_(n // s)
    return index_function(lambda i: add(Binary("/", i, q), times(int_(s), Binary("%", i, q))))


X = Var("x", arr(4, 6))
V = Var("v", arr(6))
PAIRS = Var("p", arr(4, of=Tuple((FLOAT, arr(3)))))


# ---- random layout chains


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def volume(t: Type) -> int:
    match t:
        case Array(elem, n):
            return number(n) * volume(elem)
        case Tuple(parts):
            return sum(map(volume, parts))
        case Vector(_, n):
            return number(n)
    return 1


def has_vectors(t: Type) -> bool:
    match t:
        case Array(elem, _):
            return has_vectors(elem)
        case Tuple(parts):
            return any(map(has_vectors, parts))
    return isinstance(t, Vector)


def all_vectors(t: Type) -> bool:
    match t:
        case Array(elem, _):
            return all_vectors(elem)
        case Tuple(parts):
            return all(map(all_vectors, parts))
    return isinstance(t, Vector)


def one_scalar(t: Type) -> bool:
    return not isinstance(t, Tuple) and (not isinstance(t, Array) or one_scalar(t.elem))


def layout_step(dice: Random, xs: Expr) -> Expr:
    """A term that applies one layout primitive to xs, or to the elements of xs."""
    t, n = elem_of(xs), size_of(xs)
    assert isinstance(n, int)
    options = ["split", "slide", "strict", "pad", "edge", "reverse", "rotate", "stride", "concat"]
    options += ["zip", "store", "local", "private", "seq", "par", "generate", "let"]
    if isinstance(t, Array):
        options += ["join", "transpose"] * 3 + ["inside"] * 4 + ["at", "inner rotate"] * 2
    if isinstance(t, Tuple):
        options += ["get", "swap"] * 2
    options += ["unvector"] * 8 if all_vectors(t) else [] if has_vectors(t) else ["vector"]
    match dice.choice(options):
        case "split":
            return Split(dice.choice(divisors(n)), xs)
        case "slide":
            return Slide(dice.randint(1, n), dice.randint(1, 3), xs)
        case "strict":
            size = dice.randint(1, n)
            return Slide(size, dice.choice(divisors(n - size) or [2]), xs, True)
        case "pad":
            left, right = dice.randint(1 - n, 3), dice.randint(0, 3)
            filled = Pad(left, right, num(7), xs)
            return filled if dice.random() < 0.5 else Pad(right, left, num(7), xs)
        case "edge":
            edge = dice.choice([Edge.CLAMP, Edge.WRAP, Edge.MIRROR])
            return PadEdge(edge, dice.randint(1 - n, 4), dice.randint(0, 4), xs)
        case "reverse":
            return Reorder(index_function(lambda i: Binary("-", int_(n - 1), i)), xs)
        case "rotate":
            return Reorder(index_function(lambda i: Binary("%", add(i, int_(1)), int_(n))), xs)
        case "stride":
            return Reorder(strided(dice.choice(divisors(n)), n), xs)
        case "concat":
            return Concat(xs, xs)
        case "zip":
            other = Reorder(index_function(lambda i: Binary("-", int_(n - 1), i)), xs)
            return each(Zip((xs, other)), lambda p: Get(1, p))
        case "store":
            return Store(xs)
        case "local":
            return ToLocal(xs)
        case "private":
            return each(xs, ToPrivate)
        case "seq":
            return MapSeq(lam("x", t, lambda x: x), xs)
        case "par":
            return MapPar(Level.GLOBAL, 0, lam("x", t, lambda x: x), xs)
        case "generate":
            return Generate(2, lam("i", INT, lambda i: xs))
        case "let":
            return Let(Var("shared", type_of(xs)), xs, Concat(*2 * (Var("shared", type_of(xs)),)))
        case "join":
            return Join(xs)
        case "transpose":
            return Transpose(xs)
        case "inside":
            hint = dice.choice(["row", "x"])
            row = Var(hint, t)
            return Map(Lam(row, layout_step(dice, row)), xs)
        case "at":
            return each(xs, lambda x: At(dice.randint(0, number(size_of(x)) - 1), x))
        case "inner rotate":
            # an index that depends on the enclosing map
            m = number(size_of(Var("", t)))
            numbered = Zip((Generate(n, lam("i", INT, lambda i: i)), xs))

            def rotated(p: Expr) -> Expr:
                shift = index_function(lambda j: Binary("%", add(j, Get(0, p)), int_(m)))
                return Reorder(shift, Get(1, p))

            return each(numbered, rotated)
        case "get":
            assert isinstance(t, Tuple)
            parts = len(t.parts)
            return each(xs, lambda x: Get(dice.randrange(parts), x))
        case "swap":
            return each(xs, lambda x: MakeTuple((Get(1, x), Get(0, x))))
        case "vector":
            return AsVector(dice.choice(divisors(n)), xs)
        case "unvector":
            return AsScalar(xs)
    raise AssertionError


def shape(dice: Random) -> Type:
    """A random type of an array: of numbers (in up to three dimensions), of pairs of numbers, or of
    pairs of a number and a row."""
    match dice.randrange(3):
        case 0:
            return arr(*(dice.randint(1, 6) for _ in range(dice.randint(1, 3))))
        case 1:
            return arr(dice.randint(1, 6), of=Tuple((FLOAT, FLOAT)))
    return arr(dice.randint(1, 4), of=Tuple((FLOAT, arr(3))))


def layout_chain(seed: int) -> tuple[Var, Expr]:
    """A variable, and a term that applies up to eight random layout primitives to it. It is drawn
    without Hypothesis, whose draws would take longer than the test."""
    dice = Random(seed)
    xs = Var("xs", shape(dice))
    e: Expr = xs
    for _ in range(dice.randint(1, 8)):
        longer = layout_step(dice, e)
        t = type_of(longer)
        if isinstance(t, Array) and volume(t) <= 2000:
            e = longer
    return xs, e


CHAINS = st.integers(0, 2**64 - 1).map(layout_chain)


@pytest.mark.no_cover
@settings(max_examples=500)
@given(CHAINS)
def test_layout_chains_mean_what_their_loops_do(chain: tuple[Var, Expr]) -> None:
    xs, e = chain
    agree(e, xs)


@settings(max_examples=150)
@given(CHAINS)
def test_checker_and_interpreter_agree_on_shapes(chain: tuple[Var, Expr]) -> None:
    xs, e = chain
    program = Program("test", (Param(xs),), e)
    out = evaluate(program, random_inputs(program, 1))
    result = Program("result", (Param(Var("out", type_of(e))),), e)
    check_inputs(result, {"out": out})


# ---- reductions

BODIES: dict[str, Callable[[Expr, Expr], Expr]] = {
    "sum": add,
    "sum from the right": lambda acc, x: add(x, acc),
    "difference": lambda acc, x: Binary("-", acc, x),
    "difference from the right": lambda acc, x: Binary("-", x, acc),
    "product of small numbers": lambda acc, x: times(
        acc, Binary("max", num(-2), Binary("min", x, num(1)))
    ),
    "max": lambda acc, x: Binary("max", acc, x),
    "min of absolutes": lambda acc, x: Binary("min", acc, Unary("abs", x)),
    "sum of squares": lambda acc, x: add(acc, times(x, x)),
    "sum of cubes and more": lambda acc, x: add(add(acc, times(x, times(x, x))), Unary("neg", x)),
    "Horner": lambda acc, x: Binary("max", num(-9), add(times(acc, num(0.5)), x)),
    "last": lambda acc, x: x,
    "first": lambda acc, x: acc,
    "count": lambda acc, x: add(acc, num(1)),
    "accumulator twice": lambda acc, x: add(acc, Binary("max", acc, x)),
    "mixed": lambda acc, x: Binary("max", add(acc, x), num(0)),
    "let": lambda acc, x: Let(Var("y", FLOAT), times(x, x), add(Var("y", FLOAT), acc)),
    "doubled": lambda acc, x: add(acc, acc),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("node", [Reduce, ReduceSeq])
def test_reductions_are_left_folds(name: str, node: Fold) -> None:
    agree(fold(num(3), V, BODIES[name], node), V)
    agree(each(X, lambda row: fold(num(0), row, BODIES[name], node)), X)
    agree(each(Transpose(X), lambda row: fold(At(0, row), row, BODIES[name], node)), X)


@pytest.mark.no_cover
@settings(max_examples=400)
@given(CHAINS, st.sampled_from(sorted(BODIES)), st.booleans())
def test_reductions_of_layout_chains(chain: tuple[Var, Expr], body: str, small: bool) -> None:
    xs, e = chain
    reduced = reduce_scalars(e, BODIES[body])
    with pytest.MonkeyPatch.context() as patch:
        if small:
            shrink_memory(patch)
        agree(reduced, xs)


def reduce_scalars(e: Expr, body: Callable[[Expr, Expr], Expr]) -> Expr:
    """The term e with each innermost array of numbers reduced by `body`. Where elements are tuples,
    the array of their first components is reduced."""
    match elem_of(e):
        case Array():
            return each(e, lambda x: reduce_scalars(x, body))
        case Tuple():
            first = each(e, lambda x: Get(0, x))
            return reduce_scalars(first, body)
        case Vector():
            return reduce_scalars(AsScalar(e), body)
    return fold(num(1), e, body)


def shrink_memory(patch: pytest.MonkeyPatch) -> None:
    """Make the interpreter believe that almost every array is too large for memory, so that it
    divides its work into halves, again and again."""
    patch.setattr(ir.meaning.values, "LIMIT", 24)
    patch.setattr(ir.meaning.named_axes, "SCRATCH", 24)


def dot(xs: Expr, ys: Expr, init: Expr | None = None) -> Expr:
    return fold(init or num(0), Zip((xs, ys)), lambda acc, p: add(acc, times(Get(0, p), Get(1, p))))


A, B = Var("a", arr(4, 6)), Var("b", arr(6, 5))


def zipped_add(acc: Expr, x: Expr) -> Expr:
    return each(Zip((acc, x)), lambda p: add(Get(0, p), Get(1, p)))


SUMS: dict[str, Expr] = {
    "matrix product": each(A, lambda row: each(Transpose(B), lambda c: dot(row, c))),
    "products in a map of their own": each(
        A,
        lambda row: each(
            Transpose(B),
            lambda c: fold(num(0), each(Zip((row, c)), lambda p: times(Get(0, p), Get(1, p))), add),
        ),
    ),
    "sum of sums": each(
        A,
        lambda row: fold(
            num(1),
            Split(3, Zip((row, V))),
            lambda acc, part: add(
                acc, fold(num(0), part, lambda a, p: add(a, times(Get(0, p), Get(1, p))))
            ),
        ),
    ),
    "sum that goes on from the outer one": each(
        A,
        lambda row: fold(
            num(1),
            Split(2, Zip((row, V))),
            lambda acc, part: fold(acc, part, lambda a, p: add(a, times(Get(0, p), Get(1, p)))),
        ),
    ),
    "array accumulator": fold(Generate(6, lam("i", INT, lambda i: num(2))), A, zipped_add),
    "array accumulator of outer products": fold(
        Generate(4, lam("i", INT, lambda i: Generate(5, lam("j", INT, lambda j: num(0))))),
        Zip((Transpose(A), B)),
        lambda acc, p: each(
            Zip((acc, Get(0, p))),
            lambda q: each(
                Zip((Get(0, q), Get(1, p))),
                lambda r: add(Get(0, r), times(Get(1, q), Get(1, r))),
            ),
        ),
    ),
    "accumulator out of place": fold(
        Generate(6, lam("i", INT, lambda i: num(2))),
        A,
        lambda acc, x: zipped_add(
            Reorder(index_function(lambda i: Binary("-", int_(5), i)), acc), x
        ),
    ),
    "square accumulator transposed": fold(
        Generate(4, lam("i", INT, lambda i: Generate(4, lam("j", INT, lambda j: i)))),
        Generate(3, lam("i", INT, lambda i: i)),
        lambda acc, x: each(
            Transpose(acc), lambda row: each(row, lambda y: add(y, times(x, int_(2))))
        ),
    ),
    "accumulator cut up and put together": fold(
        Generate(6, lam("i", INT, lambda i: num(2))),
        A,
        lambda acc, x: Join(
            each(Zip((Split(2, acc), Split(2, x))), lambda p: zipped_add(Get(0, p), Get(1, p)))
        ),
    ),
    "accumulator concatenated": fold(
        Generate(6, lam("i", INT, lambda i: num(2))),
        A,
        lambda acc, x: Concat(
            zipped_add(Pad(0, -2, num(0), acc), Pad(0, -2, num(0), x)),
            zipped_add(Pad(-4, 0, num(0), acc), Pad(-4, 0, num(0), x)),
        ),
    ),
    "tuple accumulator": fold(
        MakeTuple((num(0), num(-9), num(1))),
        V,
        lambda acc, x: MakeTuple((add(Get(0, acc), x), Binary("max", Get(1, acc), x), Get(2, acc))),
    ),
    "tuple accumulator swapped": fold(
        MakeTuple((num(0), num(1))),
        V,
        lambda acc, x: MakeTuple((add(Get(1, acc), x), Get(0, acc))),
    ),
    "largest and its index": fold(
        MakeTuple((num(-9), num(0))),
        V,
        lambda acc, x: MakeTuple(
            (Binary("max", Get(0, acc), x), add(Get(1, acc), Binary("max", Get(0, acc), num(0))))
        ),
    ),
    "three factors": each(
        A,
        lambda row: fold(
            num(0),
            Zip((row, V, At(0, A))),
            lambda acc, p: add(acc, times(times(Get(0, p), Get(1, p)), Get(2, p))),
        ),
    ),
    "three factors, each element twice": fold(
        num(0),
        Join(Generate(2, lam("i", INT, lambda i: V))),
        lambda acc, x: add(acc, times(x, times(x, x))),
    ),
    "three factors, one along an axis of its own": fold(
        num(0),
        Zip((V, At(1, A))),
        lambda acc, p: fold(
            acc, At(2, A), lambda a, x: add(a, times(x, times(Get(0, p), Get(1, p))))
        ),
    ),
    "factor outside the sum": each(
        A, lambda row: fold(num(0), V, lambda acc, x: add(acc, times(x, At(0, row))))
    ),
    "square of a sum": each(
        A,
        lambda row: Let(Var("s", FLOAT), dot(row, V), times(Var("s", FLOAT), Var("s", FLOAT))),
    ),
    "square of a sum, summed": fold(
        num(0), each(A, lambda row: times(dot(row, V), dot(row, V))), add
    ),
    "product of sums": fold(num(1), each(A, lambda row: dot(row, V)), times),
    "a constant many times": each(
        A, lambda row: fold(num(1), V, lambda acc, x: times(acc, num(2)))
    ),
    "batched by a shared axis": each(
        Zip((A, Split(6, Generate(24, lam("i", INT, lambda i: i))))),
        lambda p: dot(Get(0, p), each(Get(1, p), lambda i: times(i, num(1)))),
    ),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("memory", ["enough memory", "too little memory"])
def test_sums_of_products(name: str, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if memory == "too little memory":
        shrink_memory(monkeypatch)
    agree(SUMS[name], A, B, V)


def numbers(e: Expr) -> Expr:
    """All numbers of e, or of the first components of its tuples, as one array."""
    match elem_of(e):
        case Array():
            return numbers(Join(e))
        case Tuple():
            return numbers(each(e, lambda x: Get(0, x)))
        case Vector():
            return numbers(AsScalar(e))
    return e


def reversed_(xs: Expr) -> Expr:
    return Reorder(index_function(lambda i: Binary("-", int_(number(size_of(xs)) - 1), i)), xs)


def sum_through(xs: Expr) -> Expr:
    """A sum of products of three factors in two nested reductions, the inner of which starts from
    the outer one's accumulator."""
    pairs = Zip((xs, reversed_(xs)))

    def inner(acc: Expr, p: Expr) -> Expr:
        def step(a: Expr, w: Expr) -> Expr:
            return add(a, times(At(0, w), times(Get(0, p), Get(1, p))))

        return fold(acc, Slide(1, 1, xs), step)

    return fold(num(0), pairs, inner)


def sums_of_windows(xs: Expr) -> Expr:
    """A reduction whose accumulator is an array: it adds up all windows of xs, after multiplying
    each, number by number, with xs."""
    windows = Slide(size_of(xs), 1, Pad(1, 1, num(2), xs))
    three = lambda p: add(Get(0, p), times(Get(1, p), Get(2, p)))  # noqa: E731
    return fold(each(xs, lambda x: num(1)), windows, lambda acc, w: each(Zip((acc, w, xs)), three))


def two_rows(xs: Expr) -> Expr:
    """A map of sums of products over the two rows of an array that another map made; the second
    factor is the same for both rows."""
    n = size_of(xs)
    shifted = Generate(2, lam("k", INT, lambda k: each(xs, lambda x: add(x, k))))
    return each(Split(n, Join(shifted)), lambda row: dot(row, Pad(0, n - 6, num(1), V)))


@pytest.mark.no_cover
@pytest.mark.no_cover
@settings(max_examples=400)
@given(
    CHAINS,
    st.sampled_from([lambda xs: dot(xs, xs), sum_through, sums_of_windows, two_rows]),
    st.integers(0, 2),
    st.sampled_from([8, 64, 512, 1 << 20]),
    st.sampled_from([8, 64, 512, 1 << 20]),
)
def test_sums_of_products_of_layout_chains(
    chain: tuple[Var, Expr],
    sums: Callable[[Expr], Expr],
    depth: int,
    limit: int,
    scratch: int,
) -> None:
    xs, e = chain
    assume(volume(type_of(e)) <= 100)

    def at_depth(e: Expr, d: int) -> Expr:
        if d and isinstance(elem_of(e), Array):
            return each(e, lambda x: at_depth(x, d - 1))
        return sums(numbers(e))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ir.meaning.values, "LIMIT", limit)
        patch.setattr(ir.meaning.named_axes, "SCRATCH", scratch)
        agree(at_depth(e, depth), xs, V)


def test_vectors_compute_lane_by_lane() -> None:
    assert elem_of(AsVector(2, V)) == Vector(FLOAT, 2)
    row = AsVector(3, V)
    weighted = each(row, lambda x: add(times(x, num(2)), x))
    agree(AsScalar(weighted), V)
    total = Reduce(num(1), lam2(("a", "x"), (Vector(FLOAT, 3), Vector(FLOAT, 3)), add), row)
    agree(total, V)
    agree(AsScalar(each(AsVector(2, X), lambda r: each(r, lambda x: Unary("neg", x)))), X)
    wide = Var("w", arr(4, of=lift(Tuple((FLOAT, arr(2))), 4)))
    agree(AsScalar(wide), wide)
    spread = each(
        row,
        lambda x: Reduce(
            num(0), lam2(("a", "y"), (Vector(FLOAT, 3), FLOAT), lambda a, y: add(a, times(y, x))), V
        ),
    )
    agree(spread, V)


@pytest.mark.parametrize("op", sorted(ONE))
def test_every_function_of_one_number(op: str) -> None:
    positive = each(V, lambda x: add(times(x, x), num(1)))
    e = each(positive, lambda x: Unary(op, x))
    program = Program("test", (Param(V),), e)
    inputs = random_inputs(program, 3)
    expected = meaning(e, {"v": as_lists(inputs["v"], V.type)})
    np.testing.assert_allclose(one(evaluate(program, inputs)), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("t", "op"), [(t, op) for t in (INT, FLOAT) for op in sorted(TWO) if (t, op) != (FLOAT, "%")]
)
def test_every_function_of_two_numbers(op: str, t: Scalar) -> None:
    xs = Var("xs", arr(7, of=t))
    shifted = Lit(5, t) if t == INT else num(5)
    e = each(xs, lambda x: Binary(op, Binary("-", x, Lit(1, INT)), add(x, shifted)))
    out = agree(e, xs)
    assert out.dtype == (np.int32 if t == INT or op in COMPARISONS else np.float64)


def test_a_choice_takes_the_first_number_where_its_condition_is_not_0() -> None:
    xs, ks = Var("xs", arr(9)), Var("ks", arr(9, of=INT))
    pairs = Zip((xs, ks))

    def kept(p: Expr, c: Expr) -> Expr:
        return Select(c, Get(0, p), Binary("*", Get(1, p), num(2)))

    agree(each(pairs, lambda p: kept(p, Binary(">", Get(0, p), num(1)))), xs, ks)
    agree(each(pairs, lambda p: kept(p, Get(1, p))), xs, ks)


def test_a_choice_of_accumulators_is_followed_element_by_element() -> None:
    program = parse("p(xs : [float]7) = (argmax(xs), argmin(xs), argmax(map(x -> 0 * x, xs)))")
    xs = np.random.default_rng().permutation(7)
    most, least, tie = evaluate(program, {"xs": xs})
    assert (most, least, tie) == (xs.argmax(), xs.argmin(), 0)


def test_ints_meet_floats_as_floats_and_stay_exact_alone() -> None:
    big = 2**24 + 1
    program = Program("test", (), Generate(3, lam("i", INT, lambda i: add(i, int_(big)))))
    assert one(evaluate(program, {}, np.float32)).tolist() == [big, big + 1, big + 2]
    agree(Generate(3, lam("i", INT, lambda i: times(i, num(0.5)))))
    agree(Generate(3, lam("i", INT, lambda i: MakeTuple((i, SizeOf(4))))))


def test_tuples_come_out_as_tuples() -> None:
    out = agree(each(PAIRS, lambda p: MakeTuple((Get(1, p), add(Get(0, p), num(1))))), PAIRS)
    assert isinstance(out, tuple)
    assert [part.shape for part in out] == [(4, 3), (4,)]


def test_structured_elements_are_padded_with_a_scalar_or_their_like() -> None:
    agree(Pad(1, 2, num(5), PAIRS), PAIRS)
    agree(Pad(1, 2, MakeTuple((num(5), V3)), PAIRS), PAIRS, V3)
    agree(each(PAIRS, lambda p: Pad(1, 1, Get(0, p), Get(1, p))), PAIRS)


V3 = Var("v3", arr(3))


def test_a_constant_map_repeats_its_value() -> None:
    out = agree(each(X, lambda row: num(2)), X)
    assert out.tolist() == [2, 2, 2, 2]
    agree(each(X, lambda row: each(X, lambda other: dot(row, other))), X)
    agree(each(X, lambda row: V), X, V)


def test_a_use_of_an_unspecified_element_shows() -> None:
    program = Program("test", (Param(V),), fold(num(0), PadEdge(Edge.ANY, 0, 1, V), add))
    assert np.isnan(evaluate(program, random_inputs(program, 0)))
    cropped = PadEdge(Edge.ANY, -1, -2, PadEdge(Edge.ANY, 1, 2, V))
    agree(cropped, V)
    ints = Var("v", arr(6, of=INT))
    program = Program("test", (Param(ints),), PadEdge(Edge.ANY, 1, 0, ints))
    assert evaluate(program, random_inputs(program, 0))[0] == -(2**31)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_and_halves_are_computed_in_the_type_asked_for(dtype: type) -> None:
    for t in (FLOAT, HALF):
        xs, ys = Var("xs", arr(3, 8, of=t)), Var("ys", arr(8, of=t))
        zero = Lit(0.0, t)
        e = each(xs, lambda row: dot(row, ys, zero))  # noqa: B023
        program = Program("test", (Param(xs), Param(ys)), e)
        inputs = random_inputs(program, 0)
        out = one(evaluate(program, inputs, dtype))
        assert out.dtype == dtype
        np.testing.assert_array_equal(out, one(inputs["xs"]) @ one(inputs["ys"]))


# ---- inputs and mistakes


def program_of(e: Expr, *params: Var) -> Program:
    return Program("test", tuple(map(Param, params)), e)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "no input given for v"),
        ({"v": np.zeros(6), "w": np.zeros(6)}, "test has no input `w`; expected v"),
        ({"v": np.zeros(5)}, r"has shape \(6,\), found an array of shape \(5,\)"),
        ({"v": np.zeros((6, 1))}, "has shape"),
        ({"v": np.zeros(6, complex)}, "cannot be given as complex128"),
        ({"v": np.array(["a"] * 6)}, "cannot be given as"),
        ({"v": [1.0] * 6}, "needs an array"),
        ({"V": np.zeros(6)}, "no input `V`; did you mean `v`"),
    ],
)
def test_wrong_inputs_are_named(inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(program_of(V, V), inputs)


def test_floats_are_no_ints_and_tuples_need_their_components() -> None:
    ints = Var("v", arr(2, of=INT))
    with pytest.raises(UserError, match="cannot be given as float64"):
        evaluate(program_of(ints, ints), {"v": np.zeros(2)})
    with pytest.raises(UserError, match="tuple of 2"):
        evaluate(program_of(PAIRS, PAIRS), {"p": np.zeros(4)})
    with pytest.raises(UserError, match=r"p\.1"):
        evaluate(program_of(PAIRS, PAIRS), {"p": (np.zeros(4), np.zeros(4))})


@pytest.mark.parametrize(
    ("e", "message"),
    [
        (Slide(7, 1, V), "windows of 7, 1 apart"),
        (At(6, V), "no element 6"),
        (Reorder(index_function(lambda i: int_(0)), V), "not a bijection"),
        (Pad(named("T"), 0, num(0), V), "no value yet"),
        (Slide(2, 3, V, True), "behind the last"),
        (Generate(10**12, lam("i", INT, lambda i: i)), "7,450.6 GiB"),
        (each(V, lambda x: Pad(0, 10**12, x, V)), "GiB would be needed"),
        (
            fold(
                num(0),
                Generate(10**7, lam("i", INT, lambda i: i)),
                lambda acc, i: add(times(acc, num(0.5)), i),
            ),
            "loops over at most 100,000",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_the_users_mistake(e: Expr, message: str) -> None:
    with pytest.raises(UserError, match=message):
        evaluate(program_of(e, V), {"v": np.zeros(6)})


def test_inputs_too_large_to_draw_are_refused() -> None:
    huge = Var("huge", arr(10**6, 10**6))
    with pytest.raises(UserError, match="1,000,000,000,000 numbers"):
        random_inputs(program_of(huge, huge), 0)


def test_random_inputs_depend_on_the_seed_alone() -> None:
    program = program_of(V, V, PAIRS)
    first, again, other = (one(random_inputs(program, seed)["v"]) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert first.dtype == np.float32
    assert set(first.tolist()) <= set(range(-3, 4))
    assert not np.array_equal(other, first)
    spread = one(random_inputs(program, 5, integers=False)["v"])
    assert np.all(np.abs(spread) <= 1)
    assert set(spread.tolist()) != set(np.round(spread).tolist())


def test_more_axes_than_numpy_has_are_refused() -> None:
    """An operation on two arrays of 40 dimensions each would need an array of 80, more than NumPy
    has: it is refused with a message."""
    a, b = (
        named_axes.Named(np.ones([1] * 40), tuple(named_axes.Axis(1) for _ in range(40)))
        for _ in range(2)
    )
    with pytest.raises(UserError, match=r"80 dimensions would be needed; .* none beyond 64"):
        named_axes.elementwise(np.add, (a, b))

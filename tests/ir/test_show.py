"""Tests that the text which is shown for a term parses back to the same term."""

from pathlib import Path
from random import Random

import pytest

from ir import (
    FLOAT,
    HALF,
    INT,
    Array,
    Binary,
    Generate,
    IllTyped,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    MapSeq,
    Param,
    Program,
    ReduceSeq,
    Select,
    SizeOf,
    Store,
    ToLocal,
    Unary,
    Var,
    named,
    parse,
    parse_file,
    show,
    type_of,
)
from tests.support.random_terms import Terms

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.lift"))


def comes_back(program: Program) -> None:
    text = show(program)
    if parse(text) != program:  # no assert: pytest would explain the difference for minutes
        pytest.fail(text)
    assert max(map(len, text.split("\n"))) <= 100


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_come_back(path: Path) -> None:
    comes_back(parse_file(path))


LOWERED = [
    "mapGlobal(0)(x -> exp(x), xs)",
    "join(mapWorkgroup(1)(mapLocal(2)(exp), split(4, xs)))",
    "unrolled mapSeq(x -> -x, xs)",
    "reduceSeq(0.0, (a, x) -> a + x, map(exp, xs))",
    "unrolled reduceSeq(0.0, max, xs)",
    "asScalar(mapSeq(vectorized v -> v * v, asVector(4, xs)))",
    "asScalar(map((a, b) -> a * b, zip(asVector(k, xs), asVector(k, xs))))",
    "let t = toLocal(mapLocal(0)(exp, xs)) zip(t, t)",
    "let t = toLocalAhead(xs) let u = toPrivate(t) zip(t, store(u))",
    "join(slide_strict(k, v - 2, pad(0, 3 * k, 0.0, xs)))",
    "pad_any(0, floor(k + 3, 4), pad_clamp(k, -1, pad_mirror(1, 2, pad_wrap(k * v, 0, xs))))",
    "split(64 / (k * v), xs)",
    "split(64 / k / (v + 1), xs)",
    "split((k + v) % 3 + 1, xs)",
    "reorder(stride(k), xs)",
    "reorder(stride(64 / k), xs)",
    "generate(k, i -> i * size(k) + k)",
    "generate(k * v, i -> i * size(2 * k + 1))",
    "map(x -> (let y = exp(x) y * y, let z = exp(x)\n(z, z)), xs)",
    "map(x -> let y = exp(x)\n(-y) * y, xs)",
    "at(3, xs) - (at(4, xs) - at(5, xs)) - -at(6, xs) / (2.0 * at(7, xs)) - -1.0",
    "concat(xs, concat(xs, xs))",
    "map(x -> select((x < 1.0) + (2.0 >= x) == 1, x, (x != x) - 1), xs)",
    "map(x -> select(((x < 1.0) < 2) > (0 < (1 < 3)), 1, 2 | 4 & 8 << 1), xs)",
    "argmax(xs)",
    "map((x -> (x, x.0)), map(x -> (x, x), xs))",
]


@pytest.mark.parametrize("text", LOWERED)
def test_lowered_terms_come_back(text: str) -> None:
    comes_back(parse(f"f(xs : [float]64) = {text} where k = ?, v = ?"))


def program(body: object, *params: Var) -> Program:
    return Program("f", tuple(map(Param, params)), body)  # type: ignore[arg-type]


H, X, I = Var("h", HALF), Var("x", FLOAT), Var("i", INT)
HS = Var("hs", Array(HALF, 4))
ACC, E = Var("acc", FLOAT), Var("e", HALF)

NUMBERS = [
    Binary("*", H, Lit(0.5, FLOAT)),
    Binary("<", H, Lit(0.5, FLOAT)),
    Binary("<", H, Lit(0.5, HALF)),
    Select(Binary("==", X, Lit(1, INT)), H, Lit(0.5, FLOAT)),
    Select(Binary("==", X, Lit(1, INT)), Lit(0.5, HALF), H),
    Binary("*", H, Lit(0.5, HALF)),
    Binary("*", Binary("+", Lit(1.0, FLOAT), Lit(2.0, FLOAT)), H),
    Binary("max", H, Lit(0.5, FLOAT)),
    Binary("*", X, Lit(2, INT)),
    Binary("-", X, Lit(-2.5, FLOAT)),
    Unary("neg", Lit(2.0, FLOAT)),
    Unary("neg", Unary("neg", Lit(-2.0, FLOAT))),
    Lit(float("inf"), FLOAT),
    Lit(float("-inf"), HALF),
    Lit(1e-30, FLOAT),
    Lit(1e30, FLOAT),
    SizeOf(3),
    SizeOf(named("k") * 2 + 1),
    ReduceSeq(Lit(0.0, FLOAT), Lam((ACC, E), Binary("+", ACC, E)), HS),
    ReduceSeq(Lit(0, INT), Lam((I, E), Binary("+", I, Lit(1, INT))), HS),
    Let(I, Lit(2, INT), Binary("+", I, I)),
    Let(X, Binary("+", Lit(2.0, FLOAT), Lit(1.0, FLOAT)), X),
    Let(Var("hs2", Array(HALF, 4)), HS, Var("hs2", Array(HALF, 4))),
    Let((X, I), MakeTuple((Unary("exp", X), Lit(1, INT))), Binary("+", X, I)),
    Generate(3, Lam(I, Binary("/", I, Lit(2, INT)))),
]


@pytest.mark.parametrize("e", NUMBERS, ids=show)
def test_numbers_and_names_come_back(e: object) -> None:
    free = ("k",) if "k" in show(e) else ()  # type: ignore[arg-type]
    p = program(e, H, X, HS)
    comes_back(Program(p.name, p.params, p.body, free))


@pytest.mark.parametrize("block", range(8))
def test_random_terms_come_back(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        g = Terms(Random(seed))
        t = g.type(2)
        e = g.value(t, depth=5)
        if seed % 3 == 0:
            value = g.value(g.type(1), depth=3)
            x = Var("x", type_of(value))
            e = Let(x, value, MakeTuple((e, x, x)))
        if seed % 3 == 1:
            loop = MapSeq(g.function(FLOAT, t), g.xs(FLOAT), True)
            e = MakeTuple((e, ToLocal(g.xs()), Store(g.xs()), MakeArray((loop, loop))))
        try:
            p = g.program(e)
            type_of(p.body)
        except IllTyped:
            continue
        comes_back(p)


def test_the_program_reads_well() -> None:
    text = """\
blur(image : [[float]30]40) =
  map(row -> map(window -> reduce(0.0, (acc, x) -> acc + x, join(window)) / (3 * 3), row),
    map(rows -> transpose(rows), slide(3, 1, map(row -> slide(3, 1, row), image))))
"""
    source = """
        blur(image : [[float]W]H) =
          map2d(window -> sum(flatten(window)) / (K * K), slide2d(K, 1, image))
        where W = 30, H = 40, K = 3"""
    assert show(parse(source)) == text

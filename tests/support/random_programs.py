"""Random lowered programs: random views of the input, over these a nest of lowered maps with
copies, and over its result random views again."""

# key: e term, t type, rng random numbers, n size

import random

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Level,
    Lit,
    MapPar,
    MapSeq,
    Param,
    Program,
    ReduceSeq,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Zip,
)
from ir.core.terms import identity, lam, lam2, let
from ir.core.type_rules import size_of, type_of
from ir.core.types import FLOAT, INT, Array, Type
from tests.codegen.test_views import XS, chain, fits, steps, writes


def program(seed: int) -> Program:
    """A random well-typed lowered program of one two-dimensional parameter."""
    rng = random.Random(seed)
    e = chain(seed, 3)
    if rng.random() < 0.3:
        e = Store(globally(e, rng))
        e = rng.choice([s for s in steps(e, rng) if fits(s)] or [e])
    e = grouped(e, rng) if rng.random() < 0.6 else globally(e, rng)
    for _ in range(rng.randint(0, 2)):
        e = rng.choice([s for s in steps(e, rng) if fits(s) and writes(s)] or [e])
    return Program("f", (Param(XS),), e)


def globally(e: Expr, rng: random.Random) -> Expr:
    """The array e with each element computed anew: by mapGlobal over one outer dimension or two,
    and by sequential maps over the others."""
    t = elem(e)
    if isinstance(t, Array) and rng.random() < 0.6:
        inner = lam("row", t, lambda row: over(Level.GLOBAL, 0, row, rng))
        return MapPar(Level.GLOBAL, 1, inner, e)
    return over(Level.GLOBAL, 0, e, rng)


def over(level: Level, dim: int, e: Expr, rng: random.Random) -> Expr:
    return MapPar(level, dim, lam("x", elem(e), lambda x: item(x, rng)), e)


def grouped(e: Expr, rng: random.Random) -> Expr:
    """The array e with each element computed anew, by mapWorkgroup, with copies to local memory and
    maps over work-items inside."""
    if not isinstance(elem(e), Array):
        e = Split(rng.choice(divisors(e)), e)
    return MapPar(Level.GROUP, 0, lam("tile", elem(e), lambda tile: shared(tile, rng)), e)


def shared(tile: Expr, rng: random.Random) -> Expr:
    row = elem(tile)
    if isinstance(row, Array) and row.elem == FLOAT and rng.random() < 0.4:
        return accumulated(tile, row, rng)
    match rng.randrange(4):
        case 0:
            return over(Level.LOCAL, 0, tile, rng)
        case 1:
            return let("t", ToLocal(copied(tile, rng)), type_of(tile), lambda t: windows(t, rng))
        case 2:
            first = let("t", ToLocal(copied(tile, rng)), type_of(tile), lambda t: t)
            return let(
                "u",
                ToLocal(copied(first, rng)),
                type_of(tile),
                lambda u: over(Level.LOCAL, 0, backwards(u), rng),
            )
        case _:
            kept = copied(tile, rng)
            return let("p", kept, type_of(tile), lambda p: over(Level.LOCAL, 0, p, rng))


def accumulated(tile: Expr, row: Array, rng: random.Random) -> Expr:
    """The sum of a tile's rows (of type `row`), each read backwards through a copy in local
    memory."""
    ahead, long = rng.random() < 0.5, rng.random() < 0.5

    def add(acc: Expr, x: Expr) -> Expr:
        fetched = ToLocal(MapPar(Level.LOCAL, 0, identity(FLOAT), x), ahead)
        return let("t", fetched, row, lambda t: summed(acc, backwards(t)))

    def summed(acc: Expr, t: Expr) -> Expr:
        pair = Zip((acc, t))
        plus = lam("p", elem(pair), lambda p: Binary("+", Get(0, p), Get(1, p)))
        return MapPar(Level.LOCAL, 0, plus, pair)

    zeros = Generate(row.size, lam("i", INT, lambda i: Lit(0.0, FLOAT)))
    total = ReduceSeq(zeros, lam2(("acc", "x"), (row, row), add), tile)
    return over(Level.LOCAL, 0, total, rng) if long else total


def copied(e: Expr, rng: random.Random) -> Expr:
    t = elem(e)
    if isinstance(t, Array) and rng.random() < 0.5:
        inner = lam("r", t, lambda r: MapPar(Level.LOCAL, 1, whole(elem(r)), r))
        return MapPar(Level.LOCAL, 0, inner, e)
    return MapPar(Level.LOCAL, 0, whole(t), e)


def whole(t: Type) -> Lam:
    """The function that copies a value of type t, element by element."""
    if isinstance(t, Array):
        return lam("y", t, lambda y: MapSeq(whole(elem(y)), y))
    return identity(t)


def windows(t: Expr, rng: random.Random) -> Expr:
    return over(Level.LOCAL, 0, Slide(rng.randint(1, min(size(t), 3)), 1, t), rng)


def backwards(e: Expr) -> Expr:
    last = size(e) - 1
    return Reorder(lam("i", INT, lambda i: Binary("-", SizeOf(last), i)), e)


def item(x: Expr, rng: random.Random) -> Expr:
    """A random term that a single work-item computes from x."""
    t = type_of(x)
    if not isinstance(t, Array):
        return Binary("+", Binary("*", x, Lit(2.0, FLOAT)), x)
    unrolled = rng.random() < 0.4
    match rng.randrange(5):
        case 0:
            return MapSeq(lam("y", t.elem, lambda y: item(y, rng)), x, unrolled)
        case 1:
            kept = ToPrivate(MapSeq(lam("y", t.elem, lambda y: item(y, rng)), x, unrolled))
            return let(
                "p", kept, type_of(kept), lambda p: MapSeq(whole(elem(p)), backwards(p), unrolled)
            )
        case 2 if t.elem == FLOAT and size(x) % 2 == 0:
            vectors = AsVector(2, x)
            return AsScalar(MapSeq(lam("v", elem(vectors), lambda v: Binary("*", v, v)), vectors))
        case 3 if not isinstance(t.elem, Array):
            step = lam2(("a", "y"), (FLOAT, FLOAT), lambda a, y: Binary("max", a, y))
            return ReduceSeq(Lit(-1.0, FLOAT), step, x, unrolled)
        case 4 if isinstance(t.elem, Array):
            return MapSeq(lam("y", t.elem, lambda y: item(y, rng)), x, unrolled)
    return MapSeq(lam("y", t.elem, lambda y: item(y, rng)), x)


def elem(e: Expr) -> Type:
    t = type_of(e)
    assert isinstance(t, Array)
    return t.elem


def size(e: Expr) -> int:
    n = size_of(e)
    assert isinstance(n, int)
    return n


def divisors(e: Expr) -> list[int]:
    return [d for d in range(1, size(e) + 1) if size(e) % d == 0]

"""For each rule, a function that draws random terms to which the rule applies, sometimes with the
rule's arguments."""

# key: g source of terms, n m k sizes, t u types

from collections.abc import Callable
from functools import partial, reduce
from typing import cast

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Binary,
    Concat,
    Edge,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    Level,
    Lit,
    MakeTuple,
    Map,
    MapSeq,
    Pad,
    PadEdge,
    Reduce,
    ReduceSeq,
    Reorder,
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
from ir.core.terms import (
    apply,
    children,
    free,
    identity,
    lam,
    lam2,
    let,
    pattern_value,
    subterms,
    variables,
)
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import (
    BFLOAT,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONG,
    SHORT,
    UCHAR,
    USHORT,
    Array,
    Scalar,
    Tuple,
    Type,
    depth,
)
from ir.elaborate.bijection import stride
from rewrites.analysis.folds import unit
from rewrites.engine.rule import Argument, Place, Rule
from rewrites.fast_algorithms import fourier
from rewrites.fast_algorithms import shared_fourier as paired
from rewrites.fast_algorithms.dft_terms import COMPLEX, dft, irdft, rdft
from rewrites.laws import captures, lets, lower, maps, pads, planes, slides, vectors, views, zips
from rewrites.laws import hoisting as out
from rewrites.laws import interchange as nests
from rewrites.laws import reductions as folds
from rewrites.laws.affine_views import at_level
from rewrites.laws.lower import replaced
from rewrites.number_laws import (
    accumulators,
    byte_signs,
    pairs_of_products,
    units,
    whole_sums,
    widening,
)
from rewrites.number_laws import zero_points as zeros
from tests.support.narrowed import number
from tests.support.random_terms import OPERATORS, Terms, inside

Instance = tuple[Expr, dict[str, Argument]]


# ---- pieces


def a_map(g: Terms, xs: Expr | None = None, u: Type | None = None) -> Map:
    """A random term map f xs; xs and the type u of its elements are random where they are None."""
    xs = xs or g.xs()
    return Map(g.function(elem_of(xs), u or g.type()), xs)


def rows(g: Terms, elem: Type | None = None) -> Expr:
    """A random array of arrays, of elements of type `elem` (None: a random type)."""
    return g.xs(Array(elem or g.type(), g.size()))


def length(xs: Expr) -> int:
    n = size_of(xs)
    assert isinstance(n, int)
    return n


def some_array(g: Terms, n: int) -> Expr:
    """A random term for an array of n elements: an array, or a zip of several."""
    return g.made_by(lambda: g.xs(n=n), lambda: g.zipped(n))


def divisor(g: Terms, n: int) -> int:
    return g.rng.choice([k for k in range(1, n + 1) if n % k == 0])


def a_fold(g: Terms, xs: Expr, op: str | None = None, acc: Scalar | None = None) -> Reduce:
    """A random fold reduce z (acc ⊕ g(x)) xs; ⊕ (`op`) and the type of acc are random where they
    are None."""
    acc = acc or g.scalar()
    return Reduce(g.value(acc, depth=1), g.fold(acc, elem_of(xs), op or g.one_of(*OPERATORS)), xs)


def a_nest(g: Terms, xss: Expr, op: str | None = None, acc: Scalar | None = None) -> Reduce:
    """A random nest of folds reduce z (reduce (acc ⊕ g(x))) xss; ⊕ (`op`) and the type of acc are
    random where they are None."""
    f = a_fold(g, Var("_", elem_of(xss)), op, acc).f  # the elements of a row of xss
    t = type_of(f.body)
    a, row = Var("acc", t), Var("row", elem_of(xss))
    if {"acc", "row"} & free(f):
        return a_nest(g, xss, op, acc)
    return Reduce(g.value(t, depth=1), Lam((a, row), Reduce(a, f, row)), xss)


def a_reduce(g: Terms, xs: Expr | None = None) -> Reduce:
    """A random reduction of any kind, over xs or, where that is None, a random array."""
    xs, acc = xs or g.xs(), g.type()
    return Reduce(g.value(acc, depth=1), g.step(acc, elem_of(xs)), xs)


def any_fold(g: Terms, xs: Expr) -> Reduce:
    """A random fold over xs, or a nest of folds if the elements of xs are arrays."""
    nested = isinstance(elem_of(xs), Array) and g.rng.random() < 0.5
    return a_nest(g, xs) if nested else a_fold(g, xs)


def a_view(g: Terms, e: Expr) -> Expr:
    """The term e under a random view that a result can be written through."""
    t = type_of(e)
    assert isinstance(t, Array)
    kinds = ["split", "reorder", "crop", "crop_edge"]
    kinds += ["join", "transpose"] if isinstance(t.elem, Array) else []
    k = divisor(g, number(t.size))
    match g.rng.choice(kinds):
        case "join":
            return Join(e)
        case "transpose":
            return Transpose(e)
        case "split":
            return Split(k, e)
        case "reorder":
            return Reorder(stride(k, t.size), e)
        case "crop" if number(t.size) > 1 and t.elem == FLOAT:
            return Pad(0, -1, g.literal(FLOAT), e)
        case _ if number(t.size) > 1:
            return PadEdge(g.edge(), -1, 0, e)
    return Split(1, e)


# ---- lowering


def to_parallel(g: Terms) -> Instance:
    return a_map(g), {"level": g.one_of(*Level), "dim": g.rng.randrange(3)}


def unrolled(draw: Callable[[Terms], Expr]) -> Callable[[Terms], Instance]:
    return lambda g: (draw(g), {"unrolled": g.one_of(True, False)})


def share(g: Terms) -> Instance:
    e = a_map(g)
    term = g.rng.choice([s for s in subterms(e) if not isinstance(s, Lam) and free(s) <= free(e)])
    return e, {"term": term, "name": g.one_of("x", "y", "tile")}


def plain(draw: Callable[[Terms], Expr]) -> Callable[[Terms], Instance]:
    return lambda g: (draw(g), {})


# ---- maps


def fuse_zip(g: Terms) -> Expr:
    n = g.size()
    parts = [a_map(g, g.xs(n=n)) if g.rng.random() < 0.6 else g.xs(n=n) for _ in range(2)]
    if not any(isinstance(p, Map) for p in parts):
        parts[0] = a_map(g, g.xs(n=n))
    return a_map(g, Zip(tuple(parts)))


def fission(g: Terms) -> Instance:
    e = a_map(g)
    return e, {"place": g.rng.choice(list(places(e.f.body)))}


def places(e: Expr, at: Place = ()) -> list[Place]:
    """The paths of e and of all terms inside it, without those inside functions; `at` is the path
    of e."""
    if isinstance(e, Lam):
        return []
    return [at, *(p for i, c in enumerate(children(e)) for p in places(c, (*at, i)))]


def split_map(g: Terms) -> Instance:
    e = a_map(g)
    return e, {"k": divisor(g, length(e.xs))}


def round_map(g: Terms) -> Instance:
    e = a_map(g)
    n = length(e.xs)
    return e, {"k": g.rng.choice([k for k in range(2, 9) if n % k])}


def nested_maps(g: Terms, ys: Callable[[Terms, Lam], Expr]) -> Map:
    """A random term map (x -> map (y -> e) ys) xs, where the function `ys` draws the array ys,
    given a function of x."""
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    inner = ys(g, Lam(p, g.literal(FLOAT)))
    q = g.pattern(elem_of(inner))
    body = g.value(g.type(), inside(inside(None, p), q))
    return Map(Lam(p, Map(Lam(q, body), inner)), xs)


def outer_rows(g: Terms, f: Lam) -> Expr:
    """A random array in which no variable that f binds occurs."""
    mine = {v.name: v.type for v in variables(f.pattern)}
    e = g.xs()
    return g.param(type_of(e), mine) if free(e) & set(mine) else e


def own_rows(g: Terms, f: Lam) -> Expr:
    """A random array in which variables that f binds may occur."""
    return g.value(Array(g.type(), g.size()), inside(None, f.pattern))


def map_of_rows(g: Terms) -> Expr:
    xs = rows(g)
    t = elem_of(xs)
    assert isinstance(t, Array)
    f = g.function(t.elem, g.type())
    return Map(lam("row", t, lambda r: Map(f, r)), xs)


def zip_inside(g: Terms) -> Expr:
    xs, n = g.xs(), g.size()
    p = g.pattern(elem_of(xs))
    mine = g.value(Array(g.type(), n), inside(None, p))
    names = {v.name: v.type for v in variables(p)}
    other = g.param(Array(g.type(), n), names)
    parts = g.one_of((mine, other), (other, mine), (mine, other, mine))
    f = g.function(Tuple(tuple(elem_of(part) for part in parts)), g.type(), names)
    return Map(Lam(p, Map(f, Zip(parts))), xs)


def mapped_inside(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    ys = own_rows(g, Lam(p, g.literal(FLOAT)))
    f = g.function(elem_of(ys), g.type())
    return Map(Lam(p, Map(f, ys)), xs)


def transpose_of_joined(g: Terms) -> Expr:
    return Transpose(Join(g.xs(Array(Array(g.type(), g.size()), g.size()))))


def map_of_concat(g: Terms) -> Expr:
    """A random map whose function concatenates two or three arrays made of its argument."""
    xs, t = g.xs(), g.type()
    p = g.pattern(elem_of(xs))
    scope = inside(None, p)
    first, *others = (g.value(Array(t, g.size()), scope) for _ in range(g.size(2, 3)))
    return Map(Lam(p, reduce(Concat, others, first)), xs)


def captured(g: Terms) -> Instance:
    """A random reduction, in whose function a parameter x of the program may occur, and a variable
    of the same name, too; and x, the rule's argument."""
    e = a_reduce(g, some_array(g, g.size()))
    x = g.param(FLOAT)
    assert isinstance(e.f.pattern, tuple)
    own = Binary("+", e.f.body, x) if type_of(e.f.body) == FLOAT else e.f.body
    return Reduce(e.init, Lam(e.f.pattern, own), e.xs), {"x": x}


def sum_of_products(g: Terms) -> Instance:
    """A random fold of products, of numbers or of rows; and the rule's argument k, which does not
    divide the fold's length."""
    op, inner = g.one_of(("+", "*"), ("max", "+"), ("min", "+"), ("*", "*"))
    n, count, rows = g.size(1, 7), g.size(1, 3), g.one_of(None, g.size(1, 3))
    t = FLOAT if rows is None else Array(FLOAT, rows)
    parts = tuple(g.xs(t, n) for _ in range(count))

    def step(acc: Expr, x: Expr) -> Expr:
        return Binary(op, acc, _product(inner, x, count))

    def row(acc: Expr, x: Expr) -> Expr:
        ys = Zip(tuple(Get(i, x) for i in range(count))) if count > 1 else x
        return Reduce(acc, lam2(("b", "y"), (FLOAT, elem_of(ys)), step), ys)

    xs = Zip(parts) if count > 1 else parts[0]
    f = lam2(("a", "x"), (FLOAT, elem_of(xs)), step if rows is None else row)
    k = g.rng.choice([k for k in range(2, 9) if n % k])
    return Reduce(g.value(FLOAT, depth=1), f, xs), {"k": k}


def _product(op: str, x: Expr, count: int) -> Expr:
    fields = [Get(i, x) for i in range(count)] if count > 1 else [x]
    return reduce(lambda a, b: Binary(op, a, b), fields)


def zero_points(g: Terms) -> Expr:
    """A random sum of products of two whole numbers, from one or both of which a zero point is
    taken."""
    n, t = g.size(1, 7), g.one_of(INT, INT, LONG)
    kinds = [g.one_of(CHAR, UCHAR, SHORT, USHORT, INT) for _ in range(2)]
    xs = Zip(tuple(g.param(Array(kind, n)) for kind in kinds))
    points = [g.one_of(g.param(g.one_of(t, CHAR)), Lit(g.size(0, 200), INT)) for _ in range(2)]

    def factor(x: Expr, zero: Expr, shifted: bool) -> Expr:
        wide = x if t == INT else Unary("long", x)
        return Binary("-", wide, zero) if shifted else x

    first = g.rng.random() < 0.7
    shifted = (first, not first or g.rng.random() < 0.6)

    def step(acc: Expr, x: Expr) -> Expr:
        p, q = (factor(Get(i, x), points[i], shifted[i]) for i in range(2))
        return Binary("+", *g.one_of((acc, Binary("*", p, q)), (Binary("*", q, p), acc)))

    return Reduce(g.param(t), lam2(("acc", "x"), (t, elem_of(xs)), step), xs)


def narrow_sum(g: Terms) -> Expr:
    """A random sum, computed in halves or in bfloats, of elements or of products of elements."""
    t = g.one_of(HALF, BFLOAT)
    n = g.size(1, 7)
    parts = tuple(g.param(Array(t, n)) for _ in range(g.size(1, 3)))
    xs = Zip(parts) if len(parts) > 1 else parts[0]
    factor = g.one_of(None, None, g.param(t), Lit(float(g.size(-2, 2)), t))

    def step(acc: Expr, x: Expr) -> Expr:
        fields = [Get(i, x) for i in range(len(parts))] if len(parts) > 1 else [x]
        term = reduce(lambda a, b: Binary(g.one_of("*", "+", "max"), a, b), fields)
        term = term if factor is None else Binary("*", term, factor)
        return Binary("+", *g.one_of((acc, term), (term, acc)))

    init = g.one_of(g.param(t), Lit(float(g.size(-2, 2)), t))
    return Reduce(init, lam2(("acc", "x"), (t, elem_of(xs)), step), xs)


def rounded_float(g: Terms) -> Expr:
    """A random float that is rounded to a half or a bfloat and converted to float again."""
    return Unary("float", Unary(g.one_of("half", "bfloat"), g.value(FLOAT)))


def whole_float(g: Terms, leaves: list[Expr], depth: int) -> Expr:
    """A random term in floats, up to `depth` operations deep, that could be computed in ints: its
    leaves are `leaves`, narrow whole numbers, and small whole literals."""
    if depth == 0 or g.rng.random() < 0.2:
        return g.one_of(*(Unary("float", x) for x in leaves), Lit(float(g.size(-4, 4)), FLOAT))
    a, b = (whole_float(g, leaves, depth - 1) for _ in range(2))
    made = Binary(g.one_of("+", "-", "*", "*", "max", "min"), a, b)
    return g.one_of(made, made, Unary("neg", a))


def sum_of_bytes(g: Terms) -> Expr:
    """A random sum, computed in floats, of terms over bytes, or of single shorts."""
    n, narrow = g.size(1, 9), g.one_of((CHAR, UCHAR), (CHAR, UCHAR), (SHORT, USHORT))
    parts = tuple(g.param(Array(g.one_of(*narrow), n)) for _ in range(g.size(1, 3)))
    xs = Zip(parts) if len(parts) > 1 else parts[0]
    depth = 2 if narrow == (CHAR, UCHAR) else 0

    def step(acc: Expr, x: Expr) -> Expr:
        fields: list[Expr] = [x]
        if len(parts) > 1:
            fields = [Get(i, x) for i in range(len(parts))]
        term = whole_float(g, fields, depth)
        return Binary("+", *g.one_of((acc, term), (term, acc)))

    init = g.one_of(Lit(float(g.size(-9, 9)), FLOAT), Unary("float", g.param(CHAR)))
    return Reduce(init, lam2(("acc", "x"), (FLOAT, elem_of(xs)), step), xs)


def products_of_like_signs(g: Terms) -> Instance:
    """A random sum of products of two bytes of one type of each element, and which part is made of
    the other type."""
    n, t = g.size(1, 7), g.one_of(CHAR, UCHAR)
    parts = tuple(g.param(Array(t, n)) for _ in range(g.size(2, 3)))
    first, second = g.rng.sample(range(len(parts)), 2)

    def step(acc: Expr, x: Expr) -> Expr:
        term = Binary("*", Get(first, x), Get(second, x))
        return Binary("+", *g.one_of((acc, term), (term, acc)))

    total = Reduce(
        g.value(INT, depth=1), lam2(("acc", "x"), (INT, elem_of(Zip(parts))), step), Zip(parts)
    )
    return total, {"part": g.one_of(first, second)}


def few_ints(g: Terms) -> Expr:
    """A random sum of at most five ints, each of which is a byte times a product or a sum of bytes
    and other ints."""
    n = g.size(2, 5)
    parts = tuple(g.param(Array(g.one_of(CHAR, UCHAR, INT), n)) for _ in range(g.size(1, 3)))
    xs = Zip(parts) if len(parts) > 1 else parts[0]

    def step(acc: Expr, x: Expr) -> Expr:
        term = Binary("*", _product(g.one_of("*", "+"), x, len(parts)), g.param(CHAR))
        return Binary("+", *g.one_of((acc, term), (term, acc)))

    return Reduce(g.value(INT, depth=1), lam2(("acc", "x"), (INT, elem_of(xs)), step), xs)


def choice_of_ints(g: Terms) -> Expr:
    """A random `max` or `min` of two floats, which are converted ints, or an int and a literal."""
    n, m = (Unary("float", g.value(g.one_of(INT, INT, CHAR, USHORT))) for _ in range(2))
    other = g.one_of(m, Lit(float(g.size(-9, 9)), FLOAT))
    return Binary(g.one_of("max", "min"), *g.one_of((n, other), (other, n)))


def saturated_float(g: Terms) -> Expr:
    """A random whole number converted to float, and then to a byte or a short with saturation."""
    to, way = g.one_of("char", "uchar", "short", "ushort"), g.one_of("", "_rte", "_rtz")
    return Unary(f"{to}_sat{way}", Unary("float", g.value(g.one_of(INT, INT, LONG, SHORT))))


def float_of_product(g: Terms) -> Expr:
    """A random product of halves or bfloats that is converted to float."""
    t = g.one_of(HALF, BFLOAT)

    def factor(depth: int) -> Expr:
        if depth == 0:
            return g.one_of(g.param(t), Lit(float(g.size(-2, 2)), t))
        inner = factor(depth - 1)
        more = Binary(g.one_of(*OPERATORS), inner, factor(0))
        return g.one_of(inner, Unary(g.one_of("neg", "abs"), inner), more)

    return Unary("float", Binary("*", factor(2), factor(1)))


def read_as_floats(g: Terms) -> Instance:
    """A random term that reads an array of narrow numbers (halves, bfloats, bytes or shorts), which
    may be padded, and sums its windows in floats; and the array's name, the rule's argument."""
    t, n = g.one_of(HALF, BFLOAT, CHAR, UCHAR, SHORT, USHORT), g.size(3, 6)
    xs = g.param(Array(t, n))
    padded = Pad(1, g.size(0, 2), Lit(g.size(0, 3) * 1.0 if t in (HALF, BFLOAT) else 1, t), xs)
    windows = Slide(g.size(1, 3), 1, g.one_of(xs, padded))
    factor = g.one_of(g.param(FLOAT), Unary("float", g.param(t)))

    def step(acc: Expr, x: Expr) -> Expr:
        return Binary("+", acc, g.one_of(Unary("float", x), Binary("*", Unary("float", x), factor)))

    window = elem_of(windows)
    sums = lam(
        "row", window, lambda w: Reduce(g.param(FLOAT), lam2(("acc", "x"), (FLOAT, t), step), w)
    )
    assert isinstance(xs, Var)
    return Map(sums, windows), {"name": xs.name}


def named_for_floats(g: Terms) -> Expr:
    """A random `let` that names an array of narrow numbers; its body only reads the array's numbers
    as floats."""
    e, arguments = read_as_floats(g)
    name = str(arguments["name"])
    xs = Var(name, g.params[name])
    return Let(Var("named", xs.type), xs, replaced(e, xs, Var("named", xs.type)))


def named_for_shorts(g: Terms) -> Expr:
    """A random `let` that names an array of bytes, which may be padded; its body sums windows of
    it, products or differences of bytes, in ints or in floats."""
    t, n = g.one_of(CHAR, UCHAR), g.size(3, 6)
    xs, named = g.param(Array(t, n)), Var("named", Array(t, n))
    padded = Pad(1, g.size(0, 2), Lit(g.size(0, 3), t), named)
    windows = Slide(g.size(1, 3), 1, g.one_of(named, padded))
    total = g.one_of(INT, FLOAT)

    def step(acc: Expr, x: Expr) -> Expr:
        term = Binary(g.one_of("*", "+", "-"), x, g.param(g.one_of(CHAR, UCHAR, INT)))
        return Binary("+", acc, g.one_of(Unary(total.name, x), Unary(total.name, term)))

    window = elem_of(windows)
    sums = lam(
        "row", window, lambda w: Reduce(g.param(total), lam2(("acc", "x"), (total, t), step), w)
    )
    return Let(named, xs, Map(sums, windows))


def loop(g: Terms) -> Instance:
    """A random reduction as a sequential loop, spelled out or not; and the rule's argument k, which
    divides the number of turns."""
    k, chunks = g.size(1, 4), g.size(1, 4)
    made = a_reduce(g, g.xs(n=k * chunks))
    return ReduceSeq(made.init, made.f, made.xs, g.one_of(True, False)), {"k": k}


def loop_of_narrow(g: Terms, widened: bool = True) -> Expr:
    """A random loop that adds halves or bfloats, or products of them, to floats or, if not
    `widened`, to numbers of their own type: to one, or to each number of an array of one or two
    dimensions."""
    t, sizes = g.one_of(HALF, BFLOAT), [g.size(1, 4) for _ in range(g.size(0, 2))]
    to = FLOAT if widened else t
    sums = reduce(lambda elem, n: Array(elem, n), sizes, cast(Type, to))
    terms = reduce(lambda elem, n: Array(elem, n), sizes, cast(Type, t))
    xs, factor = g.param(Array(terms, g.size(1, 5))), g.param(t)

    def step(acc: Expr, x: Expr) -> Expr:
        if isinstance(type_of(x), Array):
            each = lam2(("acc", "x"), (elem_of(acc), elem_of(x)), step)
            return MapSeq(each, Zip((acc, x)), unrolled=True)
        narrow = g.one_of(x, Binary("*", x, factor))
        term = Unary("float", narrow) if widened else narrow
        added = Binary("+", acc, term)
        return added if g.rng.random() < 0.5 else let("y", term, to, lambda _: added)

    body = lam2(("acc", "x"), (sums, terms), step)
    return ReduceSeq(g.param(sums), body, xs, g.one_of(True, False))


def pull_view(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    inner = g.value(Array(g.some_type(FLOAT, Array(FLOAT, 2)), g.size()), inside(None, p))
    return Map(Lam(p, a_view(g, inner)), xs)


def let_of(g: Terms, value: Expr, u: Type | None = None) -> Let:
    f = g.function(type_of(value), u or g.type())
    return Let(f.pattern, value, f.body)


def a_view_of_params(g: Terms) -> Expr:
    e = g.param(Array(Array(FLOAT, 2), g.size()))
    return g.one_of(e, Transpose(e), Join(e), Split(1, e))


# ---- reductions


def split_reduce(g: Terms) -> Instance:
    e = a_reduce(g)
    return e, {"k": divisor(g, length(e.xs))}


def interchange_reduce(g: Terms) -> Expr:
    """A random term reduce z (x -> reduce f s) xs, where s is an array that may depend on x."""
    xs, n = g.xs(), g.size()
    p = g.pattern(elem_of(xs))
    scope = inside(None, p)
    s = g.made_by(
        lambda: g.value(Array(g.type(), n), scope),
        lambda: Zip((g.value(Array(FLOAT, n), scope), g.value(Array(g.type(), n), scope))),
    )
    inner = a_fold(g, s)
    t = type_of(inner)
    acc = next(n for n in ("acc", "a0", "a1", "a2") if n not in free(inner) | set(scope))
    body = Reduce(Var(acc, t), inner.f, s)
    return Reduce(g.value(t, depth=1), Lam((Var(acc, t), p), body), xs)


def flatten_fold(g: Terms) -> Expr:
    op, xs, acc = g.one_of(*OPERATORS), g.xs(), g.scalar()
    p = g.pattern(elem_of(xs))
    inner = a_fold(g, own_rows(g, Lam(p, g.literal(FLOAT))), op, acc)
    start = unit(op, acc)
    assert start is not None
    name = next(n for n in ("acc", "a0", "a1", "a2") if n not in free(inner) | set(inside(None, p)))
    term = Reduce(start, inner.f, inner.xs)
    return Reduce(
        g.value(acc, depth=1), Lam((Var(name, acc), p), Binary(op, Var(name, acc), term)), xs
    )


def absorb_init(g: Terms) -> Expr:
    op, acc = g.one_of(*OPERATORS), g.scalar()
    e = (a_nest if g.rng.random() < 0.4 else a_fold)(g, rows(g), op, acc)
    start = unit(op, acc)
    assert start is not None
    parts = Reduce(start, e.f, e.xs), g.param(acc)
    return Binary(op, *g.one_of(parts, parts[::-1]))


def zip_joins(g: Terms) -> Expr:
    n, m = g.size(), g.size()
    joins = [Join(g.xs(Array(g.type(), m), n)) for _ in range(g.size(1, 2))]
    return Zip((*joins, g.xs(n=n * m)) if g.rng.random() < 0.5 else (g.xs(n=n * m), *joins))


def map_of_reduce(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    scope = inside(None, p)
    n, acc = g.size(), g.type()
    mine = g.value(Array(g.type(), n), scope)
    other = g.param(Array(g.type(), n), scope)
    s = g.one_of(mine, other, Zip((mine, other)), Zip((other, mine, mine)))
    f = g.step(acc, elem_of(s))
    return Map(Lam(p, Reduce(g.value(acc, scope, 1), f, s)), xs)


def reduce_of_maps(g: Terms) -> Expr:
    """A random reduction of the rows of an array to one row, number by number: reduce zs (map f .
    zip) xss."""
    n, acc, xss = g.size(), g.type(), g.xs()
    p = g.pattern(elem_of(xss), frozenset({"acc"}))
    scope = inside(None, p)
    parts = [g.value(Array(g.type(), n), scope) for _ in range(g.size(1, 2))]
    f = g.function(Tuple((acc, *(elem_of(part) for part in parts))), acc, scope)
    a = Var("acc", Array(acc, n))
    return Reduce(g.xs(acc, n), Lam((a, p), Map(f, Zip((a, *parts)))), xss)


def partial_reduce(g: Terms) -> Instance:
    n = g.size(2, 6)
    e = any_fold(g, some_array(g, n))
    return e, {"k": divisor(g, n)}


def reorder_fold(g: Terms) -> Instance:
    n = g.size(2, 8)
    return any_fold(g, some_array(g, n)), {"s": divisor(g, n)}


def stride_parts(g: Terms) -> Expr:
    """A random fold that was split in parts, of single elements or of vectors; for the rule by
    which parts take elements with a stride."""
    v, m, parts = g.size(1, 3), g.size(), g.size(2, 4)
    e = any_fold(g, some_array(g, v * m * parts))
    if v == 1:
        return folds.partial_reduce.rewrite(e, k=m) or e
    return vectors.partial_reduce_vector.rewrite(e, k=v * m, v=v) or e


# ---- vectors


def vectorize_map(g: Terms) -> Instance:
    v = g.size(2, 4)
    return a_map(g, g.xs(n=v * g.size(1, 3))), {"v": v}


def partial_reduce_vector(g: Terms) -> Instance:
    v, m = g.size(2, 4), g.size(1, 2)
    n = v * m * g.size(1, 3)
    return a_fold(g, some_array(g, n)), {"k": v * m, "v": v}


# ---- views


def unzip(g: Terms) -> Expr:
    """A random map over a zip of arrays, whose function does not read all of them."""
    parts, used = _some_parts(g)
    f = g.function(Tuple(tuple(elem_of(parts[i]) for i in used)), g.type())
    t = Tuple(tuple(map(elem_of, parts)))
    return Map(lam("x", t, lambda x: apply(f, _of(x, used))), Zip(parts))


def flat_zip(g: Terms) -> Expr:
    n = g.size()
    parts = [g.zipped(n) if g.rng.random() < 0.5 else g.xs(n=n) for _ in range(g.size(1, 2))]
    return a_map(g, Zip((g.zipped(n), *parts)))


def unzip_reduce(g: Terms) -> Expr:
    parts, used = _some_parts(g)
    acc = g.scalar()
    f = g.fold(acc, Tuple(tuple(elem_of(parts[i]) for i in used)), g.one_of(*OPERATORS))
    t = Tuple(tuple(map(elem_of, parts)))
    step = lam2(("a", "x"), (acc, t), lambda a, x: apply(f, MakeTuple((a, _of(x, used)))))
    return Reduce(g.value(acc, depth=1), step, Zip(parts))


def _some_parts(g: Terms) -> tuple[tuple[Expr, ...], list[int]]:
    n, count = g.size(), g.size(2, 4)
    used = sorted(g.rng.sample(range(count), g.rng.randrange(1, count)))
    return tuple(g.xs(n=n) for _ in range(count)), used


def _of(x: Expr, used: list[int]) -> Expr:
    return MakeTuple(tuple(Get(i, x) for i in used))


def map_identity(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    return Map(Lam(p, pattern_value(p)), xs)


def pad_cropped(g: Terms) -> Expr:
    n = g.size(2, 5)
    k = g.rng.randrange(1, n)
    xs = g.xs(FLOAT, n)
    crops = PadEdge(g.edge(), 0, -k, xs), Pad(0, -k, g.literal(FLOAT), xs)
    return PadEdge(Edge.ANY, 0, k, g.one_of(*crops))


def round_open(g: Terms) -> Instance:
    scalar, n = g.scalar(), g.size()
    t = g.some_type(scalar, Array(scalar, 2), Tuple((scalar, scalar)))
    return g.xs(t, n), {"k": g.rng.choice([k for k in range(2, 9) if n % k])}


def transpose_inner(g: Terms) -> Instance:
    level = g.rng.randrange(3)
    t: Type = g.type()
    for _ in range(level + 1):
        t = Array(t, g.size())
    return g.xs(t), {"level": level}


def room_inner(g: Terms) -> Instance:
    xs, level = transpose_inner(g)
    return xs, {**level, "n": g.size(0, 3)}


def cross_inner(g: Terms) -> Instance:
    level, n, rows = g.rng.randrange(3), g.rng.choice((1, 2, 4)), g.rng.randint(1, 4)
    t = Array(g.type(), n * rows)
    for _ in range(level):
        t = Array(t, g.size())
    return g.value(t, depth=1), {
        "n": n,
        "by": g.rng.randrange(n),
        "every": g.rng.choice((1, 2)),
        "level": level,
    }


def split_open(g: Terms) -> Instance:
    n = g.size(1, 6)
    return g.xs(n=n), {"k": divisor(g, n)}


def split_inner(g: Terms) -> Instance:
    n, level = g.size(1, 6), g.rng.randrange(3)
    t = Array(g.type(), n)
    for _ in range(level):
        t = Array(t, g.size())
    return g.value(t, depth=1), {"k": divisor(g, n), "level": level}


def join_inner(g: Terms) -> Instance:
    level = g.rng.randrange(3)
    t: Type = g.type()
    for _ in range(level + 2):
        t = Array(t, g.size())
    return g.value(t, depth=1), {"level": level}


def split_zip(g: Terms) -> Expr:
    n = g.size(1, 6)
    return Split(divisor(g, n), g.zipped(n, g.size(2, 3)))


def joined_parts(g: Terms) -> Expr:
    """An array in parts of k, where k divides its length, joined again: parts of a split, or
    windows k apart."""
    k, n = g.size(), g.size()
    xs = g.xs(n=k * n)
    return Join(g.one_of(Split(k, xs), Slide(k, k, xs, strict=g.one_of(True, False))))


def split_join(g: Terms) -> Expr:
    xss = rows(g)
    t = elem_of(xss)
    assert isinstance(t, Array)
    return Split(t.size, Join(xss))


def map_transpose_twice(g: Terms) -> Expr:
    xs = g.xs(Array(Array(g.type(), g.size()), g.size()))
    return Map(lam("r", elem_of(xs), lambda r: Transpose(Transpose(r))), xs)


def get_tuple(g: Terms) -> Expr:
    parts = tuple(g.value(g.type()) for _ in range(g.size(1, 3)))
    return Get(g.rng.randrange(len(parts)), MakeTuple(parts))


# ---- windows and edges


def tile_slide(g: Terms) -> Instance:
    n, s, per, tiles = g.size(1, 4), g.size(1, 3), g.size(1, 3), g.size(1, 3)
    u = n + s * (per - 1)
    room = u + (tiles - 1) * (u - n + s)
    return Slide(n, s, g.xs(n=room), g.one_of(True, False)), {"u": u}


def a_slide(g: Terms, xs: Callable[[int], Expr] | None = None) -> Slide:
    """A random term slide n s ys, where ys is what `xs` draws, given a length, or a random array
    (None)."""
    n, s = g.size(1, 3), g.size(1, 3)
    length = n + g.size(0, 5)
    return Slide(n, s, (xs or (lambda m: g.xs(n=m)))(length), (length - n) % s == 0)


def map_slide(g: Terms) -> Expr:
    windows = a_slide(g)
    f = g.function(elem_of(windows.xs), g.type())
    return Map(lam("window", elem_of(windows), lambda w: Map(f, w)), windows)


def amounts(g: Terms, n: int) -> tuple[int, int]:
    """Random amounts (left, right) to pad or crop an array of n elements by, so that it stays small
    and not empty."""
    left, right = g.rng.randint(-1, n), g.rng.randint(-1, n)
    return (left, right) if left + right + n > 0 and n > 1 else (max(left, 0), max(right, 0))


def pad_map(g: Terms) -> Expr:
    n = g.size()
    e = a_map(g, g.xs(n=n))
    if n > 1 and g.rng.random() < 0.3 and type_of(e) == Array(FLOAT, n):
        return Pad(-1, 0, g.literal(FLOAT), e)
    return PadEdge(g.edge(), *amounts(g, n), e)


def map_pad_edge(g: Terms) -> Expr:
    n = g.size()
    return a_map(g, PadEdge(g.edge(), *amounts(g, n), g.xs(n=n)))


def map_pad(g: Terms) -> Expr:
    n, t = g.size(), g.type()
    return a_map(g, Pad(*amounts(g, n), g.value(t), g.xs(t, n)))


def rows_pad(g: Terms) -> Expr:
    n, scalar = g.size(), g.scalar()
    l, r = amounts(g, n)
    return Map(
        lam("row", Array(scalar, n), lambda x: Pad(l, r, g.literal(scalar), x)),
        g.xs(Array(scalar, n)),
    )


def pad_rows(g: Terms) -> Expr:
    n, scalar = g.size(), g.scalar()
    value = g.value(scalar, depth=1)
    return Transpose(Pad(*amounts(g, n), value, g.xs(Array(scalar, g.size()), n)))


def slide_rows(g: Terms) -> Expr:
    windows = a_slide(g)
    t = type_of(windows.xs)
    f = lam("row", t, lambda x: Slide(windows.size, windows.step, x, windows.strict))
    return Transpose(Map(f, g.xs(t)))


def split_slide(g: Terms) -> Expr:
    n, s, per, chunks = g.size(1, 3), g.size(1, 3), g.size(1, 3), g.size(1, 3)
    return Split(per, Slide(n, s, g.xs(n=n + s * (per * chunks - 1)), g.one_of(True, False)))


def close_gaps(g: Terms) -> Expr:
    n, more, windows, rest = g.size(1, 3), g.size(1, 2), g.size(1, 3), g.size(0, 1)
    count = (n + more) * (windows - 1) + n + rest
    xs = g.one_of(g.xs(n=count), a_map(g, g.xs(n=count)))
    return Slide(n, n + more, xs, strict=rest == 0 and g.one_of(True, False))


def slide_slide(g: Terms) -> Expr:
    row = a_slide(g)
    t = type_of(row.xs)
    split = g.one_of(True, False)

    def windows(x: Expr) -> Expr:
        return Slide(row.size, row.step, Join(Split(1, x)) if split else x, row.strict)

    f = lam("row", t, windows)
    return a_slide(g, lambda n: Map(f, g.xs(t, n)))


def columns_of_windows(g: Terms) -> Expr:
    """A random array of windows of rows of channels, transposed so that channels are outermost;
    windows may be padded or split before."""
    windows = a_slide(g, lambda n: g.xs(Array(g.scalar(), g.size()), n))
    padded = PadEdge(g.edge(), 1, 0, windows)
    chunks = Join(Split(1, windows))
    turned = lam("w", elem_of(windows), Transpose)
    return Transpose(Map(turned, g.one_of(windows, padded, chunks)))


def chunks_of_channels(g: Terms) -> Expr:
    """A random array of windows of rows of channels, or of rows of channels alone. The channels are
    split in chunks, and the dimension of chunks is moved outermost; windows may be padded or split
    before."""
    channels, k = g.size(1, 3), g.size(1, 3)
    windows = a_slide(g, lambda n: g.xs(Array(g.scalar(), k * channels), n))
    seen = g.one_of(windows, PadEdge(g.edge(), 1, 0, windows), Join(Split(1, windows)))
    pixels = lam("row", elem_of(elem_variable(windows)), lambda row: Split(k, row))
    turned = lam("w", elem_of(windows), lambda w: Transpose(Map(pixels, w)))
    rows = g.xs(Array(g.scalar(), k * channels))
    alone = lam("row", elem_of(rows), lambda row: Split(k, row))
    return g.one_of(Transpose(Map(turned, seen)), Transpose(Map(alone, rows)))


def elem_variable(xs: Expr) -> Var:
    """A variable with the type of the elements of xs."""
    return Var("_", elem_of(xs))


def rows_of_windows(g: Terms) -> Expr:
    """A random term for an array that has, for each column of a table, the windows over that
    column."""
    windows = a_slide(g)
    t = type_of(windows.xs)
    assert isinstance(t, Array)
    column = lam("c", t, lambda x: Slide(windows.size, windows.step, x, windows.strict))
    return Map(column, Transpose(g.xs(Array(t.elem, g.size()), number(t.size))))


def fuse_reduce_zip(g: Terms) -> Expr:
    n = g.size()
    return a_reduce(g, Zip((g.xs(n=n), a_map(g, g.xs(n=n)))))


# ---- room


def roomy(xs: Expr, r: int = 2) -> PadEdge:
    """The term pad_any (0, r) xs, which adds r elements of room at the end."""
    return PadEdge(Edge.ANY, 0, r, xs)


def room_in_rows(g: Terms, xs: Expr) -> Map:
    """The array xs with room at the ends of its rows, or, at random, of rows further in: map
    (pad_edge l r) xs, inside up to two more maps."""
    row = elem_of(xs)
    assert isinstance(row, Array)
    inner = Var("row", row)
    deeper = isinstance(row.elem, Array) and g.rng.random() < 0.5
    edge = g.one_of(Edge.ANY, g.edge())
    body = room_in_rows(g, inner) if deeper else PadEdge(edge, *g.one_of((0, 2), (1, 0)), inner)
    return Map(Lam(inner, body), xs)


def pad_slide(g: Terms) -> Expr:
    return roomy(a_slide(g), g.size())


def pad_join(g: Terms) -> Expr:
    return roomy(Join(rows(g)), g.size(1, 7))


def pad_split(g: Terms) -> Expr:
    n = g.size(1, 6)
    return roomy(Split(divisor(g, n), g.xs(n=n)), g.size())


def pad_pad(g: Terms) -> Expr:
    n = g.size()
    xs, (l, r) = g.xs(FLOAT, n), amounts(g, n)
    clamped = PadEdge(g.one_of(Edge.ANY, Edge.CLAMP), l, r, xs)
    return roomy(g.one_of(Pad(l, r, g.value(FLOAT), xs), clamped), g.size())


def rows_pad_pad(g: Terms) -> Expr:
    n, t = g.size(), Array(g.some_type(FLOAT, Array(FLOAT, 2)), g.size())
    return room_in_rows(g, Pad(*amounts(g, n), g.literal(FLOAT), g.xs(t, n)))


def map_split(g: Terms) -> Expr:
    n = g.size(1, 6)
    chunks = Split(divisor(g, n), g.xs(n=n))
    f = g.function(elem_of(chunks.xs), g.type())
    return Map(lam("chunk", elem_of(chunks), lambda c: Map(f, c)), chunks)


def view_store(g: Terms) -> Expr:
    stored = Store(rows(g))
    turned = Map(lam("row", elem_of(stored), lambda r: Split(1, r)), stored)
    return g.one_of(roomy(stored), room_in_rows(g, stored), turned)


def pad_zeros(g: Terms) -> Expr:
    scalar = g.scalar()
    return roomy(g.xs(g.some_type(scalar, Array(scalar, 2), Tuple((scalar, scalar)))), g.size())


def fission_zip(g: Terms) -> Instance:
    """A random map from a zip to pairs, whose second component does not depend on the zip's first
    array; and the rule's argument, the place of that component."""
    n = g.size()
    parts = [g.xs(n=n) for _ in range(g.size(2, 3))]
    x, y, *others = (Var(f"p{i}", elem_of(part)) for i, part in enumerate(parts))
    own: Expr = apply(g.function(y.type, g.type()), y)
    for z in others:
        own = MakeTuple((own, apply(g.function(z.type, g.type()), z)))
    rest = g.value(g.type(), {"p0": x.type})
    return Map(Lam((x, y, *others), MakeTuple((rest, own))), Zip(tuple(parts))), {"place": (1,)}


# ---- transforms


def a_dft(g: Terms, n: int) -> Expr:
    return dft(g.xs(COMPLEX, n), n, g.one_of(-1, 1))


def split_dft(g: Terms) -> Instance:
    r, n = g.size(2, 4), g.size(2, 4)
    return a_dft(g, r * n), {"r": r}


def an_rdft(g: Terms) -> Expr:
    n = 4 * g.size(1, 4)
    return rdft(g.xs(FLOAT, n), n)


def hoist(g: Terms) -> Instance:
    n = g.size()
    xs = g.one_of(g.xs(FLOAT, n), Zip((g.xs(FLOAT, n), g.xs(n=n))))
    p = Var("p", elem_of(xs))
    x = Get(0, p) if isinstance(xs, Zip) else p
    term = Binary("*", x, x)
    body = MakeTuple((term, Map(lam("y", FLOAT, lambda y: Binary("+", y, term)), g.xs(FLOAT))))
    return Map(Lam(p, body), xs), {"term": term}


def before_view(g: Terms) -> Instance:
    """A random nest of maps over an array of two to four dimensions that is seen through views; its
    function, of numbers, rows or tables, gives 0 for 0. The rule's argument `levels` is the number
    of maps."""
    whole = g.one_of(2, 3, 3, 4)  # dimensions
    inner = g.rng.randrange(min(whole, 3))  # of what is looked at whole
    t: Type = FLOAT
    for _ in range(whole):
        t = Array(t, g.size(2, 4))
    view = g.param(t)
    for _ in range(g.size(1, 3)):
        view = whole_rows(g, view, inner)
    levels = depth(type_of(view)) - inner
    return at_level(levels, view, keeping_zero(g)), {"levels": levels}


def whole_rows(g: Terms, e: Expr, inner: int) -> Expr:
    """The term e under a random view of its outer dimensions, which leaves the `inner` innermost
    ones whole; e itself if it has no outer dimensions, or more than four in all."""
    levels = depth(type_of(e)) - inner
    if levels == 0 or levels + inner > 4:
        return e
    level = g.rng.randrange(levels)
    kinds = ["pad", "crop", "slide"] + ["transpose"] * 2 * (level + 1 < levels)
    kind, (l, r) = g.rng.choice(kinds), g.one_of((0, 1), (1, 0), (1, 2))

    def view(xs: Expr) -> Expr:
        n = length(xs)
        match kind:
            case "transpose":
                return Transpose(xs)
            case "pad":
                return Pad(l, r, Lit(0.0, FLOAT), xs)
            case "slide" if n > 1:
                return Slide(min(n, 1 + r), 1 + l, xs)
            case "crop" if n > l + r:
                return PadEdge(Edge.ANY, -l, -r, xs)
        return Split(1, xs)

    return at_level(level, e, view)


def keeping_zero(g: Terms) -> Callable[[Expr], Expr]:
    """A random function that changes a number, or each number of an array, and gives 0 for 0."""
    c, kind = Lit(float(g.rng.randint(-3, 3)), FLOAT), g.rng.randrange(4)

    def number(x: Expr) -> Expr:
        return (Binary("*", x, x), Binary("*", c, x), Binary("max", x, Unary("neg", x)), x)[kind]

    def go(x: Expr) -> Expr:
        if type_of(x) == FLOAT:
            return number(x)
        done = Map(lam("x", elem_of(x), go), x)
        return Join(Split(1, done)) if kind == 3 else done

    return go


def let_made(g: Terms) -> Instance:
    value = g.xs()
    x = Var("shared", type_of(value))
    term = a_map(g, x)
    body = g.one_of(MakeTuple((term, term)), MakeTuple((g.value(g.type()), term)))
    return Let(x, value, body), {"term": term}


def store_as(g: Terms) -> Instance:
    n = g.size(1, 3)
    t = g.some_type(FLOAT, INT, Tuple((FLOAT, INT)))
    for _ in range(n):
        t = Array(t, g.size())
    order = list(range(n))
    g.rng.shuffle(order)
    return g.value(t), {"order": tuple(order)}


def an_irdft(g: Terms) -> Expr:
    n = 4 * g.size(1, 4)
    return irdft(g.xs(COMPLEX, n // 2 + 1), n)


# ---- lets


def let_out(g: Terms) -> Expr:
    xs = g.xs()
    inner = let_of(g, g.value(g.type()), type_of(xs))
    return g.made_by(
        lambda: a_map(g, inner),
        lambda: Join(Split(1, inner)).xs,
        lambda: Zip((xs, inner)),
        lambda: a_reduce(g, inner),
        lambda: let_of(g, inner),
    )


def let_out_of_map(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    scope = inside(None, p)
    value = g.param(g.type(), scope)
    q = g.pattern(type_of(value))
    body = g.value(g.type(), inside(scope, q))
    return Map(Lam(p, Let(q, value, body)), xs)


def let_beside(g: Terms) -> Expr:
    xs = g.xs()
    p = g.pattern(elem_of(xs))
    scope = inside(None, p)
    value = g.value(g.type(), scope)
    x = Var("made", type_of(value))
    return Map(Lam(p, Let(x, value, g.value(g.type(), inside(scope, x)))), xs)


def inline_once(g: Terms) -> Expr:
    value = g.value(g.type())
    x = Var(g.one_of("x", "y", "v"), type_of(value))
    ys = g.xs()
    body = g.one_of(x, MakeTuple((g.value(FLOAT), x)), Let(g.pattern(type_of(ys)), x, ys))
    if isinstance(body, Let):
        f = g.function(type_of(x), g.type())
        body = Let(f.pattern, x, f.body)
    return Let(x, value, body)


def drop_let(g: Terms) -> Expr:
    return let_of(g, g.value(g.type()))


def let_view(g: Terms) -> Expr:
    made = g.one_of(ToLocal(rows(g)), ToPrivate(rows(g)))
    return let_of(g, g.one_of(Transpose(made), Join(made), Transpose(Transpose(made))))


INSTANCES: dict[Rule, Callable[[Terms], Instance]] = {
    lower.to_parallel: to_parallel,
    lower.to_seq: unrolled(a_map),
    lower.to_reduce_seq: unrolled(a_reduce),
    lower.copy: plain(lambda g: g.xs()),
    lower.copy_deep: plain(rows),
    lower.store: plain(lambda g: g.value(g.type())),
    lower.not_stored: plain(lambda g: Store(g.value(g.type()))),
    lower.to_private: plain(lambda g: g.value(g.type())),
    lower.to_local: lambda g: (g.value(g.type()), {"ahead": g.one_of(True, False)}),
    lower.share: share,
    maps.fuse_maps: plain(lambda g: a_map(g, a_map(g))),
    maps.fuse_zip: plain(fuse_zip),
    maps.fission: fission,
    maps.split_map: split_map,
    maps.unit_map: plain(lambda g: g.xs()),
    maps.round_map: round_map,
    maps.extend_map: lambda g: (a_map(g), {"r": g.size()}),
    nests.interchange: plain(lambda g: nested_maps(g, outer_rows)),
    nests.interchange_rows: plain(map_of_rows),
    nests.interchange_zip: plain(zip_inside),
    nests.interchange_mapped: plain(mapped_inside),
    nests.concat_outside: plain(map_of_concat),
    nests.transpose_joined: plain(transpose_of_joined),
    captures.carry: captured,
    units.round_fold: sum_of_products,
    nests.interchange_beside: plain(lambda g: nested_maps(g, own_rows)),
    nests.pair: plain(lambda g: nested_maps(g, own_rows)),
    nests.collapse: plain(lambda g: nested_maps(g, g.one_of(own_rows, outer_rows))),
    nests.collapse_beside: plain(lambda g: nested_maps(g, g.one_of(own_rows, outer_rows))),
    maps.pull_view: plain(pull_view),
    maps.inline_view: plain(lambda g: let_of(g, a_view_of_params(g))),
    folds.split_reduce: split_reduce,
    folds.unjoin_reduce: plain(lambda g: a_reduce(g, Join(rows(g)))),
    folds.join_reduce: plain(
        lambda g: interchange_reduce(g) if g.rng.random() < 0.5 else a_nest(g, rows(g))
    ),
    folds.interchange_reduce: plain(interchange_reduce),
    folds.fuse_reduce: plain(lambda g: a_reduce(g, a_map(g))),
    folds.flatten_fold: plain(flatten_fold),
    folds.absorb_init: plain(absorb_init),
    zeros.zero_points_out: plain(zero_points),
    accumulators.sum_in_float: plain(narrow_sum),
    pairs_of_products.sum_in_pairs: plain(few_ints),
    pairs_of_products.sum_in_fours: plain(few_ints),
    byte_signs.other_sign: products_of_like_signs,
    whole_sums.sum_in_int: plain(sum_of_bytes),
    whole_sums.choice_in_int: plain(choice_of_ints),
    whole_sums.saturated_int: plain(saturated_float),
    widening.float_product: plain(float_of_product),
    widening.widen: read_as_floats,
    widening.float_once: plain(named_for_floats),
    widening.short_once: plain(named_for_shorts),
    accumulators.rounded_later: plain(rounded_float),
    accumulators.split_loop: loop,
    accumulators.sum_afresh: plain(loop_of_narrow),
    accumulators.sum_apart: plain(partial(loop_of_narrow, widened=False)),
    folds.zip_joins: plain(zip_joins),
    folds.interchange_map_reduce: plain(map_of_reduce),
    folds.interchange_reduce_map: plain(reduce_of_maps),
    folds.partial_reduce: partial_reduce,
    folds.reorder_fold: reorder_fold,
    folds.stride_parts: plain(stride_parts),
    vectors.vectorize_map: vectorize_map,
    vectors.partial_reduce_vector: partial_reduce_vector,
    views.join_split: plain(joined_parts),
    views.split_join: plain(split_join),
    views.transpose_twice: plain(lambda g: Transpose(Transpose(rows(g)))),
    views.map_transpose_twice: plain(map_transpose_twice),
    views.pad_nothing: plain(
        lambda g: g.one_of(
            Pad(0, 0, g.literal(FLOAT), g.xs(FLOAT)), PadEdge(g.edge(), 0, 0, g.xs())
        )
    ),
    views.get_tuple: plain(get_tuple),
    views.scalar_vector: plain(lambda g: AsScalar(AsVector(2, g.xs(n=2 * g.size())))),
    views.unzip: plain(unzip),
    views.flat_zip: plain(flat_zip),
    views.unzip_reduce: plain(unzip_reduce),
    views.map_identity: plain(map_identity),
    views.pad_cropped: plain(pad_cropped),
    views.pad_zip: plain(lambda g: PadEdge(g.edge(), 1, 2, g.zipped(g.size(2, 4), g.size(2, 3)))),
    views.split_open: split_open,
    views.split_inner: split_inner,
    views.join_inner: join_inner,
    views.join_open: plain(rows),
    views.round_open: round_open,
    views.transpose_open: plain(rows),
    views.transpose_inner: transpose_inner,
    views.room_inner: room_inner,
    views.cross_inner: cross_inner,
    zips.split_zip: plain(split_zip),
    views.reorder_nothing: plain(lambda g: Reorder(identity(INT), g.xs())),
    slides.tile_slide: tile_slide,
    slides.strict_slide: plain(
        lambda g: Slide(n := g.size(), g.size(), g.xs(n=n + g.size(0, 5)), strict=False)
    ),
    slides.slide_map: plain(lambda g: a_slide(g, lambda n: a_map(g, g.xs(n=n)))),
    slides.map_slide: plain(map_slide),
    slides.pad_map: plain(pad_map),
    slides.map_pad_edge: plain(map_pad_edge),
    slides.map_pad: plain(map_pad),
    slides.rows_pad: plain(rows_pad),
    slides.pad_rows: plain(pad_rows),
    slides.slide_rows: plain(slide_rows),
    slides.split_slide: plain(split_slide),
    slides.slide_slide: plain(slide_slide),
    slides.close_gaps: plain(close_gaps),
    planes.planes: plain(lambda g: g.one_of(columns_of_windows, rows_of_windows)(g)),
    planes.chunks_of_planes: plain(chunks_of_channels),
    planes.fuse_reduce_zip: plain(fuse_reduce_zip),
    pads.pad_slide: plain(pad_slide),
    pads.pad_transpose: plain(lambda g: roomy(Transpose(rows(g)), g.size())),
    pads.rows_pad_edge: plain(
        lambda g: room_in_rows(g, Transpose(g.xs(Array(g.scalar(), g.size()))))
    ),
    pads.pad_join: plain(pad_join),
    pads.pad_split: plain(pad_split),
    pads.pad_pad: plain(pad_pad),
    pads.rows_pad_pad: plain(rows_pad_pad),
    pads.map_join: plain(lambda g: a_map(g, Join(rows(g)))),
    pads.map_split: plain(map_split),
    pads.view_store: plain(view_store),
    pads.pad_zeros: plain(pad_zeros),
    pads.fission_zip: fission_zip,
    fourier.split_dft: split_dft,
    paired.pair_rdft: plain(an_rdft),
    paired.pair_irdft: plain(an_irdft),
    paired.split_dft_tabled: split_dft,
    fourier.dft_of_two: plain(lambda g: a_dft(g, 2)),
    fourier.split_rdft: plain(an_rdft),
    fourier.rdft_of_four: plain(lambda g: rdft(g.xs(FLOAT, 4), 4)),
    fourier.irdft_of_four: plain(lambda g: irdft(g.xs(COMPLEX, 3), 4)),
    fourier.rdft_of_two: plain(lambda g: rdft(g.xs(FLOAT, 2), 2)),
    fourier.split_irdft: plain(an_irdft),
    out.hoist: hoist,
    out.before_view: before_view,
    out.let_made: let_made,
    out.store_as: store_as,
    out.local_as: store_as,
    folds.release_init: plain(lambda g: any_fold(g, g.xs())),
    fourier.irdft_of_two: plain(lambda g: irdft(g.xs(COMPLEX, 2), 2)),
    lets.let_out: plain(let_out),
    lets.let_out_of_map: plain(let_out_of_map),
    lets.let_beside: plain(let_beside),
    lets.inline_once: plain(inline_once),
    lets.drop_let: plain(drop_let),
    lets.let_view: plain(let_view),
}

"""Laws of sums of products over windows: row by row, and rows by their spectra."""

# key: e term, x a row, g a kernel's row, acc an accumulator, z its first value, l length

from collections.abc import Callable, Sequence

from ir.nodes import (
    Binary,
    Edge,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    PadEdge,
    Reduce,
    Slide,
    Var,
    Zip,
)
from ir.terms import apply, component, free, lam, lam2, substitute
from ir.types import FLOAT, INT, Array, Scalar, Tuple, Type
from ir.typing import elem_of, size_of, type_of
from rewrites.access import Affine, Index, NoAccess, index
from rewrites.cells import at_level, gather, widened
from rewrites.laws_fourier import STAGE, TO_REAL, source
from rewrites.laws_map import tidy
from rewrites.laws_view import swapped, used_of
from rewrites.products import Products, Rows, length, others, products, rows_of, windows
from rewrites.rule import put, rule
from rewrites.shape import alike, bound, depth, number
from rewrites.spectra import (
    ZERO,
    complexes,
    conjugate,
    each,
    irdft,
    planes,
    rdft,
    times,
)

# ---- from cells to rows


@rule("sums of products in windows  =  let x, g = rows in sums of (windows of x times g)")
def by_rows(e: Expr) -> Expr | None:
    """map … (map (w -> reduce (x_wv g_v)))  =  map … (reduce (row + map (reduce …) (slide v 1 x)))

    The same products of the same cells, for each pair of rows together. Rows are dense: where
    windows step by s, one row is s rows, each of every s-th element.
    """
    try:
        p = products(e)
        r = rows_of(p)
        return _by_rows(e, p, r) if r.w == p.maps[-1] and _closed(r, e) else None
    except NoAccess:
        return None


def _closed(r: Rows, e: Expr) -> bool:
    return free(r.x.base) | free(r.g.base) <= free(e)


def _by_rows(e: Expr, p: Products, r: Rows) -> Expr | None:
    sums = r.sums
    x, g = others(r.x, r.along), others(r.g, r.across)
    if r.step > 1:
        phase = Index("phase", r.step)
        sums, x, g = (*sums, phase), (*x, index(phase)), (*g, index(phase))
    in_x, in_g = _in(x), _in(g)
    if not set(sums) <= in_x & in_g:
        return None
    rows_x, rows_g = _rows(r.x.base, r.along, r.dense), _rows(r.g.base, r.across, r.kernel)
    maps = p.maps[:-1]

    def body(xs: Expr, gs: Expr) -> Expr:
        own = tuple(i for i in maps if i in in_x), tuple(i for i in maps if i in in_g)
        view_x, view_g = gather(xs, x, (*own[0], *sums)), gather(gs, g, (*own[1], *sums))
        return _carried(e, maps, view_x, view_g, (set(own[0]), set(own[1])), len(sums))

    f = lam2(("xs", "gs"), (type_of(rows_x), type_of(rows_g)), body)
    assert isinstance(f.pattern, tuple)
    first, second = f.pattern
    return Let(first, rows_x, Let(second, rows_g, f.body))


def _in(coordinates: Sequence[Affine]) -> set[Index]:
    return {i for c in coordinates for i, _ in c.terms}


def _rows(base: Expr, along: int, row: Callable[[Expr], Expr]) -> Expr:
    """base, the dimension `along` innermost, each of its rows made dense."""
    last = depth(type_of(base)) - 1
    for level in range(along, last):
        base = swapped(base, level)
    return at_level(last, base, row)


def _carried(
    e: Expr,
    maps: tuple[Index, ...],
    x: Expr,
    g: Expr,
    own: tuple[set[Index], set[Index]],
    sums: int,
) -> Expr:
    """e with the rows zipped to what its maps go over, down to the map over windows."""
    if not maps:
        place = windows(e)
        if place is None:
            raise NoAccess("expected sums that start from 0")
        return put(e, place, _sum(x, g, sums))
    if not isinstance(e, Map):
        raise NoAccess("expected maps directly inside each other")
    f, has = e.f, [maps[0] in one for one in own]
    parts = e.xs.parts if isinstance(e.xs, Zip) else (e.xs,)
    pairs = Zip((*parts, *(part for part, mine in zip((x, g), has, strict=True) if mine)))

    def body(t: Expr) -> Expr:
        n = len(parts)
        whole = tuple(component(i, t) for i in range(n))
        inner_x = component(n, t) if has[0] else x
        inner_g = component(n + has[0], t) if has[1] else g
        arg = MakeTuple(whole) if isinstance(e.xs, Zip) else whole[0]
        return _carried(apply(f, arg), maps[1:], inner_x, inner_g, own, sums)

    f_t = tidy(lam("t", elem_of(pairs), body))
    return Map(*(used_of(f_t, pairs.parts) or (f_t, pairs)))


def slid(x: Expr, g: Expr) -> Expr:
    """map (w -> reduce 0 (acc + a b) (zip w g)) (slide v 1 x)"""
    windows = Slide(size_of(g), 1, x)
    return Map(lam("window", elem_of(windows), lambda w: _dot(w, g)), windows)


def _dot(xs: Expr, ys: Expr) -> Expr:
    pairs = Zip((xs, ys))

    def step(acc: Expr, t: Expr) -> Expr:
        return Binary("+", acc, Binary("*", Get(0, t), Get(1, t)))

    return Reduce(ZERO, lam2(("acc", "t"), (FLOAT, elem_of(pairs)), step), pairs)


def _sum(x: Expr, g: Expr, sums: int) -> Expr:
    """The sum over pairs of rows of how one slides along the other."""
    if not sums:
        return slid(x, g)
    row, kernel = x, g
    for _ in range(sums):
        row, kernel = Var("_", elem_of(row)), Var("_", elem_of(kernel))
    return adding(zeros(type_of(slid(row, kernel))), x, g, sums)


def adding(
    acc: Expr, x: Expr, g: Expr, sums: int, term: Callable[[Expr, Expr], Expr] = slid
) -> Expr:
    if not sums:
        return added(acc, term(x, g))
    pairs = Zip((x, g))
    step = lam2(
        ("acc", "t"),
        (type_of(acc), elem_of(pairs)),
        lambda a, t: adding(a, Get(0, t), Get(1, t), sums - 1, term),
    )
    assert isinstance(step.pattern, tuple)
    first, second = step.pattern
    f = tidy(Lam(second, step.body))
    return Reduce(acc, Lam((first, f.pattern), f.body), pairs)


# ---- arrays that are added


def zeros(t: Type) -> Expr:
    """Numbers 0 in the shape of a t."""
    match t:
        case Array(elem, n):
            return Generate(n, lam("i", INT, lambda _: zeros(elem)))
        case Tuple(parts):
            return MakeTuple(tuple(map(zeros, parts)))
        case Scalar():
            return number(0, t)
    raise NoAccess("sums of vectors")


def added(x: Expr, y: Expr) -> Expr:
    """x + y, element by element"""
    match type_of(x):
        case Array():
            return each(added, x, y)
        case Tuple(parts):
            fields = range(len(parts))
            return MakeTuple(tuple(added(component(i, x), component(i, y)) for i in fields))
    return Binary("+", x, y)


@rule(
    "reduce 0 (acc + f x)  =  f (reduce 0 (acc + x)),  f a crop or irdft",
    rounding=STAGE,
)
def linear_sum(e: Expr) -> Expr | None:
    """What is linear is done to the sum, once; through all reductions of a nest."""
    match e:
        case Reduce(z, f, xs) if alike(z, zeros(type_of(z))):
            linear = _linear_term(f)
            if linear is None:
                return None
            inner = _source(linear)
            assert inner is not None
            return _again(linear, _without(zeros(type_of(inner)), f, xs))
    return None


def _linear_term(f: Lam) -> Expr | None:
    """The f x of a nest that adds it up."""
    match f:
        case Lam((Var(acc, _), p), Reduce(Var(a, _), g, xs)) if a == acc:
            mine = bound(Lam(p, xs)) | {acc}
            found = _linear_term(g) if acc not in free(g) | free(xs) else None
            return found if found is not None and mine else None
        case Lam((Var(acc, _) as a, _), Map(_, Zip((Var(b, _), term))) as body) if a.name == b:
            inner = _source(term)
            plain = acc not in free(term) and alike(body, added(a, term))
            return term if inner is not None and plain else None
    return None


def _source(e: Expr) -> Expr | None:
    """The x of f x, for an f that is linear."""
    match e:
        case PadEdge(Edge.ANY, int() as l, int() as r, xs) if max(l, r) <= 0:
            return xs
    found = source(e, TO_REAL)
    return found[0] if found else None


def _again(f: Expr, x: Expr) -> Expr:
    """f x, for another x."""
    match f:
        case PadEdge(edge, l, r, _):
            return PadEdge(edge, l, r, x)
    n = size_of(f)
    assert isinstance(n, int)
    return irdft(x, n)


def _without(acc: Expr, f: Lam, xs: Expr) -> Expr:
    """The nest that adds up the x of f x."""
    assert isinstance(f.pattern, tuple)
    _, p = f.pattern

    def step(a: Expr, x: Expr) -> Expr:
        match f.body:
            case Reduce(_, g, inner):
                rest = Lam(p, _without(Var("?acc", type_of(acc)), g, inner))
            case Map(_, Zip((_, term))):
                found = _source(term)
                assert found is not None
                rest = Lam(p, added(Var("?acc", type_of(acc)), found))
            case other:
                raise AssertionError(f"not a nest that adds: {type(other).__name__}")
        return substitute(apply(rest, x), {"?acc": a})

    return Reduce(acc, lam2(("acc", "t"), (type_of(acc), elem_of(xs)), step), xs)


# ---- rows by their spectra


def product(zs: Expr, ws: Expr) -> Expr:
    """z conj w, element by element"""
    return each(lambda z, w: times(conjugate(w), z), zs, ws)


@rule(
    "map (w -> reduce (w g)) (slide v 1 x)  =  crop . irdft (rdft (pad x) conj rdft (pad g / l))",
    rounding=16.0,
)
def correlate(e: Expr) -> Expr | None:
    """The convolution theorem. l, a power of two, is no less than the row: nothing wraps around."""
    match e:
        case Map(Lam(_, Reduce(_, _, Zip((_, g)))), Slide(_, 1, x)) if alike(e, slid(x, g)):
            n, v = size_of(x), size_of(g)
            if not isinstance(n, int) or not isinstance(v, int):
                return None
            l = length(n)
            scaled = each(lambda y: Binary("*", y, Lit(1 / l, FLOAT)), g)
            a, b = (
                complexes(planes(rdft(widened(row, 0, l - size), l)))
                for row, size in ((x, n), (scaled, v))
            )
            sums = irdft(product(a, b), l)
            return PadEdge(Edge.ANY, 0, n - v + 1 - l, sums) if n - v + 1 < l else sums
    return None

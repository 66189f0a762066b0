"""A law that makes sums of products over windows row by row."""

# key: e term, x a row, g a kernel's row, acc an accumulator, z its first value, l length

from collections.abc import Callable, Sequence
from functools import partial

from ir.core.nodes import (
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    Pad,
    Reduce,
    Slide,
    Var,
    Zip,
)
from ir.core.terms import apply, component, free, lam, lam2
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import INT, Array, Scalar, Tuple, Type, leaves, show_type
from rewrites.analysis.affine_access import Access, Affine, Index, NoAccess, index
from rewrites.analysis.binder_names import joined, parts_of
from rewrites.analysis.folds import number
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.refused import shown
from rewrites.engine.rule import put, rule
from rewrites.fast_algorithms.dft_terms import (
    COMPLEX,
    conjugate,
    each,
    times,
)
from rewrites.laws.affine_views import at_level, gather
from rewrites.laws.maps import tidy
from rewrites.laws.views import swapped, used_of
from rewrites.nest.rows_in_windows import Rows, rows_of
from rewrites.nest.sums_of_products import Products, others, products, windows

# ---- from cells to rows


@rule("sums of products in windows  =  let x, g = rows in sums of (windows of x times g)")
def by_rows(e: Expr) -> Expr | None:
    """The term e, a convolution of several dimensions, as a sum of convolutions of one dimension;
    None if e is no such convolution.

    Each row of the kernel is slid along the row of the image that it meets, and the rows of sums
    that come of it are added up. The products are the same, in another order. Where windows step
    by s, each row of the image and of the kernel is first cut into s rows, each of every s-th
    element, so that all windows step by 1.

        map … (map (w -> reduce (x_w · g)))
          =  map … (reduce (sums, (x, g) -> sums + map (reduce (· g)) (slide width 1 x)))
    """
    try:
        p = products(e)
        r = rows_of(p)
        applies = r.window == p.maps[-1] and _closed(r, e) and _of_one_type(r)
        return _by_rows(e, p, r) if applies else None
    except NoAccess:
        return None


def _closed(r: Rows, e: Expr) -> bool:
    """True if the arrays of r use no variable that e binds, and no `pad_any` adds elements of no
    value to the data."""
    return free(r.data.base) | free(r.taps.base) <= free(e) and not adds_anything(r.data.base)


def _of_one_type(r: Rows) -> bool:
    """True if data, taps and their products are numbers of one type."""
    types = {t for a in (r.data, r.taps) for t in leaves(type_of(a.base))}
    if len(types) != 1:
        return False
    (t,) = types
    return type_of(Binary("*", Var("x", t), Var("y", t))) == t


def _by_rows(e: Expr, p: Products, r: Rows) -> Expr | None:
    sums, x, g = summed(r)
    in_x, in_g = uses(x), uses(g)
    if not set(sums) <= in_x & in_g:
        return None
    maps = p.maps[:-1]

    def body(xs: Expr, gs: Expr) -> Expr:
        own = tuple(i for i in maps if i in in_x), tuple(i for i in maps if i in in_g)
        view_x, view_g = gather(xs, x, (*own[0], *sums)), gather(gs, g, (*own[1], *sums))
        term = partial(slid, shared=r.shared)

        def made(rest: Expr, x: Expr, g: Expr) -> Expr:
            return _in_windows(rest, sum_of_rows(x, g, len(sums), term))

        return carried(e, maps, view_x, view_g, (set(own[0]), set(own[1])), made)

    return let_rows(
        at_rows(r.data, r.data_dim, r.dense), at_rows(r.taps, r.taps_dim, r.kernel), body
    )


def summed(r: Rows) -> tuple[tuple[Index, ...], tuple[Affine, ...], tuple[Affine, ...]]:
    """The indices over which products of rows are summed up, and the coordinates of the rows of x
    (data) and of g (taps) in their arrays. Where rows are cut into phases, the phase is one more
    index, and one more coordinate of both."""
    x, g = others(r.data, r.data_dim), others(r.taps, r.taps_dim)
    if not r.phased:
        return r.sums, x, g
    phase = Index("phase", r.step)
    return (*r.sums, phase), (*x, index(phase)), (*g, index(phase))


def let_rows(rows_x: Expr, rows_g: Expr, body: Callable[[Expr, Expr], Expr]) -> Expr:
    """The term let rows = rows_x; let taps = rows_g; body(rows, taps)."""
    f = lam2(("rows", "taps"), (type_of(rows_x), type_of(rows_g)), body)
    assert isinstance(f.pattern, tuple)
    first, second = f.pattern
    return Let(first, rows_x, Let(second, rows_g, f.body))


def uses(coordinates: Sequence[Affine]) -> set[Index]:
    """The loop indices that occur in these coordinates."""
    return {i for c in coordinates for i, _ in c.terms}


def at_rows(a: Access, along: int, row: Callable[[Expr], Expr]) -> Expr:
    """The array that an access reads, with dimension `along` innermost and `row` applied to each of
    its rows."""
    base, last = a.base, len(a.coordinates) - 1
    for level in range(along, last):
        base = swapped(base, level)
    return at_level(last, base, row)


def _in_windows(e: Expr, sums: Expr) -> Expr:
    """The term e with its map of sums over windows replaced by `sums`; NoAccess if it has no such
    map."""
    place = windows(e)
    if place is None:
        raise NoAccess(f"expected maps around sums that start from 0, found {shown(e)}")
    return put(e, place, sums)


def carried(
    e: Expr,
    maps: tuple[Index, ...],
    x: Expr,
    g: Expr,
    own: tuple[set[Index], set[Index]],
    made: Callable[[Expr, Expr, Expr], Expr],
) -> Expr:
    """The nest e, whose maps are `maps`, with rows in it: each map that is in the first set of
    `own` gets the rows x zipped to its array, each map in the second set the rows g. Inside all
    maps stands made(body of e, row of x, row of g)."""
    if not maps:
        return made(e, x, g)
    if not isinstance(e, Map):
        raise NoAccess(f"expected maps directly inside each other, found {shown(e)} between them")
    f, has = e.f, [maps[0] in one for one in own]
    parts = e.xs.parts if isinstance(e.xs, Zip) else (e.xs,)
    pairs = Zip((*parts, *(part for part, mine in zip((x, g), has, strict=True) if mine)))

    def body(t: Expr) -> Expr:
        n = len(parts)
        whole = tuple(component(i, t) for i in range(n))
        inner_x = component(n, t) if has[0] else x
        inner_g = component(n + has[0], t) if has[1] else g
        arg = MakeTuple(whole) if isinstance(e.xs, Zip) else whole[0]
        return carried(apply(f, arg), maps[1:], inner_x, inner_g, own, made)

    rows = [name for name, mine in zip(("row", "taps"), has, strict=True) if mine]
    names = [*parts_of(f.pattern, len(parts)), *rows]
    f_t = tidy(lam(joined(names), elem_of(pairs), body), names)
    return Map(*(used_of(f_t, pairs.parts) or (f_t, pairs)))


def slid(x: Expr, g: Expr, shared: int = 0) -> Expr:
    """The sum of products of g with each window of x: map (w -> reduce 0 (acc + a b) (zip w g))
    (slide v 1 x).

    Of complex numbers it is a conj b. x is first padded with `shared` zeros at each end, which its
    Fourier transform may later take as one run of zeros for both ends.
    """
    row = Pad(shared, shared, zeros(elem_of(x)), x) if shared else x
    windows = Slide(size_of(g), 1, row)
    return Map(lam("window", elem_of(windows), lambda w: _dot(w, g)), windows)


def _dot(xs: Expr, ys: Expr) -> Expr:
    pairs, number = Zip((xs, ys)), elem_of(xs)

    def term(x: Expr, y: Expr) -> Expr:
        return times(conjugate(y), x) if number == COMPLEX else Binary("*", x, y)

    step = lam2(
        ("acc", "datum_tap"),
        (number, elem_of(pairs)),
        lambda acc, t: added(acc, term(Get(0, t), Get(1, t))),
    )
    return Reduce(zeros(number), step, pairs)


def sum_of_rows(x: Expr, g: Expr, sums: int, term: Callable[[Expr, Expr], Expr] = slid) -> Expr:
    """The sum over pairs of rows of x and g, nested `sums` deep, of term(row of x, row of g): by
    default, the row of x slid along that of g."""
    if not sums:
        return term(x, g)
    row, kernel = x, g
    for _ in range(sums):
        row, kernel = Var("_", elem_of(row)), Var("_", elem_of(kernel))
    return adding(zeros(type_of(term(row, kernel))), x, g, sums, term)


def adding(
    acc: Expr, x: Expr, g: Expr, sums: int, term: Callable[[Expr, Expr], Expr] = slid
) -> Expr:
    if not sums:
        return added(acc, term(x, g))
    pairs = Zip((x, g))
    step = lam2(
        ("acc", "row_taps"),
        (type_of(acc), elem_of(pairs)),
        lambda a, t: adding(a, Get(0, t), Get(1, t), sums - 1, term),
    )
    assert isinstance(step.pattern, tuple)
    first, second = step.pattern
    f = tidy(Lam(second, step.body))
    return Reduce(acc, Lam((first, f.pattern), f.body), pairs)


# ---- arrays that are added


def zeros(t: Type) -> Expr:
    """The term of type t whose numbers are all 0."""
    match t:
        case Array(elem, n):
            return Generate(n, lam("index", INT, lambda _: zeros(elem)))
        case Tuple(parts):
            return MakeTuple(tuple(map(zeros, parts)))
        case Scalar():
            return number(0, t)
    raise NoAccess(f"expected sums of numbers, found sums of {show_type(t)}")


def added(x: Expr, y: Expr) -> Expr:
    """The term x + y, element by element."""
    match type_of(x):
        case Array():
            return each(added, x, y)
        case Tuple(parts):
            fields = range(len(parts))
            return MakeTuple(tuple(added(component(i, x), component(i, y)) for i in fields))
    return Binary("+", x, y)

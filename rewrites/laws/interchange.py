"""Laws of nested maps: exchanging the outer and the inner one, and making one of both."""

# key: f g functions, xs ys arrays, x y elements

from ir.core.nodes import (
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    MakeTuple,
    Map,
    Pattern,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, free, lam, pattern_value
from ir.core.type_rules import elem_of, size_of
from ir.core.types import INT
from rewrites.analysis.alpha_equality import apart, bound
from rewrites.analysis.binder_names import (
    joined,
    name_of,
    parts_of,
    several,
    several_of,
)
from rewrites.engine.rule import rule
from rewrites.laws.maps import tidy


@rule("map (x -> map (y -> e) ys) xs  =  transpose (map (y -> map (x -> e) xs) ys),  x not in ys")
def interchange(e: Map) -> Expr | None:
    match e:
        case Map(Lam(p, Map(f, ys)), xs) if not bound(Lam(p, ys)) & free(ys):
            f = apart(f, free(xs) | bound(Lam(p, ys)))
            return Transpose(Map(Lam(f.pattern, Map(Lam(p, f.body), xs)), ys))
    return None


@rule("map (map f)  =  transpose . map (map f) . transpose")
def interchange_rows(e: Map) -> Expr | None:
    match e:
        case Map(Lam(Var(x, _), Map(f, Var(y, _))), xs) if x == y and x not in free(f):
            columns = Transpose(xs)
            return _columns(f, columns)
    return None


def _columns(f: Lam, columns: Expr) -> Expr:
    """The term transpose (map (map f) columns)."""
    inner = lam(several(f.pattern), elem_of(columns), lambda c: Map(f, c))
    return Transpose(Map(inner, columns))


@rule("map (x -> map f (zip ys zs(x)))  =  transpose . map ((y, c) -> map f (y, c)) . zip ys zs'")
def interchange_zip(e: Map) -> Expr | None:
    """Two nested maps exchange places, if the inner one goes over a zip; parts of the zip that do
    not depend on the outer element x are shared by all x."""
    match e:
        case Map(Lam(p, Map(f, Zip(parts))), xs):
            mine = [bool(bound(Lam(p, parts[0])) & free(part)) for part in parts]
            if all(mine):
                return None
            columns = Zip(
                tuple(
                    Transpose(Map(Lam(p, part), xs)) if m else part
                    for m, part in zip(mine, parts, strict=True)
                )
            )
            names = several_of(f.pattern, mine)
            outer = lam(
                joined(names), elem_of(columns), lambda t: _inner_columns(p, f, xs, mine, t)
            )
            return Transpose(Map(tidy(outer, names), columns))
    return None


def _inner_columns(p: Pattern, f: Lam, xs: Expr, mine: list[bool], t: Expr) -> Expr:
    own = [i for i, m in enumerate(mine) if m]
    pairs = Zip((xs, *(Get(i, t) for i in own)))

    def body(u: Expr) -> Expr:
        fields = tuple(Get(1 + own.index(i), u) if m else Get(i, t) for i, m in enumerate(mine))
        return apply(Lam(p, apply(f, MakeTuple(fields))), Get(0, u))

    of = parts_of(f.pattern, len(mine))
    names = [name_of(p), *(of[i] for i in own)]
    return Map(tidy(lam(joined(names), elem_of(pairs), body), names), pairs)


@rule("map (map f . g)  =  transpose . map (map f) . transpose . map g")
def interchange_mapped(e: Map) -> Expr | None:
    match e:
        case Map(Lam(p, Map(f, ys)), xs) if not bound(Lam(p, ys)) & free(f):
            columns = Transpose(Map(Lam(p, ys), xs))
            return _columns(f, columns)
    return None


@rule(
    "map (x -> map f_x ys_x) xs"
    "  =  transpose . map (c -> map ((x, y) -> f_x y) (zip xs c)) . transpose . map (x -> ys_x)"
)
def interchange_beside(e: Map) -> Expr | None:
    """Two nested maps exchange places, although the inner function uses the outer element x: the
    new inner map goes over xs zipped with a column of the arrays that the old one went over."""
    match e:
        case Map(Lam(p, Map(f, ys)), xs):
            f = tidy(apart(f, bound(Lam(p, ys))))
            zipped = isinstance(ys, Zip) and isinstance(f.pattern, tuple)
            inner = _turned(p, xs, ys.parts if isinstance(ys, Zip) and zipped else (ys,))
            columns = Zip(inner) if zipped else inner[0]
            name = several(f.pattern)
            outer = lam(name, elem_of(columns), lambda c: _beside(p, f, xs, c, zipped))
            return Transpose(Map(tidy(outer), columns))
    return None


def _turned(p: Pattern, xs: Expr, parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(Transpose(Map(Lam(p, part), xs)) for part in parts)


def _beside(p: Pattern, f: Lam, xs: Expr, c: Expr, zipped: bool) -> Map:
    """The map of (x, y) -> f y over xs zipped with the column c; p is the pattern of x, whose
    variables f may use. If `zipped`, c is a tuple of arrays, and each becomes a part of the zip."""
    ps, whole = (p, xs.parts) if isinstance(xs, Zip) and isinstance(p, tuple) else ((p,), (xs,))
    q = f.pattern if zipped and isinstance(f.pattern, tuple) else (f.pattern,)
    own = tuple(Get(i, c) for i in range(len(q))) if zipped else (c,)
    return Map(Lam((*ps, *q), f.body), Zip((*whole, *own)))


@rule("map (x -> map (y -> e) ys(x)) xs  =  map (ps -> map ((x, y) -> e) ps) (pairs of x, y)")
def pair(e: Map) -> Expr | None:
    """A map over x of a map over y, where the array of the y depends on x, becomes a map over rows
    of pairs (x, y)."""
    match e:
        case Map(Lam(p, Map(g, ys)), xs) if not (isinstance(p, Var) and ys == p):
            rows = Map(Lam(p, _paired(p, g, ys)), xs)
            g = apart(g, bound(Lam(p, ys)))
            f = Lam((p, g.pattern), g.body)
            return Map(lam(several(f.pattern), elem_of(rows), lambda r: Map(f, r)), rows)
    return None


def _paired(p: Pattern, g: Lam, ys: Expr) -> Expr:
    """The array of pairs (x, y) for the elements y of ys: x is what p binds, and y has the name
    that g gives."""
    outer = pattern_value(p)
    return Map(lam(name_of(g.pattern), elem_of(ys), lambda y: MakeTuple((outer, y))), ys)


@rule(
    "map (x -> map (y -> e) ys) xs  =  split n (map ((x, y) -> e) (join (map (x -> (x, ys)) xs)))"
)
def collapse(e: Map) -> Expr | None:
    """Two nested maps, over x and inside it over y, become one over the pairs (x, y), whose results
    are split into rows again; where the inner function does not use x, the one map goes over the y
    alone."""
    match e:
        case Map(Lam(p, Map(f, ys)), xs):
            n = size_of(ys)
            if not bound(Lam(p, ys)) & free(f):
                plain = Join(xs) if isinstance(p, Var) and ys == p else Join(Map(Lam(p, ys), xs))
                return Split(n, Map(f, plain))
            f = apart(f, bound(Lam(p, ys)))
            pairs = Join(Map(Lam(p, _paired(p, f, ys)), xs))
            return Split(n, Map(Lam((p, f.pattern), f.body), pairs))
    return None


@rule(
    "map (x -> map (y -> e) ys(x)) xs"
    "  =  split n . map ((x, y) -> e) . zip (join (map (x -> generate n (i -> x)) xs))"
    " (join (map (x -> ys(x)) xs))"
)
def collapse_beside(e: Map) -> Expr | None:
    """Two nested maps, over x and inside it over y, become one over all y, each zipped with its x;
    the results are split into rows again. Parts of x that the inner function does not use are left
    out of the zip; None if it uses none, as `collapse` then makes the same."""
    match e:
        case Map(Lam(p, Map(f, ys)), xs):
            n = size_of(ys)
            f = apart(f, bound(Lam(p, ys)))
            used = [(q, part) for q, part in _parts(p, xs) if bound(Lam(q, ys)) & free(f)]
            if not used:
                return None
            rows: tuple[Expr, ...] = (ys,)
            inner: tuple[Pattern, ...] = (f.pattern,)
            if isinstance(ys, Zip) and isinstance(f.pattern, tuple):
                rows, inner = ys.parts, f.pattern
            arrays = (
                *(Join(Map(Lam(q, _repeated(n, q)), part)) for q, part in used),
                *(Join(_mapped(p, row, xs)) for row in rows),
            )
            return Split(n, Map(Lam((*(q for q, _ in used), *inner), f.body), Zip(arrays)))
    return None


def _repeated(n: Size, p: Pattern) -> Expr:
    """The array of n elements, each of which is what p binds."""
    return Generate(n, lam("index", INT, lambda _: pattern_value(p)))


def _parts(p: Pattern, xs: Expr) -> list[tuple[Pattern, Expr]]:
    """The parts of the pattern p of elements of xs, each with the array whose elements it is."""
    if isinstance(p, tuple) and isinstance(xs, Zip):
        return list(zip(p, xs.parts, strict=True))
    return [(p, xs)]


def _mapped(p: Pattern, e: Expr, xs: Expr) -> Expr:
    """The array of the values of e for each element p of xs; where e is one of the parts that p
    binds, the array of these parts."""
    return next((part for q, part in _parts(p, xs) if q == e), Map(Lam(p, e), xs))


@rule(
    "map (x -> concat (f x) (g x))  =  transpose (concat (transpose (map f)) (transpose (map g)))"
)
def concat_outside(e: Map) -> Expr | None:
    match e:
        case Map(Lam(p, Concat() as both), xs):
            return Transpose(_concat_of(p, both, xs))
    return None


def _concat_of(p: Pattern, part: Expr, xs: Expr) -> Expr:
    if isinstance(part, Concat):
        return Concat(_concat_of(p, part.a, xs), _concat_of(p, part.b, xs))
    return Transpose(Map(Lam(p, part), xs))


@rule("transpose . join  =  map join . transpose . map transpose")
def transpose_joined(e: Transpose) -> Expr | None:
    """The transpose of a join of matrices becomes their transposes, joined row by row."""
    match e:
        case Transpose(Join(xss)):
            columns = Transpose(Map(lam("rows", elem_of(xss), Transpose), xss))
            return Map(lam("rows", elem_of(columns), Join), columns)
    return None

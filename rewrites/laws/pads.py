"""Laws of room: elements that `pad_any` adds are never looked at, so a `pad_any` may move inside,
towards the array that is stored.

Every law here may make more defined than it finds: where the left side holds what `pad_any` added,
the right side holds anything.
"""

# key: r elements added, n k sizes, s step, f function, xs array, c a pad's value

from collections.abc import Sequence

from ir.core.nodes import (
    Edge,
    Expr,
    Join,
    Lam,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Slide,
    Split,
    Store,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import ceil_div, remainder, same
from ir.core.terms import free, lam, pattern_value
from ir.core.type_rules import array_of, elem_of, size_of, type_of
from ir.core.types import Scalar, leaves
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import uses
from rewrites.analysis.folds import number
from rewrites.analysis.size_signs import at_most
from rewrites.engine.rule import Place, get, put, rule
from rewrites.laws.maps import bound_above, tidy


@rule("pad_any (0, r) . slide n s  =  slide n s . pad_any (0, r s - rest)")
def pad_slide(e: PadEdge) -> Expr | None:
    """Room for r more windows becomes room for the elements that they need: r times the step, less
    the elements at the end that no window reached."""
    match e:
        case PadEdge(Edge.ANY, 0, r, Slide(n, s, xs, strict)) if r != 0 and at_most(0, r):
            rest = remainder(size_of(xs) - n, s)
            return Slide(n, s, PadEdge(Edge.ANY, 0, r * s - rest, xs), strict)
    return None


@rule("pad_edge l r . transpose  =  transpose . map (pad_edge l r)")
def pad_transpose(e: PadEdge) -> Expr | None:
    match e:
        case PadEdge(edge, left, right, Transpose(xs)):
            row = lam("row", elem_of(xs), lambda x: PadEdge(edge, left, right, x))
            return Transpose(Map(row, xs))
    return None


@rule("map (pad_edge l r) . transpose  =  transpose . pad_edge l r")
def rows_pad_edge(e: Map) -> Expr | None:
    match e:
        case Map(Lam(Var(x, _), PadEdge(edge, left, right, Var(y, _))), Transpose(xs)) if x == y:
            return Transpose(PadEdge(edge, left, right, xs))
    return None


@rule("pad_any (0, r) . join  =  crop . join . pad_any (0, q),  q rows of n hold r")
def pad_join(e: PadEdge) -> Expr | None:
    match e:
        case PadEdge(Edge.ANY, 0, r, Join(xss)) if r != 0 and at_most(0, r):
            n = array_of(Var("_", elem_of(xss))).size
            q = ceil_div(r, n)
            more = Join(PadEdge(Edge.ANY, 0, q, xss))
            return more if same(r, q * n) else PadEdge(Edge.ANY, 0, r - q * n, more)
    return None


@rule("pad_any (0, r) . split k  =  split k . pad_any (0, r k)")
def pad_split(e: PadEdge) -> Expr | None:
    match e:
        case PadEdge(Edge.ANY, 0, r, Split(k, xs)):
            return Split(k, PadEdge(Edge.ANY, 0, r * k, xs))
    return None


@rule("pad_any (0, r) . pad l q c  =  pad l (q + r) c")
def pad_pad(e: PadEdge) -> Expr | None:
    """Room behind an array that is padded already becomes more of that padding: the same number,
    the last element again (clamped), or anything."""
    match e:
        case PadEdge(Edge.ANY, 0, r, _) if r == 0 or not at_most(0, r):
            return None
        case PadEdge(Edge.ANY, 0, r, Pad(left, right, c, xs)):
            return Pad(left, right + r, c, xs)
        case PadEdge(Edge.ANY, 0, r, PadEdge(Edge.ANY | Edge.CLAMP as edge, left, right, xs)):
            return PadEdge(edge, left, right + r, xs)
    return None


@rule("map (pad_edge l r) . pad k q c  =  pad k q c . map (pad_edge l r),  c a number")
def rows_pad_pad(e: Map) -> Expr | None:
    """A padding of each row by the row's own elements moves inside a padding that adds rows of one
    number c: a padded row of c is a row of c."""
    match e:
        case Map(f, Pad(left, right, c, xs)) if pads(f) and isinstance(type_of(c), Scalar):
            return Pad(left, right, c, Map(f, xs)) if not free(f) else None
    return None


def pads(f: Lam) -> bool:
    """True if the function f does nothing but pad dimensions of an array by elements of its own, or
    by anything."""
    return isinstance(f.pattern, Var) and _padded(f.body, f.pattern.name)


def _padded(e: Expr, name: str) -> bool:
    match e:
        case PadEdge(_, _, _, xs):
            return xs == Var(name, type_of(xs)) or _padded(xs, name)
        case Map(f, xs):
            return pads(f) and (xs == Var(name, type_of(xs)) or _padded(xs, name))
    return False


@rule("map f . join  =  join . map (map f)")
def map_join(e: Map) -> Expr | None:
    match e:
        case Map(f, Join(xss)):
            return Join(Map(lam("row", elem_of(xss), lambda row: Map(f, row)), xss))
    return None


@rule("map (map f) . split k  =  split k . map f")
def map_split(e: Map) -> Expr | None:
    match e:
        case Map(Lam(Var(x, _), Map(f, Var(y, _))), Split(k, xs)) if x == y and x not in free(f):
            return Split(k, Map(f, xs))
    return None


@rule("view . store  =  store . view")
def view_store(e: PadEdge | Map) -> Expr | None:
    """A view of a stored array becomes a stored array: the one that the view shows."""
    match e:
        case PadEdge(_, _, _, Store(xs)):
            return Store(PadEdge(e.edge, e.left, e.right, xs))
        case Map(f, Store(xs)) if is_view(f.body) and not free(f):
            return Store(Map(f, xs))
    return None


@rule("pad_any (0, r)  =  pad (0, r) 0")
def pad_zeros(e: PadEdge) -> Expr | None:
    match e:
        case PadEdge(Edge.ANY, 0, r, xs):
            scalar, *others = set(leaves(elem_of(xs)))
            if others or not isinstance(scalar, Scalar):
                return None
            return Pad(0, r, number(0, scalar), xs)
    return None


@rule("map (f . (…, g, …)) . zip(…, xs, …)  =  map f . zip(…, map g xs, …)")
def fission_zip(e: Map, place: Place = ()) -> Expr | None:
    """The term at `place` in a map's function is made by a map before, of only those parts of a zip
    that the term uses; its results take the place of these parts. None if the term uses all parts,
    or none, or if the function uses one of these parts elsewhere."""
    match e:
        case Map(f, Zip(parts)):
            f = tidy(f)
            inner = get(f.body, place)
            if not isinstance(f.pattern, tuple) or isinstance(inner, Lam):
                return None
            mine = [i for i, p in enumerate(f.pattern) if free(inner) & free(pattern_value(p))]
            own = [f.pattern[i] for i in mine]
            if len(mine) == len(parts) or not _alone(own, inner, f.body):
                return None
            if not mine or free(inner) & bound_above(f.body, place):
                return None
            made = _map_of(own, inner, tuple(parts[i] for i in mine))
            v = Var(min(free(pattern_value(own[0]))), elem_of(made))
            pairs = list(zip(f.pattern, parts, strict=True))
            pairs[mine[0]] = (v, made)
            kept = [pair for i, pair in enumerate(pairs) if i not in mine[1:]]
            body = put(f.body, place, v)
            return Map(Lam(tuple(p for p, _ in kept), body), Zip(tuple(xs for _, xs in kept)))
    return None


def _alone(ps: Sequence[Pattern], inner: Expr, body: Expr) -> bool:
    """True if the patterns ps are variables used in the term `inner` and nowhere else in the
    body."""
    return all(isinstance(p, Var) and uses(inner, p.name) == uses(body, p.name) for p in ps)


def _map_of(ps: Sequence[Pattern], body: Expr, arrays: tuple[Expr, ...]) -> Map:
    """The map of ps -> body over these arrays, zipped if they are several."""
    if len(ps) == 1:
        return Map(Lam(ps[0], body), arrays[0])
    return Map(Lam(tuple(ps), body), Zip(arrays))

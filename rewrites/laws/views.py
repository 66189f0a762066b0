"""Laws of views: which of them cancel, and how they move past maps."""

# key: xs array, n k sizes, f function

from collections.abc import Callable, Sequence

from ir.core.nodes import (
    AsScalar,
    AsVector,
    Edge,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    Reorder,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size, round_up, same
from ir.core.terms import apply, children, free, lam, once, pattern_value, variables
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Array, Scalar, Type, depth, leaves
from ir.elaborate.bijection import crossed
from rewrites.analysis.binder_names import element_of, joined, name_of, parts_of
from rewrites.analysis.folds import number
from rewrites.analysis.size_signs import divides
from rewrites.engine.rule import Rule, rule
from rewrites.laws.maps import tidy


@rule("join . split k  =  id  =  join . slide k k,  k divides the length")
def join_split(e: Join) -> Expr | None:
    match e:
        case Join(Split(_, xs)):
            return xs
        case Join(Slide(n, s, xs)) if same(n, s) and divides(n, size_of(xs)):
            return xs
    return None


@rule("split n . join  =  id,  rows of n")
def split_join(e: Split) -> Expr | None:
    match e:
        case Split(n, Join(xs)):
            row = elem_of(xs)
            return xs if isinstance(row, Array) and same(row.size, n) else None
    return None


@rule("transpose . transpose  =  id")
def transpose_twice(e: Transpose) -> Expr | None:
    match e:
        case Transpose(Transpose(xs)):
            return xs
    return None


@rule("map transpose . map transpose  =  id")
def map_transpose_twice(e: Map) -> Expr | None:
    match e:
        case Map(Lam(Var(x, _), Transpose(Transpose(Var(y, _)))), xs) if x == y:
            return xs
    return None


@rule("pad 0 0  =  id")
def pad_nothing(e: Pad | PadEdge) -> Expr | None:
    match e:
        case Pad(0, 0, _, xs) | PadEdge(_, 0, 0, xs):
            return xs
    return None


@rule("(x, y).i  =  the i-th")
def get_tuple(e: Get) -> Expr | None:
    match e:
        case Get(i, MakeTuple(parts)):
            return parts[i]
    return None


@rule("asScalar . asVector v  =  id")
def scalar_vector(e: AsScalar) -> Expr | None:
    match e:
        case AsScalar(AsVector(_, xs)):
            return xs
    return None


@rule("map (x -> f x.i x.j) (zip xs …)  =  map f (zip of the i-th and j-th of xs …)")
def unzip(e: Map) -> Expr | None:
    """A map over a zip whose function uses only some parts becomes a map over those parts."""
    match e:
        case Map(f, Zip(parts)) if not _uses_all(f.pattern, f.body, len(parts)):
            used = used_of(tidy(f), parts)
            return None if used is None else Map(*used)
    return None


@rule("map f . zip(…, zip(ys, zs), …)  =  map (f . (…, (y, z), …)) . zip(…, ys, zs, …)")
def flat_zip(e: Map) -> Expr | None:
    """A zip with zips among its parts becomes one flat zip, so that parts that are not used may be
    left out."""
    match e:
        case Map(f, Zip(parts)) if any(isinstance(p, Zip) for p in parts):
            rows = [p.parts if isinstance(p, Zip) else (p,) for p in parts]
            xs = Zip(tuple(part for row in rows for part in row))
            names = _names_in(f.pattern, [len(row) for row in rows])

            def body(x: Expr) -> Expr:
                fields = iter([Get(i, x) for i in range(len(xs.parts))])
                taken = [tuple(next(fields) for _ in row) for row in rows]
                pairs = zip(taken, parts, strict=True)
                whole = tuple(MakeTuple(t) if isinstance(p, Zip) else t[0] for t, p in pairs)
                return apply(f, MakeTuple(whole))

            return Map(tidy(lam(joined(names), elem_of(xs), body), names), xs)
    return None


def _names_in(p: Pattern, widths: Sequence[int]) -> list[str]:
    """Names for the components of what p binds, part after part: `widths[i]` names for its part
    i."""
    parts = p if isinstance(p, tuple) else (p,) * len(widths)
    pairs = zip(parts, widths, strict=True)
    return [name for part, n in pairs for name in (parts_of(part, n) if n > 1 else [name_of(part)])]


@rule("reduce z (acc, x -> f acc x.i x.j) (zip xs …)  =  reduce z f (zip of the i-th and j-th)")
def unzip_reduce(e: Reduce) -> Expr | None:
    match e:
        case Reduce(z, Lam((acc, p), body), Zip(parts)) if not _uses_all(p, body, len(parts)):
            used = used_of(tidy(Lam(p, body)), parts)
            return None if used is None else Reduce(z, _after(acc, used[0]), used[1])
    return None


def _after(acc: Pattern, f: Lam) -> Lam:
    return Lam((acc, f.pattern), f.body)


def _uses_all(p: Pattern, body: Expr, n: int) -> bool:
    """True if the pattern is one variable and the body uses each of its n components."""
    return isinstance(p, Var) and len(_components(body).get(p.name, ())) == n


@once
def _components(e: Expr) -> dict[str, frozenset[int]]:
    """The components that e reads of each variable, by the variable's name."""
    match e:
        case Get(i, Var(x, _)):
            return {x: frozenset({i})}
    found: dict[str, frozenset[int]] = {}
    for inner in map(_components, children(e)):
        for x, some in inner.items():
            found[x] = found.get(x, frozenset()) | some
    for v in variables(e.pattern) if isinstance(e, Lam | Let) else ():
        found.pop(v.name, None)
    return found


def used_of(f: Lam, parts: tuple[Expr, ...]) -> tuple[Lam, Expr] | None:
    """The function f of only those zipped `parts` that it uses, and the zip of these; None if it
    uses all."""
    if not isinstance(f.pattern, tuple):
        return None
    used = _used(f.pattern, Zip(parts), free(f.body))
    if used is None or used[1] == Zip(parts):
        return None
    return Lam(used[0], f.body), used[1]


def _used(p: Pattern, xs: Expr, names: frozenset[str]) -> tuple[Pattern, Expr] | None:
    """The pattern p and the zip xs with only those parts in which p binds one of `names`; parts
    that are zips themselves are cut down in the same way. None if there is no such part."""
    if not isinstance(p, tuple) or not isinstance(xs, Zip):
        return (p, xs) if {v.name for v in variables(p)} & names else None
    pairs = zip(p, xs.parts, strict=True)
    used = [found for q, part in pairs if (found := _used(q, part, names))]
    if len(used) < 2:
        return used[0] if used else None
    return tuple(q for q, _ in used), Zip(tuple(part for _, part in used))


@rule("map id  =  id")
def map_identity(e: Map) -> Expr | None:
    match e:
        case Map(Lam(p, inner), xs) if pattern_value(p) == inner:
            return xs
    return None


@rule("pad_any . crop  =  id")
def pad_cropped(e: PadEdge) -> Expr | None:
    """A `pad_any` of a crop of as many elements is the array itself: what is added may be what was
    cropped."""
    match e:
        case PadEdge(Edge.ANY, 0, right, PadEdge(_, 0, left, xs) | Pad(0, left, _, xs)) if same(
            right + left, 0
        ):
            return xs
    return None


@rule("pad_any . zip  =  zip . map pad_any")
def pad_zip(e: PadEdge) -> Expr | None:
    match e:
        case PadEdge(edge, left, right, Zip(parts)):
            return Zip(tuple(PadEdge(edge, left, right, p) for p in parts))
    return None


@rule("id  =  join . split k")
def split_open(e: Expr, k: Size) -> Expr | None:
    t = type_of(e)
    return Join(Split(k, e)) if isinstance(t, Array) and divides(k, t.size) else None


@rule("id  =  map^level join . map^level (split k)")
def split_inner(e: Expr, k: Size, level: Size) -> Expr | None:
    """The arrays `level` dimensions inside e are split into rows of k, and joined again."""
    assert isinstance(level, int)
    row = _row(type_of(e), level)
    if row is None or not divides(k, row.size):
        return None
    return beneath_maps(level, Join, beneath_maps(level, lambda r: Split(k, r), e))


def beneath_maps(level: int, f: Callable[[Expr], Expr], e: Expr) -> Expr:
    """The term map^level f e."""
    if level == 0:
        return f(e)
    return Map(lam(element_of(e), elem_of(e), lambda r: beneath_maps(level - 1, f, r)), e)


def _row(t: Type, level: int) -> Array | None:
    """The type of the arrays that stand `level` dimensions inside the type t; None if there are
    none."""
    if not isinstance(t, Array):
        return None
    return t if level == 0 else _row(t.elem, level - 1)


@rule("id  =  split n . join,  rows of n")
def join_open(e: Expr) -> Expr | None:
    t = type_of(e)
    rows = t.elem if isinstance(t, Array) else t
    return Split(rows.size, Join(e)) if isinstance(rows, Array) and rows is not t else None


@rule("id  =  map^level (split n) . map^level join,  rows of n")
def join_inner(e: Expr, level: Size) -> Expr | None:
    """The arrays `level` dimensions inside e are joined, and split again."""
    assert isinstance(level, int)
    row = _row(type_of(e), level)
    if row is None or not isinstance(row.elem, Array):
        return None
    n = row.elem.size
    return beneath_maps(level, lambda r: Split(n, r), beneath_maps(level, Join, e))


@rule("id  =  crop . pad (0, round_up(n, k) - n) 0")
def round_open(e: Expr, k: Size) -> Expr | None:
    t = type_of(e)
    if not isinstance(t, Array):
        return None
    more = round_up(t.size, k) - t.size
    scalar, *others = set(leaves(t))
    if more == 0 or others or not isinstance(scalar, Scalar):
        return None
    zero = number(0, scalar)
    return Pad(0, -more, zero, Pad(0, more, zero, e))


@rule("id  =  map^level crop . map^level (pad_any (0, n))")
def room_inner(e: Expr, n: Size, level: Size) -> Expr | None:
    """Room for n more elements, whatever these are, is added to the arrays `level` dimensions
    inside e, and cropped again."""
    assert isinstance(level, int)
    if _row(type_of(e), level) is None:
        return None
    roomy = beneath_maps(level, lambda r: PadEdge(Edge.ANY, 0, n, r), e)
    return beneath_maps(level, lambda r: PadEdge(Edge.ANY, 0, -n, r), roomy)


@rule("id  =  transpose . transpose")
def transpose_open(e: Expr) -> Expr | None:
    return Transpose(Transpose(e)) if depth(type_of(e)) > 1 else None


@rule("id  =  map^level transpose . map^level transpose")
def transpose_inner(e: Expr, level: Size) -> Expr | None:
    """The arrays `level` dimensions inside e are transposed, twice."""
    assert isinstance(level, int)
    return swapped(swapped(e, level), level) if depth(type_of(e)) > level + 1 else None


def swapped(e: Expr, level: int) -> Expr:
    """The term map^level transpose e."""
    return beneath_maps(level, Transpose, e)


@rule("transposes of dimensions  =  the fewest that arrange them so")
def fewest_transposes(e: Map | Transpose) -> Expr | None:
    """A chain of transposes becomes the shortest that arranges the dimensions in the same order."""
    levels, inner = _transposes(e)
    if len(levels) < 2:
        return None
    order = list(range(max(levels) + 2))
    for level in reversed(levels):
        order[level], order[level + 1] = order[level + 1], order[level]
    fewest = _sorting(order)
    if len(fewest) >= len(levels) and fewest >= levels:
        return None
    for level in reversed(fewest):
        inner = swapped(inner, level)
    return inner


def _transposes(e: Expr) -> tuple[list[int], Expr]:
    """The levels of the chain of transposes at the root of e, outermost first, and the term that
    they transpose."""
    levels: list[int] = []
    while (found := _transposed(e)) is not None:
        levels.append(found[0])
        e = found[1]
    return levels, e


def _transposed(e: Expr) -> tuple[int, Expr] | None:
    """The level and the term xs, where e is map^level transpose xs; else None."""
    match e:
        case Transpose(xs):
            return 0, xs
        case Map(Lam(Var(x, _), body), xs):
            inner = _transposed(body)
            if inner is not None and isinstance(inner[1], Var) and inner[1].name == x:
                return inner[0] + 1, xs
    return None


def _sorting(order: list[int]) -> list[int]:
    """The exchanges of neighbours that put dimensions in this order, by insertion, the last applied
    first."""
    order, swaps = list(order), []
    for end in range(len(order)):
        for at in reversed(range(end)):
            if order[at] > order[at + 1]:
                order[at], order[at + 1] = order[at + 1], order[at]
                swaps.append(at)
    return swaps


@rule("id  =  map^level (reorder (crossed n by every)) . map^level (reorder (crossed n by every))")
def cross_inner(e: Expr, n: Size, by: Size, every: Size, level: Size) -> Expr | None:
    """The arrays `level` dimensions inside e, seen as rows of n, have the places of each row
    exchanged as its number, divided by `every`, times `by` says, and exchanged back again."""
    assert isinstance(level, int)
    row = _row(type_of(e), level)
    if not isinstance(n, int) or not isinstance(by, int) or not isinstance(every, int):
        return None
    if row is None or not isinstance(row.size, int) or row.size % n or n & (n - 1) or every < 1:
        return None
    f = crossed(n, by, every)
    inner = beneath_maps(level, lambda r: Reorder(f, r), e)
    return beneath_maps(level, lambda r: Reorder(f, r), inner)


@rule("reorder id  =  id")
def reorder_nothing(e: Reorder) -> Expr | None:
    match e:
        case Reorder(Lam(p, inner), xs) if p == inner:
            return xs
    return None


SIMPLER: tuple[Rule, ...] = (
    join_split,
    split_join,
    transpose_twice,
    map_transpose_twice,
    pad_nothing,
    get_tuple,
    scalar_vector,
    unzip,
    unzip_reduce,
    map_identity,
    pad_cropped,
    reorder_nothing,
)

"""Laws of reductions: splitting, flattening, interchange with maps and with each other."""

# key: z initial value, f folding function, g elementwise function, xs array, k size

from collections.abc import Sequence

from ir.core.nodes import (
    AsScalar,
    Binary,
    Expr,
    Get,
    Join,
    Lam,
    MakeTuple,
    Map,
    Pattern,
    Reduce,
    Reorder,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size, same
from ir.core.terms import apply, free, lam, lam2, subterms
from ir.core.type_rules import array_of, elem_of, size_of, type_of
from ir.core.types import Array, Tuple, Type
from ir.core.views import is_view
from ir.elaborate.bijection import stride
from rewrites.analysis.alpha_equality import apart, bound
from rewrites.analysis.binder_names import (
    joined,
    name_of,
    parts_of,
    several,
    several_of,
    step_patterns,
    value_of,
)
from rewrites.analysis.folds import fold_of, operator, unit
from rewrites.analysis.size_signs import divides
from rewrites.engine.rule import rule
from rewrites.laws.maps import call, only_components, tidy


def folding(f: Lam) -> Type:
    """The type of the accumulator of a reduction's function."""
    return type_of(f.body)


def fold(f: Lam, acc: Expr, x: Expr) -> Expr:
    """The function f of a reduction applied to acc and x."""
    return apply(f, MakeTuple((acc, x)))


@rule("reduce z f  =  reduce z (reduce f) . split k")
def split_reduce(e: Reduce, k: Size) -> Expr | None:
    match e:
        case Reduce(z, f, xs) if divides(k, size_of(xs)):
            return _nest(z, f, Split(k, xs))
    return None


@rule("reduce z f . join  =  reduce z (reduce f)")
def unjoin_reduce(e: Reduce) -> Expr | None:
    match e:
        case Reduce(z, f, Join(xss)):
            return _nest(z, f, xss)
    return None


def _nest(z: Expr, f: Lam, xss: Expr) -> Expr:
    acc, x = step_patterns(f)
    names = (name_of(acc), several(x))
    return Reduce(z, lam2(names, (folding(f), elem_of(xss)), lambda a, row: Reduce(a, f, row)), xss)


@rule("reduce z (x -> reduce f s)  =  reduce z f . join . map (x -> s)")
def join_reduce(e: Reduce) -> Expr | None:
    match e:
        case Reduce(z, Lam((Var(acc, _), p), Reduce(Var(a, _), f, s)), xs) if (
            acc == a and not bound(Lam(p, z)) & free(f) and acc not in free(f) | free(s)
        ):
            if not isinstance(s, Zip):
                return Reduce(z, f, Join(Map(Lam(p, s), xs)))
            return Reduce(z, f, Zip(tuple(Join(Map(Lam(p, part), xs)) for part in s.parts)))
    return None


@rule("reduce z (x -> reduce f s)  =  reduce z (reduce f) . transpose . map (x -> s),  f a fold")
def interchange_reduce(e: Reduce) -> Expr | None:
    """The two outermost folds of a nest of folds exchange places."""
    match e:
        case Reduce(z, Lam((Var(acc, _), p), Reduce(Var(a, _), f, s)), xs) if (
            acc == a and not bound(Lam(p, z)) & free(f) and acc not in free(f) | free(s)
        ):
            if not operator(f):
                return None
            if not isinstance(s, Zip):
                return _nest(z, f, Transpose(Map(Lam(p, s), xs)))
            columns = Zip(tuple(Transpose(Map(Lam(p, part), xs)) for part in s.parts))
            outer, x = step_patterns(f)
            step = lam2(
                (name_of(outer), several(x)),
                (folding(f), elem_of(columns)),
                lambda a, x: Reduce(a, f, Zip(_fields(x, len(s.parts)))),
            )
            return Reduce(z, step, columns)
    return None


@rule("reduce z f . map g  =  reduce z (acc, x -> f acc (g x))")
def fuse_reduce(e: Reduce) -> Expr | None:
    match e:
        case Reduce(z, f, Map(g, xs)):
            return Reduce(z, _after(f, g), xs)
    return None


def _after(f: Lam, g: Lam) -> Lam:
    f = apart(f, free(g))
    g = apart(g, free(f) | bound(f))
    assert isinstance(f.pattern, tuple)
    acc, x = f.pattern
    return Lam((acc, g.pattern), call(Lam(x, f.body), g.body))


@rule("reduce z (acc ⊕ reduce 0 ⊕ g)  =  reduce z (reduce g)")
def flatten_fold(e: Reduce) -> Expr | None:
    """A fold whose term is a fold with the same operator, started from its unit, becomes one nest:
    the inner fold goes on from the outer accumulator."""
    match e:
        case Reduce(z, f, xs):
            outer = fold_of(f)
            if outer is None or not isinstance(outer.term, Reduce):
                return None
            inner = outer.term
            folded = fold_of(inner.f)
            if folded is None or folded.op != outer.op:
                return None
            if inner.init != unit(outer.op, type_of(inner)):
                return None
            assert isinstance(f.pattern, tuple)
            acc = f.pattern[0]
            assert isinstance(acc, Var)
            return Reduce(z, Lam(f.pattern, Reduce(acc, inner.f, inner.xs)), xs)
    return None


@rule("reduce 0 ⊕ g xs ⊕ b  =  reduce b ⊕ g xs")
def absorb_init(e: Binary) -> Expr | None:
    """A number combined with a finished fold, by the fold's operator, becomes the fold's initial
    value."""
    match e:
        case Binary(op, Reduce(z, f, xs), b) | Binary(op, b, Reduce(z, f, xs)):
            scalar = is_view(b) and not isinstance(type_of(b), Array)
            starts = z == unit(op, type_of(z)) and type_of(b) == type_of(z)
            if scalar and operator(f) == op and starts:
                return Reduce(b, f, xs)
    return None


@rule("reduce b ⊕ g xs  =  reduce 0 ⊕ g xs ⊕ b")
def release_init(e: Reduce) -> Expr | None:
    """A fold's initial value is combined with the finished fold instead: the reverse of
    `absorb_init`."""
    match e:
        case Reduce(z, f, xs):
            op, t = operator(f), folding(f)
            zero = unit(op, t) if op else None
            if op is None or zero is None or z == zero or type_of(z) != t:
                return None
            return Binary(op, Reduce(zero, f, xs), z)
    return None


@rule("zip (join xs) (join ys)  =  join (map zip (zip xs ys))")
def zip_joins(e: Zip) -> Expr | None:
    """A zip with a part that is a join becomes the join of a zip; other parts are split to
    match."""
    match e:
        case Zip(parts) if any(isinstance(p, Join) for p in parts):
            widths = [array_of(elem_type(p.xs)).size for p in parts if isinstance(p, Join)]
            n = widths[0]
            if not all(same(w, n) for w in widths):
                return None
            rows = tuple(p.xs if isinstance(p, Join) else Split(n, p) for p in parts)
            pairs = Zip(rows)
            return Join(
                Map(
                    lam("row", elem_of(pairs), lambda r: Zip(_fields(r, len(rows)))),
                    pairs,
                )
            )
    return None


def elem_type(xs: Expr) -> Expr:
    """A variable that stands for an element of xs."""
    return Var("_", elem_of(xs))


def _fields(r: Expr, n: int) -> tuple[Expr, ...]:
    return tuple(Get(i, r) for i in range(n))


@rule("map (x -> reduce z f s) xs  =  reduce (map z xs) (map f . zip) (transpose (map s xs))")
def interchange_map_reduce(e: Map) -> Expr | None:
    """A map of reductions becomes a reduction of arrays whose step is a map: this makes register
    blocks.

    Zipped parts that do not depend on the map's element are shared by all elements.
    """
    match e:
        case Map(Lam(p, Reduce(z, f, s)), xs):
            if bound(Lam(p, z)) & free(f):
                return None
            parts = s.parts if isinstance(s, Zip) else (s,)
            used = [bool(bound(Lam(p, z)) & free(part)) for part in parts]
            sources = [
                Transpose(Map(Lam(p, part), xs)) if mine else part
                for part, mine in zip(parts, used, strict=True)
            ]
            xss = Zip(tuple(sources)) if isinstance(s, Zip) else sources[0]
            inits = Map(Lam(p, z), xs)
            accs = Array(folding(f), size_of(xs))
            step = lam2(
                _names_of_rows(f, used),
                (accs, elem_of(xss)),
                lambda acc, row: _advance(f, acc, row, used, isinstance(s, Zip)),
            )
            return Reduce(inits, step, xss)
    return None


def _names_of_rows(f: Lam, used: Sequence[bool]) -> tuple[str, str]:
    """The names of the accumulator and of the element that f binds; the element's name has a plural
    for each of its parts whose entry in `used` is true."""
    acc, x = step_patterns(f)
    return name_of(acc), joined(several_of(x, used))


def _advance(f: Lam, acc: Expr, row: Expr, used: list[bool], zipped: bool) -> Expr:
    fields = [Get(i, row) for i in range(len(used))] if zipped else [row]
    mine = tuple(x for x, u in zip(fields, used, strict=True) if u)
    pairs = Zip((acc, *mine))

    def body(t: Expr) -> Expr:
        own = iter(range(1, len(mine) + 1))
        x = tuple(Get(next(own), t) if u else field for field, u in zip(fields, used, strict=True))
        return fold(f, Get(0, t), MakeTuple(x) if zipped else x[0])

    outer, x = step_patterns(f)
    own_names = [name for name, u in zip(parts_of(x, len(used)), used, strict=True) if u]
    names = [name_of(outer), *own_names]
    return Map(tidy(lam(joined(names), elem_of(pairs), body), names), pairs)


@rule("reduce z ⊕ g  =  reduce z ⊕ g . reorder (stride s),  ⊕ associative and commutative")
def reorder_fold(e: Reduce, s: Size) -> Expr | None:
    """A fold takes its n elements in strided order: the element at i n/s + j is the one at i + j s.

    So a chunk takes every s-th element. Where elements are to be vectors, form them first: a stride
    before that would mix the lanes.
    """
    match e:
        case Reduce(z, f, xs) if operator(f) and divides(s, size_of(xs)):
            index = stride(s, size_of(xs))
            if isinstance(xs, Zip):
                return Reduce(z, f, Zip(tuple(Reorder(index, part) for part in xs.parts)))
            return Reduce(z, f, Reorder(index, xs))
    return None


@rule(
    "reduce z ⊕ . map (reduce 0 ⊕ g) . split k"
    "  =  reduce z ⊕ . map (reduce 0 ⊕ g) . split k . reorder (stride of the parts)"
)
def stride_parts(e: Reduce) -> Expr | None:
    """A fold over parts, each of which folds k neighbours of n elements, becomes one whose parts
    take other elements: part i takes those at i, i + n/k, i + 2 n/k, …, so that neighbouring parts
    read neighbours.

    This is the LIFT paper's coalescing. Elements that are vectors already move whole.
    """
    match e:
        case Reduce(_, f, AsScalar(Map(part, chunks)) | Map(part, chunks)):
            count = size_of(chunks)
            xs = _chunked(chunks)
            whole = fold_of(f)
            if xs is None or count == 1 or whole is None or not _sums_up(part, whole.op):
                return None
            if not (isinstance(f.pattern, tuple) and whole.term == f.pattern[1]):
                return None

            def strided(chunk: Split) -> Expr:
                return Split(chunk.size, Reorder(stride(count, size_of(chunk.xs)), chunk.xs))

            new = Zip(tuple(map(strided, xs))) if isinstance(chunks, Zip) else strided(xs[0])
            parts = Map(part, new)
            return Reduce(e.init, f, AsScalar(parts) if isinstance(e.xs, AsScalar) else parts)
    return None


def _chunked(chunks: Expr) -> list[Split] | None:
    """The splits that make `chunks`: one for an array, or one for each part of a zip; None if the
    array, or a part, is not split."""
    parts = chunks.parts if isinstance(chunks, Zip) else (chunks,)
    splits = [part for part in parts if isinstance(part, Split)]
    return splits if len(splits) == len(parts) else None


def _sums_up(part: Lam, op: str) -> bool:
    """True if the function `part` folds its chunk with the operator `op` from its unit."""
    match part:
        case Lam(Var(c, t), Reduce(z, g, xs)):
            fields = _fields(Var(c, t), len(t.parts)) if isinstance(t, Tuple) else ()
            whole = xs == Var(c, t) or (isinstance(xs, Zip) and xs.parts == fields)
            return whole and c not in free(g) and operator(g) == op and z == unit(op, type_of(z))
    return False


@rule("reduce zs (map f . zip)  =  map (reduce f) . zip zs . transpose")
def interchange_reduce_map(e: Reduce) -> Expr | None:
    """A reduction of arrays becomes a map of reductions, one for each element: the reverse of
    `interchange_map_reduce`."""
    match e:
        case Reduce(zs, Lam((Var(acc, _), p), Map(f, Zip((Var(a, _), *parts)))), xss) if (
            acc == a and acc not in free(f).union(*map(free, parts))
        ):
            columns = [Transpose(Map(Lam(p, part), xss)) for part in parts]
            pairs = Zip((zs, *columns))
            name = name_of(f.pattern)
            return Map(lam(name, elem_of(pairs), lambda t: _one(p, f, xss, len(columns), t)), pairs)
    return None


def _one(p: Pattern, f: Lam, xss: Expr, columns: int, t: Expr) -> Expr:
    """The reduction that makes one element of the result, by the function f. It goes over the rows
    xss, whose elements p binds, and over the element's part of each of the `columns` other
    operands. The tuple t holds the initial value and these parts."""
    rows = xss.parts if isinstance(xss, Zip) else (xss,)
    sources = (*rows, *(Get(1 + i, t) for i in range(columns)))

    def step(acc: Expr, x: Expr) -> Expr:
        fields = _fields(x, len(sources))
        row = MakeTuple(fields[: len(rows)]) if isinstance(xss, Zip) else fields[0]
        return apply(Lam(p, apply(f, MakeTuple((acc, *fields[len(rows) :])))), row)

    elems = Tuple(tuple(map(elem_of, sources)))
    acc, *own = parts_of(f.pattern, 1 + columns)
    names = [*parts_of(p, len(rows)), *own]
    return _over_used(Get(0, t), lam2((acc, joined(names)), (folding(f), elems), step), sources)


def _over_used(z: Expr, f: Lam, sources: tuple[Expr, ...]) -> Expr:
    """The reduction by f, from the initial value z, over those of the zipped `sources` that f
    uses."""
    assert isinstance(f.pattern, tuple)
    acc, x = f.pattern
    assert isinstance(acc, Var)
    assert isinstance(x, Var)
    if not only_components(f.body, x.name):
        return Reduce(z, f, Zip(sources))
    read = {s.index for s in subterms(f.body) if isinstance(s, Get) and s.e == x}
    used = sorted(read) or [0]
    kept = tuple(sources[i] for i in used)
    xs = Zip(kept) if len(kept) > 1 else kept[0]

    def step(a: Expr, y: Expr) -> Expr:
        own = dict(zip(used, _fields(y, len(kept)) if len(kept) > 1 else (y,), strict=True))
        return apply(
            f, MakeTuple((a, MakeTuple(tuple(own.get(i, y) for i in range(len(sources))))))
        )

    names = parts_of(x, len(sources))
    whole = joined([names[i] for i in used])
    return Reduce(z, lam2((acc.name, whole), (acc.type, elem_of(xs)), step), xs)


@rule("reduce z ⊕ g  =  reduce z ⊕ . map (reduce 0 ⊕ g) . split k,  ⊕ associative")
def partial_reduce(e: Reduce, k: Size) -> Expr | None:
    match e:
        case Reduce(z, f, xs) if divides(k, size_of(xs)):
            op, t = operator(f), folding(f)
            zero = unit(op, t) if op else None
            if op is None or zero is None:
                return None
            rows = tuple(Split(k, part) for part in xs.parts) if isinstance(xs, Zip) else None
            chunks = Zip(rows) if rows else Split(k, xs)
            acc, x = step_patterns(f)
            part = lam(several(x), elem_of(chunks), lambda c: Reduce(zero, f, _rezip(c, rows)))
            names = (name_of(acc), value_of(e))
            plus = lam2(names, (t, t), lambda a, x: Binary(op, a, x))
            return Reduce(z, plus, Map(part, chunks))
    return None


def _rezip(c: Expr, rows: tuple[Expr, ...] | None) -> Expr:
    return Zip(_fields(c, len(rows))) if rows else c

"""Laws of maps: fusion and fission, splitting, rounding up, and moving views out of them."""

# key: f g functions, xs ys arrays, k size, x y elements

from collections.abc import Sequence

from ir.core.nodes import (
    Edge,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    PadEdge,
    Split,
    Var,
    Zip,
)
from ir.core.size import Size, round_up
from ir.core.terms import (
    apply,
    bound_names,
    children,
    free,
    fresh,
    identity,
    lam,
    lam2,
    let,
    rebuild,
    substitute,
    variables,
)
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import INT, Array, Tuple
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import apart, bound, uses
from rewrites.analysis.binder_names import joined, name_of, parts_of, several, value_of
from rewrites.analysis.out_views import is_out_view
from rewrites.analysis.size_signs import at_most, divides
from rewrites.engine.rule import Place, get, put, rule


def compose(f: Lam, g: Lam) -> Lam:
    """The function x -> f(g(x)); what g computes is computed once."""
    g = apart(g, free(f))
    return Lam(g.pattern, call(f, g.body))


def call(f: Lam, e: Expr) -> Expr:
    """The term f(e); if e is computed and f uses it more than once, a let binds it."""
    once = all(uses(f.body, v.name) <= 1 for v in variables(f.pattern))
    if is_view(e) or (once and isinstance(f.pattern, Var)):
        return apply(f, e)
    f = tidy(f) if isinstance(e, MakeTuple) else f
    if isinstance(e, MakeTuple) and isinstance(f.pattern, tuple):
        f = apart(f, free(e))
        assert isinstance(f.pattern, tuple)
        result = f.body
        for p, part in zip(f.pattern, e.parts, strict=True):
            result = call(Lam(p, result), part)
        return result
    return let(name_of(f.pattern), e, type_of(e), lambda v: apply(f, v))


@rule("map f . map g  =  map (f . g)")
def fuse_maps(e: Map) -> Expr | None:
    match e:
        case Map(f, Map(g, xs)):
            return Map(compose(f, g), xs)
    return None


@rule("map f . zip(…, map g xs, …)  =  map (f . (…, g, …)) . zip(…, xs, …)")
def fuse_zip(e: Map) -> Expr | None:
    match e:
        case Map(f, Zip(parts)) if any(isinstance(p, Map) for p in parts):
            sources = tuple(p.xs if isinstance(p, Map) else p for p in parts)
            t, f = Tuple(tuple(elem_of(s) for s in sources)), tidy(f)
            names = [
                name_of(p.f.pattern) if isinstance(p, Map) else name
                for p, name in zip(parts, parts_of(f.pattern, len(parts)), strict=True)
            ]

            def body(x: Expr) -> Expr:
                fields = [
                    apply(p.f, Get(i, x)) if isinstance(p, Map) else Get(i, x)
                    for i, p in enumerate(parts)
                ]
                return call(f, MakeTuple(tuple(fields)))

            return Map(tidy(lam(joined(names), t, body), names), Zip(sources))
    return None


@rule("map f . zip(…, generate n c, …)  =  map (f . (…, c, …)) . zip(…)")
def constant_part(e: Map) -> Expr | None:
    """A zipped part that is the same literal for all elements goes into the map's function."""
    match e:
        case Map(f, Zip(parts)):
            values = [_constant(part) for part in parts]
            rest = tuple(p for p, c in zip(parts, values, strict=True) if c is None)
            if len(rest) in (0, len(parts)):
                return None
            xs = Zip(rest) if len(rest) > 1 else rest[0]
            fields = zip(parts_of(f.pattern, len(parts)), values, strict=True)
            names = [name for name, c in fields if c is None]

            def body(x: Expr) -> Expr:
                left = iter([Get(i, x) for i in range(len(rest))] if len(rest) > 1 else [x])
                return apply(f, MakeTuple(tuple(next(left) if c is None else c for c in values)))

            return Map(tidy(lam(joined(names), elem_of(xs), body), names), xs)
    return None


def _constant(xs: Expr) -> Expr | None:
    """The literal that every element of xs is, if that is known; else None."""
    match xs:
        case Generate(_, Lam(_, Lit() as c)):
            return c
    return None


def tidy(f: Lam, hints: Sequence[str] = ()) -> Lam:
    """The function f of a tuple x, if it uses x only by its parts, as a function of these: x ->
    e(x.0, x.1) becomes (x0, x1) -> e(x0, x1). The parts are named like x, or by `hints`. Other
    functions stay as they are."""
    if not isinstance(f.pattern, Var) or not isinstance(f.pattern.type, Tuple):
        return f
    name, parts = f.pattern.name, f.pattern.type.parts
    if not only_components(f.body, name):
        return f
    avoid = set(free(f.body))
    fields: list[Var] = []
    names = hints if len(hints) == len(parts) else parts_of(f.pattern, len(parts))
    for hint, t in zip(names, parts, strict=True):
        fields.append(Var(fresh(hint, avoid), t))
        avoid.add(fields[-1].name)
    return Lam(tuple(fields), apply(f, MakeTuple(tuple(fields))))


def only_components(e: Expr, name: str) -> bool:
    """True if the tuple variable `name` is used in e only as name.i."""
    if name not in free(e):
        return True
    match e:
        case Var():
            return False
        case Get(_, Var(x, _)) if x == name:
            return True
    return all(only_components(c, name) for c in children(e))


@rule("map (x -> f (g x))  =  map f . map g")
def fission(e: Map, place: Place = ()) -> Expr | None:
    """A map becomes two: the inner one makes, for each element, the term at `place` in the body,
    and the outer one makes the results from that, and from the elements if it needs them."""
    match e:
        case Map(f, xs):
            inner = get(f.body, place)
            if isinstance(inner, Lam) or free(inner) & bound_above(f.body, place):
                return None
            g = Lam(f.pattern, inner)
            t = Tuple((elem_of(xs), type_of(inner)))
            mark = fresh(value_of(inner), free(f.body) | bound(f) | bound_names(f.body))
            rest = put(f.body, place, Var(mark, type_of(inner)))
            outer = lam2(
                (name_of(f.pattern), mark),
                (t.parts[0], t.parts[1]),
                lambda x, r: substitute(apply(Lam(f.pattern, rest), x), {mark: r}),
            )
            used = any(uses(rest, v.name) for v in variables(f.pattern))
            if not used:
                return Map(lam(mark, t.parts[1], lambda r: substitute(rest, {mark: r})), Map(g, xs))
            return Map(outer, Zip((xs, Map(g, xs))))
    return None


def bound_above(e: Expr, place: Place) -> frozenset[str]:
    """The names that are bound between the root of e and a place inside it."""
    if not place:
        return frozenset()
    inner = bound_above(children(e)[place[0]], place[1:])
    if isinstance(e, Lam) or (isinstance(e, Let) and place[0] == 1):
        return inner | {v.name for v in variables(e.pattern)}
    return inner


@rule("map f  =  join . map (map f) . split k")
def split_map(e: Map, k: Size) -> Expr | None:
    match e:
        case Map(f, xs) if divides(k, size_of(xs)):
            chunks = Split(k, xs)
            return Join(Map(lam(several(f.pattern), elem_of(chunks), lambda c: Map(f, c)), chunks))
    return None


@rule("xs  =  join (map (_ -> xs) (generate 1 id))")
def unit_map(e: Expr) -> Expr | None:
    """An array becomes the join of a map with a single result, the array: so there is one more map
    around what makes it."""
    if not isinstance(type_of(e), Array):
        return None
    return Join(Map(lam("one", INT, lambda _: e), Generate(1, identity(INT))))


@rule("map f xs  =  crop . map f . pad_any (0, round_up(n, k) - n) xs")
def round_map(e: Map, k: Size) -> Expr | None:
    match e:
        case Map(f, xs):
            n = size_of(xs)
            more = round_up(n, k) - n
            if more == 0:
                return None
            return PadEdge(Edge.ANY, 0, -more, Map(f, PadEdge(Edge.ANY, 0, more, xs)))
    return None


@rule("map f xs  =  crop . map f . pad_any (0, r) xs")
def extend_map(e: Map, r: Size) -> Expr | None:
    match e:
        case Map(f, xs) if r != 0 and at_most(0, r):
            return PadEdge(Edge.ANY, 0, -r, Map(f, PadEdge(Edge.ANY, 0, r, xs)))
    return None


@rule("map (view . f)  =  map view . map f")
def pull_view(e: Map) -> Expr | None:
    """A map of a function that ends in a view becomes a map without that view, and a map of the
    view around it."""
    match e:
        case Map(Lam(p, view), xs) if is_out_view(view):
            if names_in_view(view) & bound(Lam(p, view)):
                return None
            parts = children(view)
            inner = parts[-1]
            outer = lam(value_of(inner), type_of(inner), lambda v: rebuild(view, (*parts[:-1], v)))
            return Map(outer, Map(Lam(p, inner), xs))
    return None


def names_in_view(view: Expr) -> frozenset[str]:
    """The variables that a view itself uses, not the term that it shows."""
    return frozenset[str]().union(*map(free, children(view)[:-1]))


@rule("let x = view in e  =  e[view / x]")
def inline_view(e: Let) -> Expr | None:
    match e:
        case Let(p, value, inner) if is_view(value):
            return apply(Lam(p, inner), value)
    return None

"""The law of numbers that are read beside results: they become arrays of the results' shape, so
that a lane, which holds some results, reads the numbers that belong to these."""

# key: e nest of maps, a number that is read, x result, g function of numbers, p pattern

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Generate, Get, Lam, Let, Map, Pattern, Var, Zip
from ir.core.size import Size
from ir.core.terms import bound_names, free, fresh, over, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Scalar
from rewrites.analysis.binder_names import value_of
from rewrites.engine.rule import rule
from rewrites.number_laws.instructions import bijective_views, on_elements, one_by_one


@frozen
class _Level:
    """A map of a nest over results: its size, the variable that some results, or one, are bound to,
    and the arrays that it goes over beside them, each with the pattern of an element."""

    size: Size
    held: Var
    beside: tuple[tuple[Pattern, Expr], ...]


@frozen
class _Nest:
    """A nest of maps over all dimensions of the array `results`: its maps (`levels`), and its
    innermost body, a number."""

    results: Expr
    levels: tuple[_Level, ...]
    body: Expr

    @property
    def x(self) -> Var:
        """The variable of one result."""
        return self.levels[-1].held

    @property
    def bound(self) -> frozenset[str]:
        """The names that the maps bind, but for that of one result."""
        patterns = [p for level in self.levels for p, _ in (*level.beside, (level.held, None))]
        return frozenset(v.name for p in patterns for v in variables(p)) - {self.x.name}


@rule(
    "map (… (map (x -> g a x)))  =  map (… (map ((a, x) -> g a x))) . zip (map (… (map (x -> a)))),"
    "  x an element of a bijective view, a of what else the maps go over"
)
def read_beside(e: Map) -> Expr | None:
    """A function of single results that reads numbers which belong to rows or columns of them, such
    as the scale of a channel, becomes a function of elements of arrays of one shape."""
    found = _nest(e) if one_by_one(e) is None else None
    if found is None:
        return None
    read, body = dict[Expr, Var](), found.body
    g = _reading(body, found.bound, read, {*free(body), *bound_names(body), found.x.name})
    if not read or not free(g).isdisjoint(found.bound):
        return None
    arrays = [_repeated(found.levels, a) for a in read]
    return on_elements((*arrays, found.results), (*read.values(), found.x), g)


def _nest(e: Map) -> _Nest | None:
    """The nest e, if it goes over all dimensions of a bijective view and over other arrays; else
    None."""
    for n, (p, xs) in enumerate(_gone_over(e)):
        if isinstance(p, Var) and bijective_views(xs)[2] is not xs:
            found = _inside(e, n, xs)
            if found is not None:
                return found
    return None


def _inside(e: Map, n: int, results: Expr) -> _Nest | None:
    """The nest e, whose part n of what it goes over are the `results`."""
    pairs, inner = _gone_over(e), e.f.body
    held, beside = pairs[n][0], (*pairs[:n], *pairs[n + 1 :])
    if not isinstance(held, Var):
        return None
    level = _Level(size_of(e.xs), held, beside)
    if isinstance(held.type, Scalar):
        return _Nest(results, (level,), inner) if isinstance(type_of(inner), Scalar) else None
    if not isinstance(inner, Map):
        return None
    rows = _gone_over(inner)
    at = next((m for m, (_, xs) in enumerate(rows) if xs == held), None)
    found = None if at is None else _inside(inner, at, results)
    if found is None or any(held.name in free(xs) for v in found.levels for _, xs in v.beside):
        return None
    return _Nest(results, (level, *found.levels), found.body)


def _gone_over(e: Map) -> tuple[tuple[Pattern, Expr], ...]:
    """The arrays that the map e goes over, each with the pattern that its elements are bound to."""
    match e.f.pattern, e.xs:
        case tuple() as patterns, Zip(parts):
            return tuple(zip(patterns, parts, strict=True))
    return ((e.f.pattern, e.xs),)


def _reading(e: Expr, bound: frozenset[str], read: dict[Expr, Var], avoid: set[str]) -> Expr:
    """The term e with a variable in the place of each number that it reads of what has the names
    `bound`; `read` gets these numbers and their variables, whose names are not in `avoid`."""
    if bound.isdisjoint(free(e)):
        return e
    if isinstance(e, Var | Get) and isinstance(type_of(e), Scalar):
        if e not in read:
            name = fresh(value_of(e), avoid)
            read[e] = Var(name, type_of(e))
            avoid.add(name)
        return read[e]
    if isinstance(e, Let):
        value = _reading(e.value, bound, read, avoid)
        inner = bound - {v.name for v in variables(e.pattern)}
        return Let(e.pattern, value, _reading(e.body, inner, read, avoid))
    if isinstance(e, Lam):
        return e
    return over(lambda part: _reading(part, bound, read, avoid), e)


def _repeated(levels: tuple[_Level, ...], a: Expr) -> Expr:
    """The array of the results' shape whose elements are a, as a is where the maps `levels` end."""
    for level in reversed(levels):
        used = [(p, xs) for p, xs in level.beside if free(a) & {v.name for v in variables(p)}]
        if not used:
            a = Generate(level.size, Lam(Var(fresh("i", set(free(a))), INT), a))
            continue
        patterns, arrays = zip(*used, strict=True)
        alone = len(used) == 1
        xs = arrays[0] if alone else Zip(tuple(arrays))
        a = Map(Lam(patterns[0] if alone else tuple(patterns), a), xs)
    return a

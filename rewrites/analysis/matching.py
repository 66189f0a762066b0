"""Matching of a term with a pattern, up to names of bound variables, a + b = b + a, and the order
of two zipped arrays."""

# key: p pattern term, e term

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from ir.core.nodes import Binary, Expr, Lam, Let, Map, Pattern, Reduce, Var, Zip
from ir.core.terms import children, free, fresh, pattern_value, substitute, variables
from ir.core.type_rules import type_of
from ir.core.types import FLOAT, Tuple, equal

Found = Mapping[str, Expr]
COMMUTES = frozenset({"+", "*", "max", "min"})


def instance(p: Expr, holes: frozenset[str], e: Expr) -> Found | None:
    """The terms that the holes (variables) of the pattern p stand for in e; None if e is not an
    instance of p.

    A hole may occur more than once, and stands for nothing that e binds.
    """
    return next(_instances(p, e, holes, {}, {}), None)


def _instances(
    p: Expr, e: Expr, holes: frozenset[str], bound: Mapping[str, str], found: Found
) -> Iterator[Found]:
    """All ways in which e is an instance of the pattern p, given the terms `found` for holes so
    far; `bound` maps variables that p binds to those of e."""
    match p, e:
        case Var(name), _ if name in holes:
            known = found.get(name, e)
            outside = free(e).isdisjoint(bound.values())
            if known == e and outside and equal(type_of(p), type_of(e)):
                yield {**found, name: e}
        case Var(name), Var(other):
            if bound.get(name) == other:
                yield found
        case Lam(), Lam():
            theirs = taken_apart(e, p.pattern)
            if _shape(p.pattern) == _shape(theirs.pattern):
                pairs = zip(variables(p.pattern), variables(theirs.pattern), strict=True)
                inner = {**bound, **{mine.name: other.name for mine, other in pairs}}
                yield from _instances(p.body, theirs.body, holes, inner, found)
        case Let(), _:
            return
        case Binary(op, a, b), Binary(other, x, y):
            if op == other:
                yield from _all((a, b), (x, y), holes, bound, found)
                if op in COMMUTES:
                    yield from _all((a, b), (y, x), holes, bound, found)
        case _:
            if type(p) is type(e) and _own(p) == _own(e):
                yield from _all(children(p), children(e), holes, bound, found)
                turned = _zipped_the_other_way(e)
                if turned is not None:
                    yield from _all(children(p), children(turned), holes, bound, found)


def _all(
    ps: tuple[Expr, ...],
    es: tuple[Expr, ...],
    holes: frozenset[str],
    bound: Mapping[str, str],
    found: Found,
) -> Iterator[Found]:
    """All ways in which the terms es are instances of the patterns ps, one by one, with the same
    terms for the same holes; `bound` and `found` are as in `_instances`."""
    if len(ps) == len(es) == 0:
        yield found
    elif len(ps) == len(es):
        for first in _instances(ps[0], es[0], holes, bound, found):
            yield from _all(ps[1:], es[1:], holes, bound, first)


def _zipped_the_other_way(e: Expr) -> Expr | None:
    """A map or reduction over two zipped arrays, rewritten to zip them in the other order; None for
    other terms."""
    match e:
        case Map(f, Zip((xs, ys))):
            f = taken_apart(f, (_ANY, _ANY))
            return Map(Lam(_turned(f.pattern), f.body), Zip((ys, xs)))
        case Reduce(z, f, Zip((xs, ys))):
            f = taken_apart(f, (_ANY, (_ANY, _ANY)))
            assert isinstance(f.pattern, tuple)
            acc, pair = f.pattern
            return Reduce(z, Lam((acc, _turned(pair)), f.body), Zip((ys, xs)))
    return None


def _turned(p: Pattern) -> Pattern:
    assert isinstance(p, tuple)
    first, second = p
    return second, first


_ANY = Var("_", FLOAT)


def _own(e: Expr) -> tuple[object, ...]:
    """The fields of a node that are not terms: sizes, numbers, names of operations."""
    assert is_dataclass(e)
    values = (getattr(e, field.name) for field in fields(e))
    return tuple(v for v in values if not isinstance(v, Expr | tuple))


def taken_apart(f: Lam, like: Pattern) -> Lam:
    """The function f with its pattern taking tuples apart wherever the pattern `like` does."""
    values: dict[str, Expr] = {}
    taken = {v.name for v in variables(f.pattern)} | free(f.body)
    pattern = _apart(f.pattern, like, values, taken)
    return Lam(pattern, substitute(f.body, values)) if values else f


def _apart(p: Pattern, like: Pattern, values: dict[str, Expr], taken: set[str]) -> Pattern:
    match p, like:
        case tuple(), tuple() if len(p) == len(like):
            return tuple(_apart(q, r, values, taken) for q, r in zip(p, like, strict=True))
        case Var(name, Tuple(types)), tuple() if len(types) == len(like):
            parts = []
            for t in types:
                parts.append(Var(fresh(name, taken), t))
                taken.add(parts[-1].name)
            opened = tuple(_apart(q, r, values, taken) for q, r in zip(parts, like, strict=True))
            values[name] = pattern_value(opened)
            return opened
    return p


def _shape(p: Pattern) -> object:
    """The nesting of a pattern's tuples, without its variables' names."""
    return None if isinstance(p, Var) else tuple(map(_shape, p))

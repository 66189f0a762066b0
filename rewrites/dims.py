"""The parallel dimensions of a nest and which operands of its reduction depend on them."""

# key: d dimension

from collections.abc import Sequence
from dataclasses import dataclass

from ir.nodes import Expr, Get, Level, Map, MapPar, Pattern, Reduce, Store, Var, Zip
from ir.terms import children, free, subterms, variables
from rewrites.rule import Rewritten
from rewrites.spine import core, nest
from rewrites.strategy import skip


class Refused(Exception):
    """A strategy does not apply to a program: the reason, for its user."""


@dataclass(frozen=True, slots=True)
class Dims:
    """Positions in a nest of maps: `batch` reach every operand, `rows` and `columns` one each.

    `columns` are the dimensions of the operand that most dimensions reach (the pixels of a
    convolution), `rows` those of the other (its output channels); either may be empty.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def reduction(e: Expr) -> Reduce:
    """The only outermost reduction inside the nest of e."""
    found = outermost_reductions(core(e))
    if len(found) != 1:
        raise Refused(f"expected one reduction inside the maps, found {len(found)}")
    return found[0]


def outermost_reductions(e: Expr) -> list[Reduce]:
    """Reductions of e that are not inside another, nor stored."""
    if isinstance(e, Store):
        return []
    if isinstance(e, Reduce):
        return [e]
    return [r for c in children(e) for r in outermost_reductions(c)]


def operands(r: Reduce) -> Sequence[Expr]:
    """What a reduction goes over, part by part."""
    return r.xs.parts if isinstance(r.xs, Zip) else (r.xs,)


def depends(maps: Sequence[Map], e: Expr) -> frozenset[int]:
    """The dimensions whose element reaches e, directly or through an inner map's array."""
    found: set[int] = set()
    for term in roots(e):
        d = _binder(maps, term)
        if d is not None:
            found |= {d} | depends(maps[:d], _origin(maps[d], term))
    return frozenset(found)


def roots(e: Expr) -> list[Expr]:
    """The free variables of e, as x.i where only a component is used."""
    match e:
        case Var() | Get(_, Var()):
            return [e]
    inside = [r for c in children(e) for r in roots(c)]
    return [r for r in inside if free(r) <= free(e)]


def _binder(maps: Sequence[Map], term: Expr) -> int | None:
    """The innermost map that binds the variable of a root."""
    for d in reversed(range(len(maps))):
        if free(term) & {v.name for v in variables(maps[d].f.pattern)}:
            return d
    return None


def _origin(m: Map, term: Expr) -> Expr:
    """The part of a map's array that a root of its body comes from."""
    part = _part(m.f.pattern, m.xs, term)
    match term:
        case Get(i, _) if isinstance(part, Zip):
            return part.parts[i]
    return part


def _part(pattern: Pattern, xs: Expr, term: Expr) -> Expr:
    """What the variable of a root stands for the elements of."""
    if not isinstance(pattern, tuple) or not isinstance(xs, Zip):
        return xs
    inside = zip(pattern, xs.parts, strict=True)
    return next(_part(p, part, term) for p, part in inside if free(term) & _names(p))


def _names(p: Pattern) -> set[str]:
    return {v.name for v in variables(p)}


def classify(e: Expr) -> Dims:
    """Which dimensions of the nest of e reach which operands."""
    maps, r = nest(e), reduction(e)
    reach = sorted({depends(maps, part) for part in operands(r)} - {frozenset()}, key=_size)
    every = frozenset(range(len(maps)))
    if not reach:
        raise Refused("the reduction does not depend on the maps around it")
    if len(reach) > 2:
        raise Refused("the reduction has more than two kinds of operands")
    if len(reach) == 1:
        return Dims(tuple(sorted(every - reach[0])), (), tuple(sorted(reach[0])))
    small, large = reach
    rest = every - small - large
    return Dims(
        tuple(sorted((small & large) | rest)),
        tuple(sorted(small - large)),
        tuple(sorted(large - small)),
    )


def _size(s: frozenset[int]) -> tuple[int, list[int]]:
    return len(s), sorted(s)


def shared_by_groups(e: Expr) -> Rewritten | None:
    """e if its work-groups share something; a family that lives by that refuses the rest."""
    if not any(isinstance(s, MapPar) and s.level is Level.LOCAL for s in subterms(e)):
        raise Refused("no operand is shared between results: nothing for a work-group to share")
    return skip(e)

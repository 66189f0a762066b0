"""The parallel dimensions of a nest of maps, by which operands of its reduction depend on them."""

# key: d dimension

from collections.abc import Iterator, Sequence

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Get, Level, Map, MapPar, Pattern, Reduce, Store, Var, Zip
from ir.core.size import denominator
from ir.core.terms import children, free, subterms, variables
from ir.core.type_rules import size_of
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten
from rewrites.engine.strategy import skip
from rewrites.nest.spine import core, nest


@frozen
class Dims:
    """The positions of a nest's maps by role: `batch` reach every operand, `rows` and `columns` one
    operand each.

    `columns` are the dimensions of the operand that most dimensions reach (the pixels of a
    convolution), `rows` those of the other (its output channels); either may be empty.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def beside_one(self) -> "Dims":
        """These dimensions in a nest with one more map around it, at position 0; that map is the
        rows, or the columns, or both, where there were none."""
        batch, rows, columns = (
            tuple(1 + d for d in side) for side in (self.batch, self.rows, self.columns)
        )
        return Dims(batch, rows or (0,), columns or (0,))


def reduction(e: Expr) -> Reduce:
    """The only outermost reduction inside the nest of e; Refused if there are none or several."""
    found = outermost_reductions(core(e))
    if len(found) != 1:
        raise Refused(f"expected one reduction inside the maps, found {len(found)}")
    return found[0]


def outermost_reductions(e: Expr) -> list[Reduce]:
    """The reductions of e that are neither inside another one nor below a `store`."""
    if isinstance(e, Store):
        return []
    if isinstance(e, Reduce):
        return [e]
    return [r for c in children(e) for r in outermost_reductions(c)]


def operands(r: Reduce) -> Sequence[Expr]:
    """The operands of a reduction: the parts of the zip that it goes over, or its one array."""
    return r.xs.parts if isinstance(r.xs, Zip) else (r.xs,)


def depends(maps: Sequence[Map], e: Expr) -> frozenset[int]:
    """The positions of the maps whose elements e uses, directly or through the arrays of inner
    maps."""
    found: set[int] = set()
    for term in roots(e):
        d = _binder(maps, term)
        if d is not None:
            found |= {d} | depends(maps[:d], _origin(maps[d], term))
    return frozenset(found)


def sources(maps: Sequence[Map], e: Expr) -> Iterator[Expr]:
    """The arrays that hold what e reads. For each variable of e that one of the maps binds, this is
    the array (or the part of a zip) that the map goes over; then the arrays which that array reads
    follow."""
    for term in roots(e):
        d = _binder(maps, term)
        if d is not None:
            array = _origin(maps[d], term)
            yield array
            yield from sources(maps[:d], array)


def roots(e: Expr) -> list[Expr]:
    """The free variables of e; for a variable of which e reads nothing but components x.i, these
    components instead."""
    match e:
        case Var() | Get(_, Var()):
            return [e]
    inside = [r for c in children(e) for r in roots(c)]
    return [r for r in inside if free(r) <= free(e)]


def _binder(maps: Sequence[Map], term: Expr) -> int | None:
    """The position of the innermost of `maps` that binds the variable of `term`; None if none
    does."""
    for d in reversed(range(len(maps))):
        if free(term) & {v.name for v in variables(maps[d].f.pattern)}:
            return d
    return None


def _origin(m: Map, term: Expr) -> Expr:
    """The part of a map's array whose elements `term`, in the map's body, reads."""
    part = _part(m.f.pattern, m.xs, term)
    match term:
        case Get(i, _) if isinstance(part, Zip):
            return part.parts[i]
    return part


def _part(pattern: Pattern, xs: Expr, term: Expr) -> Expr:
    """The part of xs whose elements `term` reads, found by the names in the pattern."""
    if not isinstance(pattern, tuple) or not isinstance(xs, Zip):
        return xs
    inside = zip(pattern, xs.parts, strict=True)
    return next(_part(p, part, term) for p, part in inside if free(term) & _names(p))


def _names(p: Pattern) -> set[str]:
    return {v.name for v in variables(p)}


def classify(e: Expr) -> Dims:
    """The dimensions of e's nest as batch, rows and columns: by the operands that they reach."""
    maps, r = nest(e), reduction(e)
    reach = sorted({depends(maps, part) for part in operands(r)} - {frozenset()}, key=_size)
    every = frozenset(range(len(maps)))
    if not maps:
        raise Refused(
            "expected maps around the sum, found one result, a sum inside no map: see the forms "
            "that store parts of it first, such as `split`"
        )
    if not reach:
        raise Refused(
            f"expected a reduction that depends on the maps around it, found {shown(r)}, which "
            "does not"
        )
    if len(reach) > 2:
        raise Refused(
            "expected the operands of the reduction to depend on at most two different sets of the "
            f"maps around it, found {len(reach)} such sets"
        )
    if len(reach) == 1:
        return Dims(tuple(sorted(every - reach[0])), (), tuple(sorted(reach[0])))
    small, large = reach
    rest = every - small - large
    return Dims(
        tuple(sorted((small & large) | rest)),
        tuple(sorted(small - large)),
        tuple(sorted(large - small)),
    )


def parts_of(maps: Sequence[Map]) -> set[int]:
    """The positions of maps that go over parts of sums: their number is a size divided by a
    parameter."""
    return {d for d, m in enumerate(maps) if denominator(size_of(m.xs)) != 1}


def sided(e: Expr) -> Dims:
    """The dimensions of e's nest as batch, rows and columns: those of `classify`, but with rows
    wherever there are two dimensions.

    Where `classify` finds no rows, the innermost dimension of the batch becomes the rows, or,
    without a batch, the innermost column. Parts of sums, as many as a parameter says, stay in the
    batch if there is anything else. Refused if the sum adds parts that another kernel makes.
    """
    dims = classify(e)
    if dims.rows:
        return dims
    parts = tuple(sorted(parts_of(nest(e))))
    if not parts and not isinstance(size_of(reduction(e).xs), int):
        raise Refused(
            "expected a sum that the program has, found one that adds the parts of such a sum, "
            "which another kernel makes"
        )
    batch, columns = (
        tuple(d for d in side if d not in parts) for side in (dims.batch, dims.columns)
    )
    if batch:
        return Dims((*batch[:-1], *parts), batch[-1:], columns)
    if columns:
        return Dims(parts, columns[-1:], columns[:-1])
    return Dims((), parts, ())


def _size(s: frozenset[int]) -> tuple[int, list[int]]:
    return len(s), sorted(s)


def shared_by_groups(e: Expr) -> Rewritten | None:
    """The lowered term e unchanged if a map in it goes over the work-items of a group; else
    Refused."""
    if not any(isinstance(s, MapPar) and s.level is Level.LOCAL for s in subterms(e)):
        raise Refused(
            "expected a sum inside maps, for a work-group to make; found that nothing is summed up"
        )
    return skip(e)

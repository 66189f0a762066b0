"""The constraints on the nesting of parallel maps: where each level may stand."""

# key: e term

from collections.abc import Iterator

from constraints.quantities.kernels import parallel
from constraints.quantities.origin import brief
from constraints.relations.relations import NEVER, Constraint
from ir.core.nodes import Expr, Level, MapPar, Store, ToLocal
from ir.core.terms import children

Around = tuple[tuple[Level, int], ...]


def nesting(e: Expr, around: Around = ()) -> Iterator[Constraint]:
    """A constraint that never holds for each parallel map in e, and each use of local memory, that
    stands where it may not. `around` has the level and dimension of each parallel map around e."""
    if isinstance(e, Store):
        around = ()
    if isinstance(e, ToLocal) and any(level is Level.GLOBAL for level, _ in around):
        yield Constraint(NEVER, f"local memory is used inside {_first(around)}", brief(e))
    if isinstance(e, MapPar):
        reason = _misplaced(e.level, e.dim, around)
        if reason is not None:
            yield Constraint(NEVER, f"{_name(e.level, e.dim)} {reason}", brief(e))
        yield from nesting(e.xs, around)
        yield from nesting(e.f.body, (*around, (e.level, e.dim)))
        return
    for c in children(e):
        yield from nesting(c, around)


def _misplaced(level: Level, dim: int, around: Around) -> str | None:
    levels = {outer for outer, _ in around}
    if dim not in (0, 1, 2):
        return "has no such dimension: there are 0, 1 and 2"
    if (level, dim) in around:
        return "stands inside another"
    if level is Level.LOCAL and Level.GROUP not in levels:
        return "stands outside mapWorkgroup"
    if level is Level.GLOBAL and levels - {Level.GLOBAL}:
        return f"stands inside {_first(around)}"
    if level is Level.GROUP and levels - {Level.GROUP}:
        return f"stands inside {_first(around)}"
    return None


def _first(around: Around) -> str:
    return next(_name(level, dim) for level, dim in around)


def _name(level: Level, dim: int) -> str:
    return f"{level.value}({dim})"


def mixed(kernel: Expr) -> Iterator[Constraint]:
    """The constraint that a kernel does not mix maps over global ids with maps over work-groups."""
    maps = parallel(kernel)
    of_all = [e for e in maps if e.level is Level.GLOBAL]
    if of_all and len(of_all) < len(maps):
        other = next(e for e in maps if e.level is not Level.GLOBAL)
        why = f"{_name(of_all[0].level, of_all[0].dim)} stands beside it in one kernel"
        yield Constraint(NEVER, f"{_name(other.level, other.dim)}: {why}", brief(other))

"""Reductions whose functions look at nothing but accumulators and elements: what blocks need."""

# key: e term, x what is captured

from ir.nodes import Expr, Reduce
from ir.terms import free, variables
from rewrites.dims import roots
from rewrites.laws_capture import carry
from rewrites.rule import Rewritten, Strategy
from rewrites.shape import bound
from rewrites.spine import nest
from rewrites.strategy import attempt, child, outermost, seq


def carried(e: Expr) -> Rewritten | None:
    """What a reduction's function takes from the maps around it becomes an operand."""
    names = frozenset(name for m in nest(e) for name in bound(m.f))
    return attempt(outermost(_levels(names)))(e)


def _levels(names: frozenset[str]) -> Strategy:
    """A nest of reductions, level by level; `names` are bound by the maps and levels around it."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        captured = dict.fromkeys(x for x in roots(e.f) if free(x) <= names)
        return seq(*(carry(x=x) for x in captured), deeper)(e)

    def deeper(e: Expr) -> Rewritten | None:
        assert isinstance(e, Reduce)
        assert isinstance(e.f.pattern, tuple)
        elements = frozenset(v.name for v in variables(e.f.pattern[1]))
        return child(1, child(0, attempt(_levels(names | elements))))(e)

    return run

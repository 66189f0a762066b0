"""The variables that the function of a reduction uses from outside, as operands of the reduction,
so that its function uses only accumulator and elements: register blocks need that."""

# key: e term, x what is captured

from ir.core.nodes import Expr, Reduce
from ir.core.terms import free, variables
from rewrites.analysis.alpha_equality import bound
from rewrites.engine.places import of_function
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, outermost, seq
from rewrites.laws.captures import carry
from rewrites.nest.dimensions import roots
from rewrites.nest.spine import nest


def carried(e: Expr) -> Rewritten | None:
    """The term e, whose reduction takes as operands what its function uses of the variables of the
    maps around the reduction."""
    names = frozenset(name for m in nest(e) for name in bound(m.f))
    return attempt(outermost(_levels(names)))(e)


def _levels(names: frozenset[str]) -> Strategy:
    """The strategy that gives nested reductions as operands what their functions use of the
    variables `names`, which are bound outside of the nest."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Reduce):
            return None
        captured = dict.fromkeys(x for x in roots(e.f) if free(x) <= names)
        return seq(*(carry(x=x) for x in captured), deeper)(e)

    def deeper(e: Expr) -> Rewritten | None:
        assert isinstance(e, Reduce)
        assert isinstance(e.f.pattern, tuple)
        elements = frozenset(v.name for v in variables(e.f.pattern[1]))
        return of_function(attempt(_levels(names | elements)))(e)

    return run

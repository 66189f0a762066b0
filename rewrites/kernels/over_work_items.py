"""A strategy that puts the maps of a spine over work-items and loops, level by level."""

# key: e term

from ir.core.nodes import Expr, Map, Reduce
from rewrites.engine.places import of_array
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.register_block import on_reduction
from rewrites.nest.spine import body, inside


def spread(levels: tuple[Strategy, ...], reduce: Strategy) -> Strategy:
    """The strategy that lowers the maps of a spine by `levels`, outermost first, and the reduction
    inside by `reduce`."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Reduce):
            return reduce(e)
        if not isinstance(e, Map) or not levels:
            return skip(e)
        deeper = attempt(body(inside(spread(levels[1:], reduce))))
        operand = attempt(of_array(attempt(on_reduction(reduce))))
        return seq(deeper, operand, levels[0])(e)

    return inside(run)

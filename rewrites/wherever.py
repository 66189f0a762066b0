"""A family's own way for each kernel that it can lower; what is plain for the others."""

# key: e term, s strategy, k kernel

from ir.nodes import Expr
from rewrites.dims import Refused
from rewrites.naive import plain
from rewrites.rule import Rewritten, Strategy
from rewrites.shape import has_reduction
from rewrites.spine import kernels
from rewrites.unfolded import unfolded


def wherever(s: Strategy) -> Strategy:
    """s on each kernel with a reduction, `plain` where s refuses it; refused where s does all."""

    def run(e: Expr) -> Rewritten | None:
        refused: list[Refused] = []
        lowered: list[Expr] = []

        def kernel(k: Expr) -> Rewritten | None:
            if not has_reduction(k):
                return unfolded(k)
            try:
                done = _done(s, k)
            except Refused as why:
                refused.append(why)
                return plain(k)
            lowered.append(k)
            return done

        done = kernels(kernel)(e)
        if refused and not lowered:
            raise refused[0]
        return done

    return run


def _done(s: Strategy, e: Expr) -> Rewritten:
    done = s(e)
    if done is None:
        raise Refused("what is summed up is neither split nor arranged by the laws that this needs")
    return done

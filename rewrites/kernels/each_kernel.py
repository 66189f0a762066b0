"""Strategies over all kernels of a program: a family's own way for those it can lower, and a plain
way for the rest."""

# key: e term, s strategy, k kernel

from collections.abc import Callable

from ir.core.nodes import Expr, MapPar
from rewrites.analysis.kernel_terms import has_reduction, own_terms
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import skip
from rewrites.kernels.copy_kernels import unfolded
from rewrites.kernels.naive import plain
from rewrites.nest.spine import kernels, kernels_inside_out


def wherever(s: Strategy, other: Strategy | None = None, copied: Strategy = unfolded) -> Strategy:
    """The strategy that lowers all kernels. Those with a reduction are lowered by s, or, where s
    refuses, by `other`, or, where `other` is None or refuses too, by `plain`. Those without one are
    lowered by `copied`. The strategy refuses if s lowers no kernel."""
    return _each(s, or_plain(other or _refuse, copied), kernels, 0)


def divided(s: Strategy, other: Strategy) -> Strategy:
    """The strategy that applies s to each kernel with a reduction; s may make several kernels of
    one.

    Kernels without a reduction, and those that s refuses, go to `other`. The strategy refuses if s
    lowers no kernel.
    """
    return _each(s, other, kernels_inside_out, -1)


def remaining(s: Strategy) -> Strategy:
    """The strategy that applies s to each kernel that is not lowered yet; kernels that s refuses
    are lowered by `plain`."""
    other = or_plain(s)

    def run(k: Expr) -> Rewritten | None:
        return skip(k) if any(isinstance(t, MapPar) for t in own_terms(k)) else other(k)

    return kernels(run)


def or_plain(s: Strategy, copied: Strategy = unfolded) -> Strategy:
    """The strategy that lowers a kernel: by s if it has a reduction, by `plain` if s refuses it,
    and by `copied` if it has no reduction."""

    def run(k: Expr) -> Rewritten | None:
        if not has_reduction(k):
            return copied(k)
        try:
            return _done(s, k)
        except Refused:
            return plain(k)

    return run


def _each(
    s: Strategy, other: Strategy, over: Callable[[Strategy], Strategy], reason: int
) -> Strategy:
    """The strategy that applies s to each kernel with a reduction, and `other` to kernels without
    one and to those that s refuses; `over` turns a strategy for one kernel into one for all kernels
    of a program. If s lowers no kernel, its first refusal is raised (`reason` 0) or its last
    (-1)."""

    def run(e: Expr) -> Rewritten | None:
        refused: list[Refused] = []
        lowered: list[Expr] = []

        def kernel(k: Expr) -> Rewritten | None:
            if not has_reduction(k):
                return other(k)
            try:
                done = _done(s, k)
            except Refused as why:
                refused.append(why.at(k))
                return other(k)
            lowered.append(k)
            return done

        done = over(kernel)(e)
        if not lowered:
            raise (
                refused[reason]
                if refused
                else Refused(
                    "expected a sum, found that nothing is summed up: see the family naive"
                )
            )
        return done

    return run


def _refuse(_: Expr) -> Rewritten | None:
    raise Refused(
        "expected a program without sums, found a sum in one of its kernels: take the family "
        "`naive` for it"
    )


def _done(s: Strategy, e: Expr) -> Rewritten:
    done = s(e)
    if done is None:
        raise Refused(
            f"expected a sum that the laws of this form split and arrange, found {shown(e)}"
        )
    return done

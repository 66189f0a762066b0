"""Loops of a lowered program in which each turn sums up in a narrow type, beginning with zero, and
adds its sum to a sum in floats, or in its own type."""

# key: e term

from ir.core.nodes import Expr, ReduceSeq
from ir.core.size import named
from ir.core.terms import subterms
from rewrites.engine.places import of_function
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import choice, everywhere, seq, when
from rewrites.number_laws.accumulators import split_loop, sum_afresh, sum_apart

TERMS = "terms"  # the parameter that counts the terms of a turn


def turns_afresh(e: Expr) -> Rewritten:
    """The lowered term e in which each turn of the innermost loops has a sum of its own, in the
    narrow type of the numbers that it adds to floats. A loop that is inside no other is first cut
    into turns of `terms` steps. Refused if there is no loop that only adds up narrow numbers."""
    return _in_turns(e, sum_afresh())


def turns_apart(e: Expr) -> Rewritten:
    """The lowered term e in which each turn of the innermost loops has a sum of its own, which is
    then added to a sum in the same narrow type. A loop that is inside no other is first cut into
    turns of `terms` steps. Refused if there is no loop that only adds up narrow numbers."""
    return _in_turns(e, sum_apart())


def _in_turns(e: Expr, own_sum: Strategy) -> Rewritten:
    cut = seq(split_loop(k=named(TERMS)), of_function(own_sum))
    own = everywhere(when(_is_innermost, choice(own_sum, cut)))
    found = stage("turns of loops summed up afresh", own)(e)
    if found is None or not found[1]:
        raise Refused("expected a loop that does no more than add up halves or bfloats, found none")
    return found


def _is_innermost(e: Expr) -> bool:
    return isinstance(e, ReduceSeq) and not any(
        isinstance(s, ReduceSeq) for s in subterms(e.f.body)
    )

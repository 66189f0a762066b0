"""Sums prepared before a nest is lowered: without zero points, or kept in another type.

The laws of zero points and accumulators are about one sum over all of its terms, so nests of sums
become one sum first. The initial value of a sum is added to it afterwards: sums in that value, such
as that of the weights, are then made once by kernels of their own.
"""

# key: e term, s strategy

from ir.core.nodes import Expr
from ir.core.terms import free
from rewrites.engine.rule import Rewritten, Rule, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, exhaust, outermost, remembered, seq
from rewrites.laws.reductions import join_reduce, release_init
from rewrites.nest.dimensions import depends, operands, outermost_reductions
from rewrites.nest.normal_form import flat
from rewrites.nest.spine import core, kernels, nest
from rewrites.number_laws.accumulators import rounded_later, sum_in_float
from rewrites.number_laws.byte_signs import other_sign
from rewrites.number_laws.whole_sums import choice_in_int, saturated_int, sum_in_int
from rewrites.number_laws.widening import float_product, widen
from rewrites.number_laws.zero_points import zero_points_out


def _prepared(name: str, law: Rule, s: Strategy) -> Strategy:
    """The strategy that turns each nest of sums into one sum and applies s, told as a stage called
    `name`; it fails where s does not use `law`."""
    whole = stage(name, seq(flat, exhaust(join_reduce()), s))

    def run(e: Expr) -> Rewritten | None:
        done = whole(e)
        used = done is not None and any(step.rule == law for step in done[1])
        return done if used else None

    return run


@remembered
def zero_points_apart() -> Strategy:
    """The strategy that takes zero points out of all sums; what the zero points add to a sum is
    added after it."""
    apart = exhaust(seq(zero_points_out(), release_init()))
    return _prepared("zero points out of sums", zero_points_out, apart)


@remembered
def unlike_signs() -> Strategy:
    """The strategy that makes one factor of each product of two signed (or two unsigned) bytes in a
    sum of ints unsigned (or signed): the one that depends on more of the maps around. What that
    adds to the sum is subtracted afterwards."""
    apart = kernels(attempt(_unlike))
    return _prepared("bytes of unlike signs", other_sign, apart)


def _unlike(e: Expr) -> Rewritten | None:
    """The kernel e with the sign of one factor of its sum changed; None if it has no sum of such
    products."""
    found = outermost_reductions(core(e))
    if len(found) != 1:
        return None
    reach = [len(depends(nest(e), part)) for part in operands(found[0])]
    part = reach.index(max(reach))
    return outermost(seq(other_sign(part=part), release_init()))(e)


@remembered
def sums_in_float() -> Strategy:
    """The strategy that keeps all sums of halves and bfloats in floats, and does not round a float
    that becomes a float again."""
    floats = seq(exhaust(sum_in_float()), exhaust(rounded_later()))
    return _prepared("sums kept in floats", sum_in_float, floats)


@remembered
def narrow_sums() -> Strategy:
    """The strategy that changes nothing, and fails where there is no sum of halves or bfloats."""
    floats = sums_in_float()
    return lambda e: None if floats(e) is None else (e, ())


@remembered
def sums_in_int() -> Strategy:
    """The strategy that keeps sums of bytes in ints where floats hold all of them exactly; a max or
    min of such sums, or their conversion to narrow numbers that saturates, is then of ints, too."""
    released = seq(release_init(), outermost(sum_in_int()))
    sums = exhaust(choice(sum_in_int(), released))
    ints = seq(sums, exhaust(choice(choice_in_int(), saturated_int())))
    return _prepared("sums kept in ints", sum_in_int, ints)


@remembered
def widened() -> Strategy:
    """The strategy that stores arrays of narrow numbers as floats, by kernels of their own, where
    sums read them as floats; sums of halves and bfloats are first made sums of floats."""
    floats = (exhaust(sum_in_float()), exhaust(rounded_later()), exhaust(float_product()))
    return _prepared("narrow numbers stored as floats", widen, seq(*floats, _each_widened))


def _each_widened(e: Expr) -> Rewritten | None:
    """The term e in which each free variable, an array of narrow numbers that is read as floats
    only, is stored as floats."""
    return seq(*(attempt(widen(name=name)) for name in sorted(free(e))))(e)

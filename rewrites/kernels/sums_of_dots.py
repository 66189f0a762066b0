"""Sums of products of bytes, in which one instruction makes several products: four by a dot
product, or two that CPUs add in pairs."""

# key: e term

from functools import partial
from math import prod

from ir.core.nodes import Expr, Map, Reduce
from ir.core.size import Size, named
from ir.core.type_rules import size_of, type_of
from ir.core.types import depth
from ir.instructions.entries.dot_products import LANES
from ir.instructions.entry import Alone
from rewrites.analysis.binder_names import value_of
from rewrites.engine.places import of_function, of_rest, of_start, of_value
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, seq, when
from rewrites.kernels.register_block import (
    SHORT,
    innermost_reduction,
    on_reduction,
    operand_terms,
    split_innermost,
    trips,
    unrolled_spine,
    weight,
)
from rewrites.laws.lets import let_view
from rewrites.laws.lower import copy_deep, share, to_private, to_reduce_seq
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.named_views import exchanged
from rewrites.nest.spine import body, inside, strip
from rewrites.number_laws.instructions import instruct
from rewrites.number_laws.pairs_of_products import sum_in_fours, sum_in_pairs
from rewrites.number_laws.units import round_fold


def sums_of_dots(entry: Alone, v: Size, across: bool = False) -> Strategy:
    """The strategy that makes a block of sums with the instruction `entry`: the innermost sum, of
    four products, is the instruction, the other sums are loops. Vectors hold v results; with
    `across`, operands are loaded in such vectors, too."""
    vectors = stage("what is done to sums, in vectors of v", inside(partial(_in_vectors, v)))
    block = seq(on_reduction(choice(instruct(name=entry.name), _refuse(entry))), unrolled_spine)
    step = partial(_loaded_across, v, block) if across else block
    loops = stage(f"sums by {entry.name}", on_reduction(partial(_sums, step)))
    return seq(attempt(vectors), loops, unrolled_spine)


def _in_vectors(v: Size, e: Expr) -> Rewritten | None:
    """The maps over results e with the innermost one over vectors of v; None if there is none."""
    if isinstance(e, Map) and isinstance(strip(e.f.body), Map):
        return body(inside(partial(_in_vectors, v)))(e)
    return vectorize_map(v=v)(e) if isinstance(e, Map) else None


def _sums(step: Strategy, e: Expr) -> Rewritten | None:
    """The nest of sums e as loops around a step, which the strategy `step` lowers; loops of few
    steps are spelled out."""
    return _loops(step, weight(prod(trips(e), start=1)) <= SHORT * LANES, e)


def _loops(step: Strategy, few: bool, e: Expr) -> Rewritten | None:
    if not isinstance(e, Reduce):
        return None
    inner = partial(_loops, step, few) if isinstance(e.f.body, Reduce) else step
    return seq(of_start(unrolled_spine), of_function(inner), to_reduce_seq(unrolled=few))(e)


def _loaded_across(v: Size, block: Strategy, e: Expr) -> Rewritten | None:
    """The step e of a sum with its operands loaded in vectors of v results, and the `block`
    lowered; refused where not all operands depend on the results that vectors go over."""
    terms = operand_terms(e)
    if any(depth(type_of(t)) != depth(type_of(e)) + 1 for t in terms):
        raise Refused(
            "expected operands that all depend on rows, found one that rows share: see the forms "
            "without `across`"
        )
    for t in reversed(terms):
        kept = seq(copy_deep(), partial(_in_vectors, v), unrolled_spine, to_private())
        loaded = exchanged([depth(type_of(t)) - 2], kept)
        shared = share(term=t, name=value_of(t))
        block = seq(shared, of_value(loaded), of_rest(block), attempt(let_view()))
    return block(e)


def _refuse(entry: Alone) -> Strategy:
    def refused(e: Expr) -> Rewritten | None:
        raise Refused(
            f"expected sums of products of bytes that {entry.name} makes, found {shown(e)}"
        )

    return refused


def chunks_of_pairs(e: Expr) -> Rewritten | None:
    """The nest of sums e with its innermost sum cut into chunks of k steps, whose products are
    added in pairs. An innermost sum of few steps, an odd number of them, is spelled out in pairs
    instead if it is inside another sum, which is then cut. Refused if the sums are not of ints."""
    short = stage("few steps in pairs", innermost_reduction(when(_is_odd, sum_in_pairs())))
    if len(trips(e)) > 1 and short(e) is not None:
        return seq(short, split_innermost(named("k")))(e)
    even = stage("an even number of steps", innermost_reduction(attempt(round_fold(k=2))))
    pairs = stage("steps in pairs", innermost_reduction(choice(sum_in_pairs(), _no_pairs)))
    cut = seq(split_innermost(named("k")), split_innermost(2, told_as="two"))
    return seq(even, cut, pairs)(e)


def chunks_of_fours(e: Expr) -> Rewritten | None:
    """The nest of sums e with its innermost sum cut into chunks of k steps, whose products are
    added in fours. An innermost sum of few steps is spelled out in fours instead if it is inside
    another sum, which is then cut. Refused if the sums are not of ints."""
    short = stage("few steps in fours", innermost_reduction(sum_in_fours()))
    if len(trips(e)) > 1 and short(e) is not None:
        return seq(short, split_innermost(named("k")))(e)
    whole = stage("a multiple of four steps", innermost_reduction(attempt(round_fold(k=4))))
    fours = stage("steps in fours", innermost_reduction(choice(sum_in_fours(), _no_pairs)))
    cut = seq(split_innermost(named("k")), split_innermost(4, told_as="four"))
    return seq(whole, cut, fours)(e)


def _is_odd(e: Expr) -> bool:
    n = size_of(e.xs) if isinstance(e, Reduce) else 0
    return isinstance(n, int) and n % 2 == 1


def _no_pairs(e: Expr) -> Rewritten | None:
    raise Refused(
        "expected sums of ints, in which `pairs` or `fours` add several products at once; found "
        f"{shown(e)}"
    )

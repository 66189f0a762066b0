"""Lowering a block: groups outside, loops over the reduction, unrolled loops in registers."""

# key: e term, s strategy, n number of maps

import sys
from collections.abc import Iterable, Sequence
from functools import partial

from ir.core.nodes import Expr, Get, Level, Reduce, Var
from ir.core.size import Size, named, show_size
from ir.core.terms import free, once, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array
from rewrites.engine.places import of_array, of_function, of_rest, of_start, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import (
    attempt,
    choice,
    outermost,
    remembered,
    repeat,
    seq,
    skip,
    when,
)
from rewrites.laws.lower import (
    copy_deep,
    share,
    to_parallel,
    to_private,
    to_reduce_seq,
    to_seq,
)
from rewrites.laws.reductions import fuse_reduce, interchange_reduce, join_reduce, split_reduce
from rewrites.laws.vectors import vectorize_map
from rewrites.laws.views import split_zip
from rewrites.nest.named_nest import Nest
from rewrites.nest.normal_form import nested_reductions, simplify
from rewrites.nest.reshape import rounded
from rewrites.nest.spine import body, inside

SHORT = 16  # reductions up to here are unrolled whole


def vectors() -> Strategy:
    """The map at the root goes over vectors of v, in multiples of tr of them."""
    tr, v = named("tr"), named("v")
    return seq(rounded(tr * v), inside(vectorize_map(v=v)))


def is_reduce(e: Expr) -> bool:
    """A reduction that is not lowered yet."""
    return isinstance(e, Reduce)


def on_reduction(s: Strategy) -> Strategy:
    """s at the outermost reduction."""
    return outermost(when(is_reduce, s))


def innermost_reduction(s: Strategy) -> Strategy:
    """s at the innermost reduction of a nest."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Reduce) and isinstance(e.f.body, Reduce):
            return of_function(run)(e)
        return s(e)

    return on_reduction(run)


def trips(e: Expr) -> list[Size]:
    """The sizes of a nest of reductions, outermost first."""
    return [size_of(e.xs), *trips(e.f.body)] if isinstance(e, Reduce) else []


def weight(n: Size) -> int:
    """The length of a loop of n steps, to compare: one of unknown size counts as the longest."""
    return n if isinstance(n, int) else sys.maxsize


def as_one(exchanges: Iterable[int]) -> Strategy:
    """A nest of reductions as one, after exchanges of neighbours, where there are so many."""
    exchanged = (attempt(seq(_deep(n, interchange_reduce()), simplify)) for n in exchanges)
    return seq(*exchanged, repeat(seq(join_reduce(), simplify)))


def longest_outside(e: Expr) -> Rewritten | None:
    """Bring the longest reduction of a nest to the outside."""
    sizes = list(map(weight, trips(e)))
    longest = max(range(len(sizes)), key=lambda i: sizes[i])
    moves = [_deep(i, interchange_reduce()) for i in reversed(range(longest))]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))(e)


def longest_inside(e: Expr) -> Rewritten | None:
    """Bring the longest reduction of a nest to the inside."""
    sizes = list(map(weight, trips(e)))
    longest = max(range(len(sizes)), key=lambda i: (sizes[i], i))
    moves = [_deep(i, interchange_reduce()) for i in range(longest, len(sizes) - 1)]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))(e)


def _deep(n: int, s: Strategy) -> Strategy:
    for _ in range(n):
        s = of_function(s)
    return s


@remembered
def split_innermost(k: Size) -> Strategy:
    """The innermost reduction in chunks of k."""
    parts = of_array(attempt(split_zip()))
    cut = seq(split_reduce(k=k), parts, attempt(fuse_reduce()), simplify)
    return stage(f"the sum in chunks of {show_size(k)}", innermost_reduction(cut))


def parallel(n: int, level: Level, inner: Strategy) -> Strategy:
    """The n outer maps of the spine at a level, the innermost in dimension 0, then `inner`."""
    if n == 0:
        return inside(inner)
    here = seq(
        body(parallel(n - 1, level, inner)),
        to_parallel(level=level, dim=n - 1),
    )
    return inside(here)


WORKERS = {Level.GROUP: "work-groups", Level.GLOBAL: "work-items"}


def over(nest: Nest, level: Level, outer: Sequence[str], inner: Strategy) -> Nest:
    """The outermost maps of a nest, which have these names, over the dimensions of a level: merged
    to three if there are more; `inner` inside them."""
    groups = min(3, nest.count(*outer))
    spread = stage(f"over {WORKERS[level]}", parallel(groups, level, inner))
    return nest.at_most(3, *outer).then(spread)


@once
def unrolled_spine(e: Expr) -> Rewritten | None:
    """Every map on the spine an unrolled loop, then what it shows."""
    step = choice(
        seq(body(unrolled_spine), _epilogue_source, to_seq(unrolled=True)),
        when(is_reduce, loop_nest),
        skip,
    )
    return inside(step)(e)


def _epilogue_source(e: Expr) -> Rewritten | None:
    """The reductions that an epilogue's map reads."""
    return of_array(attempt(on_reduction(loop_nest)))(e)


def loop_nest(e: Expr, unrolled: bool = True, block: Strategy = unrolled_spine) -> Rewritten | None:
    """A nest of reductions as loops around an unrolled block, its operands in registers."""
    if not isinstance(e, Reduce):
        return None
    deeper = isinstance(e.f.body, Reduce)
    loops = partial(loop_nest, unrolled=unrolled, block=block)
    step = loops if deeper else partial(held, block=block)
    return seq(
        of_start(unrolled_spine),
        of_function(step),
        to_reduce_seq(unrolled=unrolled and not deeper),
    )(e)


def held(e: Expr, block: Strategy = unrolled_spine) -> Rewritten | None:
    """The innermost step: array operands are loaded once, results are unrolled."""
    terms = [t for t in operand_terms(e) if isinstance(type_of(t), Array)]
    step: Strategy = block
    for t in reversed(terms):
        step = seq(
            share(term=t, name="r"),
            of_value(seq(copy_deep(), unrolled_spine, to_private())),
            of_rest(step),
        )
    return attempt(step)(e)


def operand_terms(e: Expr) -> list[Expr]:
    """The components of outer variables that the maps of e go over, but for accumulators."""
    found: list[Expr] = []
    for sub in subterms(e):
        component = isinstance(sub, Get) and isinstance(sub.e, Var)
        if component and sub not in found and free(sub) <= free(e):
            found.append(sub)
    return found

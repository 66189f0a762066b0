"""The lowering of a block of results: work-groups outside, loops over the reduction, unrolled loops
in registers."""

# key: e term, s strategy, n number of maps

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import prod

from ir.core.nodes import Expr, Get, Lam, Let, Level, Map, Reduce, Var
from ir.core.size import Size, named, show_size
from ir.core.terms import children, once
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array, Scalar, Type
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.binder_names import plural, value_of
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
from rewrites.laws.zips import split_zip
from rewrites.nest.named_nest import Nest
from rewrites.nest.normal_form import nested_reductions, simplify
from rewrites.nest.reshape import rounded
from rewrites.nest.spine import body, inside
from rewrites.number_laws.widening import float_once

SHORT = 16  # nests of reductions of so many steps are unrolled whole


def vectors() -> Strategy:
    """The strategy that turns the map at the root into one over vectors of `v` elements; their
    number is rounded up to a multiple of `tr`."""
    tr, v = named("tr"), named("v")
    return seq(rounded(tr * v), inside(vectorize_map(v=v)))


def is_reduce(e: Expr) -> bool:
    """True if e is a reduction that is not lowered yet."""
    return isinstance(e, Reduce)


def on_reduction(s: Strategy) -> Strategy:
    """The strategy that applies s to the outermost reduction of a term."""
    return outermost(when(is_reduce, s))


def innermost_reduction(s: Strategy) -> Strategy:
    """The strategy that applies s to the innermost reduction of a nest."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Reduce) and isinstance(e.f.body, Reduce):
            return of_function(run)(e)
        return s(e)

    return on_reduction(run)


def trips(e: Expr) -> list[Size]:
    """The lengths of a nest of reductions, outermost first."""
    return [size_of(e.xs), *trips(_below_lets(e.f.body))] if isinstance(e, Reduce) else []


def _below_lets(e: Expr) -> Expr:
    return _below_lets(e.body) if isinstance(e, Let) else e


def weight(n: Size) -> int:
    """The length of a loop of n steps for comparisons: n, or the largest integer where n is not
    known."""
    return n if isinstance(n, int) else sys.maxsize


def as_one(exchanges: Iterable[int]) -> Strategy:
    """The strategy that turns a nest of reductions into one reduction. Before that, it exchanges
    the reduction at each level in `exchanges`, one after the other, with the next inner one."""
    exchanged = (attempt(seq(_deep(n, interchange_reduce()), simplify)) for n in exchanges)
    return seq(*exchanged, repeat(seq(join_reduce(), simplify)))


def longest_outside(e: Expr) -> Rewritten | None:
    """The nest of reductions e with its longest one outermost."""
    sizes = list(map(weight, trips(e)))
    longest = max(range(len(sizes)), key=lambda i: sizes[i])
    moves = [_deep(i, interchange_reduce()) for i in reversed(range(longest))]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))(e)


def longest_inside(e: Expr) -> Rewritten | None:
    """The nest of reductions e with its longest one innermost."""
    sizes = list(map(weight, trips(e)))
    longest = max(range(len(sizes)), key=lambda i: (sizes[i], i))
    moves = [_deep(i, interchange_reduce()) for i in range(longest, len(sizes) - 1)]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))(e)


def outside(level: int) -> Strategy:
    """The strategy that moves one reduction of a nest of reductions, the one at `level` (0 is the
    outermost), outside of all others."""
    moves = [_deep(i, interchange_reduce()) for i in reversed(range(level))]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))


def _deep(n: int, s: Strategy) -> Strategy:
    for _ in range(n):
        s = of_function(s)
    return s


@remembered
def split_innermost(k: Size, *, told_as: str = "") -> Strategy:
    """The strategy that cuts the innermost reduction of a nest into chunks of k elements. The name
    of the stage says `told_as` in place of k, if that is given."""
    parts = of_array(attempt(split_zip()))
    cut = seq(split_reduce(k=k), parts, attempt(fuse_reduce()), simplify)
    told = "the sum step by step" if k == 1 else f"the sum in chunks of {told_as or show_size(k)}"
    return stage(told, innermost_reduction(cut))


def parallel(n: int, level: Level, inner: Strategy) -> Strategy:
    """The strategy that puts the n outer maps of a spine over a level of work (work-groups,
    work-items, global ids), and applies `inner` inside.

    The innermost of the n goes over dimension 0.
    """
    if n == 0:
        return inside(inner)
    here = seq(
        body(parallel(n - 1, level, inner)),
        to_parallel(level=level, dim=n - 1),
    )
    return inside(here)


def in_turns(n: int, inner: Strategy) -> Strategy:
    """The strategy that turns the n outermost maps of a spine into loops, not unrolled, and applies
    `inner` inside them."""
    if n == 0:
        return inside(inner)
    return inside(seq(body(in_turns(n - 1, inner)), to_seq()))


WORKERS = {Level.GROUP: "work-groups", Level.GLOBAL: "work-items"}


def over(nest: Nest, level: Level, outer: Sequence[str], inner: Strategy) -> Nest:
    """The nest with its outermost maps, which have the names `outer`, over the dimensions of a
    level, and `inner` applied inside them.

    More than three such maps are first merged to three.
    """
    groups = min(3, nest.count(*outer))
    spread = stage(f"over {WORKERS[level]}", parallel(groups, level, inner))
    return nest.at_most(3, *outer).then(spread)


@once
def unrolled_spine(e: Expr) -> Rewritten | None:
    """The term e with each map of its spine an unrolled loop, and the reductions inside lowered."""
    step = choice(
        seq(body(unrolled_spine), _epilogue_source, to_seq(unrolled=True)),
        when(is_reduce, loop_nest),
        skip,
    )
    return inside(step)(e)


def _epilogue_source(e: Expr) -> Rewritten | None:
    """The map e, of an epilogue over an array of sums, with the reductions that make that array
    lowered."""
    return of_array(attempt(on_reduction(loop_nest)))(e)


def loop_nest(e: Expr, unrolled: bool = True, block: Strategy = unrolled_spine) -> Rewritten | None:
    """The nest of reductions e as loops around an unrolled block, with its operands in registers;
    None if e is no such nest. The innermost loop is unrolled; if the nest has few steps, all loops
    are, so that steps share what they load."""
    whole = unrolled and weight(prod(trips(e), start=1)) <= SHORT
    return _loops(whole, unrolled, block, e)


def _loops(whole: bool, unrolled: bool, block: Strategy, e: Expr) -> Rewritten | None:
    if not isinstance(e, Reduce):
        return None
    deeper = isinstance(_below_lets(e.f.body), Reduce)
    loops = inside(partial(_loops, whole, unrolled, block))
    return seq(
        of_start(unrolled_spine),
        of_function(loops if deeper else partial(held, block=block)),
        to_reduce_seq(unrolled=whole or (unrolled and not deeper)),
    )(e)


def loaded_in_vectors(e: Expr) -> Rewritten | None:
    """The nest of sums e, cut into chunks, with the operands of a chunk loaded as vectors of
    several steps, and converted to floats at once if they are used as floats; None if e is not cut
    into chunks, or its operands are vectors already."""
    if not isinstance(e, Reduce) or not isinstance(e.f.body, Reduce):
        return None
    if isinstance(e.f.body.f.body, Reduce):
        return of_function(loaded_in_vectors)(e)
    return of_function(_chunk_in_vectors)(e)


def _chunk_in_vectors(e: Expr) -> Rewritten | None:
    terms = [t for t in operand_terms(e) if _steps(type_of(t)) is not None]
    step: Strategy = skip
    for t in reversed(terms):
        kept = seq(attempt(copy_deep()), _innermost_in_vectors, unrolled_spine, to_private())
        shared = share(term=t, name=plural(value_of(t)))
        step = seq(shared, attempt(float_once()), of_value(kept), of_rest(step))
    return step(e) if terms else None


def _innermost_in_vectors(e: Expr) -> Rewritten | None:
    """The nest of maps e with its innermost map applied to one vector of all its elements; None if
    e is no map."""
    if isinstance(e, Map) and isinstance(e.f.body, Map):
        return of_function(_innermost_in_vectors)(e)
    return vectorize_map(v=size_of(e.xs))(e) if isinstance(e, Map) else None


def _steps(t: Type) -> Size | None:
    """The length of the innermost dimension of an array of numbers; None for another type."""
    if not isinstance(t, Array):
        return None
    return t.size if isinstance(t.elem, Scalar) else _steps(t.elem)


def held(e: Expr, block: Strategy = unrolled_spine) -> Rewritten | None:
    """The term e, the innermost step of a nest of sums, lowered: its array operands are loaded once
    into registers, and then the strategy `block` is applied to what uses them."""
    terms = [t for t in operand_terms(e) if isinstance(type_of(t), Array)]
    step: Strategy = block
    for t in reversed(terms):
        step = seq(
            share(term=t, name=value_of(t)),
            of_value(seq(copy_deep(), unrolled_spine, to_private())),
            of_rest(step),
        )
    return attempt(step)(e)


def operand_terms(e: Expr) -> list[Expr]:
    """The components x.i that e reads of variables bound outside of e, each once: the operands of a
    step of a sum. The sum's accumulator is not among them, as it is read as a whole, not by
    components."""
    return list(dict.fromkeys(_components(e, frozenset())))


def _components(e: Expr, own: frozenset[str]) -> Iterator[Expr]:
    """The components x.i inside e, in order, of variables other than those that are bound inside
    (`own` around e)."""
    match e:
        case Get(_, Var(name, _)):
            if name not in own:
                yield e
        case Lam():
            yield from _components(e.body, own | bound(e))
        case Let(_, value, body):
            yield from _components(value, own)
            yield from _components(body, own | bound(e))
        case _:
            for inner in children(e):
                yield from _components(inner, own)

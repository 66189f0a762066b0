"""Fourier transforms shared by the work-items of a group, each stage made by all of them in local
memory.

A long row is too much for one work-item's registers. Its transform is made in two stages, each of
many short transforms at once, with a barrier between them. A group makes several rows: neighbouring
work-items along dimension 0 take neighbouring rows, along dimension 1 the short transforms of a
stage.
"""

# key: e term, s strategy, m a transform's length

from ir.core.nodes import Expr, Let, Level, Map, ToLocal
from ir.core.terms import subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import depth
from ir.core.views import is_view
from rewrites.engine.places import of_made, of_rest, of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import (
    attempt,
    choice,
    exhaust,
    outermost,
    repeat,
    seq,
    skip,
    when,
)
from rewrites.fast_algorithms.fourier import BACKWARD, FORWARD, REAL, TO_REAL, source
from rewrites.fast_algorithms.shared_fourier import pair_irdft, pair_rdft, split_dft_tabled
from rewrites.laws.hoisting import local_as
from rewrites.laws.lets import let_beside, let_out, let_view
from rewrites.laws.lower import copy_deep, to_parallel, to_seq
from rewrites.laws.maps import inline_view, round_map, split_map
from rewrites.nest.labels import labels
from rewrites.nest.normal_form import perfect, simplify
from rewrites.nest.spine import body, inside, nest, strip
from rewrites.transforms.fast_fourier import spelled

SHORT = 32  # rows of twice as many numbers, and longer ones, are worth several work-items


def staged(e: Expr) -> Rewritten | None:
    """The transform e of a row as two stages of short transforms, each bound to a name by a let."""
    halved = attempt(outermost(choice(pair_rdft(), pair_irdft())))
    return seq(halved, outermost(_two_stages), exhaust(let_out()), _views_seen)(e)


_views_seen: Strategy = exhaust(inline_view())


def _two_stages(e: Expr) -> Rewritten | None:
    found = source(e, FORWARD) or source(e, BACKWARD)
    return split_dft_tabled(r=factor(found[1]))(e) if found else None


def factor(m: int) -> int:
    """The largest power of two whose square divides the power of two m."""
    return 1 << ((m.bit_length() - 1) // 2)


def worth_sharing(e: Expr) -> int | None:
    """The number of work-items that are to share the transform of each row in e; None where rows
    are too short for that."""
    m = max(map(_complex_length, subterms(e)), default=0)
    return m // factor(m) if m >= SHORT else None


def _complex_length(e: Expr) -> int:
    """The number of complex numbers that e transforms; 0 if it is no transform."""
    if real := source(e, REAL) or source(e, TO_REAL):
        return real[1] // 2
    found = source(e, FORWARD) or source(e, BACKWARD)
    return found[1] if found else 0


def in_stages(items: int) -> Strategy:
    """The strategy for a map over the rows of a group: all its work-items (`items` a row) make each
    stage for all rows before the next one."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Map) and isinstance(e.f.body, Let):
            stage = seq(perfect, simplify, _in_local, inside_local(_dealt(items)))
            return seq(let_beside(), of_value(stage), repeat(let_view()), of_rest(run))(e)
        return inside(seq(body(_copied), _dealt(items)))(e)

    return run


def _copied(e: Expr) -> Rewritten | None:
    """The term e made by copying, in a loop for each dimension, if it is a view or a list of parts;
    else unchanged."""
    return skip(e) if isinstance(strip(e), Map) and not is_view(strip(e)) else copy_deep()(e)


def _in_local(e: Expr) -> Rewritten | None:
    """The term e in local memory, with neighbouring rows next to each other, as neighbouring
    work-items take neighbouring rows."""
    dims = labels("rows", others=depth(type_of(strip(e))) - 1)
    return inside(local_as(order=dims.positions("others", "rows")))(e)


def inside_local(s: Strategy) -> Strategy:
    """The strategy that applies s to the argument of the first `toLocal`, outermost first, below
    the argument's views."""
    return outermost(when(lambda e: isinstance(e, ToLocal), of_made(inside(s))))


def _dealt(items: int) -> Strategy:
    """The strategy that gives rows to work-items along dimension 0, and the parts of each row to
    `items` work-items along dimension 1."""

    def of_row(e: Expr) -> Rewritten | None:
        first, *more = nest(e)
        if more:
            return inside(seq(body(of_row), to_seq(unrolled=True)))(e)
        each = seq(body(inside(spelled)), _parallel(1))
        if size_of(first.xs) in range(items + 1):
            return inside(each)(e)
        chunks = seq(attempt(round_map(k=items)), inside(split_map(k=items)))
        return inside(seq(chunks, inside(seq(body(inside(each)), to_seq()))))(e)

    return seq(body(of_row), _parallel(0))


def _parallel(dim: int) -> Strategy:
    return to_parallel(level=Level.LOCAL, dim=dim)

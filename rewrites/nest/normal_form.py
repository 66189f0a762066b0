"""The normal form of the many ways to write a nest: maps fused, views outside, reductions flat or
nested.

The result is `views . map (map … (epilogue . reduce …))`, whatever the order and grouping of loops
in the program that it came from.
"""

# key: e term, s strategy

from ir.core.nodes import Expr, Let, Map, Reduce, Slide, Transpose
from ir.core.terms import once, subterms
from ir.core.type_rules import type_of
from ir.core.types import Array
from ir.core.views import is_view
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.analysis.out_views import is_out_view
from rewrites.engine.places import of_array, of_function, of_rest
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import choice, exhaust, repeat, seq, when
from rewrites.laws.interchange import (
    concat_outside,
    interchange,
    interchange_beside,
    interchange_rows,
)
from rewrites.laws.lets import inline_once
from rewrites.laws.maps import fuse_maps, fuse_zip, inline_view, pull_view
from rewrites.laws.reductions import (
    absorb_init,
    flatten_fold,
    fuse_reduce,
    interchange_reduce_map,
    unjoin_reduce,
    zip_joins,
)
from rewrites.laws.views import SIMPLER, transpose_twice

simplify: Strategy = exhaust(choice(*(r() for r in SIMPLER)))

_columns = seq(
    of_array(choice(interchange(), interchange_rows(), interchange_beside())), transpose_twice()
)


def _turns(e: Expr) -> bool:
    """True if e is a transpose of a map of sums, which can make its results in the other order,
    without the transpose."""
    return isinstance(e, Transpose) and isinstance(e.xs, Map) and has_reduction(e.xs)


def _joins(e: Expr) -> bool:
    """True if e is a map that computes something: it is no view, and does more than rearrange the
    elements of an array of sums."""
    return isinstance(e, Map) and not is_view(e) and not (is_view(e.f.body) and has_reduction(e.xs))


_fuse = choice(
    *(r() for r in SIMPLER),
    inline_view(),
    when(_joins, choice(fuse_maps(), fuse_zip())),
    fuse_reduce(),
    flatten_fold(),
    interchange_reduce_map(),
    absorb_init(),
    when(_turns, _columns),
)

_fused: Strategy = exhaust(_fuse)


def _epilogue(e: Expr) -> Rewritten | None:
    """The let e, whose value has sums in it, as one term: the value stands where the body reads it,
    fused with the maps there. None if the body has sums too, or if the term would read an array of
    sums more than once."""
    if not isinstance(e, Let) or not has_reduction(e.value) or has_reduction(e.body):
        return None
    done = seq(inline_once(), _fused)(e)
    return done if done is None or not any(map(_repeats, subterms(done[0]))) else None


def _repeats(e: Expr) -> bool:
    """True if e reads an array of sums more than once: through windows, or under a name."""
    match e:
        case Slide(_, _, xs):
            return has_reduction(xs)
        case Let(_, value, _):
            return has_reduction(value) and isinstance(type_of(value), Array)
    return False


fused: Strategy = seq(_fused, exhaust(_epilogue))


def pulled(e: Expr) -> Rewritten | None:
    """The term e with one view moved out of a map on its spine; None if there is none."""
    if isinstance(e, Let):
        return of_rest(pulled)(e)
    if is_out_view(e):
        return of_array(pulled)(e)
    if isinstance(e, Map) and not is_view(e.f.body):
        apart = when(has_reduction, concat_outside())
        return choice(of_function(pulled), pull_view(), apart)(e)
    return None


perfect: Strategy = once(repeat(pulled))


def _nest_once(e: Expr) -> Rewritten | None:
    """The reduction e of joined arrays as a nest of reductions; None for other terms."""
    if not isinstance(e, Reduce):
        return None
    return choice(unjoin_reduce(), fuse_reduce(), of_array(zip_joins()), of_function(_nest_once))(e)


nested_reductions: Strategy = exhaust(_nest_once)

normalise: Strategy = once(seq(fused, perfect, nested_reductions, simplify))

flat: Strategy = once(seq(fused, perfect, simplify))

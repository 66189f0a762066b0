"""The terms of one kernel, and the question whether it sums up, or computes each element by
itself."""

# key: e term, f function

from collections.abc import Iterator

from ir.core.nodes import (
    At,
    Binary,
    Expr,
    Generate,
    Lam,
    Let,
    Map,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    Store,
    Unary,
)
from ir.core.terms import children, free, once, subterms
from ir.core.type_rules import type_of
from ir.core.types import Array
from ir.core.views import LAYOUT, is_view
from rewrites.analysis.alpha_equality import bound


@once
def has_reduction(e: Expr) -> bool:
    """True if the kernel e contains a reduction; what is below a `store` belongs to another
    kernel."""
    if isinstance(e, Store):
        return False
    return isinstance(e, Reduce | ReduceSeq) or any(map(has_reduction, children(e)))


def own_terms(e: Expr) -> Iterator[Expr]:
    """The subterms of the kernel e, without those below a `store`, which belong to another
    kernel."""
    if not isinstance(e, Store):
        yield e
        for c in children(e):
            yield from own_terms(c)


@once
def is_pointwise(e: Expr) -> bool:
    """True if e computes each of its elements from single elements of arrays, and arranges them by
    views."""
    if is_view(e):
        return True
    match e:
        case Map(f, xs):
            return is_pointwise(xs) and is_pointwise(f.body) and not _picks(f)
        case Generate(_, f):
            return is_pointwise(f.body)
        case Reorder(_, xs):
            return is_pointwise(xs)
        case Let(_, value, body):
            number = not isinstance(type_of(value), Array)
            return (number or is_view(value)) and is_pointwise(value) and is_pointwise(body)
    return isinstance(e, (*LAYOUT, Unary, Binary, Select)) and all(map(is_pointwise, children(e)))


def _picks(f: Lam) -> bool:
    """True if the function f computes with elements picked from its argument by index, as a stencil
    does."""
    picked = (s.xs for s in subterms(f.body) if isinstance(s, At))
    return not is_view(f.body) and any(bound(f) & free(xs) for xs in picked)

"""The laws of views: at which coordinates of its operands a view hands back a contribution."""

# key: e view, c contribution, scope what variables are bound to

from ir.core.nodes import (
    At,
    Concat,
    Edge,
    Expr,
    Join,
    MakeArray,
    Pad,
    PadEdge,
    Reorder,
    Slide,
    Split,
    Transpose,
)
from ir.core.terms import subterms
from ir.core.type_rules import elem_of, size_of
from rewrites.adjoint.contributions import Contribution, Scope, constant
from rewrites.adjoint.made_on_the_way import inside, made, met, plainly
from rewrites.adjoint.notebook import Notebook, leaf_type, sizes_in
from rewrites.adjoint.source_runs import Run, runs_of, stride_of
from rewrites.analysis.affine_access import Index, NoAccess, index
from rewrites.engine.refused import Refused

Handed = list[tuple[Expr, Contribution]]


def handed_back(e: Expr, scope: Scope, c: Contribution, book: Notebook) -> Handed:
    """The operands of the view e, each with the contribution that e hands back to it; Refused if e
    is no view."""
    match e:
        case Split(int() as m, xs):
            c = inside(e, scope, c, 1, book)
            i, j, *rest = c.coordinates
            return [(xs, c.at(i.times(m).plus(j), *rest))]
        case Slide(_, int() as step, xs, _):
            c = inside(e, scope, inside(e, scope, c, 0, book), 1, book)
            i, j, *rest = c.coordinates
            return [(xs, c.at(i.times(step).plus(j), *rest))]
        case Transpose(xs):
            i, j, *rest = c.coordinates
            return [(xs, c.at(j, i, *rest))]
        case Join(xs):
            return [(xs, _joined(e, scope, c, book))]
        case At(int() as k, xs):
            return [(xs, c.at(constant(k), *c.coordinates))]
        case Concat(a, b):
            n = size_of(a)
            assert isinstance(n, int)
            return [(a, c), (b, _shifted(c, n))]
        case Pad(int() as l, _, _, xs) | PadEdge(Edge.ANY, int() as l, _, xs):
            return [(xs, _shifted(c, l))]
        case PadEdge():
            return _by_runs(e, scope, c, book)
        case Reorder():
            return _reordered(e, scope, c, book)
        case MakeArray(parts):
            c, at = plainly(e, scope, c, book)
            each = [book.put(c, {at: constant(k)}) for k in range(len(parts))]
            return [(p, own.tail()) for p, own in zip(parts, each, strict=True)]
    raise Refused(f"expected an operation that has a derivative, found {type(e).__name__}")


def _shifted(c: Contribution, by: int) -> Contribution:
    i, *rest = c.coordinates
    return c.at(i.shifted(-by), *rest)


def _joined(e: Join, scope: Scope, c: Contribution, book: Notebook) -> Contribution:
    n = sizes_in(leaf_type(elem_of(e.xs), c.path))[0]
    c = inside(e, scope, c, 0, book)
    try:
        parts = book.divided(c.coordinates[0], n)
    except NoAccess:
        c = made(e, scope, [c], book)
        parts = book.divided(c.coordinates[0], n)
    c = book.settled(c)
    return c.at(*parts, *c.coordinates[1:])


def _reordered(e: Reorder, scope: Scope, c: Contribution, book: Notebook) -> Handed:
    """The operand of a reordering with the contribution that is handed back to it; for stride(s),
    the two digits of an index change places."""
    s, n = stride_of(e), size_of(e)
    assert isinstance(n, int)
    if s is None:
        return _by_runs(e, scope, c, book)
    c, i = plainly(e, scope, c, book)
    book.halve(i, n // s)
    c = book.settled(c)
    (high, _), (low, _) = c.coordinates[0].terms
    return [(e.xs, c.at(index(high).plus(index(low).times(s)), *c.coordinates[1:]))]


def _by_runs(e: Reorder | PadEdge, scope: Scope, c: Contribution, book: Notebook) -> Handed:
    c, i = plainly(e, scope, c, book)
    own = [_run(c, i, run, book) for run in runs_of(e)]
    if repeats(e.xs):
        own = met(e.xs, scope, own, book)
    return [(e.xs, part) for part in own]


def _run(c: Contribution, i: Index, run: Run, book: Notebook) -> Contribution:
    """The part of the contribution c at the places of a run, as a contribution to the array that
    the run takes its elements from. The first coordinate of c is the index i alone."""
    place = index(book.index(run.size)) if run.size > 1 else constant(0)
    c = book.put(c, {i: place.shifted(run.first)})
    return c.at(place.times(run.step).shifted(run.source), *c.coordinates[1:])


def repeats(e: Expr) -> bool:
    """True if e repeats elements of an array at its edges, or reorders them. Then contributions to
    e are best added up before they are handed back."""
    return any(isinstance(s, PadEdge | Reorder) for s in subterms(e))

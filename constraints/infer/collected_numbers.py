"""The sums of whole numbers that are collected in a program, and the numbers that may not fit."""

# key: e term, t type

from collections.abc import Iterator

from constraints.infer.ranges_of_operations import UNKNOWN, Range, held, made
from constraints.infer.ranges_of_variables import Known
from constraints.infer.sum_terms import Added, Terms
from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Expr,
    Join,
    Let,
    Map,
    MapPar,
    MapSeq,
    PadEdge,
    Reorder,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
)
from ir.core.terms import children
from ir.core.types import Scalar, Type, Vector, is_whole, leaves
from ir.meaning.inputs import components

MOVED = (
    Split, Join, Slide, PadEdge, Transpose, Reorder, At, AsVector, AsScalar,
    ToLocal, ToPrivate, Store,
)  # fmt: skip
"""Terms with the numbers of the array in them."""


@frozen
class WholeSum:
    """A sum of whole numbers of a known range: its reduction, its type, its terms, and the range of
    the number that it starts from (`start`: 0 … 0 where nothing is known of that number)."""

    reduction: Expr
    scalar: Scalar
    terms: Terms
    start: Range

    @property
    def whole(self) -> Range:
        """The range of the sum, or of some of its terms."""
        return made("+", self.start, self.terms.some)


@frozen
class Escape:
    """A number that the term e computes and that may be outside of its type `scalar`: it is in the
    range `found`."""

    e: Expr
    scalar: Scalar
    found: Range


def fits(found: WholeSum) -> bool:
    """True if the sum is not known to leave its type."""
    whole = found.whole
    return None in (whole.least, whole.most) or held(whole, found.scalar) == whole


def sums_of(t: Type, start: Known, added: Added) -> Iterator[tuple[Scalar, Range, Terms]]:
    """The sums of whole numbers among the parts of an accumulator of the type t, which begins in
    the range `start`, and to which terms of a known range are added: type, start and terms."""
    if isinstance(added, tuple):
        parts = components(t)
        assert parts is not None
        starts = start if isinstance(start, tuple) else (start,) * len(parts)
        for part in zip(parts, starts, added, strict=True):
            yield from sums_of(*part)
    elif added is not None and isinstance(start, Range) and added.all != UNKNOWN:
        scalar = number_type(t)
        if is_whole(scalar):
            yield scalar, start, added


def number_type(t: Type) -> Scalar:
    """The type of each number in t, which holds no tuples."""
    (found,) = set(leaves(t))
    return found.scalar if isinstance(found, Vector) else found


def made_by(e: Expr) -> Expr:
    """The term in e that computes the numbers of its result, if one alone does; else e."""
    match e:
        case Map(f, _) | MapPar(_, _, f, _) | MapSeq(f, _):
            return made_by(f.body)
        case Let(_, _, body):
            return made_by(body)
    return made_by(children(e)[-1]) if isinstance(e, MOVED) else e

"""The constraints that sums of whole numbers do not overflow, such as 255 · 128 · K < 2³¹.

They are inferred from the program as it is written. Whole numbers wrap around, so that every law on
sums holds of them exactly: what is proved of the program holds of each of its lowered forms.
"""

from collections.abc import Iterator
from functools import lru_cache

from constraints.infer.number_ranges import WholeSum, whole_sums
from constraints.infer.ranges_of_operations import made
from constraints.quantities.origin import brief
from constraints.relations.relations import AtMost, Constraint
from ir.core.nodes import Expr
from ir.core.types import RANGES, Scalar


@lru_cache(maxsize=64)
def no_overflow(e: Expr) -> tuple[Constraint, ...]:
    """The constraints that no sum in e overflows its type. There are some for each sum of whole
    numbers whose terms, or what they are made of, have a known range, either by their types or by
    what the program does with them."""
    return tuple(c for found in whole_sums(e) for c in _held(found))


def _held(found: WholeSum) -> Iterator[Constraint]:
    least, most = RANGES[found.scalar.name]
    whole, each = made("+", found.start, found.terms.some), found.terms.each
    begun = "" if found.start.least == found.start.most == 0 else " added to another number"
    why = (
        f"expected a sum that {_a(found.scalar)} holds, found {found.terms.count} "
        f"terms from {each.least} to {each.most}{begun}"
    )
    yield from _terms_held(found)
    if whole.least is not None and whole.most is not None:
        yield Constraint(AtMost(whole.most, most), why, brief(found.reduction))
        yield Constraint(AtMost(least, whole.least), why, brief(found.reduction))


def _terms_held(found: WholeSum) -> Iterator[Constraint]:
    """The constraints that what the terms of the sum `found` are made of fits the types that it is
    computed in."""
    for part in found.terms.narrow:
        least, most = RANGES[part.scalar.name]
        why = (
            f"expected terms that {_a(part.scalar)} holds, found them from {part.least} to "
            f"{part.most}"
        )
        yield Constraint(AtMost(part.most, most), why, brief(found.reduction))
        yield Constraint(AtMost(least, part.least), why, brief(found.reduction))


def _a(scalar: Scalar) -> str:
    """The name of a scalar type with its article, such as `an int`."""
    return f"an {scalar.name}" if scalar.name[0] in "iu" else f"a {scalar.name}"

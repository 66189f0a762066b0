"""The constraints that whole numbers do not overflow, such as 255 · 128 · K < 2³¹.

They are inferred from the program as it is written. Whole numbers wrap around, so that every law on
sums holds of them exactly: what is proved of the program holds of each of its lowered forms.
"""

from collections.abc import Iterator
from functools import lru_cache

from constraints.infer.collected_numbers import Escape, WholeSum
from constraints.infer.number_ranges import looked
from constraints.quantities.origin import brief
from constraints.relations.relations import AtMost, Constraint
from ir.core.nodes import Expr
from ir.core.types import RANGES, Scalar
from ir.text.show import show

WIDTH = 72  # of a term that a message names whole


@lru_cache(maxsize=64)
def no_overflow(e: Expr) -> tuple[Constraint, ...]:
    """The constraints that no number in e overflows its type. There are some for each sum of whole
    numbers whose terms, or what they are made of, have a known range, either by their types or by
    what the program does with them; and for each other number that its known range does not show to
    fit."""
    sums, escapes = looked(e)
    return (*(c for s in sums for c in _held(s)), *(c for n in escapes for c in _fitting(n)))


def _held(found: WholeSum) -> Iterator[Constraint]:
    least, most = RANGES[found.scalar.name]
    whole, each = found.whole, found.terms.each
    begun = "" if found.start.least == found.start.most == 0 else " added to another number"
    why = (
        f"expected a sum that {_a(found.scalar)} holds, found {found.terms.count} "
        f"terms from {each.least} to {each.most}{begun}"
    )
    if whole.least is not None and whole.most is not None:
        yield Constraint(AtMost(whole.most, most), why, brief(found.reduction))
        yield Constraint(AtMost(least, whole.least), why, brief(found.reduction))


def _fitting(number: Escape) -> Iterator[Constraint]:
    """The constraints that a number fits its type."""
    least, most = RANGES[number.scalar.name]
    low, high = number.found.least, number.found.most
    assert low is not None
    assert high is not None
    why = f"expected a number that {_a(number.scalar)} holds, found one from {low} to {high}"
    yield Constraint(AtMost(high, most), why, _written(number.e))
    yield Constraint(AtMost(least, low), why, _written(number.e))


def _written(e: Expr) -> str:
    """The text of the term e as a program writes it, or in short where that is long."""
    text = show(e)
    return text if len(text) <= WIDTH and "\n" not in text else brief(e)


def _a(scalar: Scalar) -> str:
    """The name of a scalar type with its article, such as `an int`."""
    return f"an {scalar.name}" if scalar.name[0] in "iu" else f"a {scalar.name}"

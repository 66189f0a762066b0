"""The ranges of what operations on whole numbers make, from the ranges of their operands."""

from ir.core.conversions import Conversion
from ir.core.frozen import frozen
from ir.core.types import INT, LONG, RANGES, Type, is_whole, scalar_of


@frozen
class Range:
    """The least and the largest number that a term can be; None where that is not known."""

    least: int | None
    most: int | None

    def within(self, least: int, most: int) -> bool:
        """True if all numbers of the range are known to be from `least` to `most`."""
        ends = self.ends
        return ends is not None and least <= ends[0] and ends[1] <= most

    @property
    def ends(self) -> tuple[int, int] | None:
        """The least and the largest number; None if one of them is not known."""
        if self.least is None or self.most is None:
            return None
        return self.least, self.most


UNKNOWN = Range(None, None)
SHIFTS = frozenset({"<<", ">>"})


def hull(a: Range, b: Range) -> Range:
    """The range of the numbers in a and those in b."""
    least = None if a.least is None or b.least is None else min(a.least, b.least)
    most = None if a.most is None or b.most is None else max(a.most, b.most)
    return Range(least, most)


def made(op: str, a: Range, b: Range) -> Range:
    """The range of `x op y` for x in a and y in b, as whole numbers of any size; unknown for
    operations that are not followed. For operations other than + - *, the operands must not have
    wrapped around."""
    if op == "max":
        known = [r.least for r in (a, b) if r.least is not None]
        return Range(max(known, default=None), hull(a, b).most)
    if op == "min":
        known = [r.most for r in (a, b) if r.most is not None]
        return Range(hull(a, b).least, min(known, default=None))
    if op == "&":
        masks = [
            r.most for r in (a, b) if r.most is not None and r.least is not None and r.least >= 0
        ]
        return Range(0, min(masks)) if masks else UNKNOWN
    if op == "|" and a.ends and b.ends:
        ends = *a.ends, *b.ends
        most = 1 << max(map(_bits, ends))
        return Range(0 if min(ends) >= 0 else -most, most - 1)
    if op == "%" and b.least is not None and b.least > 0:
        return Range(0, None if b.most is None else b.most - 1)
    return _of_ends(op, a.ends, b.ends) if a.ends and b.ends else UNKNOWN


def _of_ends(op: str, a: tuple[int, int], b: tuple[int, int]) -> Range:
    match op:
        case "+":
            return Range(a[0] + b[0], a[1] + b[1])
        case "-":
            return Range(a[0] - b[1], a[1] - b[0])
        case "*":
            ends = [x * y for x in a for y in b]
            return Range(min(ends), max(ends))
        case ">>" if b[0] == b[1] and 0 <= b[0] < 64:
            return Range(a[0] >> b[0], a[1] >> b[0])
        case "<<" if b[0] == b[1] and 0 <= b[0] < 31:
            return Range(a[0] << b[0], a[1] << b[0])
        case "/" if b[0] > 0:
            ends = [x // y for x in a for y in b]
            return Range(min(ends), max(ends))
        case "/":
            most = max(map(abs, a))  # of what is divided by 0, 0 is made
            return Range(-most, most)
    return UNKNOWN


def times(n: int, a: Range) -> Range:
    """The range of the sum of n numbers in a."""
    return Range(a.least and n * a.least, a.most and n * a.most)


def places(b: Range, t: Type) -> Range:
    """The range of the places by which a number of the type t is shifted that is told to be shifted
    by the numbers in b: they count modulo the type's bits."""
    if b.least is None or b.least != b.most:
        return b
    place = b.least % (64 if scalar_of(t) == LONG else 32)
    return Range(place, place)


def magnitude(a: Range) -> Range:
    """The range of |x| for x in a, which must not have wrapped around."""
    if a.least is None or a.most is None:
        return UNKNOWN
    ends = abs(a.least), abs(a.most)
    return Range(0 if a.least <= 0 <= a.most else min(ends), max(ends))


def _bits(n: int) -> int:
    """The number of bits in which n is written, but for its sign."""
    return (n if n >= 0 else ~n).bit_length()


def held(found: Range, t: Type) -> Range:
    """The range `found`, if all its numbers are numbers of the type t, so that none has wrapped
    around; else the unknown range."""
    scalar = scalar_of(t)
    if scalar is None or not is_whole(scalar):
        return UNKNOWN
    least, most = RANGES[scalar.name]
    low = found.least if found.least is None or found.least >= least else None
    high = found.most if found.most is None or found.most <= most else None
    wrapped = (low, high) != (found.least, found.most)
    return UNKNOWN if wrapped else found


def converted(to: Conversion, found: Range, source: Type) -> Range:
    """The range of numbers after the conversion `to`; before it, they are of the type `source` and
    in the range `found`."""
    if to.target.name not in RANGES:
        return UNKNOWN
    least, most = RANGES[to.target.name]
    before = held(found, source)
    if before.within(least, most):
        return before
    if to.saturates and before.least is not None and before.most is not None:
        return Range(min(max(before.least, least), most), min(max(before.most, least), most))
    return UNKNOWN if to.target in (INT, LONG) else Range(least, most)

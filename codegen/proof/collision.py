"""Two accesses that may meet, as equations: their cells overlap and their work-items differ."""

# key: a b the sides, x y indices

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from codegen.index.condition import Condition, substitute_in
from codegen.index.index import Index, constant, var
from codegen.index.mixed_radix_digits import digits, plus, unassumed
from codegen.index.remainders import never_equal
from codegen.index.substitute import substitute
from codegen.proof.accesses import Access, Footprint, Where, values_taken
from codegen.proof.barrier_intervals import Meeting, Pins
from codegen.proof.guard_facts import Range, facts, folded, narrowed
from ir.core.frozen import distinct

PRIME = "ʹ"  # marks the variables of the second side
OVERLAP = "overlap" + PRIME
Values = Mapping[str, Index]


@distinct
class Collision:
    """The overlap of the accesses of two work-items to two `cells`: they overlap if and only if all
    `equations` are 0.

    `left` and `right` give the variables of each side; the sides are different work-items where
    they differ in one of `apart`, or one work-item if that is empty.
    """

    meeting: Meeting
    cells: tuple[Index, Index]
    equations: tuple[Index, ...]
    left: Values
    right: Values
    apart: tuple[str, ...]

    def differences(self) -> Iterator[Index]:
        """Numbers of which one is not 0 where the sides are as they are asked for: always, if they
        are one work-item."""
        if not self.apart:
            yield constant(1)
        for name in self.apart:
            yield self.left[name] - self.right[name]

    def in_digits(self) -> tuple[Index, ...]:
        """The equations, with each side written as the digits of a mixed-radix number."""
        a, b = self.meeting.a.access, self.meeting.b.access
        i, j = map(digits, self.cells)
        return (_overlap(a, b, i, j), *self.equations[1:])

    def folded(self) -> tuple[Index, ...]:
        """The equations in digits, in which sums have the narrower ranges that guards give them."""
        a, b = self.meeting.a.access, self.meeting.b.access
        i = _folded(self.cells[0], a, self.left)
        j = _folded(self.cells[1], b, self.right)
        return (_overlap(a, b, i, j), *self.equations[1:])

    def given(self) -> list[Index]:
        sides = ((self.meeting.a, self.left), (self.meeting.b, self.right))
        return [substitute(x, side) for item, side in sides for x in item.access.where.given]

    def denied(self) -> list[Condition]:
        sides = ((self.meeting.a, self.left), (self.meeting.b, self.right))
        return [substitute_in(c, side) for item, side in sides for c in item.access.where.denied]


@dataclass(slots=True)
class Sides:
    """The maker of collisions for the kernel with the footprint `found`. `known` keeps the ranges
    that guards give to the variables at each place, so that they are worked out once."""

    found: Footprint
    known: dict[tuple[Where, Pins], dict[str, Range] | None] = field(default_factory=dict)

    def collision(
        self, meeting: Meeting, shared: frozenset[str], apart: tuple[str, ...]
    ) -> Collision | None:
        """The collision of a meeting of two work-items in which the variables `shared` agree and
        one of the ids `apart` differs; None if the ranges of variables leave no such two, or they
        access different parts of a memory."""
        first = self.ranges(meeting.a.access.where, meeting.a.pins)
        second = self.ranges(meeting.b.access.where, meeting.b.pins)
        if first is None or second is None:
            return None
        first, second = dict(first), dict(second)
        if not _agree(first, second, shared, meeting):
            return None
        left = {name: var(name, lo, hi) for name, (lo, hi) in first.items()}
        right = {}
        for name, (lo, hi) in second.items():
            if name == meeting.step:
                right[name] = left[name] + meeting.by
            elif name in shared:
                right[name] = left[name]
            else:
                right[name] = var(name + PRIME, lo, hi)
        a, b = meeting.a.access, meeting.b.access
        if never_equal(_half(a, left), _half(b, right)):
            return None
        cells = substitute(a.index, left), substitute(b.index, right)
        equations = [_overlap(a, b, *cells)]
        if a.half is not None or b.half is not None:
            equations.append(_half(a, left) - _half(b, right))
        return Collision(meeting, cells, tuple(equations), left, right, apart)

    def ranges(self, where: Where, pins: Pins = ()) -> dict[str, Range] | None:
        """The range of each variable at `where`, narrowed by the guards there, the variables in
        `pins` being fixed to their values; None if the guards contradict each other: an access
        there never runs."""
        if (where, pins) not in self.known:
            all_of = {name: (0, n - 1) for name, n in values_taken(self.found, where).items()}
            all_of.update({name: (value, value) for name, value in pins})
            self.known[where, pins] = narrowed(where.given, all_of)
        return self.known[where, pins]


def _agree(
    first: dict[str, Range], second: dict[str, Range], shared: frozenset[str], meeting: Meeting
) -> bool:
    """True if the shared variables can have the same values on the sides `first` and `second`, and
    the variable `step` of the meeting a value on the second side that is as much more as it says;
    the ranges on both sides are narrowed to these values."""
    for name, (lo, hi) in first.items():
        late = meeting.by if name == meeting.step else 0
        if not late and name not in shared:
            continue
        low, high = second[name]
        low, high = max(lo, low - late), min(hi, high - late)
        if low > high:
            return False
        first[name], second[name] = (low, high), (low + late, high + late)
    return True


def _overlap(a: Access, b: Access, i: Index, j: Index) -> Index:
    """The index that is 0 where cells overlap: i + u = j + v for some u < a.width and v <
    b.width."""
    if a.width == 1 and b.width == 1:
        return plus(i, j, -1)
    return plus(plus(i, j, -1), var(OVERLAP, 1 - b.width, a.width - 1))


def _folded(cell: Index, a: Access, side: Values) -> Index:
    known = [digits(substitute(part, side)) for part in facts(a.where.given)]
    return folded(unassumed(digits(cell)), known)


def _half(a: Access, side: Values) -> Index:
    return constant(0) if a.half is None else substitute(a.half, side)

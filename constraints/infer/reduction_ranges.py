"""The ranges of a reduction's accumulator: of sums by their terms, of others by following the first
turns, and by looking for a range that no turn leaves."""

# key: e reduction, t type, env ranges of variables

from collections.abc import Iterator

from constraints.infer.ranges_of_operations import UNKNOWN, Range
from constraints.infer.ranges_of_variables import Env, Known, bound, either, of_type
from constraints.infer.sum_terms import Added, Looks, Step, repeated
from ir.core.frozen import frozen
from ir.core.nodes import Pattern, Reduce, ReduceSeq
from ir.core.terms import subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import RANGES, Array, Tuple, Type, is_whole, leaves, scalar_of
from ir.meaning.inputs import components

TURNS, NESTED = 512, 16  # of a reduction that is no sum, followed one by one: alone, or of others
VAST = 1 << 128
ROUNDS = 3  # in which parts of an accumulator are told that add up others

Told = Range | None | tuple["Told", ...]  # of the parts of an accumulator; None: not yet


@frozen
class Accumulated:
    """The accumulator of a reduction: the terms that all its turns add to each part that is told by
    them (None: to another), its range at the beginning of the last turn and at the end, and whether
    parts of it `grow` beyond all ranges that were tried."""

    added: Added
    last: Known
    end: Known
    grows: bool = False


def accumulated(e: Reduce | ReduceSeq, env: Env, start: Known, looks: Looks) -> Accumulated:
    """The accumulator of e, which begins in the range `start`; `env` has the ranges of what each
    turn takes from the array."""
    fold = _Fold(e, env, start, looks)
    found = fold.told(of_type(fold.type))
    for _ in range(ROUNDS if components(fold.type) else 0):
        before, found = found, fold.told(found.end)
        if before == found:
            break
    return found


@frozen
class _Fold:
    """A reduction with the range in which it starts; `env` has the ranges of its elements."""

    e: Reduce | ReduceSeq
    env: Env
    start: Known
    looks: Looks

    @property
    def type(self) -> Type:
        """The type of the accumulator."""
        return type_of(self.e)

    @property
    def turns(self) -> int | None:
        """The number of turns; None if it is not known yet."""
        n = size_of(self.e.xs)
        return n if isinstance(n, int) else None

    def told(self, parts: Known) -> Accumulated:
        """The accumulator, of whose parts it is known that they are in the ranges `parts`."""
        each = self._terms(parts, self.looks)
        for added in (_always(each), each, self._of_itself()):
            every = repeated(added, size_of(self.e.xs))
            last = None if self.turns is None else repeated(added, self.turns - 1)
            told = (_told(self.type, self.start, terms) for terms in (last, every))
            found = self._followed(*told)
            if found is not None:
                return Accumulated(every, *found)
        most = _widest(self.type)
        return Accumulated(None, most, of_type(self.type), grows=self.turns is not None)

    def _terms(self, parts: Known, looks: Looks, whole: bool = False) -> Added:
        assert isinstance(self.e.f.pattern, tuple)
        acc: Pattern = self.e.f.pattern[0]
        return Step(acc, bound(self.env, acc, parts), looks, whole).terms(self.e.f.body)

    def _of_itself(self) -> Added:
        """The terms that each turn adds, where some are made of the accumulator, which is any
        number of its type; None if their sum does not fit."""
        most = _widest(self.type)
        added = self._terms(most, self.looks.quiet(), whole=True)
        end = _told(self.type, self.start, repeated(added, size_of(self.e.xs)))
        return added if _inside(_merged(end, most), most) else None

    def _followed(self, last: Told, end: Told) -> tuple[Known, Known] | None:
        """The ranges of the accumulator in the last turn and behind it, where those of some parts
        are already told; None if none is found that no turn leaves."""
        before = found = self.start
        nested = any(isinstance(e, Reduce | ReduceSeq) for e in subterms(self.e.f.body))
        for turn in range(NESTED if nested else TURNS):
            made = self._turned(_merged(last, found))
            if made is None or _is_vast(made):
                return None
            wider = either(found, made)
            if turn == self.turns or _merged(end, wider) == _merged(end, found):
                return _merged(last, before if turn == self.turns else found), _merged(end, found)
            before, found = found, wider
        for kept in self._tried(found):
            made = self._turned(_merged(last, kept))
            if made is not None and _inside(_merged(end, made), _merged(end, kept)):
                kept = either(self.start, made)
                kept = either(self.start, self._turned(_merged(last, kept)) or kept)
                return _merged(last, kept), _merged(end, kept)
        return None

    def _turned(self, acc: Known) -> Known | None:
        """The range of the accumulator after a turn before which it is in the range `acc`; None if
        a number may not fit in that turn."""
        assert isinstance(self.e.f.pattern, tuple)
        looks = self.looks.quiet()
        found = looks.known(self.e.f.body, bound(self.env, self.e.f.pattern[0], acc))
        return None if looks.escapes else found

    def _tried(self, found: Known) -> Iterator[Known]:
        """The ranges that hold all in `found` and might be left by no turn, narrow ones first."""
        for bits in range(1, 64):
            for signed in (False, True):
                kept = _widest(self.type, (-(signed << bits), (1 << bits) - 1))
                if _inside(found, kept):
                    yield kept


def _always(each: Added) -> Added:
    """The terms `each` of those parts of an accumulator to which they are always added."""
    if isinstance(each, tuple):
        return tuple(map(_always, each))
    return None if each is None or each.instead is not None else each


def _told(t: Type, start: Known, added: Added) -> Told:
    """The ranges of those parts of an accumulator of the type t to which terms are added."""
    if isinstance(added, tuple):
        parts = components(t)
        assert parts is not None
        starts = start if isinstance(start, tuple) else (start,) * len(parts)
        return tuple(map(_told, parts, starts, added))
    if added is None or not isinstance(start, Range):
        return None
    found = added.whole(start)
    known = of_type(t) if found == UNKNOWN else found
    return known if isinstance(known, Range) else None


def _merged(told: Told, other: Known) -> Known:
    """The ranges that are told, and those of `other` for other parts."""
    if isinstance(told, tuple):
        others = other if isinstance(other, tuple) else (other,) * len(told)
        return tuple(map(_merged, told, others))
    return other if told is None else told


def _widest(t: Type, ends: tuple[int, int] | None = None) -> Known:
    """The range of the numbers of each type in t, of those between two `ends` (None: of all)."""
    match t:
        case Tuple(parts):
            return tuple(_widest(part, ends) for part in parts)
        case Array(elem, _):
            return _widest(elem, ends)
    (leaf,) = leaves(t)
    scalar = scalar_of(leaf)
    if scalar is None or not is_whole(scalar):
        return UNKNOWN
    low, high = RANGES[scalar.name]
    least, most = (low, high) if ends is None else ends
    return Range(max(low, least), min(high, most))


def _is_vast(found: Known) -> bool:
    """True if a number is so large that none that fits a type is made of it any more."""
    if isinstance(found, tuple):
        return any(map(_is_vast, found))
    return max(-(found.least or 0), found.most or 0) > VAST


def _inside(a: Known, b: Known) -> bool:
    """True if all numbers in a are known to be in b."""
    if isinstance(b, tuple):
        others = a if isinstance(a, tuple) else (a,) * len(b)
        return all(map(_inside, others, b))
    if b.least is None or b.most is None:
        return b == UNKNOWN
    return isinstance(a, Range) and a.within(b.least, b.most)

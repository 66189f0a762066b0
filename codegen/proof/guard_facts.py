"""Facts about indices that follow from guards: tighter ranges of variables, and bounds.

Key: k l coefficients, x y indices.
"""

from collections.abc import Iterable, Mapping, Sequence

from codegen.index.atoms import Assume, Atom, Bound, Quot, Rem, Var, quot, rem
from codegen.index.index import Index, assume, from_atom, summed
from codegen.index.mixed_radix_digits import plus, times_in
from codegen.tree.array_axes import bare

Range = tuple[int, int]
Ranges = Mapping[str, Range]


def narrowed(given: Iterable[Index], ranges: Ranges) -> dict[str, Range] | None:
    """The ranges of variables within which every `given` index can be ≥ 0; None if one never
    can."""
    narrow = dict(ranges)
    parts = facts(given)
    for _ in range(2):
        for part in parts:
            if not _narrow(part, narrow):
                return None
    return narrow


def _narrow(part: Index, narrow: dict[str, Range]) -> bool:
    """True if `part` can be ≥ 0; in `narrow`, which has the ranges of variables, those of its
    variables are then narrowed to where it can.

    k·x + rest ≥ 0  ⇒  x ≥ ⌈−most(rest) / k⌉, or x ≤ ⌊most(rest) / −k⌋ if k < 0
    """
    most = _most(part, narrow)
    if most is None:
        return True
    for atom, k in part.terms:
        if not isinstance(atom, Var):
            continue
        lo, hi = narrow[atom.key]
        rest = most - k * (hi if k > 0 else lo)
        lo, hi = (max(lo, -(rest // k)), hi) if k > 0 else (lo, min(hi, rest // -k))
        if lo > hi:
            return False
        narrow[atom.key] = lo, hi
    return most >= 0


def _most(part: Index, narrow: Ranges) -> int | None:
    most = part.constant
    for atom, k in part.terms:
        lo: Bound
        hi: Bound
        lo, hi = narrow[atom.key] if isinstance(atom, Var) else (atom.lo, atom.hi)
        bound = hi if k > 0 else lo
        if bound is None:
            return None
        most += k * bound
    return most


def follows(goal: Index, given: Iterable[Index]) -> bool:
    """True if goal ≥ 0 follows from the given indices ≥ 0: goal = x + Σ lᵢ·givenᵢ for some x ≥ 0
    and lᵢ ≥ 0."""
    known = facts(given)
    return any(_exhausted(x, known) for x in facts([goal]))


def _exhausted(goal: Index, given: Iterable[Index]) -> bool:
    for part in given:
        if _positive(goal):
            return True
        goal = _less(goal, part)
    return _positive(goal)


def _less(goal: Index, part: Index) -> Index:
    """The index goal − l·part with the l ≥ 0 that removes most of the goal's terms."""
    held = {atom.key: k for atom, k in part.terms}
    for atom, k in goal.terms:
        l = k // held[atom.key] if atom.key in held else 0
        if l > 0:
            rest = goal - part * l
            if rest.lo is not None and (goal.lo is None or rest.lo > goal.lo):
                return rest
    return goal


def _positive(x: Index) -> bool:
    return x.lo is not None and x.lo >= 0


# ---- guards inside indices


def plain(x: Index) -> Index:
    """The index x without its assumptions."""
    return bare(x) if any(isinstance(atom, Assume) for atom, _ in x.terms) else x


def facts(given: Iterable[Index]) -> list[Index]:
    """The given indices, each known to be ≥ 0, and besides each one the same index without
    assumptions."""
    found = []
    for part in given:
        found.append(part)
        if (bared := plain(part)) is not part:
            found.append(bared)
    return found


def folded(x: Index, given: Iterable[Index]) -> Index:
    """The index x with each sum y in it replaced by y with the tighter range that the guards,
    `given` ≥ 0, give to it.

    Sums of fewer terms come first: those of more may be sums of them.
    """
    known: list[tuple[Index, Index]] = []
    for y, lo, hi in sorted(_sums(given), key=_length):
        y = _put_in(y, known)
        within = assume(y, lo, hi)
        if within != y:
            known.append((y, within))
    return _put_in(x, known)


def _sums(given: Iterable[Index]) -> Iterable[tuple[Index, Bound, Bound]]:
    """The sums y that guards bound, each as (y, lo, hi): from guards of the forms y − lo ≥ 0 and hi
    − y ≥ 0. A bound that no guard gives is None."""
    found: dict[str, tuple[Index, Bound, Bound]] = {}
    for part in given:
        y, c = summed(part.terms, 0), part.constant
        if not y.terms:
            continue
        if y.terms[0][1] > 0:
            _, lo, hi = found.get(y.key, (y, None, None))
            found[y.key] = y, -c if lo is None else max(lo, -c), hi
        else:
            y = -y
            _, lo, hi = found.get(y.key, (y, None, None))
            found[y.key] = y, lo, c if hi is None else min(hi, c)
    return found.values()


def _length(sum_: tuple[Index, Bound, Bound]) -> int:
    return len(sum_[0].terms)


def _put_in(x: Index, known: Sequence[tuple[Index, Index]]) -> Index:
    """The index x with each known sum in it, also in dividends, replaced by the same sum with a
    tighter range. `known` are pairs of a sum and what replaces it."""
    for atom, k in x.terms:
        narrower = _divided(atom, known)
        if narrower is not atom:
            x = plus(plus(x, from_atom(atom), -k), from_atom(narrower), k)
    for y, within in known:
        l = times_in(y, x)
        if l:
            x = plus(plus(x, y, -l), within, l)
    return x


def _divided(atom: Atom, known: Sequence[tuple[Index, Index]]) -> Atom:
    """The quotient or remainder with the known sums in its dividend replaced; other atoms as they
    are."""
    if not isinstance(atom, Quot | Rem):
        return atom
    x = _put_in(atom.index, known)
    if x is atom.index:
        return atom
    return quot(x, atom.divisor) if isinstance(atom, Quot) else rem(x, atom.divisor)

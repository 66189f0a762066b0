"""What guards say of indices: tighter ranges of variables, and bounds that follow from them.

Key: k l coefficients, x y indices.
"""

from collections.abc import Iterable, Mapping

from codegen.accesses import inner_atoms
from codegen.atoms import Bound, Var
from codegen.index import Index

Range = tuple[int, int]
Ranges = Mapping[str, Range]


def narrowed(given: Iterable[Index], ranges: Ranges) -> dict[str, Range] | None:
    """The ranges within which every `given` can be ≥ 0; None where it never can."""
    narrow = dict(ranges)
    parts = list(given)
    for _ in range(2):
        for part in parts:
            if not _narrow(part, narrow):
                return None
    return narrow


def _narrow(part: Index, narrow: dict[str, Range]) -> bool:
    """k·x + rest ≥ 0  ⇒  x ≥ ⌈−most(rest) / k⌉, or x ≤ ⌊most(rest) / −k⌋ if k < 0"""
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
    """goal ≥ 0, since goal = x + Σ lᵢ·givenᵢ for some x ≥ 0 and lᵢ ≥ 0"""
    for part in given:
        if _positive(goal):
            return True
        goal = _less(goal, part)
    return _positive(goal)


def _less(goal: Index, part: Index) -> Index:
    """goal − l·part with the l that makes most of it, 0 if none helps"""
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


def variables_of(x: Index) -> dict[str, Var]:
    return {atom.key: atom for atom in inner_atoms(x) if isinstance(atom, Var)}

"""Limits on what rounding up may waste: requirements found in the steps of a derivation."""

# key: k what a dimension is rounded up to a multiple of, n size

from collections.abc import Iterable, Iterator, Sequence

from ir.core.nodes import PadEdge
from ir.core.size import Nat, Size, named, names, show_size
from ir.core.type_rules import size_of
from rewrites.engine.rule import Step
from rewrites.laws.maps import extend_map, round_map
from rewrites.tuning.lowering import Requirement

FEW = 16  # work-items: the smallest group, which may be idle in part while it copies a small tile
SPARE, COPIED = 12, 4 * FEW
WORK_ITEMS = frozenset({"lx", "ly", "p"})  # work-items of a group


def rounding(steps: Iterable[Step]) -> Iterator[Requirement]:
    """The requirements that rounding up wastes little: one for each number of elements that `steps`
    add to a dimension to make tiles fit."""
    seen: set[Size] = set()
    for step in steps:
        if step.rule in (round_map, extend_map) and isinstance(step.term, PadEdge):
            more = -step.term.right
            if names(more) and more not in seen:
                seen.add(more)
                copied = _copies(dict(step.arguments).get("k"))
                spare = COPIED if copied else SPARE
                yield _worthwhile(more, size_of(step.term), spare)


def _worthwhile(more: Size, n: Size, spare: int) -> Requirement:
    """The requirement that rounding adds few elements to a dimension of n: their number, `more`, is
    at most a quarter of n + `spare`.

    Padding that is itself a parameter may double the dimension.
    """
    if more in {named(name) for name in names(more)}:
        return Requirement(more, n, "padding at most doubles a dimension")
    rounded = f"{show_size(n)} to {show_size(n + more)}"
    return Requirement(4 * more, n + spare, f"rounding {rounded} adds at most a quarter")


def rounded_dimensions(steps: Sequence[Step], name: str) -> Iterator[int]:
    """The lengths of the dimensions that steps round up to a multiple of the parameter `name`."""
    for step in steps:
        k = dict(step.arguments).get("k")
        if step.rule == round_map and isinstance(k, Nat) and not _copies(k) and name in names(k):
            n = size_of(step.term)
            if isinstance(n, int):
                yield n


def _copies(k: object) -> bool:
    """True if k is the number of elements copied in one round, one by each work-item of a group."""
    return isinstance(k, Nat) and names(k) <= WORK_ITEMS

"""What the comparisons of a condition assume: ranges that its other comparisons ensure."""

from collections.abc import Iterator, Sequence

from codegen.index.atoms import Assume
from codegen.index.index import Index, inner_atoms


def each_with_its_grounds(parts: Sequence[Index]) -> Iterator[tuple[Index, list[Index]]]:
    """Each part of a condition with the others that make fewer assumptions: in the place of these
    assumptions they may stand as its grounds, since the condition holds only if all parts do."""
    assumed = [_assumptions(part) for part in parts]
    for part, mine in zip(parts, assumed, strict=True):
        yield part, [q for q, theirs in zip(parts, assumed, strict=True) if _is_less(theirs, mine)]


def grounds_first(parts: Sequence[Index]) -> list[Index]:
    """The parts of a condition in their order, but each after its grounds."""
    left, done = list(each_with_its_grounds(parts)), list[Index]()
    while left:
        ready = next(k for k, (_, grounds) in enumerate(left) if all(g in done for g in grounds))
        done.append(left.pop(ready)[0])
    return done


def _assumptions(x: Index) -> frozenset[Assume]:
    return frozenset(atom for atom in inner_atoms(x) if isinstance(atom, Assume))


def _is_less(a: frozenset[Assume], b: frozenset[Assume]) -> bool:
    """True if b assumes all that a assumes, and more. Example: 0 ≤ i < 4 is less than 1 ≤ i < 3."""
    return bool(b) and _follows(a, b) and not _follows(b, a)


def _follows(a: frozenset[Assume], b: frozenset[Assume]) -> bool:
    return all(any(_implies(given, each) for given in b) for each in a)


def _implies(given: Assume, each: Assume) -> bool:
    return (
        given.index.key == each.index.key
        and (each.lo is None or (given.lo is not None and given.lo >= each.lo))
        and (each.hi is None or (given.hi is not None and given.hi <= each.hi))
    )

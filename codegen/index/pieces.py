"""The places in memory of the pieces of an operand, one for each lane: the first, and the distances
between pieces whose numbers differ in one digit."""

from collections.abc import Sequence
from math import prod

from codegen.index.index import Index
from codegen.index.substitute import substitute


def places_of_pieces(
    index: Index, lane: Index, digits: Sequence[int], width: int
) -> tuple[Index, tuple[int, ...]] | None:
    """The index of piece 0, and the distances in pieces of `width` numbers between those which
    differ by one in each of the `digits` of a piece's number but the last. `index` is where the
    piece with the number of the `lane` lies. None unless pieces lie at these distances everywhere,
    those that differ in the last digit side by side."""
    (name,) = lane.names
    found = [substitute(index, {name: n}) for n in range(prod(digits))]
    first, apart = found[0], list[int]()
    for k in range(len(digits)):
        step = found[prod(digits[k + 1 :])] - first if digits[k] > 1 else first - first
        if not step.is_constant or step.constant % width or step.constant < 0:
            return None
        apart.append(step.constant // width)
    if apart.pop() != 1 or any(
        place != at_distances(first, n, digits, apart, width) for n, place in enumerate(found)
    ):
        return None
    return first, tuple(apart)


def at_distances(
    first: Index, piece: Index | int, digits: Sequence[int], apart: Sequence[int], width: int
) -> Index:
    """The index of a piece by its number, if piece 0 is at the index `first`, and pieces that
    differ by one in each digit of their number lie so many pieces apart, or side by side."""
    below = prod(digits)
    for size, distance in zip(digits, (*apart, 1), strict=True):
        below //= size
        first = first + piece // below % size * (distance * width)
    return first

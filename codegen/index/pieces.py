"""The places in memory of the pieces of an operand, one for each lane: the first, and the distances
between pieces whose numbers differ in one digit."""

from collections.abc import Sequence
from math import prod

from codegen.index.index import Index
from codegen.index.substitute import substitute

LINES = (1, 4, 8)  # pieces of a line; of one, none are exchanged
PIECES, PIECE_BYTES = 8, 16  # pieces in 128 bytes, and bytes of a piece


def places_of_pieces(
    index: Index, lane: Index, digits: Sequence[int], width: int
) -> tuple[Index, tuple[int, ...]] | None:
    """The index of piece 0, and the distances in pieces of `width` numbers between those which
    differ by one in each of the `digits` of a piece's number. `index` is where the piece with the
    number of the `lane` lies. None unless pieces lie at these distances everywhere; those that
    differ in the last digit side by side, or in lines whose pieces are exchanged."""
    (name,) = lane.names
    found = [substitute(index, {name: n}) for n in range(prod(digits))]
    for line in LINES:
        apart = list[int]()
        for k in range(len(digits)):
            step = _plain(found[prod(digits[k + 1 :])] - found[0], line, width)
            if step is None:
                break
            apart.append(step)
        else:
            if apart[-1] == line and all(
                place == at_distances(found[0], n, digits, apart, width)
                for n, place in enumerate(found)
            ):
                return found[0], tuple(apart)
    return None


def _plain(step: Index, line: int, width: int) -> int | None:
    """The number of pieces from piece 0 to one that lies a step of so many numbers further, if no
    pieces were exchanged in lines of so many; None if it is not known."""
    if not step.is_constant or step.constant % width or step.constant < 0:
        return None
    n = step.constant // width
    return n ^ n // PIECES % line


def at_distances(
    first: Index, piece: Index | int, digits: Sequence[int], apart: Sequence[int], width: int
) -> Index:
    """The index of a piece by its number, if piece 0 is at the index `first`, and pieces that
    differ by one in each digit of their number lie so many pieces apart. Where those that differ in
    the last digit lie a line apart, pieces are exchanged: all that lie in the same 128 bytes, eight
    of them, as the number of these bytes says, where a line has eight pieces; where it has four,
    the four of each line so. Piece 0 stays where it is."""
    below = prod(digits)
    for size, distance in zip(digits, apart, strict=True):
        below //= size
        first = first + piece // below % size * (distance * width)
    return exchanged(first, apart[-1], width)


def beyond_lines(first: Index, line: int, width: int) -> Index:
    """The number of times 128 bytes by which the index `first` of piece 0 lies beyond a place where
    the exchange of pieces begins again: 0 if it leaves piece 0 where it is."""
    return first // (PIECES * width) % line


def exchanged(index: Index, line: int, width: int) -> Index:
    """The index of the number to which the one at `index` is exchanged in lines of so many pieces
    of `width` numbers: the last binary digits of its piece's number among the eight of 128 bytes,
    as many as count a line, are added to those of the number of these bytes, without carries."""
    place, moved = index, 1
    while moved < line:
        digit, theirs = index // (moved * width) % 2, index // (PIECES * moved * width) % 2
        place = place + ((digit + theirs) % 2 - digit) * (moved * width)
        moved *= 2
    return place

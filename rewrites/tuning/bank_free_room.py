"""Room in staged lines of pixels, so that lanes that read neighbours meet no bank conflict."""

# key: p program, e term

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ir.core.nodes import ToLocal
from ir.core.size import Size, bind, names
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import BYTES, Array, leaves, scalar_of
from ir.instructions.banks import WORD, Words, conflicts
from ir.instructions.fragments import Fragment, held
from rewrites.tuning.lowering import Choice, Lowering

WHY = "the least room with which lanes meet the fewest bank conflicts, counted on their words"


def bank_free_room(
    columns: Fragment, sides: Sequence[int], room: str, tried: Sequence[int], lowering: Lowering
) -> Lowering:
    """The lowering with one value for the parameter `room`: of those `tried`, the one for which
    lanes wait the fewest turns for banks when they read columns of a staged patch in the layout
    `columns`. The turns of tiles with each of these `sides` are added up. Unchanged where no staged
    line depends on `room`."""
    local = (e for e in subterms(lowering.program.body) if isinstance(e, ToLocal))
    staged = next((e for e in local if room in names(_line(e))), None)
    if staged is None:
        return lowering
    line, bytes_each = _line(staged), _bytes(staged)
    side = next(iter(sorted(names(line) - {room})), None)

    def lost(n: int) -> int:
        pitch = bind(line, {room: n})
        return sum(_lost(columns, bytes_each, pitch, side, pixels) for pixels in sides)

    choice = Choice(room, (min(tried, key=lost),), WHY)
    return replace(lowering, choices=(*lowering.choices, choice))


def _line(e: ToLocal) -> Size:
    """The number of places in a line that e stages: the size of the dimension around the steps of
    an instruction."""
    t = type_of(e)
    sizes = []
    while isinstance(t, Array):
        sizes.append(t.size)
        t = t.elem
    return sizes[-2]


def _bytes(e: ToLocal) -> int:
    """The number of bytes of each number that e stages."""
    (scalar,) = {scalar_of(leaf) for leaf in leaves(type_of(e))}
    assert scalar is not None
    return BYTES[scalar.name]


def _lost(columns: Fragment, bytes_each: int, line: Size, side: str | None, pixels: int) -> int:
    """The turns that lanes wait for banks while they read each pixel of a tile once. The tile has
    lines of `pixels` pixels, as many lines as the layout has columns; `line` is the number of
    places of a staged line, in which the parameter `side` stands for its pixels, and a number has
    `bytes_each` bytes. 0 without such a parameter."""
    if side is None:
        return 0  # what lies there is no line of the tile
    pitch, next_pitch = bind(line, {side: pixels}), bind(line, {side: pixels + 1})
    assert isinstance(pitch, int)
    assert isinstance(next_pitch, int)
    steps, width = columns.sides
    step, column = np.divmod(held(columns), width)
    pixel = column + width * np.arange(pixels).reshape(-1, 1, 1)
    places = (pixel // pixels) * pitch + (pixel % pixels) * (next_pitch - pitch)
    together = WORD // bytes_each  # numbers of one word, of which a lane reads all
    words: Words = (places * steps + step)[..., ::together] // together
    return int(conflicts(words).sum())

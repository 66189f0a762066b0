"""Layouts: the ways in which the numbers of a tensor can lie in memory, and the views from one to
another."""

# key: e the text of an array

from collections.abc import Sequence
from enum import Enum
from math import prod

import numpy as np

from explore.onnx_model.onnx_graph import Array
from explore.operators.program_text import Order, channels_last, inverse, permuted, under

BLOCK = 16  # channels: the numbers of a vector register of 512 bits


class Layout(Enum):
    """A layout of a tensor's axes, of which the second is its channels. In `BLOCKS`, `BLOCK`
    channels at a time lie last, and these blocks where ONNX has the channels."""

    ONNX = "in ONNX's order"
    LAST = "with channels last"
    BLOCKS = "with channels in blocks"

    def stored(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of a tensor of this shape in the order in which its axes lie, where blocks have
        an axis of their own; a tensor of one channel that others are combined with has one."""
        if self is not Layout.BLOCKS:
            return tuple(shape[axis] for axis in self.order(len(shape)))
        batch, channels, *spatial = shape
        block = BLOCK if channels > 1 else 1
        return batch, channels // block, *spatial, block

    def order(self, rank: int) -> Order:
        """The axes in the order in which they lie, where blocks count as channels that lie last."""
        return tuple(range(rank)) if self is Layout.ONNX else channels_last(rank)

    def place(self, axis: int, rank: int) -> int:
        """The place of an axis among those of `stored`; that of the channels is that of their
        blocks."""
        return axis if self is Layout.BLOCKS else self.order(rank).index(axis)

    def fits(self, shape: Sequence[int]) -> bool:
        """True if a tensor of this shape can lie so, and this is not how it lies in another
        layout."""
        if self is Layout.ONNX:
            return True
        if not 3 <= len(shape) <= 5 or shape[1] == 1 or prod(shape[2:]) == 1:
            return False
        return self is Layout.LAST or (shape[1] > BLOCK and shape[1] % BLOCK == 0)

    def as_onnx(self, shape: Sequence[int]) -> bool:
        """True if the numbers of a tensor of this shape lie as in ONNX's order."""
        return self is Layout.ONNX or prod(shape[2:]) == 1 or shape[1] == 1

    # ---- views

    def read(self, e: str, rank: int, order: Order) -> str:
        """The text of e, which lies in this layout, with its `rank` axes in this order."""
        if self is Layout.BLOCKS:
            e = permuted(e, (0, *range(2, rank), 1, rank))
            e = under(rank - 1, lambda pixel: f"join({pixel})", e)
        now = self.order(rank)
        return permuted(e, tuple(now.index(axis) for axis in order))

    def laid(self, e: str, rank: int, order: Order) -> str:
        """The text of e, whose `rank` axes are in this order, as it lies in this layout."""
        e = permuted(e, tuple(order.index(axis) for axis in self.order(rank)))
        if self is Layout.BLOCKS:
            e = under(rank - 1, lambda pixel: f"split({BLOCK}, {pixel})", e)
            e = permuted(e, (0, rank - 1, *range(1, rank - 1), rank))
        return e

    def pixels(self, image: str, rank: int) -> str:
        """The text of an image of `rank` dimensions (or volume), which lies in this layout, as rows
        of pixels of channels."""
        if self is Layout.LAST:
            return image
        return f"{'from_blocks' if self is Layout.BLOCKS else 'to_last'}{_three(rank)}({image})"

    def image(self, pixels: str, rank: int) -> str:
        """The text of an image of `rank` dimensions (or volume), given as rows of pixels of
        channels, as it lies in this layout."""
        match self:
            case Layout.ONNX:
                return f"to_first{_three(rank)}({pixels})"
            case Layout.BLOCKS:
                return f"to_blocks{_three(rank)}({BLOCK}, {pixels})"
        return pixels

    # ---- arrays

    def lies(self, array: Array) -> Array:
        """An array in ONNX's order as it lies in this layout."""
        stored = self.stored(array.shape)
        if self is Layout.BLOCKS:
            blocks = array.reshape(*array.shape[:1], stored[1], stored[-1], *array.shape[2:])
            return np.moveaxis(blocks, 2, -1)
        return np.transpose(array, self.order(array.ndim))

    def in_onnx_order(self, numbers: Array, shape: Sequence[int]) -> Array:
        """The numbers of a tensor of this shape, given as they lie, as an array of its shape."""
        found = numbers.reshape(self.stored(shape))
        if self is Layout.BLOCKS:
            return np.moveaxis(found, -1, 2).reshape(tuple(shape))
        return np.transpose(found, inverse(self.order(len(shape))))


def _three(rank: int) -> str:
    return "3d" if rank == 3 else ""

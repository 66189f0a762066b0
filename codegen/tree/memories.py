"""The memories of kernels: flat arrays of scalars, each in a space that says who sees it."""

from enum import Enum

from ir.core.frozen import distinct
from ir.core.types import BYTES


class Space(Enum):
    """The space of a memory, which says who sees it: everyone, one work-group, or one work-item.

    Constant memory is a table that stands in the text.
    """

    GLOBAL = "global"
    CONSTANT = "constant"
    LOCAL = "local"
    PRIVATE = "private"


@distinct
class Memory:
    """A memory of `halves` equal parts of `elements` scalars each; two memories never share
    storage.

    `shape` only says how the scalars of private memory are spelled: `acc_0_1`. `values` are those
    of a constant table.
    """

    name: str
    space: Space
    scalar: str  # the name of a scalar type
    elements: int
    halves: int = 1
    shape: tuple[int, ...] = ()
    values: tuple[float | int, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of the memory in bytes, all its halves."""
        return self.elements * self.halves * BYTES[self.scalar]

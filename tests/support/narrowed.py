"""Values as what a test knows them to be; a failure where they are not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.size import Size
from ir.core.types import Array, Type
from ir.meaning.inputs import Data


def one(data: Data) -> NDArray[Any]:
    """The array that data is, and no tuple of them."""
    assert isinstance(data, np.ndarray)
    return data


def number(n: Size) -> int:
    """The number that a size is, and no parameter."""
    assert isinstance(n, int)
    return n


def array(t: Type) -> Array:
    """The type of arrays that a type is."""
    assert isinstance(t, Array)
    return t

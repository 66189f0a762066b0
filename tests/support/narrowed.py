"""Functions that narrow the type of a value to the one that a test knows it to have, and fail if it
has another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.size import Size
from ir.core.types import Array, Type
from ir.meaning.inputs import Data


def one(data: Data) -> NDArray[Any]:
    """The data as one array; the test fails if it is a tuple of arrays."""
    assert isinstance(data, np.ndarray)
    return data


def number(n: Size) -> int:
    """The size n as an int; the test fails if it has names or parameters."""
    assert isinstance(n, int)
    return n


def array(t: Type) -> Array:
    """The type t as an array type; the test fails if it is another kind of type."""
    assert isinstance(t, Array)
    return t

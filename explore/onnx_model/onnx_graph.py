"""The graph of a model as the rest of `explore` sees it: plain data, in an order that runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import frozen
from ir.errors import UserError

Array: TypeAlias = NDArray[Any]

SCALARS: Mapping[str, str] = {
    "float32": "float",
    "float16": "half",
    "int64": "long",
    "int32": "int",
    "int16": "short",
    "uint16": "ushort",
    "int8": "char",
    "uint8": "uchar",
}
"""The scalar types of our language by the names of NumPy's types."""


@frozen
class Kind:
    """The kind of a tensor: the name of its NumPy type, and its shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * np.dtype(self.dtype).itemsize

    @staticmethod
    def of(array: Array) -> "Kind":
        """The kind of an array."""
        return Kind(array.dtype.name, array.shape)


@frozen
class Node:
    """A node of a graph: its name, its operator, the tensors that it reads and makes (an empty name
    for one that is left out), and its attributes."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The words that name the node in messages."""
        return f"{self.operator} '{self.name or self.outputs[0]}'"


BRANCHES = ("then_branch", "else_branch")  # of an `If`: where its condition holds, and where not


@frozen
class Body:
    """A branch of a node: its nodes, of which each comes after those whose results it reads, its
    constants by name, and the names of its results. It may read tensors of the graph around it."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    outputs: tuple[str, ...]

    @property
    def read(self) -> dict[str, None]:
        """The names of those tensors that it reads from the graph around it."""
        own = {*self.constants, *(n for node in self.nodes for n in node.outputs)}
        names = [*(n for node in self.nodes for n in node.inputs), *self.outputs]
        return dict.fromkeys(n for n in names if n and n not in own)


@contextmanager
def naming(node: Node) -> Iterator[None]:
    """A context in which errors that contradictory numbers and shapes of a node raise become one
    UserError that names the node."""
    try:
        yield
    except (ValueError, IndexError, KeyError, TypeError, ArithmeticError) as error:
        raise UserError(f"{node.title} is malformed: {error}") from error


@frozen
class Graph:
    """A model's network: the kinds of its inputs, by name, the names of its outputs, the arrays of
    its constants, by name, and its nodes, of which each comes after those whose results it reads.
    `opset` is the version of ONNX's operators."""

    name: str
    opset: int
    inputs: Mapping[str, Kind]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]

"""A site is a node of a network with the tensors that it reads; a step is the program for one of
its results."""

# key: e the text of a term

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explore.onnx_model.onnx_graph import Array, Kind, Node
from explore.operators.layouts import Layout
from explore.operators.program_text import NAME, Order, array_type, with_helpers
from ir.core.frozen import frozen
from ir.errors import Unsupported, UserError

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")  # the usual one first


@frozen
class Tensor:
    """A tensor that a node reads. A constant has an `array`, which is in ONNX's order; another
    tensor lies in a layout."""

    name: str
    kind: Kind
    layout: Layout = Layout.ONNX
    array: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.kind.shape

    @property
    def stored(self) -> tuple[int, ...]:
        """The sizes in the order in which the axes lie."""
        return self.layout.stored(self.shape)

    @property
    def given(self) -> str | Array:
        """A constant's array, or the name of another tensor, as a program's parameter is given."""
        return self.name if self.array is None else self.array

    def in_onnx_order(self, numbers: Array) -> Array:
        """The tensor's numbers, given as they lie, as an array of its shape."""
        return self.layout.in_onnx_order(numbers, self.shape)


@frozen
class Parameter:
    """A parameter of a step's program: its name, its type, and what it is given, the name of a
    tensor or a constant array."""

    name: str
    type: str
    given: str | Array


@frozen
class Step:
    """A program that makes one tensor. With an empty body there is no program: the tensor is the
    only parameter, unchanged in memory.

    `parts`, if any, are two steps that make the same tensor one after the other: the first
    parameter of the second is the result of the first. `lengths`, of a concatenation, tell how many
    numbers each parameter gives to a row of the result, one parameter after the other."""

    kind: Kind
    layout: Layout
    parameters: tuple[Parameter, ...]
    body: str
    parts: "tuple[Step, ...]" = ()
    lengths: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The text of the step's program, whose name is `NAME`."""
        given = ",\n      ".join(_declared(p) for p in self.parameters)
        return with_helpers(f"{NAME}({given}) =\n  {self.body}\n")


def _declared(p: Parameter) -> str:
    return f"{'const ' if not isinstance(p.given, str) else ''}{p.name} : {p.type}"


@dataclass(slots=True)
class Site:
    """A node, the tensors that it reads (None: an optional input that is missing), the layout that
    its result shall have, and the parameters of its program so far."""

    node: Node
    opset: int
    inputs: Sequence[Tensor | None]
    layout: Layout
    parameters: list[Parameter] = field(default_factory=list)

    def has(self, n: int) -> bool:
        """True if the node has an input n."""
        return n < len(self.inputs) and self.inputs[n] is not None

    def tensor(self, n: int) -> Tensor:
        """Input number n; a UserError that names the node if it has none."""
        found = self.inputs[n] if n < len(self.inputs) else None
        if found is None:
            raise UserError(f"{self.node.title}: expected an input {n}, counted from 0; found none")
        return found

    def array(self, n: int, what: str) -> Array:
        """The array of input number n, which must be a constant: the node is refused if it is not.
        `what` says in words what the array holds."""
        found = self.tensor(n)
        if found.array is None:
            raise self.refused(
                f"expected constants as its {what}, found that a node or an input gives them"
            )
        return found.array

    def refused(self, why: str) -> Unsupported:
        """The error that refuses this node, for the reason `why`; the caller raises it."""
        return Unsupported(f"{self.node.title}: {why}")

    def attribute(self, name: str, usual: Any) -> Any:
        """The value of a node's attribute, or `usual` if the node does not have it."""
        return self.node.attributes.get(name, usual)

    @property
    def auto_pad(self) -> str:
        """The node's way to choose its padding; refused if ONNX has none of this name."""
        way = str(self.attribute("auto_pad", AUTO_PADS[0]))
        if way not in AUTO_PADS:
            raise self.refused(f"expected one of {', '.join(AUTO_PADS)} as auto_pad, found {way!r}")
        return way

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.node.attributes

    # ---- what programs read

    def demand_floats(self, *inputs: int) -> None:
        """Refuse the node if one of the inputs with these numbers exists and is not of floats."""
        for n in inputs:
            if self.has(n) and self.tensor(n).kind.dtype != "float32":
                raise self.refused(
                    "expected numbers of the type float32, found numbers of the type "
                    f"{self.tensor(n).kind.dtype}"
                )

    def parameter(self, dtype: str, dims: Sequence[int], given: str | Array) -> str:
        """Add a parameter of this type and these sizes, which is given a tensor's name or a
        constant array; returns the parameter's name."""
        if 0 in dims:
            raise self.refused("expected arrays with elements, found one without any")
        known = isinstance(given, str)
        name = f"{'x' if known else 'w'}{len(self.parameters)}"
        try:
            type = array_type(dtype, dims)
        except Unsupported as error:
            raise self.refused(str(error)) from error
        if not known:
            given = np.ascontiguousarray(given)
        self.parameters.append(Parameter(name, type, given))
        return name

    def stored(self, n: int) -> str:
        """The text of input n as it lies."""
        x = self.tensor(n)
        if x.array is not None:
            return self.parameter(x.kind.dtype, x.shape, x.array)
        return self.parameter(x.kind.dtype, x.stored, x.name)

    def logical(self, n: int) -> str:
        """The text of input n with its axes in ONNX's order."""
        rank = len(self.tensor(n).shape)
        return self.tensor(n).layout.read(self.stored(n), rank, tuple(range(rank)))

    def constant(self, array: Array) -> str:
        """The text of a new parameter that is given this constant array."""
        return self.parameter(array.dtype.name, array.shape, array)

    def arranged(self, n: int, order: Order) -> str:
        """The text of input n with its axes in this order, whatever layout it has; a constant is
        laid out anew in this order."""
        x = self.tensor(n)
        if x.array is not None:
            return self.constant(np.transpose(x.array, order))
        return x.layout.read(self.stored(n), len(x.shape), order)

    # ---- what programs make

    def step(self, kind: Kind, e: str, order: Order | None = None) -> Step:
        """The step whose result is e, an array with its axes in this order (None: in ONNX's order);
        the step stores it as the site asks."""
        rank = len(kind.shape)
        return self.as_stored(kind, self.layout.laid(e, rank, order or tuple(range(rank))))

    def as_stored(self, kind: Kind, e: str) -> Step:
        """The step whose result is e, an array that lies already as the site asks."""
        return Step(kind, self.layout, tuple(self.parameters), e)

    def demand_onnx_order(self) -> None:
        """Refuse the node if its result is to lie in another layout than ONNX's."""
        if self.layout is not Layout.ONNX:
            raise self.refused(
                "expected a result that lies as ONNX has it, found that it is to lie "
                f"{self.layout.value}"
            )

"""The reading of an ONNX file: all mistakes in it are reported before anything is computed."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx

from explore.onnx_model.node_order import demand_new, in_order
from explore.onnx_model.node_schemas import demand_fits_schema
from explore.onnx_model.onnx_graph import BRANCHES, Array, Body, Graph, Kind, Node
from explore.onnx_model.tensor_data import MOST_BYTES, MOST_IN_ALL, array_of, bytes_of
from ir.errors import Unsupported, UserError

Shapes: TypeAlias = Mapping[str, Sequence[int]]

FIRST_OPSET = 7
OURS = ("", "ai.onnx")  # the names of ONNX's own set of operators


def read_model(model: "str | Path | Any", shapes: Shapes | None = None) -> Graph:
    """The graph of the ONNX file at the path `model`, or of a `ModelProto`; `shapes` gives the
    shapes of inputs by name, where the model leaves their sizes open."""
    if isinstance(model, onnx.ModelProto):
        return graph_of(model, Path(), shapes or {})
    path = Path(model)
    return graph_of(_loaded(path), path.parent, shapes or {})


def _loaded(path: Path) -> Any:
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UserError(
                f"cannot read {path}: expected at most {MOST_BYTES:,} bytes, found {size:,}"
            )
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        return onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's own kind, which has no types
        raise UserError(f"{path} is no ONNX model: {error}") from error


def graph_of(model: Any, folder: Path, shapes: Shapes) -> Graph:
    """The graph of a `ModelProto` whose file lies in `folder`; `shapes` gives the shapes of inputs
    by name, where the model leaves their sizes open."""
    graph = model.graph
    if graph.sparse_initializer:
        raise Unsupported("expected dense weights, found sparse ones in the model")
    opset = _opset(model)
    _demand_affordable(graph)
    _demand_once("weights", [tensor.name for tensor in graph.initializer])
    _demand_once("inputs", [proto.name for proto in graph.input])
    constants = {tensor.name: array_of(tensor, folder) for tensor in graph.initializer}
    inputs = _inputs([i for i in graph.input if i.name not in constants], shapes)
    nodes = [_node(proto, number, folder, opset) for number, proto in enumerate(graph.node)]
    _add_constants([node for node in nodes if node.operator == "Constant"], inputs, constants)
    rest = [node for node in nodes if node.operator != "Constant"]
    outputs = tuple(output.name for output in graph.output)
    if not outputs:
        raise UserError("the model has no outputs")
    ordered = in_order(rest, {*constants, *inputs}, outputs)
    return Graph(graph.name or "network", opset, inputs, outputs, constants, ordered)


def _add_constants(
    nodes: Sequence[Node], inputs: Mapping[str, Kind], constants: dict[str, Array]
) -> None:
    """Add what `Constant` nodes make to the constants; refused if it is there already, or among the
    model's inputs."""
    for node in nodes:
        demand_new(node, node.outputs[0], inputs)
        demand_new(node, node.outputs[0], constants)
        constants[node.outputs[0]] = _constant(node)


def _demand_affordable(graph: Any) -> None:
    """Refuse a graph whose weights together take more bytes than anyone needs, before any is read:
    a small file may ask for all of a large one again and again."""
    total = sum(map(bytes_of, _weights(graph)))
    if total > MOST_IN_ALL:
        raise UserError(f"the weights take {total:,} bytes: at most {MOST_IN_ALL:,} are taken")


def _weights(graph: Any) -> Iterator[Any]:
    """The weights of a graph, and of graphs within it."""
    yield from graph.initializer
    for attribute in (a for node in graph.node for a in node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            yield attribute.t
        elif attribute.type == onnx.AttributeProto.GRAPH:
            yield from _weights(attribute.g)


def _demand_once(what: str, names: Sequence[str]) -> None:
    """Refuse `names` of tensors of which one is there twice; a message calls the tensors `what`."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(f"expected each tensor once, found '{twice[0]}' twice among the {what}")


def _opset(model: Any) -> int:
    found = [entry.version for entry in model.opset_import if entry.domain in OURS]
    if not found:
        raise UserError("the model does not say which version of ONNX's operators it uses")
    if not FIRST_OPSET <= max(found) <= onnx.defs.onnx_opset_version():
        newest = onnx.defs.onnx_opset_version()
        raise Unsupported(f"opset {max(found)}: expected one from {FIRST_OPSET} to {newest}")
    return int(max(found))


def _node(proto: Any, number: int, folder: Path, opset: int) -> Node:
    operator = proto.op_type if proto.domain in OURS else f"{proto.domain}.{proto.op_type}"
    name = proto.name or f"{operator}_{number}"
    if not proto.output:
        raise UserError(f"node '{name}' ({operator}): expected a result, found none")
    if proto.domain in OURS:
        demand_fits_schema(proto, f"{operator} '{name}'", opset)
    attributes = {a.name: _attribute(a, folder) for a in proto.attribute}
    node = Node(name, operator, tuple(proto.input), tuple(proto.output), attributes)
    return _with_branches(node, folder, opset) if operator == "If" else node


def _with_branches(node: Node, folder: Path, opset: int) -> Node:
    """An `If` with its branches as bodies; what these read from the graph around them are inputs of
    it, too."""
    bodies = {name: _body(node, node.attributes[name], folder, opset) for name in BRANCHES}
    read = [name for body in bodies.values() for name in body.read]
    inputs = tuple(dict.fromkeys((*node.inputs, *read)))
    return replace(node, inputs=inputs, attributes=bodies)


def _body(choice: Node, graph: Any, folder: Path, opset: int) -> Body:
    """The body that a `GraphProto` describes, a branch of the node `choice`."""
    if graph.sparse_initializer or graph.input:
        raise Unsupported(f"{choice.title}: expected branches without inputs and sparse weights")
    if len(graph.output) != len(choice.outputs):
        raise UserError(
            f"{choice.title}: expected branches with {len(choice.outputs)} results, found "
            f"{len(graph.output)}"
        )
    _demand_once("weights", [tensor.name for tensor in graph.initializer])
    constants = {tensor.name: array_of(tensor, folder) for tensor in graph.initializer}
    nodes = [_node(proto, number, folder, opset) for number, proto in enumerate(graph.node)]
    _add_constants([node for node in nodes if node.operator == "Constant"], {}, constants)
    rest = tuple(node for node in nodes if node.operator != "Constant")
    outputs = tuple(output.name for output in graph.output)
    body = Body(rest, constants, outputs)
    return replace(body, nodes=in_order(rest, {*constants, *body.read}, outputs))


def _attribute(attribute: Any, folder: Path) -> Any:
    """The value of an attribute: numbers, text, an array; graphs stay as they are."""
    if attribute.type == onnx.AttributeProto.TENSOR:
        return array_of(attribute.t, folder)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return tuple(value) if attribute.type in LISTS else value


LISTS = (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS)


def _constant(node: Node) -> Array:
    for name, value in node.attributes.items():
        match name:
            case "value" if isinstance(value, np.ndarray):
                return value
            case "value_float" | "value_floats":
                return np.asarray(value, np.float32)
            case "value_int" | "value_ints":
                return np.asarray(value, np.int64)
    raise Unsupported(
        f"{node.title}: expected numbers as its value, found the attributes: "
        f"{', '.join(node.attributes) or 'none'}"
    )


def _inputs(protos: Sequence[Any], shapes: Shapes) -> dict[str, Kind]:
    names = [proto.name for proto in protos]
    for name in shapes:
        if name not in names:
            raise UserError(
                f"--shape: expected one of the model's inputs, {', '.join(names)}; found '{name}'"
            )
    return {proto.name: _kind(proto, shapes.get(proto.name)) for proto in protos}


def _kind(proto: Any, given: Sequence[int] | None) -> Kind:
    kind = proto.type.tensor_type
    if not proto.type.HasField("tensor_type"):
        raise Unsupported(
            f"input '{proto.name}': expected a tensor, found "
            f"{proto.type.WhichOneof('value') or 'an input without a type'}"
        )
    dims: list[Any] = [
        d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in kind.shape.dim
    ]
    if given is not None:
        _demand_fits(proto.name, dims, given)
        dims = list(given)
    if any(not isinstance(d, int) for d in dims) or not kind.HasField("shape"):
        told = ", ".join(map(str, dims)) or "any"
        raise UserError(
            f"input '{proto.name}' has the shape [{told}], which leaves sizes open: give it, as in "
            f"--shape {proto.name}=1,3,224,224"
        )
    if any(d < 1 for d in dims):
        raise UserError(f"input '{proto.name}' has the shape {dims}: expected sizes from 1 on")
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
    except KeyError:
        raise UserError(
            f"input '{proto.name}': expected the number of one of ONNX's types, found "
            f"{kind.elem_type}"
        ) from None
    return Kind(dtype, tuple(map(int, dims)))


def _demand_fits(name: str, dims: Sequence[int | str], given: Sequence[int]) -> None:
    """Refuse a shape given for the input `name` that has another number of axes than `dims`, the
    model's sizes, or sizes below 1."""
    if len(given) != len(dims) and dims:
        raise UserError(
            f"--shape {name}: expected {len(dims)} sizes for [{', '.join(map(str, dims))}], found "
            f"{len(given)}"
        )
    if any(n < 1 for n in given):
        raise UserError(f"--shape {name}: expected sizes from 1 on, found {list(given)}")

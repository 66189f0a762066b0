"""A node as ONNX's reference sees it: the kinds of its results, found without computing them, and
its results."""

from collections.abc import Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from explore.onnx_model.onnx_graph import Array, Kind, Node
from explore.onnx_model.prepared_nodes import (
    demand_affordable_form,
    gathered_elements,
    prepared,
)
from ir.errors import UserError

ALONG_ONE_AXIS = {"Hardmax": 13, "LogSoftmax": 13, "Softmax": 13}
"""The versions from which on operators work along one axis, as the reference has it in all."""
RIGHT_FROM = {"BatchNormalization": 14, "DequantizeLinear": 19}
"""The versions from which on the reference is right, whose nodes mean the same as older ones."""
SMALL = 1 << 10  # elements of an array on whose numbers a shape depends


def version_for(node: Node, opset: int) -> int | None:
    """The version of ONNX's operators in which the reference computes what a node of a model for
    version `opset` means; None if there is none."""
    if opset < ALONG_ONE_AXIS.get(node.operator, 0):
        return None
    try:
        schema = onnx.defs.get_schema(node.operator, opset, "")
    except onnx.defs.SchemaError:
        return None
    return None if schema.deprecated else max(opset, RIGHT_FROM.get(node.operator, 0))


def kinds_of(node: Node, version: int, given: Mapping[str, Array]) -> dict[str, Kind | None]:
    """The kinds of a node's results by name, when it is given these arrays, by this version of
    ONNX's operators; None where ONNX tells no shape without computing it."""
    _demand_sound(node, given)
    demand_affordable_form(node, given)
    small = {n: numpy_helper.from_array(a) for n, a in given.items() if a.size <= SMALL}
    try:
        found = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(node.operator, version, ""),
            _proto(node, version),
            {name: _type(array) for name, array in given.items()},
            small,
            opset_imports=[helper.make_opsetid("", version)],
        )
    except Exception as error:  # onnx has several kinds, without types
        raise _cannot(node, error) from error
    return {name: _kind(node, found.get(name)) for name in filter(None, node.outputs)}


def computed(node: Node, version: int, given: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays that ONNX's reference makes of these, by name, by this version of ONNX's
    operators."""
    try:
        if node.operator == "GatherElements":
            return {node.outputs[0]: gathered_elements(node, given)}
        node, given = prepared(node, given)
    except (IndexError, ValueError, TypeError) as error:
        raise _cannot(node, error) from error
    inputs = [helper.make_value_info(name, _type(array)) for name, array in given.items()]
    outputs = [name for name in node.outputs if name]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([_proto(node, version)], "node", inputs, results)
    try:
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")  # such as that of the mean of nothing
            made = ReferenceEvaluator(graph, opsets={"": version}).run(None, dict(given))
        return {name: np.asarray(a) for name, a in zip(outputs, made, strict=True)}
    except Exception as error:  # whatever the reference meets in numbers that do not fit
        raise _cannot(node, error) from error


def _demand_sound(node: Node, given: Mapping[str, Array]) -> None:
    """Refuse what onnx itself does not look at: a `Split` with results of another number than it
    says, at which it crashes, blocks that are longer than an array, for which it takes gigabytes,
    and whole numbers that are divided by 0."""
    count = len(node.outputs)
    if (told := node.attributes.get("num_outputs", count)) != count:
        raise UserError(f"{node.title}: expected num_outputs to be {count}, found {told}")
    block = node.attributes.get("block_size", 0)
    if node.operator in ("DequantizeLinear", "QuantizeLinear") and block:
        x, scales = (given[name].size for name in node.inputs[:2])
        if not 0 < block * scales <= 2 * x:  # the last block of an axis may be cut
            raise UserError(
                f"{node.title}: expected scales for blocks of {x:,} numbers, found {scales:,} for "
                f"blocks of {block:,}"
            )
    if node.operator in ("Div", "Mod") and _has_whole_0(given[node.inputs[1]]):
        raise UserError(f"{node.title} divides by 0")


def _has_whole_0(array: Array) -> bool:
    return np.issubdtype(array.dtype, np.integer) and not array.all()


def _cannot(node: Node, error: Exception) -> UserError:
    return UserError(f"{node.title} cannot be computed: {error}")


def _proto(node: Node, version: int) -> Any:
    """The node as ONNX has it, with those attributes that its operator has."""
    proto = helper.make_node(node.operator, node.inputs, node.outputs, node.name)
    for name, attribute in onnx.defs.get_schema(node.operator, version, "").attributes.items():
        value = node.attributes.get(name)
        if isinstance(value, np.ndarray):
            value = numpy_helper.from_array(value)
        if value is not None:
            proto.attribute.append(helper.make_attribute(name, value, None, attribute.type.value))
    return proto


def _type(array: Array) -> Any:
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _kind(node: Node, type: Any) -> Kind | None:
    """The kind of a result from ONNX's type of it; None if that leaves sizes open."""
    if type is None or not type.HasField("tensor_type") or not type.tensor_type.elem_type:
        return None
    shape, elements = type.tensor_type.shape.dim, type.tensor_type.elem_type
    if not type.tensor_type.HasField("shape") or not all(d.HasField("dim_value") for d in shape):
        return None
    sizes = tuple(int(d.dim_value) for d in shape)
    if any(n < 0 for n in sizes):
        raise UserError(
            f"{node.title} cannot be computed: its result would have the shape {list(sizes)}"
        )
    return Kind(helper.tensor_dtype_to_np_dtype(elements).name, sizes)

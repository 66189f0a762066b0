"""The light models of the `onnx` package (real networks without their weights), with random
weights, for images of any size. They are converted to a newer opset, because `onnx.reference`
computes batch normalisation and softmax of older opsets wrongly."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper, version_converter

OPSET = 15
FOLDER = Path(onnx.__file__).parent / "backend/test/data/light"


def light_model(name: str, random: np.random.Generator, size: int | None = None) -> Any:
    """The light model `name` of the `onnx` package with random weights, for images of `size` ×
    `size` pixels (None: of its own size)."""
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    model.ir_version, graph = 8, model.graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = {name: a.shape for name, a in arrays.items() if a.dtype == np.float32}
    filled = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    shapes |= {node.output[0]: tuple(arrays[node.input[0]]) for node in filled}
    rest = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    read = {name for node in rest for name in node.input}
    arrays |= {name: _drawn(random, shape) for name, shape in shapes.items()}
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(rest)
    weights = [numpy_helper.from_array(a, name) for name, a in arrays.items() if name in read]
    graph.initializer.extend(weights)
    images = [i for i in graph.input if i.name in read and i.name not in arrays]
    del graph.input[:]
    graph.input.extend(images)
    if size is not None:
        dims = graph.input[0].type.tensor_type.shape.dim
        _resize(graph, dims[2].dim_value, size)
        dims[2].dim_value = dims[3].dim_value = size
        graph.output[0].type.tensor_type.ClearField("shape")
    return version_converter.convert_version(model, OPSET)


def _resize(graph: Any, old: int, size: int) -> None:
    """Change what a graph says for images of `old` pixels each way, where it can be said for `size`
    pixels: shapes that images are given, and windows that take in all of an image."""
    stored = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Reshape" and node.input[1] in stored:
            tensor = stored[node.input[1]]
            shape = numpy_helper.to_array(tensor).copy()
            if len(shape) > 3 and all(shape[-2:] * size % old == 0):
                shape[-2:] = shape[-2:] * size // old
                tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))
        for attribute in node.attribute:
            whole = node.op_type == "AveragePool" and attribute.name == "kernel_shape"
            if whole and all(n * size % old == 0 for n in attribute.ints):
                attribute.ints[:] = [n * size // old for n in attribute.ints]


def _drawn(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Random weights of this shape, scaled so that a product with them leaves numbers about as
    large as they were; weights of one axis, such as variances, are near 1."""
    if len(shape) < 2:
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    scale = np.float32(np.sqrt(2 / max(1, int(np.prod(shape[1:])))))
    return random.standard_normal(shape, np.float32) * scale

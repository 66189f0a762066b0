"""Small ONNX models of whole numbers, on which results of floats are exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Array = NDArray[Any]


def model(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Sequence[str],
    weights: Mapping[str, Array],
    opset: int = 15,
) -> Any:
    """The ONNX model of these nodes, with inputs of floats (their shapes by name), the names of its
    outputs, and the weights by name."""
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def whole(random: np.random.Generator, *shape: int) -> Array:
    """A random array of small whole numbers, of this shape."""
    return random.integers(-2, 3, shape).astype(np.float32)


def classifier(random: np.random.Generator) -> Any:
    """A small ONNX model with random weights: a convolution with batch normalisation and ReLU, a
    residual block, pooling, a fire module, and a matrix product."""
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w1", "b1"], ["c1"], name="first", pads=[1, 1, 1, 1], strides=[2, 2]),
        make(
            "BatchNormalization", ["c1", "scale", "shift", "mean", "variance"], ["n1"], epsilon=0.0
        ),
        make("Relu", ["n1"], ["r1"]),
        make("Conv", ["r1", "w2"], ["c2"], name="block", pads=[1, 1, 1, 1]),
        make("Add", ["c2", "r1"], ["a2"]),
        make("Relu", ["a2"], ["r2"]),
        make("MaxPool", ["r2"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        make("Conv", ["p", "w3"], ["e1"], name="left"),
        make("Conv", ["p", "w4"], ["e3"], name="right", pads=[1, 1, 1, 1], group=6),
        make("Concat", ["e1", "e3"], ["c"], axis=1),
        make("Flatten", ["c"], ["f"]),
        make("Gemm", ["f", "w5", "b5"], ["y"], name="last", transB=1),
    ]
    weights = {
        "w1": whole(random, 6, 3, 3, 3), "b1": whole(random, 6),
        "scale": whole(random, 6), "shift": whole(random, 6), "mean": whole(random, 6),
        "variance": np.full(6, 4, np.float32),
        "w2": whole(random, 6, 6, 3, 3), "w3": whole(random, 4, 6, 1, 1),
        "w4": whole(random, 6, 1, 3, 3),
        "w5": whole(random, 5, 10 * 3 * 2), "b5": whole(random, 5),
    }  # fmt: skip
    return model(nodes, {"x": [1, 3, 9, 7]}, ["y"], weights)


def expected(made: Any, inputs: Mapping[str, Array], outputs: Sequence[str] = ()) -> list[Array]:
    """The results of the model `made` by `onnx.reference` for these inputs: its outputs, or the
    tensors that `outputs` names."""
    if outputs:
        made = type(made).FromString(made.SerializeToString())
        del made.graph.output[:]
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        made.graph.output.extend(values)
    return [np.asarray(a) for a in ReferenceEvaluator(made).run(None, dict(inputs))]

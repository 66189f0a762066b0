"""ResNet-18 and MobileNetV2 as ONNX models with random weights, built node by node."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17

Weights = NDArray[np.float32]


@dataclass(slots=True)
class Builder:
    """An ONNX model that is being built: its nodes so far, and its weights by name."""

    random: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Weights] = field(default_factory=dict)

    def node(self, operator: str, inputs: list[str], **attributes: object) -> str:
        """Add a node with this operator, the tensors `inputs` and these attributes; returns the
        name of its result."""
        made = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [made], **attributes))
        return made

    def weight(self, *shape: int, least: float = -1.0) -> str:
        """Add weights of this shape, drawn from `least` to 1; returns their name. Weights with
        several axes are scaled so that a product with them leaves numbers about as large as
        before."""
        name = f"w{len(self.weights)}"
        scale = np.sqrt(6 / max(1, int(np.prod(shape[1:])))) if len(shape) > 1 else 1.0
        drawn = self.random.uniform(least, 1.0, shape) * scale
        self.weights[name] = np.asarray(drawn, np.float32)
        return name

    def conv(self, x: str, channels: tuple[int, int], k: int, step: int, group: int = 1) -> str:
        """Add a k × k convolution of the tensor x by steps of `step`, and a batch normalisation of
        its result; returns the name of the normalised tensor. `channels` are the numbers of
        channels (in, out), in `group` groups."""
        c, m = channels
        at = {"kernel_shape": [k, k], "pads": [k // 2] * 4, "strides": [step] * 2}
        made = self.node("Conv", [x, self.weight(m, c // group, k, k)], group=group, **at)
        numbers = [self.weight(m, least=0.5), *(self.weight(m) for _ in range(2))]
        return self.node("BatchNormalization", [made, *numbers, self.weight(m, least=0.5)])

    def classified(self, x: str, c: int, classes: int) -> str:
        """Add the mean of each of the c channels of x, and a product of these means with a matrix
        of random weights; returns the name of the result, a score for each of `classes` classes."""
        pooled = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        return self.node("Gemm", [pooled, self.weight(classes, c), self.weight(classes)], transB=1)

    def model(self, out: str, shape: tuple[int, ...], name: str) -> Any:
        """The ONNX model built so far: its input `x` is an image of this shape, its result the
        tensor `out`."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
        stored = [numpy_helper.from_array(a, n) for n, a in self.weights.items()]
        graph = helper.make_graph(self.nodes, name, [x], [y], stored)
        imports = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)


def resnet18(random: np.random.Generator, size: int = 224, classes: int = 1000) -> Any:
    """The ONNX model of ResNet-18 (He and others, arXiv 1512.03385) with random weights, for images
    of `size` pixels each way, and `classes` classes."""
    b = Builder(random)
    x = b.node("Relu", [b.conv("x", (3, 64), 7, 2)])
    x = b.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    c = 64
    for m, step in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        inner = b.node("Relu", [b.conv(x, (c, m), 3, step)])
        made = b.conv(inner, (m, m), 3, 1)
        past = x if (c, step) == (m, 1) else b.conv(x, (c, m), 1, step)
        x, c = b.node("Relu", [b.node("Add", [made, past])]), m
    return b.model(b.classified(x, c, classes), (1, 3, size, size), "resnet18")


BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
          (6, 320, 1, 1))  # fmt: skip
"""Of MobileNetV2: the expansion of channels, those of the result, blocks, and the first's step."""


def mobilenet_v2(random: np.random.Generator, size: int = 224, classes: int = 1000) -> Any:
    """The ONNX model of MobileNetV2 (Sandler and others, arXiv 1801.04381) with random weights, for
    images of `size` pixels each way, and `classes` classes."""
    b = Builder(random)
    b.weights |= {"least": np.asarray(0, np.float32), "most": np.asarray(6, np.float32)}

    def relu6(x: str) -> str:
        return b.node("Clip", [x, "least", "most"])

    x, c = relu6(b.conv("x", (3, 32), 3, 2)), 32
    for times, m, count, first in BLOCKS:
        for step in (first, *(1 for _ in range(count - 1))):
            wide = c * times
            inner = x if times == 1 else relu6(b.conv(x, (c, wide), 1, 1))
            inner = relu6(b.conv(inner, (wide, wide), 3, step, group=wide))
            made = b.conv(inner, (wide, m), 1, 1)
            x, c = b.node("Add", [x, made]) if (c, step) == (m, 1) else made, m
    x = relu6(b.conv(x, (c, 1280), 1, 1))
    return b.model(b.classified(x, 1280, classes), (1, 3, size, size), "mobilenet_v2")

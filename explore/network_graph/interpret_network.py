"""The meaning of a network: its layers' programs interpreted one after the other."""

from collections.abc import Mapping

import numpy as np

from explore.network_graph.network_layers import Layers
from explore.onnx_model.onnx_graph import Array
from ir.core.nodes import Program
from ir.meaning.inputs import shape_of
from ir.meaning.interpret import evaluate


def interpreted(layers: Layers, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Every tensor that a network makes of these inputs, by name, in double precision, with its
    axes in the order in which they are stored."""
    known: dict[str, Array] = dict(inputs)
    for layer in layers.layers:
        program = layers.programs[layer.program]
        shapes = _shapes(program)
        given = {name: known[t] for name, t in layer.tensors} | dict(layer.constants)
        fitting = {name: np.asarray(a).reshape(shapes[name]) for name, a in given.items()}
        made = np.asarray(evaluate(program, fitting, np.float64))
        shape, part = layers.tensors[layer.output].stored, layer.into
        if part is None:
            known[layer.output] = made.reshape(shape)
        else:
            rows = known.setdefault(layer.output, np.zeros(shape)).reshape(-1, part.whole)
            rows[:, part.offset : part.offset + part.each] = made.reshape(-1, part.each)
    return {name: a for name, a in known.items() if name not in inputs}


def _shapes(program: Program) -> dict[str, tuple[int, ...]]:
    return {p.var.name: shape_of(p.var.type) for p in program.params}

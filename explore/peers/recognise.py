"""The layer that a program is, found by computing each layer that fits its shapes: the result must
be the interpreter's."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

import numpy as np

from explore.measure.reference import Array, inputs_of
from explore.measure.reference_file import load_reference
from explore.peers.convolutions import convolutions, transposed_convolutions
from explore.peers.layers import Kind, Layer, linear_layers
from explore.peers.poolings import poolings
from ir.core.nodes import Program

DOUBLE, SINGLE = 1e-9, 1e-4  # relative errors of results that are the same, by precision

Compute = Callable[[Layer], Array]  # a layer's output before its ReLU


def layers(inputs: Mapping[str, Array], out: tuple[int, ...]) -> Iterator[Layer]:
    """All layers of a program's inputs, of any kind, that give an output of the shape `out`."""
    kinds = (linear_layers, convolutions, poolings, transposed_convolutions)
    return chain.from_iterable(kind(inputs, out) for kind in kinds)


def recognised(
    program: Program,
    seed: int,
    reference: Path,
    compute: Compute,
    *,
    precision: type[np.floating] = np.float64,
    kinds: tuple[Kind, ...] | None = None,
) -> Layer | None:
    """The layer, of these `kinds` (None: any), whose result by a library's `compute` in this
    precision is the program's; None if no layer's is."""
    wanted = load_reference(reference).alone
    if wanted is None:
        return None  # libraries' calls give one array
    given = {n: np.asarray(a, precision) for n, a in inputs_of(program, seed).items()}
    same = DOUBLE if precision is np.float64 else SINGLE
    for layer in layers(given, wanted.shape):
        if kinds is None or layer.kind in kinds:
            found = layer.meant(compute(layer), wanted, same)
            if found is not None:
                return found
    return None

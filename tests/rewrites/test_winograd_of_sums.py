"""Tests of `winograd` on sums over images, such as gradients of weights: tiles of the image are the
channels of a convolution, and transforms load what lies next to each other in memory."""

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import kind_of, loads
from codegen.tree.memories import Space
from codegen.tree.statements import Kernel, Store, statements
from constraints.devices import profile
from explore.measure.reference import expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.adjoint.program import adjoint
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.rewrites.test_matrix import program


def gradient_of(layer: str) -> Program:
    return adjoint(parse(layer), "weights")


WINDOWS = "map(kernel -> dot(flatten(window), flatten(kernel)), weights)"
LAYERS = {
    "odd channels": f"""conv(weights : [[[[float]5]3]3]4, image : [[[float]5]8]12) =
      map2d(window -> {WINDOWS}, slide2d(3, 1, pad2d(1, 0.0, image)))""",
    "odd sides": f"""conv(weights : [[[[float]4]3]3]8, image : [[[float]4]11]9) =
      map2d(window -> {WINDOWS}, slide2d(3, 1, pad2d(1, 0.0, image)))""",
    "whole vectors": f"""conv(weights : [[[[float]16]3]3]5, image : [[[float]16]7]9) =
      map2d(window -> {WINDOWS}, slide2d(3, 1, pad2d(1, 0.0, image)))""",
    "rows": f"""conv(weights : [[[float]4]3]6, signal : [[float]4]21) =
      map(window -> {WINDOWS}, slide(3, 1, signal))""",
}


def made(lowering: Lowering) -> Generated:
    """The code at a random legal point of a form, after asserting that it is proved."""
    _, found = points(lowering, profile("cpu"), 1, int(np.random.default_rng().integers(1 << 30)))
    generated = generate(bound(lowering.program, found[0]))
    assert all(proof.ok for proof in prove_texts(generated.plan))
    return generated


@pytest.mark.parametrize("form", ["F2 blocked", "F4 registers", "F4 fused", "F6 registers"])
@pytest.mark.parametrize("layer", LAYERS)
def test_a_weight_gradient_is_transformed_in_tiles(layer: str, form: str, session: Session) -> None:
    p = gradient_of(LAYERS[layer])
    lowering = lower(p, form_named(p, "winograd", form))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    out = session.build(made(lowering).plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, lowering.derivation.rounding)


def widths(kernel: Kernel) -> set[int]:
    """The widths of all loads of a kernel from global memory, and of all that it stores there."""
    stored = [s for s in statements(kernel.body) if isinstance(s, Store)]
    read = {x.width for s in stored for x in loads(s.value) if x.memory.space is Space.GLOBAL}
    return read | {kind_of(s.value).width for s in stored if s.memory.space is Space.GLOBAL}


def test_a_weight_gradient_is_made_in_vectors_of_what_lies_side_by_side() -> None:
    """The channels of the image lie next to each other in memory, those of the cotangent, too, and
    so do results for channels of the image: transforms load and store vectors of them, and products
    multiply vectors of the first by single numbers."""
    p = program("gradients/vgg_weights.lift", {"C": 16, "W": 9, "M": 32})
    low = lower(p, form_named(p, "winograd", "F4 registers"))
    point = {"tr": 1, "tx": 4, "k": 3, "v": 16, "vi": 8, "vo": 2}
    image, cotangent, products, results = generate(bound(low.program, point)).kernels
    assert widths(image) == widths(cotangent) == {8}
    assert widths(products) == {1, 16}
    assert widths(results) == {2}


def test_channels_that_are_summed_up_still_lie_side_by_side() -> None:
    p = program("vgg.lift", {"C": 16, "W": 9, "M": 32})
    low = lower(p, form_named(p, "winograd", "F4 registers"))
    point = {"tr": 1, "tx": 4, "k": 4, "v": 16, "vi": 8, "vo": 2}
    image, *_ = generate(bound(low.program, point)).kernels
    assert widths(image) == {8}

"""Tests of programs as functions of PyTorch with gradients: their values and gradients are those of
PyTorch's own operations."""

import numpy as np
import pytest

from codegen.runtime.session import Session
from explore import compile, differentiable
from explore.run.compiled_variant import Compiled
from ir.core.nodes import Program
from tests.support.quick_builds import quick_builds as quick_builds

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed, nor by CI: pip install torch"
)

LAYER = """
layer(const weights : [[[[float]3]3]3]4, const biases : [float]4, image : [[[float]3]7]6) =
  map2d(window ->
      map((kernel, bias) -> relu(dot(flatten(window), flatten(kernel)) + bias),
        zip(weights, biases)),
    slide2d(3, 2, pad2d(1, 0.0, image)))
"""


def test_a_layers_gradients_are_pytorchs(session: Session) -> None:
    ours = differentiable(LAYER, lambda p: compile(p, device=session.device))
    rng = np.random.default_rng()
    shapes = ((4, 3, 3, 3), (4,), (6, 7, 3))
    given = [
        torch.tensor(rng.normal(size=s).astype(np.float32), requires_grad=True) for s in shapes
    ]
    weights, biases, image = given
    sums = torch.nn.functional.conv2d(
        image.permute(2, 0, 1)[None], weights.permute(0, 3, 1, 2), biases, stride=2, padding=1
    )
    expected, found = torch.relu(sums)[0].permute(1, 2, 0), ours(*given)
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
    back = torch.tensor(rng.normal(size=found.shape).astype(np.float32))
    for own, theirs in zip(
        torch.autograd.grad(found, given, back),
        torch.autograd.grad(expected, given, back),
        strict=True,
    ):
        assert torch.allclose(own, theirs, rtol=1e-4, atol=1e-4)


def test_a_gradient_that_nobody_asks_for_is_not_built(session: Session) -> None:
    built = list[str]()

    def build(p: Program) -> Compiled:
        built.append(p.name)
        made: Compiled = compile(p, device=session.device)
        return made

    double = differentiable(
        "f(xs : [float]4, ys : [float]4) = map((x, y) -> x * y, zip(xs, ys))", build
    )
    xs, ys = torch.ones(4, requires_grad=True), torch.arange(4.0)
    double(xs, ys).sum().backward()
    assert torch.equal(xs.grad, ys)
    assert built == ["f", "f_gradient_xs"]

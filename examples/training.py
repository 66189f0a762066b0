"""A small network that learns to tell bright rows from bright columns.

Its convolutions are compiled variants, their gradients too; its loss falls as that of PyTorch's own
convolutions does.

    pip install torch numpy && python examples/training.py [--steps 30] [--device D]
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from explore import compile, differentiable

CONVOLUTION = """
conv(const weights : [[[[float]C]K]K]M, const biases : [float]M, images : [[[[float]C]W]W]N) =
  map(image ->
      map2d(window ->
          map((kernel, bias) -> relu(dot(flatten(window), flatten(kernel)) + bias),
            zip(weights, biases)),
        slide2d(K, {step}, pad2d(1, 0.0, image))),
    images)
where N = 32, C = {channels}, W = {side}, K = 3, M = {kernels}
"""
LAYERS = (  # step, channels, side, kernels
    {"step": 1, "channels": 1, "side": 12, "kernels": 8},
    {"step": 2, "channels": 8, "side": 12, "kernels": 16},
)
Layer = Callable[[Tensor, Tensor, Tensor], Tensor]


def ours(device: str | None) -> list[Layer]:
    """The layers as compiled variants, and their gradients."""
    build = partial(compile, device=device)
    return [differentiable(CONVOLUTION.format(**layer), build) for layer in LAYERS]


def theirs() -> list[Layer]:
    """The layers by PyTorch's convolutions, of images and kernels with channels last."""

    def layer(step: int, weights: Tensor, biases: Tensor, images: Tensor) -> Tensor:
        kernels, planes = weights.permute(0, 3, 1, 2), images.permute(0, 3, 1, 2)
        sums = torch.nn.functional.conv2d(planes, kernels, biases, stride=step, padding=1)
        return torch.relu(sums).permute(0, 2, 3, 1)

    return [partial(layer, layer_["step"]) for layer_ in LAYERS]


def pictures(count: int) -> tuple[Tensor, Tensor]:
    """Noise with a bright row or a bright column, and which of both."""
    images, kinds = 0.5 * torch.randn(count, 12, 12, 1), torch.arange(count) % 2
    for image, kind, at in zip(images, kinds, torch.randint(12, (count,)), strict=True):
        image.select(int(kind), int(at)).add_(1.0)
    return images, kinds


def losses(layers: list[Layer], steps: int) -> list[float]:
    """The loss at each step of gradient descent, from the same start, for the same pictures."""
    torch.manual_seed(1)
    given = []
    for layer in LAYERS:
        fan = 9 * layer["channels"]
        weights = torch.randn(layer["kernels"], 3, 3, layer["channels"]) * (2 / fan) ** 0.5
        given += [weights, torch.zeros(layer["kernels"])]
    given.append(torch.randn(2, 16) * 0.25)
    for tensor in given:
        tensor.requires_grad_()
    first, first_biases, second, second_biases, last = given
    optimizer, found = torch.optim.SGD(given, lr=0.02, momentum=0.9), list[float]()
    for _ in range(steps):
        images, kinds = pictures(32)
        hidden = layers[1](second, second_biases, layers[0](first, first_biases, images))
        loss = torch.nn.functional.cross_entropy(hidden.amax((1, 2)) @ last.T, kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main() -> None:
    """Print both losses step by step; fail if they part, or do not fall."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=30)
    arguments.add_argument("--device")
    given = arguments.parse_args()
    both = losses(ours(given.device), given.steps), losses(theirs(), given.steps)
    for step, (own, other) in enumerate(zip(*both, strict=True)):
        print(f"step {step:3}: loss {own:.6f}, by PyTorch's convolutions {other:.6f}")
    apart = max(abs(own - other) / max(1, other) for own, other in zip(*both, strict=True))
    print(f"at most {apart:.1e} apart")
    raise SystemExit(apart > 1e-4 or not both[0][-1] < both[0][0])


if __name__ == "__main__":
    main()

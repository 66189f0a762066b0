"""Blocks of MobileNetV2 as programs of three layers, each found by `explore`, beside PyTorch's
calls of cuDNN for the same layers, which it replays from a CUDA graph.

    python -m benchmarks.blocks [--device gpu] [--time-limit 40s] [--families A,B] [--jobs N]
        [--out runs/blocks] [BLOCK …]

A block widens the channels of each pixel, convolves each channel on its own, and narrows the
channels again; the input is added to the result where their sizes agree. Activations are ReLU,
since cuDNN computes that within a convolution. BLOCK is a number of `BLOCKS` (default: all). Runs
that --out has already are not made again. Our fastest variants and PyTorch's two orders of
dimensions are timed in turns; times are medians in microseconds, and *ratio* is the median of
PyTorch's time divided by ours.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from codegen.runtime.session import choose
from explore.api import explore
from explore.network_graph.folded_nodes import folded_graph
from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.read_model import read_model
from explore.options.units import show_bytes
from explore.results.front import usable
from explore.results.records import Record
from explore.run.run import Run
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from tests.support.built_models import Builder

PASSES, RUNS, FINALISTS = 15, 20, 3
PROGRAM = """
block(const wide : [[float]C]E, const shifts : [float]E, const kernels : [[[float]3]3]E,
      const more : [float]E, const narrow : [[float]E]M, const biases : [float]M,
      image : [[[float]C]W]H) =
  let widened = map2d(pixel ->
      map((row, bias) -> relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(pixel, row))),
        zip(wide, shifts)),
    image)
  let channels = map2d(window ->
      map((channel, kernel, bias) ->
          relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(channel, flatten(kernel)))),
        zip(transpose(join(window)), kernels, more)),
    slide2d(3, S, pad2d(1, 0.0, widened)))
  {end}
where C = {c}, W = {w}, H = W, S = {step}, E = {wide}, M = {m}
"""
END = """map2d(pixel ->
      map((row, bias) -> reduce(bias, (acc, (x, w)) -> acc + x * w, zip(pixel, row)),
        zip(narrow, biases)),
    channels)"""
ADDED = """map2d((pixel, past) ->
      map((row, bias, x) -> x + reduce(bias, (acc, (x, w)) -> acc + x * w, zip(pixel, row)),
        zip(narrow, biases, past)),
    zip2d(channels, image))"""


@dataclass(frozen=True, slots=True)
class Block:
    """A block on images of `w` pixels each way with c channels: these become `wide` channels, then
    m; the convolution in the middle goes by `step`."""

    c: int
    w: int
    step: int
    wide: int
    m: int

    @property
    def adds(self) -> bool:
        """True if the input is added to the result."""
        return self.step == 1 and self.c == self.m

    def program(self) -> str:
        sizes = {"c": self.c, "w": self.w, "step": self.step, "wide": self.wide, "m": self.m}
        return PROGRAM.format(end=ADDED if self.adds else END, **sizes)

    def model(self) -> Any:
        """The block as an ONNX model with random weights."""
        b = Builder(np.random.default_rng(0))
        made = b.node("Relu", [b.conv("x", (self.c, self.wide), 1, 1)])
        made = b.node("Relu", [b.conv(made, (self.wide, self.wide), 3, self.step, self.wide)])
        made = b.conv(made, (self.wide, self.m), 1, 1)
        out = b.node("Add", [made, "x"]) if self.adds else made
        return b.model(out, (1, self.c, self.w, self.w), "block")


# Those of the network at 224 pixels whose shapes differ, but the first, which widens nothing.
BLOCKS = (
    Block(16, 112, 2, 96, 24),
    Block(24, 56, 1, 144, 24),
    Block(24, 56, 2, 144, 32),
    Block(32, 28, 1, 192, 32),
    Block(32, 28, 2, 192, 64),
    Block(64, 14, 1, 384, 64),
    Block(64, 14, 1, 384, 96),
    Block(96, 14, 1, 576, 96),
    Block(96, 14, 2, 576, 160),
    Block(160, 7, 1, 960, 160),
    Block(160, 7, 1, 960, 320),
)


def explored(number: int, given: argparse.Namespace) -> Run:
    """The run of `explore` on a block; one that --out has already is read."""
    folder = Path(given.out) / f"block-{number}"
    if folder.exists():
        return Run(folder)
    more = {k: v for k, v in (("families", given.families), ("jobs", given.jobs)) if v}
    return explore(
        BLOCKS[number].program(),
        device=given.device,
        out=folder,
        records=False,
        max_error=1e-5,
        time_limit=given.time_limit,
        **more,
    )


def ours(run: Run, record: Record, block: Block) -> Callable[[], float]:
    """The function that gives the microseconds of an inference by a variant of the run, from
    several back to back."""
    series = run.pick(id=record.variant.id).built.series(random_inputs(parse(block.program()), 0))
    series.warm()
    return lambda: series.batch(RUNS) / 1e3


def peers(block: Block) -> dict[str, Callable[[], float]]:
    """PyTorch's ways to compute a block, by name: functions that give the microseconds of an
    inference. There are none if PyTorch cannot use a GPU here."""
    try:
        import torch

        from benchmarks.torch_networks import replayed
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    torch.backends.cudnn.benchmark = True
    graph = read_model(block.model())
    graph = folded_graph(graph, Constants.of(graph))
    image = np.random.default_rng(1).uniform(-1, 1, (1, block.c, block.w, block.w))
    orders = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
    given = {"x": image.astype(np.float32)}
    ways = {name: replayed(graph, given, order, "float") for name, order in orders.items()}
    return {name: partial(_microseconds, way.time_ms) for name, way in ways.items()}


def _microseconds(time_ms: Callable[[], float]) -> float:
    return 1e3 * time_ms()


def compare(number: int, given: argparse.Namespace) -> None:
    """Explore a block, time its fastest variants and PyTorch's ways in turns, and print a line for
    each of them but our slower variants."""
    block, run = BLOCKS[number], explored(number, given)
    records = sorted(usable(run.records), key=lambda r: r.time_ns or 0.0)[:FINALISTS]
    mine = {r.variant.id: ours(run, r, block) for r in records}
    theirs = peers(block)
    passes = [{n: f() for n, f in (mine | theirs).items()} for _ in range(PASSES)]
    best = min(mine, key=lambda n: statistics.median(p[n] for p in passes))
    low, middle, high = statistics.quantiles([p[best] for p in passes], n=4)
    (record,) = (r for r in records if r.variant.id == best)
    v = record.variant
    print(
        f"block {number}, {block}: {len(run.records)} variants; {middle:.2f} µs "
        f"({low:.2f} to {high:.2f}), {show_bytes(record.memory_bytes)}, {v.family} {v.form}"
    )
    for name in theirs:
        median = statistics.median(p[name] for p in passes)
        ratio = statistics.median(p[name] / p[best] for p in passes)
        print(f"  PyTorch, {name}: {median:.2f} µs, ratio {ratio:.2f}", flush=True)


def main() -> None:
    """Compare the blocks that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("blocks", nargs="*", type=int, metavar="BLOCK", default=range(len(BLOCKS)))
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--time-limit", default="40s")
    parser.add_argument("--families", default=None)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--out", default="runs/blocks")
    given = parser.parse_args()
    print(f"{choose(given.device).name}", flush=True)
    for number in given.blocks:
        compare(number, given)


if __name__ == "__main__":
    main()

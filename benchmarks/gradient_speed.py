"""The speed of a layer's gradients beside that of its forward pass, each found by a run of
`explore` with the same budget, then timed in turns.

    python -m benchmarks.gradient_speed [--device D] [--variants 200] [--time-limit 90s]
        [--rounds 15] [--families F,G] [--kinds forward,data,weights] [--finalists 2]
        [--out runs/gradients] [--cudnn] [LAYER …]

A layer is one of examples/layers.toml whose file is vgg.lift; the gradients are the programs of
examples/gradients. Runs that are in --out already are not made again. The fastest variants of each
run are timed in turns, a batch of inferences each, so that what else the machine does falls on all
alike. A rate is the forward pass's time divided by the gradient's, since all three make the same
products; times are medians over rounds, with the quartiles. With --cudnn PyTorch, which must be
installed with CUDA, computes the same by cuDNN in single precision, in CUDA graphs.
"""

import argparse
import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trial import EXAMPLES
from codegen.compile import generate_for
from codegen.demand_proofs import demand_proofs
from codegen.runtime.series import Series
from codegen.runtime.session import Session, choose, open_device
from explore.api import explore
from explore.files.named_programs import named_programs
from explore.results.front import usable
from explore.results.records import Record
from explore.run.run import Run
from explore.run.target import profile_of
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse_file
from ir.text.show import show
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower

FILES = {
    "forward": "vgg.lift",
    "data": "gradients/vgg_image.lift",
    "weights": "gradients/vgg_weights.lift",
}
GRAPH = 20  # calls of cuDNN in a CUDA graph


@dataclass(slots=True)
class Way:
    """A variant of a layer's program of one kind, ready to run on inputs: `count` inferences make a
    batch, and `times` has the nanoseconds that an inference took in each batch so far."""

    kind: str
    record: Record
    series: Series
    count: int
    times: list[float] = field(default_factory=list)

    def run(self) -> None:
        self.times.append(self.series.batch(self.count))

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def told(self, forward: float) -> str:
        """The line on this way, beside the median time of the forward pass."""
        low, _, high = statistics.quantiles(self.times, n=4)
        v, error = self.record.variant, self.record.error
        lost = float("nan") if error is None else error
        point = " ".join(f"{n}={x}" for n, x in v.parameters)
        return (
            f"  {self.kind:8} {self.median / 1e3:9.1f} µs ({low / 1e3:.1f} to {high / 1e3:.1f}),"
            f" {forward / self.median:.2f} of the forward pass's rate, error {lost:.1e}:"
            f" {v.family} {v.form} {point}"
        )


def programs(layer: str) -> dict[str, Program]:
    """The forward pass and the gradients of a layer, by kind."""
    sizes = dict(named_programs()[layer].sizes)
    return {kind: parse_file(EXAMPLES / file, set=sizes) for kind, file in FILES.items()}


def explored(layer: str, kind: str, p: Program, given: argparse.Namespace) -> list[Record]:
    """The fastest variants of a layer's program of one kind, from a run of `explore`; a run that
    --out has already is read."""
    folder = Path(given.out) / f"{layer}-{kind}"
    some = {} if given.families is None else {"families": given.families}
    run = Run(folder) if folder.exists() else None
    run = run or explore(
        show(p),
        device=given.device,
        out=folder,
        records=False,
        variants=given.variants,
        time_limit=given.time_limit,
        **some,
    )
    print(f"  {kind}: {len(run.records)} variants in {folder}", flush=True)
    return sorted(usable(run.records), key=lambda r: r.time_ns or 0.0)[: given.finalists]


def way(kind: str, p: Program, record: Record, session: Session) -> Way:
    """The variant of a record, built anew, on random inputs."""
    v = record.variant
    low = lower(p, form_named(p, v.family, v.form))
    made = generate_for(bound(low.program, dict(v.parameters)), profile_of(session.device))
    demand_proofs(made)
    series = session.build(made.plan).series(random_inputs(p, 0))
    series.warm()
    return Way(kind, record, series, series.enough(record.time_ns or 1e6))


def compare(layer: str, session: Session, given: argparse.Namespace) -> None:
    """Explore the programs of a layer, time the fastest variants in turns, and print the fastest of
    each kind."""
    print(layer, flush=True)
    known = {kind: p for kind, p in programs(layer).items() if kind in given.kinds.split(",")}
    found = {kind: explored(layer, kind, p, given) for kind, p in known.items()}
    racing = [way(kind, known[kind], r, session) for kind, rs in found.items() for r in rs]
    for _ in range(given.rounds):
        for each in racing:
            each.run()
    first = {kind: min((w for w in racing if w.kind == kind), key=_median) for kind in known}
    forward = first["forward"].median if "forward" in first else float("nan")
    for best in first.values():
        print(best.told(forward), flush=True)
    print(f"  load average {os.getloadavg()[0]:.1f}", flush=True)


def _median(w: Way) -> float:
    return w.median


def cudnn(layer: str) -> Mapping[str, float]:
    """The microseconds that cuDNN takes for a layer's forward pass and gradients, by kind: in
    single precision, and in the better of its two orders of dimensions."""
    import torch

    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = False, True
    sizes = dict(named_programs()[layer].sizes)
    c, w, m = sizes["C"], sizes["W"], sizes["M"]
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return torch.tensor(rng.normal(size=shape).astype(np.float32)).cuda()

    given = random(1, c, w, w), random(m, c, 3, 3), random(1, m, w, w)

    def call(kind: str, x: Any, k: Any, y: Any) -> Callable[[], Any]:
        if kind == "forward":
            return lambda: torch.nn.functional.conv2d(x, k, padding=1)
        mask = [kind == "data", kind == "weights", False]
        one, none = [1, 1], [0, 0]
        return lambda: torch.ops.aten.convolution_backward(
            y, x, k, None, one, one, one, False, none, 1, mask
        )

    best = dict[str, float]()
    for kind in FILES:
        for order in (torch.contiguous_format, torch.channels_last):
            laid = (t.contiguous(memory_format=order) for t in given)
            best[kind] = min(best.get(kind, float("inf")), _in_graph(call(kind, *laid)))
    return best


def _in_graph(f: Callable[[], Any]) -> float:
    """The microseconds that a call of f takes in a CUDA graph of several: the median of nine."""
    import torch

    f()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        f()
    torch.cuda.current_stream().wait_stream(side)
    graph, times = torch.cuda.CUDAGraph(), list[float]()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH):
            f()
    for _ in range(9):
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / GRAPH)
    return statistics.median(times)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("layers", nargs="*", default=["vgg-5", "vgg-12", "vgg-19"])
    options.add_argument("--device")
    options.add_argument("--variants", type=int, default=200)
    options.add_argument("--time-limit", default="90s")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--families")
    options.add_argument("--kinds", default=",".join(FILES))
    options.add_argument("--finalists", type=int, default=2)
    options.add_argument("--out", default="runs/gradients")
    options.add_argument("--cudnn", action="store_true")
    given = options.parse_args()
    session = open_device(choose(given.device))
    print(session.device.name)
    for layer in given.layers:
        compare(layer, session, given)
        if given.cudnn:
            print("  cuDNN", {kind: round(t, 1) for kind, t in cudnn(layer).items()}, flush=True)


if __name__ == "__main__":
    main()

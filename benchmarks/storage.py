"""Layers that move more than they compute, with numbers stored as floats, halves, bfloats and
bytes, and floats in arithmetic: how much faster are narrower numbers?

    python -m benchmarks.storage [--device D] [--megabytes 64] [--tries 16] [--rounds 30] [--seed 0]
                                 [--stored] [LAYER …]

The image has `--megabytes` as floats, and as many numbers in the other types. `--tries` ways of
lowering the layer are drawn at random (forms and points of the families `naive` and `registers`);
each is built for every type. All take turns, so that what else the machine does hits them alike:
the slower half of a type's ways drops out after each of the first rounds, until one is left. With
`--stored` halves are stored only, as for devices that do not compute with them. Printed are the
least and the median time of a type's last way, in device time, the processor time that a run took,
and how many times faster each is than with floats.
"""

import argparse
import statistics
import time
from dataclasses import dataclass, field
from random import Random

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Program, Session, choose, open_device
from explore.run.target import profile_of
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program as Source
from ir.errors import Unsupported
from ir.meaning.inputs import STORED, random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower

CHANNELS = {"depthwise": 64, "max pooling": 64, "1x1": 8}
LAYERS = {
    "depthwise": """
depthwise(const weights : [[[{t}]3]3]C, image : [[[{t}]C]W]H) =
  map2d(window -> map((channel, kernel) ->
      {to}(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(channel, flatten(kernel)))),
    zip(transpose(join(window)), weights)), slide2d(3, 1, pad2d(1, 0, image)))
""",
    "max pooling": """
pool(image : [[[{t}]C]W]H) =
  map2d(window -> map(channel ->
      {to}(reduce(-inf, (acc, x) -> max(acc, float(x)), channel)),
    transpose(join(window))), slide2d(2, 2, image))
""",
    "1x1": """
mixed(const weights : [[{t}]C]C, image : [[[{t}]C]W]H) =
  map2d(pixel -> map(kernel ->
      {to}(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(pixel, kernel))),
    weights), image)
""",
}
TO = {"float": "float", "half": "half", "bfloat": "bfloat", "char": "char_sat_rte"}
FAMILIES = ("naive", "registers")


@dataclass(slots=True)
class Way:
    """A way of lowering a layer, built with numbers of one type; the times of its runs so far."""

    words: str
    built: Program
    device_ms: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)


def layer(name: str, t: str, megabytes: int) -> Source:
    """The program of a layer, with numbers of type t in and out."""
    c = CHANNELS[name]
    width = int((megabytes * 2**20 / 4 / c) ** 0.5)
    sizes = f"where C = {c}, W = {width}, H = {width}"
    return parse(LAYERS[name].format(t=t, to=TO[t]) + sizes)


def ways(
    source: Source, session: Session, tries: int, seed: int, half_arithmetic: bool
) -> dict[str, Program]:
    """Random ways of lowering a program, built; the same for every type that is as wide as their
    vectors allow."""
    limits, random = profile_of(session.device), Random(seed)
    every = [form for family in FAMILIES for form in forms(source, family)]
    found: dict[str, Program] = {}
    for form in [every[0], *random.sample(every[1:], len(every) - 1)]:
        try:
            low = lower(source, form)
            _, drawn = points(low, limits, 2, seed)
        except (Refused, Unsupported):
            continue
        for point in drawn:
            made = generate(
                bound(low.program, point),
                max_work_group=limits.group_items,
                half_arithmetic=half_arithmetic,
            )
            demand_proofs(made)
            words = f"{form.family} {form.name} {dict(sorted(point.items()))}"
            found[words] = session.build(made.plan)
            if len(found) == tries:
                return found
    return found


def run(way: Way, inputs: dict[str, object]) -> None:
    """A timed turn of a way: three runs on the device, of which the least counts."""
    begun = time.process_time()
    taken = way.built.time(inputs, runs=3, warmup=0)  # type: ignore[arg-type]
    way.processor_ms.append(1e3 * (time.process_time() - begun) / taken.runs)
    way.device_ms.append(taken.low_ns / 1e6)


def compare(name: str, session: Session, given: argparse.Namespace) -> None:
    """Time a layer with each type, and print a line for each."""
    racing: dict[str, list[Way]] = {}
    inputs: dict[str, dict[str, object]] = {}
    for t in TO:
        source = layer(name, t, given.megabytes)
        half = session.device.half and not given.stored
        built = ways(source, session, given.tries, given.seed, half)
        racing[t] = [Way(words, program) for words, program in built.items()]
        small = np.random.default_rng(given.seed)
        inputs[t] = {
            n: small.integers(-3, 4, np.shape(x)).astype(STORED[t])
            for n, x in random_inputs(source, given.seed).items()
        }
    for _ in range(given.rounds):
        for n in range(max(map(len, racing.values()))):
            for t, several in racing.items():
                if n < len(several):
                    run(several[n], inputs[t])
        for several in racing.values():
            several.sort(key=lambda way: min(way.device_ms))
            for lost in several[max(1, len(several) // 2) :]:
                lost.built.release()
            del several[max(1, len(several) // 2) :]
    least = {t: min(several[0].device_ms) for t, several in racing.items()}
    middle = {t: statistics.median(several[0].device_ms) for t, several in racing.items()}
    for t, (way,) in racing.items():
        print(
            f"{name:12} {t:6} least {least[t]:7.2f} ms ({least['float'] / least[t]:4.2f})  "
            f"median {middle[t]:7.2f} ms ({middle['float'] / middle[t]:4.2f})  "
            f"processor {statistics.median(way.processor_ms):7.2f} ms  {way.words}",
            flush=True,
        )
        way.built.release()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("layers", nargs="*", metavar="LAYER", default=list(LAYERS))
    options.add_argument("--device")
    options.add_argument("--megabytes", type=int, default=64)
    options.add_argument("--tries", type=int, default=16)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--stored", action="store_true")
    given = options.parse_args()
    session = open_device(choose(given.device))
    print(f"{session.device.name}: an image of {given.megabytes} MiB in floats")
    for name in given.layers:
        compare(name, session, given)


if __name__ == "__main__":
    main()

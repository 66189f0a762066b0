"""Layers that move more than they compute, timed beside a kernel that copies as many bytes: numbers
are stored as floats, halves, bfloats or bytes, and computed with as floats.

    python -m benchmarks.storage [--device D] [--megabytes 128] [--tries 24] [--rounds 9] [--seed 0]
                                 [--stored] [--types float,half] [LAYER …]

The image has `--megabytes` as floats, and as many numbers in the other types. `--tries` ways of
lowering the layer are drawn at random for each type from the forms of the families `naive` and
`registers` that store no image, a form as often as a search tries it, and the fastest is found on
an image of half the size. Then all types take turns, so that what else the machine does hits them
alike. With `--stored` halves are stored only, as for devices that do not compute with them. A line
is printed for each type's way and for its copy: the median time on the device and of processors,
the bytes that it moves in a second, and how many times faster it is than the copy, and than the
same layer with floats. These ratios are medians over rounds (on a CPU of processors' time, which
other processes do not add to).
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import Program, Session, choose, open_device
from constraints.count.points import Point
from constraints.devices import Profile
from explore.run.target import profile_of
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program as Source
from ir.errors import Unsupported
from ir.meaning.inputs import STORED
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.stored_forms import RELAID

CHANNELS = {"1x1": 8}
SUM = "reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip({x}, {w}))"
DEPTHWISE = """
depthwise(const weights : [[[{t}]3]3]C, image : [[[{t}]C]W]H) =
  map2d(window -> map((channel, kernel) -> {to}(SUM),
    zip(transpose(join(window)), weights)), slide2d(3, STEP, pad2d(1, 0, image)))
""".replace("SUM", SUM.format(x="channel", w="flatten(kernel)"))
POOLING = """
pool(image : [[[{t}]C]W]H) =
  map2d(window -> map(channel -> {to}(POOLED), transpose(join(window))), slide2d(2, 2, image))
"""
LAYERS = {
    "depthwise": DEPTHWISE.replace("STEP", "1"),
    "depthwise, step 2": DEPTHWISE.replace("STEP", "2"),
    "max pooling": POOLING.replace(
        "POOLED", "reduce(-inf, (acc, x) -> max(acc, float(x)), channel)"
    ),
    "average pooling": POOLING.replace(
        "POOLED", "reduce(0.0, (acc, x) -> acc + float(x), channel) / 4.0"
    ),
    "1x1": """
mixed(const weights : [[{t}]C]C, image : [[[{t}]C]W]H) =
  map2d(pixel -> map(kernel -> {to}(SUM), weights), image)
""".replace("SUM", SUM.format(x="pixel", w="kernel")),
}
TO = {"float": "float", "half": "half", "bfloat": "bfloat", "char": "char_sat_rte"}
TO |= {"uchar": "uchar_sat_rte"}
FAMILIES = ("naive", "registers")
COPY = """
kernel void copy(global const {t} *restrict xs, global {t} *restrict out) {{
  size_t at = get_group_id(0) * {each} + get_local_id(0);
  for (int i = 0; i < {each}; i += get_local_size(0)) out[at + i] = xs[at + i];
}}
"""


@dataclass(slots=True)
class Way:
    """A way to run a layer: lowered in one form at one point (`words`) and built. It has the
    layer's inputs, buffers on the device with copies of them (`there`), the bytes of its image and
    results (`moved`), and the times of its turns so far."""

    words: str
    built: Program
    inputs: Mapping[str, np.ndarray]
    moved: int
    there: Mapping[str, Any] = field(default_factory=dict)  # copies of the inputs on the device
    device_ms: list[float] = field(default_factory=list)
    processor_ms: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run the layer four times, and add two times to its lists: of the last three runs, the
        shortest by the device's clock and the mean by the processor's clock. The first run does not
        count, as it finds in the cache what another way wrote; nor does copying inputs to the
        device."""
        self.there = self.there or self.copied()
        self.built.time(self.inputs, runs=1, warmup=0, turns=(self.there,))
        begun = time.process_time()
        taken = self.built.time(self.inputs, runs=3, warmup=0, turns=(self.there,))
        self.processor_ms.append(1e3 * (time.process_time() - begun) / taken.runs)
        self.device_ms.append(taken.low_ns / 1e6)

    def copied(self) -> Mapping[str, Any]:
        """New buffers on the device, by name, with copies of those inputs that are not
        constants."""
        names = [b.name for b in self.built.plan.buffers if b.role is Role.INPUT]
        return {n: self.built.to_device(self.inputs[n]).buffer for n in names}

    def least(self, by_processor: bool) -> float:
        """The shortest time of a turn so far, in milliseconds: by the processor's clock if
        `by_processor`, else by the device's."""
        return min(self.processor_ms if by_processor else self.device_ms)


def layer(name: str, t: str, megabytes: int, part: int = 1) -> Source:
    """The program of the layer `name`, with numbers of type t in and out; its image has `megabytes`
    as floats, or, with `part`, about one row in so many of that image."""
    c = CHANNELS.get(name, 64)
    width = int((megabytes * 2**20 / 4 / c) ** 0.5)
    sizes = f"where C = {c}, W = {width}, H = {rows_like(width, part)}"
    return parse(LAYERS[name].format(t=t, to=TO[t]) + sizes)


def rows_like(rows: int, part: int) -> int:
    """The number nearest to `rows` / `part` that the same numbers up to 8 divide as `rows`, so that
    blocks of rows that fit the one fit the other; with a part of 1, `rows`."""

    def fits(n: int) -> bool:
        return all((n % d == 0) == (rows % d == 0) for d in range(2, 9))

    return min(filter(fits, range(1, rows + 1)), key=lambda n: abs(n - rows / part))


def drawn(source: Source, limits: Profile, seed: int) -> list[Form]:
    """The forms of a program that store no image: first the plain one, then the others in an order
    drawn at random, in which forms with larger weights tend to come earlier."""
    every = [form for family in FAMILIES for form in forms(source, family)]
    plain, *rest = [f for f in every if not any(t.stores and t != RELAID for t in f.traits)]
    random = Random(seed)
    kind = {"on_gpu": limits.is_gpu, "dedicated_local": limits.dedicated_local}
    keys = {id(f): random.random() ** (1 / f.weight(**kind)) for f in rest}
    return [plain, *sorted(rest, key=lambda f: keys[id(f)], reverse=True)]


def ways(
    name: str, t: str, session: Session, given: argparse.Namespace
) -> Iterator[tuple[Form, Point]]:
    """Pairs of a form and a point for the layer `name` with numbers of type t, drawn at random: at
    most three points of each form, `--tries` in all."""
    source, limits = layer(name, t, given.megabytes // 2), profile_of(session.device)
    left = given.tries
    for form in drawn(source, limits, given.seed):
        try:
            _, some = points(lower(source, form), limits, min(3, left), given.seed)
        except (Refused, Unsupported):
            continue
        yield from ((form, point) for point in some)
        left -= len(some)
        if not left:
            return


def built(
    source: Source, form: Form, point: Point, session: Session, given: argparse.Namespace
) -> Way:
    """The program `source` lowered in a form at a point, proved, and built."""
    half = session.device.half and not given.stored
    limits = profile_of(session.device).group_items
    made = generate(
        bound(lower(source, form).program, point), max_work_group=limits, half_arithmetic=half
    )
    demand_proofs(made)
    moved = sum(b.bytes for b in made.plan.buffers if b.role in (Role.INPUT, Role.OUTPUT))
    words = f"{form.family} {form.name} {dict(sorted(point.items()))}"
    inputs = whole_numbers(made.plan.buffers, given.seed)
    return Way(words, session.build(made.plan), inputs, moved)


def best(name: str, t: str, session: Session, given: argparse.Namespace) -> Way:
    """The fastest of some random ways to lower the layer `name` with numbers of type t. All are
    timed on an image of half the size; after each round, the slower half is dropped."""
    source = layer(name, t, given.megabytes // 2)
    racing = [(built(source, *way, session, given), way) for way in ways(name, t, session, given)]
    alike([way for way, _ in racing])
    by_processor = session.device.kind == "cpu"
    while len(racing) > 1:
        for way, _ in racing:
            way.run()
        racing.sort(key=lambda each: each[0].least(by_processor))
        for lost, _ in racing[len(racing) // 2 :]:
            lost.built.release()
        del racing[len(racing) // 2 :]
    ((way, chosen),) = racing
    way.built.release()
    return built(layer(name, t, given.megabytes), *chosen, session, given)


def alike(ways: Sequence[Way]) -> None:
    """Make all these ways, which are of one layer and one type, use the inputs of the first."""
    there = ways[0].copied()
    for way in ways:
        way.inputs, way.there = ways[0].inputs, there


def whole_numbers(buffers: Sequence[Buffer], seed: int) -> dict[str, np.ndarray]:
    """Random whole numbers, by buffer name, for those of the buffers that are inputs or
    constants."""
    random = np.random.default_rng(seed)
    return {
        b.name: random.integers(-3, 4, b.shape, dtype=np.int8).astype(STORED[b.scalar])
        for b in buffers
        if b.role in (Role.INPUT, Role.CONST)
    }


def copy(moved: int, session: Session) -> Way:
    """A kernel that reads and writes `moved` bytes in all (rounded up), built as a way: on a CPU a
    work-item copies a cache line at a time, on a GPU neighbouring work-items copy neighbouring
    numbers."""
    gpu = session.device.kind == "gpu"
    t, lanes, each = ("uint4", 256, 256) if gpu else ("float16", 1, 64)
    groups = -(-moved // 2 // (each * (16 if gpu else 64)))
    numbers = groups * each * (4 if gpu else 16)
    x = Buffer("xs", "float", (numbers,), 4 * numbers, Role.INPUT)
    y = Buffer("out", "float", (numbers,), 4 * numbers, Role.OUTPUT)
    text = COPY.format(t=t, each=each)
    launch = Kernel(
        "copy", (groups * lanes, 1, 1), (lanes, 1, 1), ("xs", "out"), prepack=False, text=text
    )
    built = session.build(Plan((launch,), (x, y), 8 * numbers, 0))
    return Way("a copy", built, {"xs": np.ones(numbers, np.float32)}, 8 * numbers)


def compare(name: str, session: Session, given: argparse.Namespace) -> None:
    """Time the layer `name` with each type of numbers and a copy of as many bytes, in turns, and
    print a line for each of them."""
    found = {t: best(name, t, session, given) for t in given.types.split(",")}
    copies = {t: copy(way.moved, session) for t, way in found.items()}
    last = [(t, way) for t in found for way in (found[t], copies[t])]
    for _ in range(given.rounds):
        for _, way in last:
            way.run()
    for t, way in last:
        print(told(name, t, way, copies[t], found["float"], session), flush=True)
        way.built.release()


def told(name: str, t: str, way: Way, copied: Way, floats: Way, session: Session) -> str:
    """The line to print on `way`, the layer `name` with numbers of type t: its times, and how many
    times as long two other ways take: `copied`, which copies as many bytes, and `floats`, the same
    layer with floats."""
    by_processor = session.device.kind == "cpu"

    def ratio(other: Way) -> float:
        theirs, ours = other.device_ms, way.device_ms
        if by_processor:
            theirs, ours = other.processor_ms, way.processor_ms
        return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))

    device, processor = map(statistics.median, (way.device_ms, way.processor_ms))
    rate = way.moved / 1e6 / (processor if by_processor else device)
    return (
        f"{name:17} {t:6} device {device:8.3f} ms  processor {processor:7.2f} ms  {rate:7.1f} GB/s "
        f" of the copy {ratio(copied):4.2f}  of floats {ratio(floats):5.2f}  {way.words}"
    )


def options_of(words: str | None, types: str) -> argparse.ArgumentParser:
    """The command-line options of a benchmark of these layers: `words` is its help text, `types`
    the types of numbers that it takes by default."""
    options = argparse.ArgumentParser(description=words)
    options.add_argument("layers", nargs="*", metavar="LAYER", default=list(LAYERS))
    options.add_argument("--device")
    options.add_argument("--megabytes", type=int, default=128)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--types", default=types, help=f"of {', '.join(TO)}")
    return options


def main() -> None:
    options = options_of(__doc__, ",".join(TO))
    options.add_argument("--tries", type=int, default=24)
    options.add_argument("--stored", action="store_true")
    given = options.parse_args()
    session = open_device(choose(given.device))
    print(f"{session.device.name}: an image of {given.megabytes} MiB in floats")
    for name in given.layers:
        compare(name, session, given)


if __name__ == "__main__":
    main()

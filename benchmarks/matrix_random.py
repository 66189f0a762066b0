"""Random convolutions and matrix products in random forms of the family `matrix`, on a device.

    python -m benchmarks.matrix_random [--device D] [--count 300] [--jobs N] [--seed S]
        [--time-limit 600]

Sizes are drawn at random: odd images, strides, dilations, groups, volumes, batches, channels that
fill no tile. Each program is lowered in a random form at a random point, and computes on small
whole numbers, which every instruction of the family multiplies exactly: its results must be those
of the interpreter to the last bit. Says how many programs and forms were tried, and each that was
wrong.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.devices import choose
from codegen.runtime.results import BuildFailed
from codegen.runtime.session import open_device
from constraints.devices import H200
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.errors import Unsupported
from ir.meaning.inputs import shape_of
from ir.meaning.interpret import evaluate
from ir.parse import parse_file
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
LARGEST = 3  # of the whole numbers: sums of thousands of products fit the bits of a float
TRIES = 40  # forms of a program, of which some do not apply to it

SIDES, CHANNELS, ROWS = tuple(range(3, 40)), (16, 32, 48, 64, 96), tuple(range(1, 70))
STEPS = (1, 2, 3)
PROGRAMS: Sequence[tuple[str, Mapping[str, Sequence[int]]]] = (
    ("vgg.lift", {"C": CHANNELS, "W": SIDES, "H": SIDES, "K": (1, 3, 5), "M": ROWS}),
    ("conv2d.lift", {"C": CHANNELS, "W": SIDES, "H": SIDES, "S": STEPS, "P": (0, 1, 2), "M": ROWS}),
    ("dilated.lift", {"C": CHANNELS, "W": SIDES, "H": SIDES, "D": (1, 2, 3), "M": ROWS}),
    ("grouped.lift", {"C": (32, 64, 96), "W": SIDES, "H": SIDES, "G": (1, 2), "M": (16, 32, 48)}),
    ("batched.lift", {"N": (1, 2, 3), "C": CHANNELS, "W": SIDES, "H": SIDES, "M": ROWS}),
    ("conv1x1.lift", {"C": CHANNELS, "W": SIDES, "H": SIDES, "M": ROWS}),
    ("conv1d.lift", {"C": CHANNELS, "N": (17, 64, 301), "S": (1, 2), "M": ROWS}),
    ("conv3d.lift", {"C": (16, 32), "W": (5, 8), "H": (4, 7), "D": (3, 6), "M": ROWS}),
    ("matmul.lift", {"M": ROWS, "N": ROWS, "K": (16, 32, 48, 80, 128, 256)}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A program lowered in a form at a point: what it is in words (`told`), its plan, its inputs
    and the right results."""

    told: str
    form: str
    plan: Plan
    inputs: Mapping[str, NDArray[np.float32]]
    right: NDArray[np.float64]


def drawn(seed: str) -> Case | None:
    """The case that is drawn with a seed: a program in a random form; None if the drawn sizes make
    no program, or none of the forms that were drawn applies to it."""
    random = Random(seed)
    file, choices = random.choice(PROGRAMS)
    sizes = {name: random.choice(values) for name, values in choices.items()}
    try:
        p = parse_file(EXAMPLES / file, sizes)
        every = list(forms(p, "matrix"))
    except Exception:  # sizes that do not go together: a window larger than its image
        return None
    for form in random.sample(every, min(TRIES, len(every))):
        if (made := _made(p, form, random)) is not None:
            plan, point = made
            inputs, right = _meant(p, random.randrange(2**31))
            told = " ".join(f"{n}={v}" for n, v in (*sizes.items(), *sorted(point.items())))
            return Case(f"{file} {told}", form.name, plan, inputs, right)
    return None


def _made(p: Program, form: Form, random: Random) -> tuple[Plan, Mapping[str, int]] | None:
    """The plan of the program p in a form at a random legal point, and the point; None if the form
    does not apply or has no point."""
    try:
        low = lower(p, form)
        found = points(low, H200, 1, random.randrange(2**31))[1]
        if not found:
            return None
        plan = generate(bound(low.program, found[0]), max_work_group=H200.group_items).plan
    except (Refused, Unsupported):
        return None
    return plan, found[0]


def _meant(p: Program, seed: int) -> tuple[Mapping[str, NDArray[np.float32]], NDArray[np.float64]]:
    """Random inputs of small whole numbers for the program p, by name, and the interpreter's result
    for them."""
    numbers = np.random.default_rng(seed)
    inputs = {
        v.var.name: numbers.integers(-LARGEST, LARGEST + 1, shape_of(v.var.type)).astype(np.float32)
        for v in p.params
    }
    return inputs, np.asarray(evaluate(p, inputs), np.float64)


def cases(count: int, seed: str, jobs: int, limit_s: float) -> Iterator[Case]:
    """Up to twice `count` random cases, drawn with seeds that begin with `seed` and made by `jobs`
    processes, in the order in which they are made; none after `limit_s` seconds."""
    begun = time.monotonic()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        todo = [pool.submit(drawn, f"{seed} {n}") for n in range(2 * count)]
        for done in as_completed(todo):
            if (case := done.result()) is not None:
                yield case
            if time.monotonic() - begun > limit_s:
                break
        pool.shutdown(wait=False, cancel_futures=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--time-limit", type=float, default=600.0)
    given = parser.parse_args()
    device = choose(given.device)
    session = open_device(device)
    print(f"{device.name}, seed {given.seed}", flush=True)
    right, wrong, refused, seen = 0, 0, Counter[str](), set[str]()
    for case in cases(given.count, given.seed, given.jobs, given.time_limit):
        try:
            out = np.asarray(session.build(case.plan, checking=True)(case.inputs), np.float64)
        except BuildFailed as error:
            refused[str(error).splitlines()[0]] += 1
            continue
        seen.add(case.form)
        if np.array_equal(out, case.right):
            right += 1
        else:
            wrong += 1
            print(f"wrong: {case.told}, {case.form}: {int((out != case.right).sum())} cells")
        if right + wrong == given.count:
            break
    tried = f"{right + wrong} programs in {len(seen)} forms"
    print(f"{tried}, {wrong} wrong, {refused.total()} not built")
    for why, n in refused.most_common(5):
        print(f"{n} times: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Random convolutions and matrix products in random forms that multiply by matrix instructions, on
a device.

    python -m benchmarks.matrix_random [--device D] [--count 300] [--jobs N] [--seed S]
        [--time-limit 600] [--out FILE.jsonl] [--family matrix] [--words parts,ahead]
        [--set K=3,M=64|96]

Forms are those of one family, by instructions that an H200 has, that have all the words asked for.
Sizes are drawn at random: odd images, strides, dilations, groups, volumes, batches, channels that
fill no tile; those that --set gives are among those given. Each program is lowered in a random form
at a random point, and computes on small whole numbers, which every instruction of the family
multiplies exactly: its results must be those of the interpreter to the last bit. (So it is for
`--family winograd --words F2 --set K=3`, but not for larger tiles, whose transforms round.) Says as
it goes how many programs and forms were tried, and each that was wrong; with `--out`, each case is
a line of that file as soon as it was tried.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from benchmarks.opened_device import opened
from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.results import BuildFailed
from codegen.runtime.session import Session
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
TELL = 25  # cases between two lines that tell how far it is

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What to draw from: the forms of a family that have all of these words, and sizes, by name, in
    place of all; the name of the device to build for."""

    family: str
    words: frozenset[str]
    sizes: Mapping[str, Sequence[int]]
    device: str | None

    def forms(self, p: Program) -> list[Form]:
        """The forms to draw from for a program."""
        known = {*H200.instructions}
        every = (f for f in forms(p, self.family) if f.instructions and f.instructions <= known)
        return [form for form in every if self.words <= {*form.words}]


def built(asked: Asked, seed: str) -> Case | None:
    """The case that is drawn with a seed, built on the device, so that its cache holds it."""
    case = drawn(asked, seed)
    if case is not None:
        with suppress(BuildFailed):  # which the process that runs it will find again
            opened(asked.device).build(case.plan)
    return case


def drawn(asked: Asked, seed: str) -> Case | None:
    """The case that is drawn with a seed: a program in a random form; None if the drawn sizes make
    no program, or none of the forms that were drawn applies to it."""
    random = Random(seed)
    file, choices = random.choice(PROGRAMS)
    sizes = {name: random.choice(v) for name, v in {**choices, **asked.sizes}.items()}
    try:
        p = parse_file(EXAMPLES / file, sizes)
        every = asked.forms(p)
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


def cases(asked: Asked, count: int, seed: str, jobs: int, limit_s: float) -> Iterator[Case]:
    """Up to twice `count` random cases, drawn with seeds that begin with `seed` and made by `jobs`
    processes, in the order in which they are made; none after `limit_s` seconds."""
    until = time.monotonic() + limit_s
    with get_context("spawn").Pool(jobs) as pool:  # ended at once when no more are asked for
        seeds = (f"{seed} {n}" for n in range(2 * count))
        made = pool.imap_unordered(partial(built, asked), seeds)
        while (left := until - time.monotonic()) > 0:
            try:
                case = made.next(left)
            except (StopIteration, TimeoutError):
                return
            if case is not None:
                yield case


def outcome(session: Session, case: Case) -> str:
    """The outcome of a case on a session's device: `right`, `not built` with the reason, or `wrong`
    with the number of cells."""
    try:
        program = session.build(case.plan, checking=True)
    except BuildFailed as error:
        return f"not built: {str(error).splitlines()[0]}"
    try:
        out = np.asarray(program(case.inputs), np.float64)
    finally:
        program.release()
    off = int((out != case.right).sum())
    return f"wrong: {off} of {out.size} cells" if off else "right"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--out", type=Path, help="write each case to this file")
    parser.add_argument("--family", default="matrix")
    parser.add_argument("--words", default="", help="words that all forms must have")
    parser.add_argument("--set", default="", help="sizes to draw from: K=3,M=64|96,…")
    given = parser.parse_args()
    asked_for = (s.partition("=") for s in given.set.split(",") if s)
    sizes = {name: tuple(map(int, each.split("|"))) for name, _, each in asked_for}
    words = frozenset(filter(None, given.words.split(",")))
    asked = Asked(given.family, words, sizes, given.device)
    session = opened(given.device)
    print(f"{session.device.name}, seed {given.seed}", flush=True)
    write = partial(_written, given.out) if given.out else _nowhere
    tried, seen = Counter[str](), set[str]()
    for case in cases(asked, given.count, given.seed, given.jobs, given.time_limit):
        found = outcome(session, case)
        kind = found.split(":")[0]
        write({"case": case.told, "form": case.form, "outcome": found})
        tried[kind] += 1
        if kind != "not built":
            seen.add(case.form)
        if kind != "right":
            print(f"{found}: {case.told}, {case.form}", flush=True)
        if tried.total() % TELL == 0:
            print(_told(tried, seen), flush=True)
        if tried["right"] + tried["wrong"] == given.count:
            break
    print(_told(tried, seen), flush=True)
    return 1 if tried["wrong"] else 0


def _told(tried: Counter[str], seen: set[str]) -> str:
    programs = tried["right"] + tried["wrong"]
    return (
        f"{programs} programs in {len(seen)} forms, {tried['wrong']} wrong, "
        f"{tried['not built']} not built"
    )


def _written(file: Path, line: Mapping[str, str]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def _nowhere(line: Mapping[str, str]) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())

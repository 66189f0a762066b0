"""Legal points, sampled: does every one compile, take what was inferred, prove, and run right?

    python benchmarks/points.py [--count 1000] [--families naive,lift,…] [--jobs 2] [--seed 0]
                                [--device D | --profile h200] [--run] [LAYER …]

`--count` points a family, spread over its forms (over some, if there are more). Without `--run`
they are compiled and proved; with it they also run on the device, and the output must be what the
interpreter's is. Layers are names in examples/layers.toml, and `small`: 5 channels of 13 × 13.
A line for every point that is not right, and one for each family.
"""

import argparse
import json
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from codegen.compile import Generated, generate
from codegen.devices import Device
from codegen.prove import prove
from codegen.results import BuildFailed
from codegen.runtime import Session, choose, open_device
from constraints.devices import Profile, profile
from constraints.quantities import Quantities, quantities
from explore.agreement import disagreements
from explore.lowering import bound
from explore.measure import EPSILON
from explore.reference import relative_error
from explore.space import lowered, points
from explore.target import profile_of
from ir.errors import Unsupported, UserError
from ir.inputs import random_inputs
from ir.interpret import evaluate
from ir.nodes import Program
from ir.parse import parse_file
from rewrites.dims import Refused
from rewrites.families import FAMILIES, Lowering, forms
from rewrites.rule import Derivation

EXAMPLES = Path(__file__).parents[1] / "examples"
LAYERS = ("small", "vgg-0", "vgg-7", "vgg-24", "alexnet-conv1", "resnet-conv1", "mec-cv12")
SMALL = {"file": "vgg.lift", "C": 5, "W": 13, "M": 24}
RIGHT = "right"


@cache
def program(layer: str) -> Program:
    table = tomllib.loads((EXAMPLES / "layers.toml").read_text())
    found = dict(SMALL if layer == "small" else table[layer])
    file = EXAMPLES / found.pop("file")
    if "W" in found:
        found.setdefault("H", found["W"])
    return parse_file(file, set=found)


@dataclass(frozen=True, slots=True)
class Task:
    """Some points of a form; `device`: where to run them, or nowhere."""

    layer: str
    lowering: Lowering
    rounding: float  # machine epsilons that its laws may lose
    profile: Profile
    points: int
    seed: int
    device: Device | None


# ---- in the workers


def derive(layer: str, family: str, form: str) -> tuple[Lowering, float] | None:
    """The form's program, and what its derivation may lose (all of it would be a lot to carry)."""
    try:
        found = lowered(program(layer), family, form)
    except (Refused, UserError, Unsupported):
        return None
    known = found.derivation
    return replace(found, derivation=Derivation(known.start, ())), known.rounding


def check(task: Task) -> list[tuple[dict[str, int], str]]:
    """Points of a form, and what became of each: a word, or the stage and reason it failed."""
    known = quantities(task.lowering.program)
    _, chosen = points(task.lowering, task.profile, task.points, task.seed)
    return [(point, _said(task, known, point)) for point in chosen]


def _said(task: Task, known: Quantities, point: dict[str, int]) -> str:
    try:
        concrete = bound(task.lowering.program, point)
        made = generate(concrete, max_work_group=task.profile.group_items)
    except Unsupported as reason:
        return f"emit: {reason}"
    wrong = list(disagreements(known, point, made))
    if wrong:
        return f"constrain: {'; '.join(wrong)}"
    proofs = [prove(kernel) for kernel in made.kernels]
    if not all(p.ok for p in proofs):
        return f"prove: {next(p for p in proofs if not p.ok).summary()}"
    return RIGHT if task.device is None else _ran(_session(task.device), task, made)


def _ran(session: Session, task: Task, made: Generated) -> str:
    inputs, reference = _expected(task.layer)
    try:
        result = session.build(made.plan)(inputs)
    except BuildFailed as error:
        return f"build: {error.log.strip()[:200]}"
    allowed = task.rounding * EPSILON
    return RIGHT if relative_error(result, reference) <= allowed else "run: WRONG"


@cache
def _session(device: Device) -> Session:
    return open_device(device)


@cache
def _expected(layer: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    inputs = random_inputs(program(layer), 1)
    arrays = {name: np.asarray(x) for name, x in inputs.items()}
    return arrays, np.asarray(evaluate(program(layer), inputs))


# ---- outside


def lowerings(
    pool: ProcessPoolExecutor, layer: str, family: str, count: int, random: Random
) -> list[tuple[Lowering, float]]:
    """The forms that apply, of as many as there are to be points."""
    every = [form.name for form in forms(program(layer), family)]
    names = random.sample(every, min(count, len(every)))
    n = len(names)
    found = pool.map(derive, [layer] * n, [family] * n, names)
    return [one for one in found if one is not None]


def results(
    pool: ProcessPoolExecutor, tasks: list[Task]
) -> Iterator[tuple[Task, dict[str, int], str]]:
    running = {pool.submit(check, task): task for task in tasks}
    for done in as_completed(running):
        task = running[done]
        error = done.exception()
        if error is not None:
            yield task, {}, f"bug: {type(error).__name__}: {error}"
        else:
            yield from ((task, point, said) for point, said in done.result())


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("layers", nargs="*", default=LAYERS)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--families", default=",".join(FAMILIES))
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--device")
    options.add_argument("--profile")
    options.add_argument("--run", action="store_true")
    given = options.parse_args()
    device = None if given.profile else choose(given.device)
    limits = profile_of(device) if device else profile(given.profile)
    with ProcessPoolExecutor(given.jobs) as pool:
        for layer in given.layers:
            for family in given.families.split(","):
                begun = time.monotonic()
                random = Random(f"{given.seed} {layer} {family}")
                found = lowerings(pool, layer, family, given.count, random)
                share = -(-given.count // max(1, len(found)))
                where = device if given.run else None
                tasks = [Task(layer, *one, limits, share, given.seed, where) for one in found]
                outcome: Counter[str] = Counter()
                for task, point, said in results(pool, tasks):
                    outcome[said.split(":")[0]] += 1
                    if said != RIGHT:
                        form = task.lowering.form
                        print(json.dumps([layer, family, form, point, said]), flush=True)
                seconds = f"{time.monotonic() - begun:.0f} s"
                print(layer, family, f"{len(found)} forms", dict(outcome), seconds, flush=True)


if __name__ == "__main__":
    main()

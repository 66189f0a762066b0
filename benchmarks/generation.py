"""The speed of making variants, without building any: variants a second of one core's time.

    python -m benchmarks.generation [--variants 1000] [--sample 100] [--device D | --profile P]
                                    [--families A,B] [--calls FILE] [LAYER …]

Layers are names in examples/layers.toml, or files. First, all forms that a run of `--variants`
variants takes are derived, constrained and sampled: those that it begins with, and those that a
search may ask for later. Then `--sample` of its first candidates are emitted and proved; the speed
assumes that the others take as long. `--calls` writes a profile for pstats or snakeviz.
"""

import argparse
import cProfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from benchmarks.trial import program
from codegen.runtime.devices import choose
from constraints.devices import Profile, profile
from explore.building.build_tasks import Made
from explore.building.build_variant import Builder, make
from explore.options.options import POOL, Options
from explore.run.candidates import Candidates, gathered
from explore.run.target import profile_of
from explore.search.search import run
from explore.space.derivations import Derivation, Result, Saw, derived, unseen
from explore.space.derive_form import Derived, derive
from explore.space.forms_to_derive import others, tasks
from explore.workers.child_main import COLLECT_EVERY, collect, collect_between_tasks
from ir.core.nodes import Program
from ir.parse import parse_file

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Rate:
    """The work of making variants: the number of forms derived, in `derive_s` seconds of processor
    time; the number of their candidates; and the number of these, the `sample`, that were made, in
    `make_s` seconds. `failed` of the sample could not be made."""

    forms: int
    candidates: int
    derive_s: float
    sample: int
    make_s: float
    failed: int

    def a_second(self, variants: int) -> float:
        return variants / (self.derive_s + variants * self.make_s / self.sample)


def measured(source: Program, target: Profile, options: Options, sample: int) -> Rate:
    """The rate at which variants of a program are made for a device: all forms of a run are
    derived, and `sample` candidates are made."""
    begun = time.process_time()
    found, spent = started(source, target, options)
    between = time.process_time()
    made = [*first(found, options, sample, target)]
    ended = time.process_time()
    grown(found, options)
    failed = sum(m.failed is not None for m in made)
    forms, candidates = len(found.forms), len(found.variants)
    return Rate(forms, candidates, between - begun + sum(spent), len(made), ended - between, failed)


@dataclass(slots=True)
class TimedHere:
    """Derives forms in this process, when their results are asked for. `begun` are the forms that
    wait for that; `spent` has the seconds that each call of `taken` took."""

    begun: list[Derivation] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    def begin(self, todo: Sequence[Derivation]) -> None:
        """Keep the forms `todo` until their results are asked for by `taken`."""
        self.begun += todo

    def taken(self, saw: Saw = unseen) -> list[Result]:
        """The results of the forms that `begin` was given since the last call; they are derived
        now."""
        todo, self.begun = self.begun, []
        before = time.process_time()
        found = [as_a_worker(derived, task) for task in todo]
        self.spent.append(time.process_time() - before)
        return found


def started(source: Program, target: Profile, options: Options) -> tuple[Candidates, list[float]]:
    """A pair: the candidates of a run, whose forms are derived in this process, and a list of
    seconds. Every later derivation of forms appends to the list how long it took."""
    deriving = TimedHere()
    budget = POOL * options.variants
    todo = tasks(source, target, families=options.families, budget=budget, seed=options.seed)
    found = [d for task in todo if isinstance(d := as_a_worker(derive, task), Derived)]
    return gathered(found, others(todo), deriving), deriving.spent


def grown(found: Candidates, options: Options) -> None:
    """Run a guided search over the candidates to its end. The search is told the same time for
    every variant, which makes it ask for the most forms."""
    run(found.search(replace(options, strategy="guided")), lambda n: 1.0, options.variants)


def first(found: Candidates, options: Options, sample: int, target: Profile) -> list[Made]:
    """The first `sample` variants, emitted and proved, of a search that is told no times."""
    search, state = found.search(options), Builder(None, target)
    chosen: list[int] = []
    while len(chosen) < sample and (more := search.next_round()):
        chosen += more
    return [as_a_worker(make, state, found.task(n)) for n in chosen[:sample]]


def as_a_worker(function: Callable[..., R], *task: object) -> R:
    """The result of function(*task). Garbage is collected afterwards if the last collection is long
    ago, as a worker does between its tasks."""
    done = function(*task)
    if time.monotonic() - _collected[0] > COLLECT_EVERY:
        collect()
        _collected[0] = time.monotonic()
    return done


_collected = [time.monotonic()]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("layers", nargs="*", default=["examples/quickstart.lift", "vgg-7"])
    options.add_argument("--variants", type=int, default=1000)
    options.add_argument("--sample", type=int, default=100)
    options.add_argument("--families", default="")
    where = options.add_mutually_exclusive_group()
    where.add_argument("--device")
    where.add_argument("--profile")
    options.add_argument("--calls", type=Path)
    given = options.parse_args()
    target = profile(given.profile) if given.profile else profile_of(choose(given.device))
    asked = Options(
        variants=given.variants,
        families=tuple(f for f in given.families.split(",") if f),
        strategy="random",
    )
    calls = cProfile.Profile()
    collect_between_tasks()
    for layer in given.layers:
        source = parse_file(Path(layer)) if layer.endswith(".lift") else program(layer)
        if given.calls:
            calls.enable()
        rate = measured(source, target, asked, given.sample)
        calls.disable()
        print(
            f"{layer}: {rate.forms} forms, {rate.candidates} candidates in {rate.derive_s:.1f} s; "
            f"{1e3 * rate.make_s / rate.sample:.1f} ms a variant to emit and prove "
            f"({rate.failed} of {rate.sample} failed); "
            f"{rate.a_second(given.variants):.1f} variants a second",
            flush=True,
        )
    if given.calls:
        calls.dump_stats(given.calls)


if __name__ == "__main__":
    main()

"""A comparison of search strategies and of budgets, on new runs or on stored ones.

    python -m benchmarks.search strategies FILE|LAYER [--variants 200] [--seeds 5] [--device D]
    python -m benchmarks.search budgets FILE|LAYER [--variants 1000] [--all 5000] [--device D]
    python -m benchmarks.search rank RUN [--seeds 5]

`strategies`: a guided and a random search, once for each seed. `budgets`: the best of few variants
and the best of many. Afterwards the fastest variants of these runs are timed in turns, since times
from different minutes cannot be compared. `rank` needs no device: the cost model ranks variants of
a stored run that it has not learned from. Make that run with `--strategy random`: a guided run
holds little but what its model preferred. `explore replay RUN` lets strategies search in one.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.layers import layers
from benchmarks.timed_again import meter, timed
from codegen.runtime.devices import choose
from explore.options.options import Options
from explore.options.units import show_time
from explore.results.front import pick
from explore.results.pace import Level
from explore.run.run import Run, resume, start
from explore.run.source import Source
from explore.run.target import Target, profile_of
from explore.search.replay import Replay
from ir.command import add_set, sizes_of
from ir.errors import UserError

TURNS = 3  # of five passes each
LEAST = 8  # variants that are ranked


def strategies(given: argparse.Namespace) -> Iterator[str]:
    """The lines that compare a guided and a random search, once for each seed."""
    ratios = []
    for seed in range(given.seeds):
        both = [
            explored(given, f"{how}-{seed}", variants=given.variants, seed=seed, strategy=how)
            for how in ("guided", "random")
        ]
        guided, random = in_turns(both)
        ratios.append(random / guided)
        yield f"seed {seed}: guided {show_time(guided)}, random {show_time(random)}"
    yield f"random / guided: {_spelled(ratios)}"


def budgets(given: argparse.Namespace) -> Iterator[str]:
    """The lines that compare the best of few variants with the best of many."""
    ratios = []
    for seed in range(given.seeds):
        few, many = in_turns(
            [
                explored(given, f"{n}-{seed}", variants=n, seed=seed)
                for n in (given.variants, given.all)
            ]
        )
        ratios.append(few / many)
        yield f"seed {seed}: {given.variants} {show_time(few)}, {given.all} {show_time(many)}"
    yield f"best of {given.variants} / best of {given.all}: {_spelled(ratios)}"


def ranked(given: argparse.Namespace) -> Iterator[str]:
    """The lines that tell how well the cost model ranks variants of a stored run that it has not
    learned from."""
    first = [r for r in Run(Path(given.what)).records if r.round == 0]
    stored, seeds = Replay.of(first), range(given.seeds)
    ran = sum(r.time_ns is not None for r in stored.records)
    for learned in (n for n in (16, 50, 100, 200) if n + LEAST <= ran):
        correlations = [stored.rank_correlation(learned, seed) for seed in seeds]
        yield f"rank correlation after {learned} variants: {_spelled(correlations)}"


def explored(given: argparse.Namespace, name: str, **options: object) -> Run:
    """The run with these options (and those `given` to the command) in a folder that `name` names;
    resumed if it is there already."""
    folder: Path = given.out / f"{Path(given.what).stem}-{name}"
    if (folder / "run.sqlite").is_file():
        return resume(folder)[0]
    sizes = sizes_of(given)
    file = Path(given.what)
    if file.suffix != ".lift":
        layer = next(layers([given.what], None))
        file, sizes = layer.file, {**dict(layer.sizes), **sizes}
    asked = Options(sizes=tuple(sorted(sizes.items())), jobs=given.jobs)
    device = choose(given.device)
    source = Source(file.read_text(), str(file))
    return start(
        source,
        replace(asked, **options),  # type: ignore[arg-type]
        Target(profile_of(device), device),
        folder,
    )[0]


def in_turns(runs: Sequence[Run]) -> list[float]:
    """The time in nanoseconds of the fastest variant of each run, in the order of the runs; the
    variants are timed in turns."""
    return [level.median_ns for level in levels(runs)]


def levels(runs: Sequence[Run]) -> list[Level]:
    """The times of the fastest variant of each run, in the order of the runs; the variants are
    timed in turns."""
    best = [pick(run.records).variant.plan for run in runs]
    with meter(runs[0]) as worker:
        return timed(worker, [plan for plan in best if plan is not None], TURNS)


def _spelled(ratios: Sequence[float]) -> str:
    each = " ".join(f"{ratio:.3f}" for ratio in ratios)
    return f"median {statistics.median(ratios):.3f} ({each})"


HOW = {"strategies": strategies, "budgets": budgets, "rank": ranked}


def main(argv: Sequence[str]) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("how", choices=HOW)
    options.add_argument("what", metavar="FILE|LAYER|RUN")
    options.add_argument("--variants", type=int)
    options.add_argument("--all", type=int, default=5000)
    options.add_argument("--seeds", type=int)
    options.add_argument("--device")
    options.add_argument("--jobs", type=int)
    options.add_argument("--out", type=Path, default=Path("runs/search"))
    add_set(options)
    given = options.parse_args(argv)
    given.variants = given.variants or (1000 if given.how == "budgets" else 200)
    given.seeds = given.seeds or (1 if given.how == "budgets" else 5)
    for line in HOW[given.how](given):
        print(line, flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"{error}")

"""How near do a few measurements come that begin from records of other layers? Told by replays of
stored searches, without measuring.

    python -m benchmarks.held_out_replay DIR [--seeds 5] [--variants 20] [--layers 20x27x36,…]

DIR is the folder of benchmarks.held_out. Each of its full searches (`known-*` and `full-*`) is left
out in turn: a record book of the others is what a search of that layer begins from. It derives and
chooses as on a device, but a variant takes the time that it took in the full search, averaged with
that of a forest that learned from that search, or the forest's alone if it was not tried there.
1.05 means that the best of the few is 5 % slower than the best of the full search; then follow the
same for the best candidate that there was, and how many candidates were within 5 %.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.held_out import PROGRAMS, ROOT
from explore.options.options import Options
from explore.record_book.entries import entry_of
from explore.record_book.recalled import Recalled, recalled
from explore.record_book.record_book import RecordBook
from explore.results.records import Record, Variant, kernels_of
from explore.results.version import version
from explore.run.book_keeping import place_of, subject_of, suited_to
from explore.run.candidates import candidates
from explore.run.run import Run
from explore.run.target import Target, target_of
from explore.search.forecast import Learned, learned
from explore.search.kernel_table import KernelTable
from explore.search.rounds import Rounds
from explore.search.variant_rows import kernel_table
from explore.space.derivations import Derivation, Named, Result, Saw, derived, unseen
from explore.space.forms_to_derive import Derive
from ir.core.nodes import Program
from ir.parse import parse

NOISE = 0.02  # of the log of a time that the search is told
OFF = math.log(1.8)  # the host's clock and the device's: a time at which they differ more is wrong


@dataclass(frozen=True, slots=True)
class Times:
    """The times of a program's variants, of each its kernels' times: what a full search has
    `learned`, `found` by the names of variants, and the `best` of those of the search."""

    learned: Learned
    found: dict[str, Sequence[float]]
    best: float

    @staticmethod
    def of(records: Sequence[Record]) -> "Times":
        """The times that a full search's records tell; the latest of a variant counts."""
        latest = list({r.variant.id: r for r in records if _sure(r)}.values())
        table = kernel_table([r.variant for r in latest])
        each = [kernels_of(r.outcome) for r in latest]
        told = learned(table, dict(enumerate(each)))
        found: dict[str, Sequence[float]] = {
            record.variant.id: [math.sqrt(sum(measured) / sum(rough)) * time for time in rough]
            for record, measured, rough in zip(latest, each, _foreseen(told, table), strict=True)
        }
        return Times(told, found, min(map(sum, found.values())))

    def of_all(self, variants: Sequence[Variant]) -> list[Sequence[float]]:
        """The times of the kernels of each variant."""
        new = [v for v in variants if v.id not in self.found]
        if new:
            foreseen = _foreseen(self.learned, kernel_table(new))
            self.found.update(zip((v.id for v in new), foreseen, strict=True))
        return [self.found[v.id] for v in variants]


def _foreseen(told: Learned, table: KernelTable) -> list[list[float]]:
    """The times of the kernels of each candidate in a table: those of kernels that ran, else those
    that a forest learned."""
    times = np.exp(told.expected(table).mean)
    return [[float(times[k]) for k in table.kernels_of(i)] for i in range(len(table))]


@dataclass(slots=True)
class Kept:
    """The derivation of forms in this process, each once for all replays of a program."""

    results: dict[tuple[Named, object], Result] = field(default_factory=dict)
    begun: list[Derivation] = field(default_factory=list)

    def begin(self, todo: Sequence[Derivation]) -> None:
        self.begun += todo

    def taken(self, saw: Saw = unseen) -> list[Result]:
        todo, self.begun = self.begun, []
        return [self._one(task) for task in todo]

    def _one(self, task: Derivation) -> Result:
        drawn = (task.points, task.seed) if isinstance(task, Derive) else task.points
        key = (task.form.family, task.form.name), drawn
        if key not in self.results:
            self.results[key] = derived(task)
        return self.results[key]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of a replay, as ratios to the best of the full search: the best variant of the
    few, and the best candidate that there was; and the number of candidates within 5 %."""

    few: float
    candidate: float
    near: int


def replay(
    program: Program, target: Target, known: Recalled, times: Times, options: Options, kept: Kept
) -> Replayed:
    """The replay of a search of a program with these options that begins from what is `known`."""
    best, random = times.best, np.random.default_rng(options.seed)
    found = candidates(program, target.profile, options, kept, known)
    search = found.search(options, 0)
    rounds, took = Rounds(search), list[float]()
    while len(took) < options.variants and rounds.ask():
        chosen = rounds.take(options.variants - len(took))
        if not chosen:
            break
        for i, each in zip(chosen, times.of_all([found.variants[i] for i in chosen]), strict=True):
            noise = math.exp(NOISE * random.standard_normal())
            search.tell(i, noise * sum(each), [noise * time for time in each])
            took.append(sum(each))
    ratios = [sum(each) / best for each in times.of_all(found.variants)]
    return Replayed(min(took) / best, min(ratios), sum(ratio <= 1.05 for ratio in ratios))


def _sure(record: Record) -> bool:
    """True if the times of a record's kernels are known, and agree with its whole time."""
    each = kernels_of(record.outcome)
    if len(each) != len(record.variant.features) or record.time_ns is None or not each:
        return False
    device = getattr(record.outcome, "device_ns", None) or math.inf
    return abs(math.log(record.time_ns / device)) < OFF


def program_of(layer: str) -> Program:
    """The program of a layer, such as `3x3-20x27x36`."""
    window, sizes = layer.split("-")
    channels, width, kernels = map(int, sizes.split("x"))
    file = ROOT / "examples" / PROGRAMS[window]
    bound = {"C": channels, "W": width, "H": width, "M": kernels}
    return parse(file.read_text(), str(file), bound)


def known_of(layer: str, runs: Mapping[str, Run], target: Target, options: Options) -> Recalled:
    """The knowledge for a search of a layer in a record book that has all other layers."""
    place, program = place_of(target), program_of(layer)
    with tempfile.TemporaryDirectory() as folder, RecordBook(Path(folder) / "book.sqlite") as book:
        for other, run in runs.items():
            if other != layer:
                about = subject_of(program_of(other))
                book.add(entry_of(r, about, place, version()) for r in run.records)
        suited = suited_to(program, options)
        return recalled(book, subject_of(program).identity, place, version(), suited)


def main(argv: Sequence[str]) -> None:
    """Replay searches of the layers that the arguments name, and print how near they come."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--variants", type=int, default=20)
    options.add_argument("--layers", default="", help="channels×width×kernels; all if left out")
    given = options.parse_args(argv)
    files = sorted(given.folder.glob("*/run.sqlite"))
    named = {file.parent.name.partition("-")[::2]: Run(file.parent) for file in files}
    runs = {layer: run for (kind, layer), run in named.items() if kind in ("known", "full")}
    target = target_of("cpu", None, ())
    for layer, run in runs.items():
        if given.layers and layer.split("-")[1] not in given.layers.split(","):
            continue
        times, kept = Times.of(run.records), Kept()
        known = known_of(layer, runs, target, Options(variants=given.variants))
        found = [
            replay(
                *(program_of(layer), target, known, times),
                *(Options(variants=given.variants, seed=seed), kept),
            )
            for seed in range(given.seeds)
        ]
        few = [each.few for each in found]
        print(
            f"{layer}: mean {np.mean(few):.3f}, greatest {max(few):.3f}; best candidate "
            f"{np.mean([each.candidate for each in found]):.3f}, "
            f"{np.mean([each.near for each in found]):.1f} within 5 %",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])

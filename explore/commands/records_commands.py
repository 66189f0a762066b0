"""The commands on what outlives a run: `explore records`, `explore diff` of two runs, and `explore
replay` of one."""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from explore.files.whole_files import write_whole
from explore.record_book.book_file import VARIABLE, user_file
from explore.record_book.exchange import lines_of, merge
from explore.record_book.program_identity import identity_of
from explore.record_book.record_book import RecordBook
from explore.record_book.told_of_records import listed
from explore.report.run_difference import difference, told
from explore.results.run_environment import Environment
from explore.results.version import version
from explore.run.run import Run
from explore.search.replay import Replay, compare
from ir.errors import UserError
from ir.parse import parse
from ir.text.counted import counted
from ir.text.rebind_sizes import sizes_of_text

ACTIONS = ("list", "export", "merge", "prune")


def records(given: argparse.Namespace) -> int:
    """Run `explore records ACTION`: list, export, merge or prune; returns the exit status."""
    file = given.records or user_file()
    if file is None:
        raise UserError(f"no records are kept: {VARIABLE} is empty; name a file with --records")
    if given.action != "merge" and not file.exists():
        raise UserError(f"{file} is not there: nothing was kept yet")
    _demand_files(given.action, given.files)
    with RecordBook(file) as book:
        match given.action:
            case "list":
                lines = list(listed(book))
                title = f"{file}: a line for each program on a device by a version"
                print("\n".join([title, *lines] if lines else [f"{file}: empty"]))
            case "export":
                write_whole(given.files[0], "".join(f"{line}\n" for line in lines_of(book)))
                print(f"written to {given.files[0]}")
            case "merge":
                for source in given.files:
                    print(f"{source}: {counted(merge(book, source), 'record')} merged")
            case _:
                _prune(book, given)
    return 0


def _demand_files(action: str, files: list[Path]) -> None:
    """Raise a UserError unless an action has the files that it needs."""
    if action == "merge" and not files:
        raise UserError("records merge: expected the files to merge, found none")
    if action == "export" and len(files) != 1:
        raise UserError(
            f"records export: expected the name of one file to write, found {len(files)}"
        )
    if action in ("list", "prune") and files:
        raise UserError(
            f"records {action}: expected no file, found {files[0]}; --records names the book"
        )


def _prune(book: RecordBook, given: argparse.Namespace) -> None:
    """Forget the entries that the options name: those of other versions, old ones, or as many as
    the book must lose to have a given size."""
    if not (given.other_versions or given.older is not None or given.to is not None):
        raise UserError(
            "records prune: expected --other-versions, --older or --to, found none of them"
        )
    before = 0.0 if given.older is None else time.time() - given.older
    if given.other_versions or given.older is not None:
        kept = version() if given.other_versions else None
        print(f"{counted(book.forget(other_than=kept, before=before), 'record')} forgotten")
    if given.to is not None:
        book.shrink(given.to)
    print(f"{counted(sum(1 for _ in book.every()), 'record')} left")


def diff(given: argparse.Namespace) -> int:
    """Run `explore diff RUN RUN`: print what differs; returns 1 if something is slower than
    allowed."""
    before, after = Run(given.run), Run(given.other)
    first, second = before.environment, after.environment
    if (unlike := unlike_programs(first, second)) is not None:
        raise UserError(f"{given.run} and {given.other} are runs of different {unlike}")
    for what, a, b in (
        ("device", first.where, second.where),
        ("driver", first.driver, second.driver),
        ("convlift", first.version, second.version),
    ):
        if a != b:
            print(f"{what}: {a}, now {b}")
    found = difference(before.records, after.records)
    allowed = given.fail_if_slower
    print("\n".join(told(found, 0.05 if allowed is None else allowed)))
    worse = [] if allowed is None else found.slower(allowed)
    for line in worse:
        print(f"slower: {line}", file=sys.stderr)
    return 1 if worse else 0


def unlike_programs(first: Environment, second: Environment) -> str | None:
    """The words that say how the programs of two runs differ, apart from their names: in their
    sizes, or in more; None if they do not differ."""
    one, other = (identity_of(parse(known.program_run, known.name)) for known in (first, second))
    if one == other:
        return None
    if one.shape != other.shape:
        return f"programs: {first.name} and {second.name}"
    bound, now = (sizes_of_text(known.program_run) for known in (first, second))
    apart = [
        f"{name} = {bound.get(name, 'none')} and {now.get(name, 'none')}"
        for name in dict.fromkeys((*bound, *now))
        if bound.get(name) != now.get(name)
    ]
    return f"sizes: {', '.join(apart) or f'{one.sizes} and {other.sizes}'}"


def replay(given: argparse.Namespace) -> int:
    """Run `explore replay RUN`: let each strategy search among the variants of a run, whose times
    are known, and print how near it comes to the best of them; returns the exit status."""
    stored = Replay.of([record for record in Run(given.run).records if record.round == 0])
    if not any(record.time_ns is not None for record in stored.records):
        raise UserError(f"no variant of {given.run} ran to the end: there is nothing to look for")
    seeds, known = range(given.seeds), counted(len(stored.records), "variant")
    if not given.json:
        print(f"{known} in {given.run}; the best that a search finds, over the best of all:")
    for tried in sorted({n for n in (50, 100) if n < given.variants} | {given.variants}):
        for strategy, several in compare(stored, seeds, tried).items():
            ratios = [ratio for ratio, _ in several]
            if given.json:
                for seed, (ratio, at) in zip(seeds, several, strict=True):
                    one = {"strategy": strategy, "variants": tried, "seed": seed}
                    print(json.dumps({**one, "ratio": ratio, "found_after": int(at)}))
            else:
                each = " ".join(f"{ratio:.2f}" for ratio in ratios)
                middle = f"{statistics.median(ratios):.2f}"
                print(f"{strategy:7} {tried:5} tried: median {middle} ({each})", flush=True)
    return 0

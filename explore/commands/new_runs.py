"""Programs that are explored one after the other, and runs that go on, as arguments say."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from explore.arguments.option_groups import live_of, options_of
from explore.commands.each_device import explored_on_each, resumed_on_each
from explore.commands.stored_runs import INTERRUPTED, ran
from explore.commands.whose_hands import EACH, Workplace, targets_of, workplace
from explore.files.named_programs import meant
from explore.options.options import Options
from explore.report.runs_beside import runs_in
from explore.run.run import new_folder, resume, start
from explore.run.source import Source
from explore.run.target import Target
from ir.core.frozen import frozen
from ir.program_file import text_of
from ir.text.unused_helpers import notes_on


@frozen
class Asked:
    """A program that is to be explored, by its name, with the options of its run."""

    name: str
    source: Source
    options: Options


def explored(given: argparse.Namespace, begun: float) -> int:
    """Explore the programs that arguments name, by a command that was `begun` at that time by the
    clock; returns the largest exit status, or that of an interrupted run, which is the last."""
    asked = [*_asked(given)]
    notes = (note for each in asked for note in notes_on(each.source.text, each.source.name))
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
    status, several = 0, len(asked) > 1
    with workplace(given, asked[0].options) as place:
        targets = targets_of(given, place, asked[0].options)
        for each in asked:
            folder = given.out or new_folder(each.name)
            if several:
                folder = new_folder(each.name, given.out or Path("runs"))
                print(f"{each.name}:", file=sys.stderr if given.json else sys.stdout)
            done = _one(each, given, place, targets, folder, begun)
            if done == INTERRUPTED:
                return done
            status, begun = max(status, done), time.monotonic()
    return status


def _asked(given: argparse.Namespace) -> Iterator[Asked]:
    """The programs that arguments name; a UserError for a mistake in any of them."""
    sizes = getattr(given, "sizes", ())
    for named in (layer for word in given.programs for layer in meant(word)):
        given.sizes = (*named.sizes, *sizes)
        options, source = options_of(given), Source(text_of(named.file), str(named.file))
        source.program(options)
        yield Asked(named.name, source, options)


def _one(
    asked: Asked,
    given: argparse.Namespace,
    place: Workplace,
    targets: Sequence[Target],
    folder: Path,
    begun: float,
) -> int:
    """Explore one program, on one device or on one of every kind; returns the exit status."""
    live, what = live_of(given), (asked.source, asked.options)
    if given.device == EACH:
        return explored_on_each(*what, targets, folder, given.records, place=place, live=live)
    run = partial(start, *what, targets[0], folder, given.records, place.hands, live, begun)
    return ran(run, as_json=given.json)


def gone_on(given: argparse.Namespace, begun: float) -> int:
    """Go on with the run that arguments name, or with those of several devices in its folder;
    returns the exit status."""
    with workplace(given, Options()) as place:
        if runs_in(given.run):
            return resumed_on_each(given.run, given.records, place, live_of(given))
        how = given.records, place.hands, place.devices, live_of(given), begun
        return ran(partial(resume, given.run, *how), as_json=given.json)

"""The work of the commands on stored runs: front, show, report, pick, export and compare."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from codegen.plan import Plan
from explore.commands.run_table import json_lines, shown, table_lines
from explore.export.csv_table import to_csv
from explore.export.export_variant import demand_library_name, export, kernel_text
from explore.export.t4_results import to_t4
from explore.files.whole_files import write_whole
from explore.options.units import show_bytes, show_time
from explore.pages.report_data import Told
from explore.report.runs_beside import REPORT, lines_beside, runs_in, write_beside
from explore.report.summary import summary
from explore.report.table import front_lines
from explore.report.time_notes import told_of_times
from explore.report.why_nothing import none_ran
from explore.results.derivation_steps import laws_of, outline_of, stage_of
from explore.results.front import by_id, front, nothing_fits, pick, usable
from explore.results.lost_forms import lost_lines
from explore.results.record_json import to_line
from explore.results.records import Peer, Predicted, Record, Step, latest
from explore.run.run import Run, limits_of
from explore.run.trusted_plans import TrustedPlans
from ir.errors import UserError
from ir.text.counted import counted

INTERRUPTED = 130


def show_front(given: argparse.Namespace) -> int:
    """Run `explore front RUN`: print the variants of a run's front, or, of runs on several
    devices, their fronts side by side; returns the exit status, 1 if no variant ran."""
    if (inner := runs_in(given.run)) and not given.json and given.plot is None:
        print("\n".join(lines_beside(given.run)))
        return 0 if any(Run(each).front for each in inner) else 1
    if inner:
        raise UserError(f"{given.run} has a run for each device: name one, such as {inner[0]}")
    told = Run(given.run).told
    records, known = told.records, told.environment
    limits = limits_of(given.max_memory, given.max_time, given.max_error)
    found = front(records, given.over, limits)
    if not found and usable(records):
        raise UserError(nothing_fits(records))
    if given.plot is not None:
        from explore.report.plot import plot_front  # here: slow to import

        plot_front(
            records,
            given.plot,
            title=f"{known.name} on {known.where}",
            peers=told.peers,
            bounds=known.bounds,
            over=given.over,
        )
    if not given.json:
        return print_front(told, found)
    return _front_as_json(told, found)


def _front_as_json(run: Told, found: Sequence[Record]) -> int:
    """Print the records of a run's front, `found`, as JSON, one object a line; other words go to
    the error output."""
    for record in found:
        print(to_line(record))
    for line in lost_lines(run.lost) if found else none_ran(run.records, run.lost):
        print(line, file=sys.stderr)
    return 0 if found else 1


def ran(go: Callable[[], tuple[Run, bool]], as_json: bool = False) -> int:
    """Carry out a run by `go`, which returns the run, and False if its time was up before its end;
    print its front, as a table or as JSON. Returns the exit status."""
    try:
        run, finished = go()
    except KeyboardInterrupt:
        return INTERRUPTED
    told, out = run.told, sys.stderr if as_json else sys.stdout
    found = front(told.records)
    status = _front_as_json(told, found) if as_json else print_front(told, found)
    if told.records:
        print(f"report: {run.folder / REPORT}", file=out)
    if not finished:
        again = told.environment.resumed_by(run.folder)
        print(f"the time was up; go on with `{again}`", file=out)
    return status


def print_front(run: Told, found: Sequence[Record]) -> int:
    """Print the front of a run, `found`, its peers, and whether its times were measured or
    predicted; returns 1 if the front is empty, else 0."""
    known = run.environment
    lines = none_ran(run.records, run.lost)
    if found:
        lines = [*front_lines(found, known.bounds, console_width()), *lost_lines(run.lost)]
    lines += [_beside(peer, found) for peer in run.peers]
    lines += told_of_times(run.records, known.bounds)
    if known.options.get("profile"):
        lines.append(_not_here(known.device, run.records))
    print("\n".join(lines))
    return 0 if found else 1


def _not_here(device: str, records: Sequence[Record]) -> str:
    """The line on a device that is not here: times are predictions, by a cost model or from what
    the device's compiler made of the kernels."""
    outcomes = [r.outcome for r in latest(records)]
    compiled = next((o.code[0] for o in outcomes if isinstance(o, Predicted) and o.code), None)
    by = f"from what {compiled.compiler} made of the kernels" if compiled else "by a cost model"
    spills = [o.spills for o in outcomes if isinstance(o, Predicted) and o.code]
    spilling = sum(1 for n in spills if n)
    left = f" Registers spill in {spilling} of {counted(len(spills), 'compiled variant')}."
    return (
        f"{device} is not here: nothing ran. Times are predicted {by}, "
        f"to rank variants by; they are not measurements.{left if spilling else ''}"
    )


def _beside(peer: Peer, found: Sequence[Record]) -> str:
    """The line that shows a peer, with the ratio of its time to that of our best variant, the first
    in `found`, if there is one: to what this took in turns with the peer, if that is known."""
    note = f" ({peer.note})" if peer.note else ""
    ours = peer.ours_ns or (found[0].time_ns if found else None)
    ratio = f", {peer.time_ns / ours:.2f}× our best time" if ours else ""
    ratio += "" if peer.exact else " (not exact: beside the others)"
    return f"{peer.name}{note}: {show_time(peer.time_ns)}, {show_bytes(peer.memory_bytes)}{ratio}"


def show(given: argparse.Namespace) -> int:
    """Run `explore show RUN [ID]`: print a variant, or all of them; returns the exit status."""
    run = Run(given.run)
    if given.lost_forms:
        return _show_lost_forms(run, given)
    records = run.records
    if given.id is None:
        return _show_all(run, records, given)
    record = by_id(records, given.id)
    if given.json:
        print(to_line(record))
    elif given.source:
        print(kernel_text(record.variant, _trusted(run, record, given)), end="")
    elif given.derivation or given.laws or given.stage is not None:
        print("\n".join(_derivation(record.variant.derivation, given)))
    elif given.constraints:
        print("\n".join(_constraints(run, record)))
    else:
        print("\n".join(summary(record, run.environment.bounds)))
    return 0


def _show_all(run: Run, records: Sequence[Record], given: argparse.Namespace) -> int:
    """Print the variants that the options ask for, as a table or as JSON; returns the exit
    status."""
    if given.source or given.derivation or given.laws or given.constraints or given.stage:
        raise UserError(
            "show: expected the id of a variant after RUN, found none; `explore show RUN` lists ids"
        )
    found = shown(records, given)
    if given.json:
        lines = json_lines(found, given)
    else:
        lines = table_lines(found, given, run.environment.bounds, console_width())
    told = [] if found else [_none_shown(run, records)]
    for line in lines:
        print(line)
    for line in (*told, *lost_lines(run.lost_forms)):
        print(line, file=sys.stderr)
    return 0 if found else 1


def _none_shown(run: Run, records: Sequence[Record]) -> str:
    """The line that says why a table has no rows."""
    if records:
        return f"none of {counted(len(latest(records)), 'variant')} is as asked for"
    return f"no variant is stored yet; go on with `{run.environment.resumed_by(run.folder)}`"


def console_width() -> int | None:
    """The width of the terminal that is printed to; None where it is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _show_lost_forms(run: Run, given: argparse.Namespace) -> int:
    """Print the forms that were not derived, one JSON object a line; returns the exit status."""
    if given.id is not None:
        raise UserError(
            f"--lost-forms is about the whole run: expected no variant, found {given.id!r}"
        )
    for form in run.lost_forms:
        print(json.dumps(asdict(form)))
    return 0


def _derivation(steps: Sequence[Step], given: argparse.Namespace) -> Iterator[str]:
    """The lines of a derivation: its outline, or, if the options name stages, the laws of those
    stages."""
    if given.stage is not None:
        return stage_of(steps, given.stage)
    return laws_of(steps) if given.laws else outline_of(steps)


def _trusted(run: Run, record: Record, given: argparse.Namespace) -> Plan:
    """The plan of a variant, made again here and equal to the stored one; a UserError says why it
    is not to be trusted. With `--trust`, what another version of convlift stored is taken if its
    text is proved safe."""
    return TrustedPlans(run.environment, given.trust).of(record)


def _constraints(run: Run, record: Record) -> list[str]:
    from explore.options.options import Options
    from explore.run.source import Source
    from explore.run.target import target_again
    from explore.space.derive_form import constraints
    from explore.space.lowering import lowering
    from explore.space.search_domain import narrowed

    known = run.environment
    options = Options.from_json(known.options)
    program = Source.of(known).program(options)
    for_what = target_again(known, options).profile
    lowered = lowering(program, record.variant.family, record.variant.form)
    lowered = narrowed(lowered, program, options.domain)
    system = constraints(lowered, for_what, options.max_memory)
    return [f"{c}   ({c.why}; from {c.origin})" for c in system.constraints]


def report(given: argparse.Namespace) -> int:
    """Run `explore report RUN`: write the HTML report of a run, or of those of several devices side
    by side; returns the exit status."""
    from explore.pages.report import page  # here: slow to import

    if runs_in(given.run):
        print(write_beside(given.run, given.out or given.run / REPORT))
        return 0

    told = Run(given.run).told
    if str(given.out) == "-":
        print(page(told), end="")
        return 0
    file = given.out or Path(given.run) / REPORT
    write_whole(file, page(told))
    print(file)
    return 0


def pick_variant(given: argparse.Namespace) -> int:
    """Run `explore pick RUN`: print or export the variant that the options pick; returns the exit
    status."""
    name = None if given.name is None else demand_library_name(given.name)
    if name is not None and given.export is None:
        raise UserError("--name names what --export writes: expected --export DIR, too")
    run = Run(given.run)
    records = run.records
    limits = limits_of(given.max_memory, given.max_time, given.max_error)
    which: Literal["fastest", "smallest"] = "smallest" if given.smallest else "fastest"
    record = by_id(records, given.id) if given.id else pick(records, which, limits)
    if given.json:
        print(to_line(record))
    else:
        print("\n".join(summary(record, run.environment.bounds)))
    if given.export is not None:
        export(record, _trusted(run, record, given), run.environment, given.export, name)
        print(f"written to {given.export}: run host.py, or make")
    return 0


def export_run(given: argparse.Namespace) -> int:
    """Run `explore export RUN`: write a run as a table, figure or T4 file; returns the exit
    status."""
    run = Run(given.run)
    records = run.records
    if given.t4 is not None:
        document = to_t4(records, run.environment)
        text = json.dumps(document, indent=1) + "\n"
        tried, every = len(document["results"]), len(latest(records))
        left = f", without {every - tried} that were neither" if tried < every else ""
        said = f"T4 results of {counted(tried, 'variant')}, tried or compiled{left}"
        _written(given.t4, text, said)
    if given.csv is not None:
        _written(given.csv, to_csv(records), counted(len(latest(records)), "variant"))
    return 0


def _written(file: Path, text: str, what: str) -> None:
    """Write a text to a file and print what it is (`what`), or print the text alone where the file
    is `-`."""
    if str(file) == "-":
        print(text, end="")
        return
    write_whole(file, text)
    print(f"{file}: {what}")


def compare(given: argparse.Namespace) -> int:
    """Run `explore compare RUN --against PEER`: print how peers compare with our best; returns 1 if
    no peer could be compared, else 0."""
    from explore.commands.compare import compare as measured

    results = measured(given.run, tuple(given.against), given.trust)
    for result in results:
        print(json.dumps(result) if given.json else _compared(result))
    return 0 if any(result["ratio"] is not None for result in results) else 1


def _compared(result: "dict[str, object]") -> str:
    if result["ratio"] is None:
        return f"{result['peer']}: {result['note']}"
    ours, theirs = result["time_ns"], result["peer_time_ns"]
    assert isinstance(ours, float)
    assert isinstance(theirs, float)
    ways = result["ways"]
    assert isinstance(ways, dict)
    each = ", ".join(f"{name} {show_time(ns)}" for name, ns in ways.items())
    return (
        f"{result['peer']} ({result['note']}): {show_time(theirs)}; our best {show_time(ours)}: "
        f"ratio {result['ratio']:.2f}; all ways: {each}"
    )

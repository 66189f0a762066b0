"""explore PROGRAM.lift: build, check and measure variants of a program; pick from the front.

explore PROGRAM.lift [options]      a new run
explore resume RUN                  go on with one
explore front|show|report|pick|compare|export RUN …
explore devices                     what there is to run on
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explore.commands.arguments import (
    add_limits,
    add_options,
    add_peers,
    objectives,
    options_of,
    path,
)
from ir.command import guard
from ir.program_file import text_of
from ir.text.suggest import no_such

if TYPE_CHECKING:
    from explore.run.run import Run

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 after a message about a mistake, or 2 for bad
    usage."""
    given = list(sys.argv[1:] if argv is None else argv)
    verb = _commands().get(given[0]) if given else None
    return guard(lambda: _start(given) if verb is None else verb(given[1:]))


def _commands() -> dict[str, Callable[[list[str]], int]]:
    return {
        "resume": _resume,
        "front": _front,
        "show": _show,
        "report": _report,
        "pick": _pick,
        "compare": _compare,
        "export": _export,
        "devices": _devices,
    }


def _refuse_unknown(argv: list[str]) -> None:
    """Refuse a first word that is neither a command nor a file, such as a misspelt command."""
    if argv and not argv[0].startswith("-") and "." not in argv[0] and not Path(argv[0]).exists():
        raise no_such("command", argv[0], ("PROGRAM.lift", *_commands()))


def _parser(name: str, what: str) -> argparse.ArgumentParser:
    prog = f"explore {name}".strip()
    raw = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(prog=prog, description=what, formatter_class=raw)


def _of_run(name: str, what: str) -> argparse.ArgumentParser:
    parser = _parser(name, what)
    parser.add_argument("run", type=path, metavar="RUN", help="the folder of a run")
    return parser


# ---- runs


def _start(argv: list[str]) -> int:
    _refuse_unknown(argv)
    parser = _parser("", __doc__ or "")
    parser.add_argument("program", type=Path, metavar="PROGRAM.lift")
    parser.add_argument(
        "--out", type=path, metavar="RUN", help="the run's folder (default: runs/NAME)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--device", metavar="D", help="a device: number, part of a name, gpu, cpu")
    where.add_argument("--profile", metavar="NAME", help="a known device that is not here")
    add_options(parser)
    given = parser.parse_args(argv)

    from explore.run.run import new_folder, start
    from explore.run.source import Source
    from explore.run.target import target_of

    options = options_of(given)
    source = Source(text_of(given.program), str(given.program))
    source.program(options)
    target = target_of(given.device, given.profile, options.limits)
    folder = given.out or new_folder(given.program.stem)
    return _ran(lambda: start(source, options, target, folder))


def _resume(argv: list[str]) -> int:
    given = _of_run("resume", "Go on with a run that was stopped.").parse_args(argv)
    from explore.run.run import resume

    return _ran(lambda: resume(given.run))


def _ran(go: "Callable[[], tuple[Run, bool]]") -> int:
    from explore.commands.commands import print_front

    try:
        run, finished = go()
    except KeyboardInterrupt:
        return INTERRUPTED
    status = print_front(run, run.front)
    if run.records:
        print(f"report: {run.folder / 'report.html'}")
    if not finished:
        print(f"the time was up; go on with `explore resume {run.folder}`")
    return status


# ---- looking


def _add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="take kernels of another version as they are stored, where they are not made again",
    )


def _front(argv: list[str]) -> int:
    parser = _of_run("front", "The Pareto front of a run.")
    parser.add_argument("--json", action="store_true", help="print a JSON object a line")
    parser.add_argument("--plot", type=path, metavar="FILE", help="draw a .png, .svg or .pdf")
    parser.add_argument(
        "--over",
        type=objectives,
        default="time,memory",
        metavar="time,memory,error",
        help="objectives of the front, of time, memory, error, workspace",
    )
    add_limits(parser)
    from explore.commands.commands import show_front

    return show_front(parser.parse_args(argv))


def _show(argv: list[str]) -> int:
    parser = _of_run("show", "A variant of a run; with --json and no name, all of them.")
    parser.add_argument("id", nargs="?", metavar="ID")
    what = parser.add_mutually_exclusive_group()
    for option in ("source", "derivation", "laws", "constraints", "json"):
        what.add_argument(f"--{option}", action="store_true")
    what.add_argument(
        "--lost-forms", action="store_true", help="print forms that were not derived, as JSON"
    )
    what.add_argument("--stage", metavar="NAME", help="print the laws of this stage")
    _add_trust(parser)
    from explore.commands.commands import show

    return show(parser.parse_args(argv))


def _report(argv: list[str]) -> int:
    parser = _of_run("report", "Write the report of a run as one HTML file.")
    parser.add_argument(
        "--out", type=path, metavar="FILE", help="the report's file (default: RUN/report.html)"
    )
    from explore.commands.commands import report

    return report(parser.parse_args(argv))


def _pick(argv: list[str]) -> int:
    parser = _of_run("pick", "A variant to use elsewhere.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fastest", action="store_true", help="pick the fastest variant (default)")
    which.add_argument("--smallest", action="store_true")
    which.add_argument("--id", metavar="ID")
    add_limits(parser)
    parser.add_argument(
        "--export", type=path, metavar="DIR", help="write it, with hosts that run it"
    )
    _add_trust(parser)
    parser.add_argument("--json", action="store_true")
    from explore.commands.commands import pick_variant

    return pick_variant(parser.parse_args(argv))


def _compare(argv: list[str]) -> int:
    parser = _of_run("compare", "Measure a peer beside the best variant.")
    add_peers(parser)
    _add_trust(parser)
    parser.add_argument("--json", action="store_true")
    from explore.commands.commands import compare

    return compare(parser.parse_args(argv))


def _export(argv: list[str]) -> int:
    parser = _of_run("export", "All variants of a run as a table, or as T4 for other tools.")
    parser.add_argument("--t4", type=path, metavar="FILE.json", help="write the T4 results format")
    parser.add_argument("--csv", type=path, metavar="FILE.csv", help="write a row for each variant")
    given = parser.parse_args(argv)
    if given.t4 is None and given.csv is None:
        parser.error("expected --t4 FILE, --csv FILE or both")
    from explore.commands.commands import export_run

    return export_run(given)


def _devices(argv: list[str]) -> int:
    from codegen.instruction_trial import instructions_of
    from codegen.runtime.doctor import main as doctor

    return doctor(argv, instructions_of)


if __name__ == "__main__":
    sys.exit(main())

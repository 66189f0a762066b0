"""The table of the commands of `explore`: a new run of a program, and commands on stored runs.

Each function here parses the arguments of one command, and carries it out.
"""

import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path

from explore.commands.arguments import (
    add_cluster,
    add_json,
    add_limits,
    add_live,
    add_options,
    add_peers,
    add_records,
    add_target,
    add_trust,
    count,
    days,
    live_of,
    objectives,
    options_of,
    part,
    path,
)
from explore.commands.command_list import exploring, of_run, parser_of
from explore.commands.command_names import COMMANDS
from explore.files.named_programs import (
    example_text,
    meant,
    named_programs,
    titles,
    titles_by_name,
)
from explore.options.units import parse_bytes
from ir.command import usage
from ir.program_file import text_of
from ir.text.suggest import no_such


def carried_out(given: Sequence[str], begun: float) -> int:
    """Carry out the command with these words, which was `begun` at that time by the clock; returns
    the exit status."""
    verb = _commands(begun).get(given[0]) if given else None
    return _start(list(given), begun) if verb is None else verb(list(given[1:]))


def _commands(begun: float) -> dict[str, Callable[[list[str]], int]]:
    """The functions that carry out the commands in `COMMANDS`, by the command's name; the command
    was `begun` at that time."""
    return {
        "init": _init,
        "resume": partial(_resume, begun=begun),
        "front": _front,
        "show": _show,
        "report": _report,
        "pick": _pick,
        "compare": _compare,
        "export": _export,
        "diff": _diff,
        "replay": _replay,
        "records": _records,
        "completion": _completion,
        "serve": _serve,
        "devices": _devices,
        "bundle": _bundle,
        "absorb": _absorb,
        "toolchain": _toolchain,
        "net": _net,
    }


def _refuse_unknown(argv: list[str]) -> None:
    """Refuse a first word that is no command, file or known program, such as a misspelt command."""
    if argv and not argv[0].startswith("-") and "." not in argv[0] and not Path(argv[0]).exists():
        known = ("PROGRAM.lift", *COMMANDS, *named_programs())
        if argv[0] not in known:
            raise no_such("command or example", argv[0], known)


def _init(argv: list[str]) -> int:
    parser = parser_of("init")
    parser.add_argument("name", nargs="?", metavar="EXAMPLE", help="the name of an example")
    parser.add_argument("--json", action="store_true", help="print a JSON object an example")
    given = parser.parse_args(argv)
    if given.json:
        asked = [given.name] if given.name else [*titles_by_name()]
        for name in asked:
            text = example_text(name)
            print(json.dumps({"name": name, "title": titles_by_name()[name], "text": text}))
    else:
        name = given.name
        print(example_text(name) if name else "\n".join(titles()), end="" if name else "\n")
    return 0


# ---- runs


def _start(argv: list[str], begun: float) -> int:
    _refuse_unknown(argv)
    parser = exploring()
    parser.add_argument(
        "programs",
        nargs="+",
        type=Path,
        metavar="PROGRAM.lift",
        help="a file, an example, a layer, or a table of layers (.toml); each has a run",
    )
    parser.add_argument(
        "--out",
        type=path,
        metavar="RUN",
        help="the run's folder (default: runs/NAME); of several, the folder of their runs",
    )
    add_target(parser)
    add_options(parser)
    add_records(parser)
    add_cluster(parser)
    add_live(parser)
    add_json(parser)
    given = parser.parse_args(argv)

    from explore.commands.commands import INTERRUPTED, ran
    from explore.commands.each_device import explored_on_each
    from explore.commands.whose_hands import EACH, targets_of, workplace
    from explore.run.run import new_folder, start
    from explore.run.source import Source
    from ir.text.unused_helpers import notes_on

    if given.json and given.device == EACH:
        parser.error(
            f"--json prints the run of one device, found --device {EACH}: explore without --json, "
            "then `explore front RUN/DEVICE --json`"
        )
    asked, sizes = [], getattr(given, "sizes", ())
    for named in (layer for word in given.programs for layer in meant(word)):
        given.sizes = (*named.sizes, *sizes)
        options, source = options_of(given), Source(text_of(named.file), str(named.file))
        source.program(options)  # mistakes in any come before the first run
        asked.append((named.name, source, options))
    notes = (note for _, source, _ in asked for note in notes_on(source.text, source.name))
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
    status, live = 0, live_of(given)
    with workplace(given, asked[0][2]) as place:
        targets = targets_of(given, place, asked[0][2])
        for name, source, options in asked:
            folder = given.out or new_folder(name)
            if len(asked) > 1:
                folder = new_folder(name, given.out or Path("runs"))
                print(f"{name}:", file=sys.stderr if given.json else sys.stdout)
            if given.device == EACH:
                done = explored_on_each(
                    source, options, targets, folder, given.records, place=place, live=live
                )
            else:
                run = partial(start, source, options, targets[0], folder, given.records)
                done = ran(partial(run, place.hands, live, begun), as_json=given.json)
            if done == INTERRUPTED:
                return done
            status, begun = max(status, done), time.monotonic()
    return status


def _resume(argv: list[str], begun: float) -> int:
    parser = of_run("resume")
    add_records(parser, usual="what the run has used so far")
    add_cluster(parser)
    add_live(parser)
    add_json(parser)
    given = parser.parse_args(argv)
    from explore.commands.commands import ran
    from explore.commands.each_device import resumed_on_each
    from explore.commands.whose_hands import workplace
    from explore.options.options import Options
    from explore.report.runs_beside import runs_in
    from explore.run.run import resume

    with workplace(given, Options()) as place:
        if runs_in(given.run):
            return resumed_on_each(given.run, given.records, place, live_of(given))
        how = given.records, place.hands, place.devices, live_of(given), begun
        return ran(partial(resume, given.run, *how), as_json=given.json)


# ---- looking


def _front(argv: list[str]) -> int:
    parser = of_run("front")
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


SHOWN = {
    "source": "print its kernels and the plan of their launches",
    "derivation": "print the outline of its derivation",
    "laws": "print every law of its derivation",
    "constraints": "print the constraints on its parameters",
    "json": "print it as a JSON object; without an ID, those of the table, one a line",
}


def _show(argv: list[str]) -> int:
    from explore.commands.run_table import add_table

    parser = of_run("show")
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="a variant, or the beginning of its name"
    )
    what = parser.add_mutually_exclusive_group()
    for option, told in SHOWN.items():
        what.add_argument(f"--{option}", action="store_true", help=told)
    what.add_argument(
        "--lost-forms", action="store_true", help="print forms that were not derived, as JSON"
    )
    what.add_argument("--stage", metavar="NAME", help="print the laws of this stage")
    add_table(parser)
    add_trust(parser)
    from explore.commands.commands import show

    return show(parser.parse_args(argv))


def _report(argv: list[str]) -> int:
    parser = of_run("report")
    parser.add_argument(
        "--out",
        type=path,
        metavar="FILE",
        help="the report's file (default: RUN/report.html); - prints it",
    )
    from explore.commands.commands import report

    return report(parser.parse_args(argv))


def _pick(argv: list[str]) -> int:
    parser = of_run("pick")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--fastest", action="store_true", help="pick the fastest variant (default)")
    which.add_argument("--smallest", action="store_true", help="pick that of the least memory")
    which.add_argument("--id", metavar="ID", help="pick the variant of this name")
    add_limits(parser)
    parser.add_argument(
        "--export", type=path, metavar="DIR", help="write it, with hosts that run it"
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="the name of the exported libraries in C and Python (default: the program's)",
    )
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print it as a JSON object")
    from explore.commands.commands import pick_variant

    return pick_variant(parser.parse_args(argv))


def _compare(argv: list[str]) -> int:
    parser = of_run("compare")
    add_peers(parser)
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object a peer")
    from explore.commands.commands import compare

    return compare(parser.parse_args(argv))


def _export(argv: list[str]) -> int:
    parser = of_run("export")
    parser.add_argument("--t4", type=path, metavar="FILE.json", help="write T4 results; - prints")
    parser.add_argument("--csv", type=path, metavar="FILE.csv", help="a row a variant; - prints")
    given = parser.parse_args(argv)
    if given.t4 is None and given.csv is None:
        parser.error("expected --t4 FILE, --csv FILE or both")
    from explore.commands.commands import export_run

    return export_run(given)


def _net(argv: list[str]) -> int:
    from explore.commands.network_commands import net

    return net(argv)


def _diff(argv: list[str]) -> int:
    parser = of_run("diff")
    parser.add_argument("other", type=path, metavar="RUN", help="the folder of the later run")
    parser.add_argument(
        "--fail-if-slower",
        type=part,
        metavar="5%",
        help="exit with 1 if the front, or a variant of it, is slower by more than that",
    )
    from explore.commands.records_commands import diff

    return diff(parser.parse_args(argv))


def _replay(argv: list[str]) -> int:
    parser = of_run("replay")
    parser.add_argument(
        "--variants",
        type=usage(count),
        default=200,
        metavar="N",
        help="the most that a search may try (default: 200)",
    )
    parser.add_argument(
        "--seeds",
        type=usage(count),
        default=5,
        metavar="N",
        help="so many searches by each strategy (default: 5)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object a search")
    from explore.commands.records_commands import replay

    return replay(parser.parse_args(argv))


def _records(argv: list[str]) -> int:
    parser = parser_of("records")
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "export", "merge", "prune"),
        metavar="ACTION",
        help="list (default), export FILE, merge FILE…, or prune",
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=path,
        metavar="FILE",
        help="the file to write; to merge: files of records, exported ones, or folders of runs",
    )
    parser.add_argument(
        "--records", type=path, metavar="FILE", help="the file of records (default: your own)"
    )
    parser.add_argument(
        "--other-versions", action="store_true", help="prune what other versions measured"
    )
    parser.add_argument("--older", type=days, metavar="90d", help="prune what is older than that")
    parser.add_argument(
        "--to", type=usage(parse_bytes), metavar="16MiB", help="prune down to a size"
    )
    from explore.commands.records_commands import records

    return records(parser.parse_args(argv))


def _completion(argv: list[str]) -> int:
    from explore.commands.completion import SHELLS, script

    parser = parser_of("completion")
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    shell = parser.parse_args(argv).shell
    now = time.monotonic()
    options = {name: _options_of(command) for name, command in _commands(now).items()}
    known = named_programs()
    examples = [name for name, program in known.items() if not program.sizes]
    layers = [name for name in known if name not in examples]
    print(
        script(shell, {"": _options_of(partial(_start, begun=now)), **options}, examples, layers),
        end="",
    )
    return 0


def _options_of(command: Callable[[list[str]], int]) -> str:
    """The names of a command's long options, from its parser."""
    said = io.StringIO()
    with redirect_stdout(said), suppress(SystemExit):
        command(["--words-to-complete"])
    return said.getvalue().strip()


def _serve(argv: list[str]) -> int:
    from explore.commands.serve import main as serve

    return serve(argv)


def _devices(argv: list[str]) -> int:
    from codegen.doctor import main as doctor
    from codegen.instruction_trial import instructions_of
    from explore.commands.offline_commands import compiled_for

    status = doctor(argv, instructions_of)
    if "--json" not in argv:
        print(compiled_for())
    return status


def _bundle(argv: list[str]) -> int:
    parser = parser_of("bundle")
    parser.add_argument(
        "program",
        type=Path,
        metavar="PROGRAM",
        help="a program, which is explored first; or the folder of a run",
    )
    parser.add_argument(
        "--top", type=usage(count), default=50, metavar="N", help="so many variants (default: 50)"
    )
    parser.add_argument(
        "--out", type=path, metavar="DIR", help="the bundle's folder (default: RUN/bundle)"
    )
    add_target(parser)
    add_options(parser)
    add_records(parser)
    from explore.commands.offline_commands import bundle

    return bundle(parser.parse_args(argv))


def _absorb(argv: list[str]) -> int:
    parser = of_run("absorb")
    parser.add_argument("file", type=path, metavar="FILE", help="the results that came back")
    parser.add_argument(
        "--out",
        type=path,
        metavar="NEW",
        help="the folder of the run that is made (default: RUN-DEVICE)",
    )
    from explore.commands.offline_commands import absorbed

    return absorbed(parser.parse_args(argv))


def _toolchain(argv: list[str]) -> int:
    parser = parser_of("toolchain")
    parser.add_argument(
        "name", choices=("mali", "adreno"), metavar="NAME", help="mali or adreno; one serves both"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--from",
        dest="source",
        type=path,
        metavar="FOLDER",
        help="take the packages from a folder that --save wrote",
    )
    what.add_argument(
        "--save", type=path, metavar="FOLDER", help="only fetch the packages, to this folder"
    )
    what.add_argument("--remove", action="store_true", help="remove it from the user's cache")
    from explore.commands.offline_commands import toolchain

    return toolchain(parser.parse_args(argv))

"""The table of the commands of `explore`. Each function parses the arguments of one command, and
carries it out."""

import io
import json
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path

from explore.arguments.argument_values import count, days, path
from explore.arguments.command_names import COMMANDS
from explore.arguments.command_parsers import of_run, parser_of
from explore.arguments.option_groups import add_options, add_records, add_target
from explore.commands.run_commands import resume, start
from explore.commands.stored_run_commands import (
    compare,
    diff,
    export,
    front,
    pick,
    replay,
    report,
    show,
)
from explore.files.named_programs import example_text, named_programs, titles, titles_by_name
from explore.options.units import parse_bytes
from ir.command import usage
from ir.text.suggest import no_such


def carried_out(given: Sequence[str], begun: float) -> int:
    """Carry out the command with these words, which was `begun` at that time by the clock; returns
    the exit status."""
    verb = _commands(begun).get(given[0]) if given else None
    if verb is not None:
        return verb(list(given[1:]))
    _refuse_unknown(given)
    return start(list(given), begun)


def _commands(begun: float) -> dict[str, Callable[[list[str]], int]]:
    """The functions that carry out the commands in `COMMANDS`, by the command's name; the command
    was `begun` at that time."""
    return {
        "init": _init,
        "resume": partial(resume, begun=begun),
        "front": front,
        "show": show,
        "report": report,
        "pick": pick,
        "compare": compare,
        "export": export,
        "diff": diff,
        "replay": replay,
        "records": _records,
        "completion": _completion,
        "serve": _serve,
        "devices": _devices,
        "bundle": _bundle,
        "absorb": _absorb,
        "toolchain": _toolchain,
        "net": _net,
    }


def _refuse_unknown(argv: Sequence[str]) -> None:
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
        script(shell, {"": _options_of(partial(start, begun=now)), **options}, examples, layers),
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


def _net(argv: list[str]) -> int:
    from explore.commands.network_commands import net

    return net(argv)


# ---- devices that are not here


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

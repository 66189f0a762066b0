"""The command `python -m constraints FILE --family F`, which prints a program's parameters,
constraints and number of points."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from math import inf

from rich.console import Console
from rich.table import Table

from constraints.devices import PROFILES, Profile, limit, profile, with_overrides
from constraints.infer.infer import infer
from constraints.infer.overflow import no_overflow
from constraints.relations.relations import Constraint, Equal, System, show_relation
from constraints.report import Report, report
from explore.commands.stage_commands import demanded, limits_named
from ir.command import add_set, command_parser, guard, sizes_of, usage
from ir.core.nodes import Program
from ir.core.size import named
from ir.parse import parse_file
from ir.text.suggest import no_such

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1, "": 1}


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of the command, after it has run with the arguments `argv` (None: those of
    this process)."""
    options = _options(argv)
    return guard(lambda: run(options))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = command_parser("python -m constraints", __doc__)
    parser.add_argument("file", metavar="FILE", help="the file of a program (*.lift)")
    parser.add_argument("--family", metavar="F", help="lower the program by this family first")
    parser.add_argument(
        "--form", metavar="WORDS", help="one form of the family (default: the first that applies)"
    )
    parser.add_argument(
        "--domain", choices=("io-optimal",), help="narrow the family's parameters to a domain"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--profile", default="cpu", help=f"a known device: {', '.join(PROFILES)}")
    where.add_argument("--device", metavar="D", help="a device here: part of a name, gpu, cpu")
    parser.add_argument(
        "--limit",
        metavar="NAME=N",
        type=usage(limit),
        action="append",
        default=[],
        help="replace a number of the device; several as group_dims=256,256,64",
    )
    parser.add_argument(
        "--fix",
        metavar="PARAMETER=N",
        type=_number,
        action="append",
        default=[],
        help="fix the value of a tuning parameter",
    )
    parser.add_argument(
        "--max-memory", metavar="SIZE", type=_bytes, help="limit of global memory, such as 64MiB"
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=_seconds,
        default=10.0,
        help="time for counting the points",
    )
    parser.add_argument("--all", action="store_true", help="show implied constraints too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_set(parser)
    return parser.parse_args(argv)


def _number(text: str) -> tuple[str, int]:
    name, equals, digits = text.partition("=")
    if not equals or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise argparse.ArgumentTypeError(f"expected NAME=N, found {text!r}")
    return name, int(digits)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, found {text!r}")
    return seconds


def _bytes(text: str) -> int:
    unit = next((u for u in UNITS if u and text.endswith(u)), "")
    digits = text.removesuffix(unit).strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise argparse.ArgumentTypeError(f"expected a size such as 64MiB, found {text!r}")
    return int(digits) * UNITS[unit]


def run(options: argparse.Namespace) -> int:
    """Print the report on a program; the exit status is 1 if no point is legal, else 0."""
    program = parse_file(options.file, sizes_of(options))
    device = with_overrides(_device(options), options.limit)
    program, required = _lowered(program, options, device)
    extra = [*required, *_fixed(program, options)]
    system = infer(program, device, extra, options.max_memory)
    known = report(system, options.time_limit, options.all)
    if options.json:
        print(json.dumps(_json(options, system, known), indent=2, ensure_ascii=False))
    else:
        _print(Console(width=None if sys.stdout.isatty() else 160), known, options.all)
    return 1 if known.count == 0 else 0


def _device(options: argparse.Namespace) -> Profile:
    """The profile that the options name, or else that of a device on this machine."""
    if options.device is None:
        return profile(options.profile)
    return limits_named(options.device)


def _lowered(
    program: Program, options: argparse.Namespace, device: Profile
) -> tuple[Program, list[Constraint]]:
    """The program lowered by the family that the options name, its parameters still open, and the
    constraints that its strategy requires; without a family the program as it is, and that its sums
    do not overflow."""
    if options.family is None:
        return program, [*no_overflow(program.body)]
    return demanded(program, options.family, options.form, options.domain, device)


def _fixed(program: Program, options: argparse.Namespace) -> Iterator[Constraint]:
    for name, value in options.fix:
        if name not in program.free:
            raise no_such("parameter", name, program.free, of=program.name)
        yield Constraint(Equal(named(name), value), "you fixed it", "--fix")


def _json(options: argparse.Namespace, system: System, known: Report) -> dict[str, object]:
    return {
        "file": options.file,
        "family": options.family,
        "profile": options.profile,
        "parameters": {p: known.domains[p] for p in system.parameters},
        "constraints": [
            {"relation": show_relation(c.relation), "why": c.why, "origin": c.origin}
            for c in known.constraints
        ],
        "implied": known.implied,
        "count": known.count,
        "at_most": known.at_most,
        "uncounted": known.uncounted,
        "explanation": known.explanation,
    }


def _print(console: Console, known: Report, everything: bool) -> None:
    """Print a report; if no point is legal, print only the reason, unless `everything` is true."""
    if known.explanation is None or everything:
        _print_tables(console, known)
    console.print(_total(known), markup=False, highlight=False)


def _print_tables(console: Console, known: Report) -> None:
    if known.domains:
        console.print(_parameters(known))
    if known.constraints:
        console.print(_constraints(known))
    if known.implied:
        console.print(f"{known.implied} more follow from these (--all shows them)")


def _parameters(known: Report) -> Table:
    table = Table("parameter", "values", title="Parameters", title_justify="left")
    for p, values in known.domains.items():
        table.add_row(p, "not enumerated" if values is None else _values(values))
    return table


def _values(values: tuple[int, ...]) -> str:
    if len(values) <= 16:
        return " ".join(map(str, values)) or "none"
    if values == tuple(range(values[0], values[-1] + 1)):
        return f"{values[0]} … {values[-1]}"
    first = " ".join(map(str, values[:8]))
    return f"{first} … {values[-1]} ({len(values)} values)"


def _constraints(known: Report) -> Table:
    table = Table(title="Constraints", title_justify="left")
    for heading in ("constraint", "why", "from"):
        table.add_column(heading, overflow="fold")
    for c in known.constraints:
        table.add_row(*map(_plain, (show_relation(c.relation), c.why, c.origin)))
    return table


def _plain(text: str) -> str:
    """The text with each `[` escaped, so that it is printed as a bracket and not read as markup."""
    return text.replace("[", r"\[")


def _total(known: Report) -> str:
    if known.explanation is not None:
        return known.explanation
    if known.count is not None:
        return "1 valid point" if known.count == 1 else f"{known.count:,} valid points"
    most = "" if known.at_most is None else f"; at most {known.at_most:,}"
    return f"not counted: {known.uncounted}{most}"


if __name__ == "__main__":
    sys.exit(main())

"""The commands on stored runs: each function parses the arguments of one, and carries it out."""

from explore.arguments.argument_values import count, objectives, part, path
from explore.arguments.command_parsers import of_run
from explore.arguments.option_groups import add_limits, add_peers, add_trust
from ir.command import usage

SHOWN = {
    "source": "print its kernels and the plan of their launches",
    "derivation": "print the outline of its derivation",
    "laws": "print every law of its derivation",
    "constraints": "print the constraints on its parameters",
    "json": "print it as a JSON object; without an ID, those of the table, one a line",
}


def front(argv: list[str]) -> int:
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
    from explore.commands.stored_runs import show_front

    return show_front(parser.parse_args(argv))


def show(argv: list[str]) -> int:
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
    from explore.commands.stored_runs import show

    return show(parser.parse_args(argv))


def report(argv: list[str]) -> int:
    parser = of_run("report")
    parser.add_argument(
        "--out",
        type=path,
        metavar="FILE",
        help="the report's file (default: RUN/report.html); - prints it",
    )
    from explore.commands.stored_runs import report

    return report(parser.parse_args(argv))


def pick(argv: list[str]) -> int:
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
    from explore.commands.stored_runs import pick_variant

    return pick_variant(parser.parse_args(argv))


def compare(argv: list[str]) -> int:
    parser = of_run("compare")
    add_peers(parser)
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object a peer")
    from explore.commands.stored_runs import compare

    return compare(parser.parse_args(argv))


def export(argv: list[str]) -> int:
    parser = of_run("export")
    parser.add_argument("--t4", type=path, metavar="FILE.json", help="write T4 results; - prints")
    parser.add_argument("--csv", type=path, metavar="FILE.csv", help="a row a variant; - prints")
    given = parser.parse_args(argv)
    if given.t4 is None and given.csv is None:
        parser.error("expected --t4 FILE, --csv FILE or both")
    from explore.commands.stored_runs import export_run

    return export_run(given)


def diff(argv: list[str]) -> int:
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


def replay(argv: list[str]) -> int:
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

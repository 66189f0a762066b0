"""The commands that explore: each function parses the arguments of one, and carries it out."""

from pathlib import Path

from explore.arguments.argument_values import path
from explore.arguments.command_parsers import exploring, of_run
from explore.arguments.option_groups import (
    add_cluster,
    add_json,
    add_live,
    add_options,
    add_records,
    add_target,
)


def start(argv: list[str], begun: float) -> int:
    """Explore programs, by a command that was `begun` at that time by the clock; returns the exit
    status."""
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
    from explore.commands.new_runs import explored
    from explore.commands.whose_hands import EACH

    if given.json and given.device == EACH:
        parser.error(
            f"--json prints the run of one device, found --device {EACH}: explore without --json, "
            "then `explore front RUN/DEVICE --json`"
        )
    return explored(given, begun)


def resume(argv: list[str], begun: float) -> int:
    """Go on with a run, by a command that was `begun` at that time by the clock; returns the exit
    status."""
    parser = of_run("resume")
    add_records(parser, usual="what the run has used so far")
    add_cluster(parser)
    add_live(parser)
    add_json(parser)
    given = parser.parse_args(argv)
    from explore.commands.new_runs import gone_on

    return gone_on(given, begun)

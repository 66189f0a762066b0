"""Options that several commands of `explore` share, in groups that are added to a parser; an
unreadable one ends in exit status 2."""

import argparse

from constraints.devices import PROFILES
from explore.arguments.argument_values import path, port
from explore.board.board_token import add_token
from explore.options.option_values import names, number
from explore.options.options import PEERS, Options, ways
from explore.options.units import parse_bytes, parse_seconds
from ir.command import usage


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add every option of a run to a parser; options left out are missing from its result."""
    for name, way in ways().items():
        usual = f" (default: {way.usual})" if way.usual else ""
        parser.add_argument(
            way.flag,
            dest=name,
            type=usage(way.read),
            action="extend" if way.several else "store",
            default=argparse.SUPPRESS,
            metavar=way.metavar,
            help=way.help + usual,
        )


def options_of(given: argparse.Namespace) -> Options:
    """The options of a run among parsed arguments."""
    return Options.of(**{name: value for name, value in vars(given).items() if name in ways()})


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add to `parser` the options that limit the memory, time and error of a variant to be
    picked."""
    for flag, read, metavar, what in (
        ("--max-memory", parse_bytes, "32MiB", "only variants of at most this memory"),
        ("--max-time", parse_seconds, "1.5ms", "only variants of at most this time"),
        ("--max-error", number, "E", "only variants of at most this relative error"),
    ):
        parser.add_argument(flag, type=usage(read), metavar=metavar, help=what)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options that name the device of a run, here or not."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--device",
        metavar="D",
        help="a device: number, part of a name, gpu, cpu; each: one of every kind "
        "(default: the first GPU, else a CPU)",
    )
    where.add_argument(
        "--profile",
        metavar="NAME",
        help=f"rank variants for a device that is not here: {', '.join(PROFILES)}",
    )


def add_records(parser: argparse.ArgumentParser, usual: str = "the user's own") -> None:
    """Add to a parser the options that name the file of records; the help says that `usual` is the
    default."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--records",
        type=path,
        metavar="FILE",
        help=f"begin from this file of records, and add to it (default: {usual})",
    )
    where.add_argument(
        "--no-records",
        dest="records",
        action="store_false",
        default=None,
        help="begin from nothing, and keep nothing but the run",
    )


def add_live(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options that serve the report while a run goes on; `live_of` reads
    them."""
    parser.add_argument(
        "--live",
        action="store_true",
        help="serve the report on this machine alone while the run goes on; its address is printed",
    )
    parser.add_argument(
        "--live-port",
        type=usage(port),
        metavar="PORT",
        help="the port on which it is served (default: any that is free); means --live",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option that prints the front of a new run as JSON."""
    parser.add_argument(
        "--json", action="store_true", help="print the front at the end, a JSON object a line"
    )


def live_of(given: argparse.Namespace) -> int | None:
    """The port on which parsed arguments ask to serve the report (0: any that is free); None if
    they do not."""
    return given.live_port if given.live_port is not None else 0 if given.live else None


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the options that name a cluster or a board."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="build and measure by the workers of a cluster: tcp://host:8786, or local",
    )
    where.add_argument(
        "--board",
        metavar="HOST:PORT",
        help="measure on a board where `explore serve` listens; build here",
    )
    add_token(parser)


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option that takes stored kernels of another version."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="take kernels of another version as they are stored, where they are not made again",
    )


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option that names peers to measure, one at least."""
    parser.add_argument(
        "--against",
        type=usage(names),
        action="extend",
        required=True,
        metavar="A,B",
        help=f"the peers, of {', '.join(PEERS)}",
    )

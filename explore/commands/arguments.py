"""The options and arguments of the command line of `explore`; an unreadable one ends in exit status
2."""

import argparse
from pathlib import Path

from explore.options.option_values import names, number
from explore.options.options import Options, ways
from explore.options.units import parse_bytes, parse_seconds
from explore.results.front import Objective
from explore.results.front import objectives as named
from ir.command import usage
from ir.errors import UserError


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add every option of a run to a parser; options left out are missing from its result."""
    for name, way in ways().items():
        parser.add_argument(
            way.flag,
            dest=name,
            type=usage(way.read),
            action="extend" if way.several else "store",
            default=argparse.SUPPRESS,
            metavar=way.metavar,
            help=way.help,
        )


def options_of(given: argparse.Namespace) -> Options:
    """The options of a run among parsed arguments."""
    return Options.of(**{name: value for name, value in vars(given).items() if name in ways()})


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add to `parser` the options that limit the memory, time and error of a variant to be
    picked."""
    parser.add_argument("--max-memory", type=usage(parse_bytes), metavar="M")
    parser.add_argument("--max-time", type=usage(parse_seconds), metavar="T")
    parser.add_argument("--max-error", type=usage(number), metavar="E")


def add_peers(parser: argparse.ArgumentParser) -> None:
    """Add to a parser the option that names peers to measure, one at least."""
    parser.add_argument(
        "--against", type=usage(names), action="extend", required=True, metavar="torch"
    )


@usage
def path(text: str) -> Path:
    """The path that an argument names; an empty name is refused, as it would be the current
    folder."""
    if not text or "\0" in text:
        raise UserError(f"expected the name of a file or folder, found {text!r}")
    return Path(text)


@usage
def objectives(text: str) -> tuple[Objective, ...]:
    """The objectives of a front that a text names, with commas between them."""
    return named(text.split(","))

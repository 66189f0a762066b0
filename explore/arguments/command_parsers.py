"""The parsers of the arguments of `explore` and of its commands."""

import argparse

from explore.arguments.argument_values import path
from explore.arguments.command_names import COMMANDS
from explore.results.version import version
from ir.command import command_parser

USAGE = """\
explore PROGRAM.lift [options]
       explore EXAMPLE [options]
       explore COMMAND …"""
WHAT = """\
Build, check and measure variants of a program; show those that no other beats in time and memory.

A program is a file, or the name of an example (quickstart) or of a layer (vgg-7); `explore init`
lists these."""


def exploring() -> argparse.ArgumentParser:
    """The parser of `explore PROGRAM.lift`, whose help lists the commands."""
    parser = command_parser("explore", WHAT, USAGE, version)
    parser.epilog = "\n".join(["commands (each has a --help of its own):", *_lines()])
    return parser


def _lines() -> list[str]:
    heads = {f"{name} {c.arguments}".rstrip(): c.line for name, c in COMMANDS.items()}
    return [f"  {head:18} {line}" for head, line in heads.items()]


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of the named command, as yet without its arguments."""
    line = COMMANDS[name].line
    return command_parser(f"explore {name}", f"{line[0].upper()}{line[1:]}.", version=version)


def of_run(name: str) -> argparse.ArgumentParser:
    """The parser of the named command, with the argument RUN."""
    parser = parser_of(name)
    parser.add_argument("run", type=path, metavar="RUN", help="the folder of a run")
    return parser

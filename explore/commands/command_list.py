"""The commands of `explore` with a line about each, and the parsers of their arguments."""

import argparse
from dataclasses import dataclass

from explore.commands.arguments import path
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


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its arguments as usage shows them, and a line that says what it does."""

    arguments: str
    line: str


COMMANDS = {
    "init": Command("[EXAMPLE]", "print an example to begin with; without a name, list all"),
    "resume": Command("RUN", "go on with a run that was stopped"),
    "front": Command("RUN", "print the variants that no other beats"),
    "show": Command("RUN [ID]", "print all variants as a table; or one, with all about it"),
    "report": Command("RUN", "write the report of a run as one HTML file"),
    "pick": Command("RUN", "choose a variant of the front, and export it"),
    "compare": Command("RUN", "measure a peer, such as PyTorch, beside the best variant"),
    "export": Command("RUN", "write all variants as a table, or as T4 for other tools"),
    "net": Command("MODEL.onnx", "explore a whole network under a budget of memory"),
    "diff": Command("RUN RUN", "compare two runs of a program: faster, slower, other fronts"),
    "records": Command("ACTION", "list, export, merge or prune what is kept from run to run"),
    "completion": Command("SHELL", "print the script that completes words in bash, zsh or fish"),
    "serve": Command("", "measure for runs on another machine, as a board does"),
    "devices": Command("", "list the devices here, what they can do, and what is broken"),
    "toolchain": Command("NAME", "fetch compilers for devices that are not here: mali, adreno"),
}


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

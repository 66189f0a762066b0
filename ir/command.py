"""The parts that all commands share: their help, the exit status after a mistake, and the option
`--set`."""

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from ir.errors import Unsupported, UserError
from ir.installed_version import installed_version

T = TypeVar("T")

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # what the disk says that our output goes to
DEEPEST = 4000  # calls in calls: terms are trees, and walked as such


class _Help(argparse.RawDescriptionHelpFormatter):
    """The formatter of a command's help: the description keeps its line breaks, and each option
    with a default shows it."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told, usual = action.help or "", action.default
        if usual in (None, False, [], argparse.SUPPRESS) or "(default: " in told:
            return told
        return f"{told} (default: %(default)s)" if action.option_strings else told


class _Version(argparse.Action):
    """The option that prints the version and exits; the version is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert callable(self.const)
        print(f"convlift {self.const()}")
        parser.exit()


class _Words(argparse.Action):
    """The option that prints a command's long options, for completion in shells, and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        actions = (a for a in parser._actions if a.help != argparse.SUPPRESS)
        flags = (flag for action in actions for flag in action.option_strings)
        print(" ".join(flag for flag in flags if flag.startswith("--")))
        parser.exit()


def command_parser(
    prog: str,
    what: str | None,
    usage: str | None = None,
    version: Callable[[], str] = installed_version,
) -> argparse.ArgumentParser:
    """The parser of the command `prog`, described by `what`; it has the options `--help`, which
    shows defaults, and `--version`, which shows what `version()` gives. `usage` is the usage that
    help shows (None: one made of the options)."""
    parser = argparse.ArgumentParser(prog, usage=usage, description=what, formatter_class=_Help)
    parser.add_argument(
        "--version", action=_Version, nargs=0, const=version, help="print the version and exit"
    )
    parser.add_argument("--words-to-complete", action=_Words, nargs=0, help=argparse.SUPPRESS)
    return parser


def guard(main: Callable[[], int | None]) -> int:
    """Run the command `main`, print a message if it raises a UserError or comes to a known limit,
    and return the exit status: what `main` returns (None: 0), 1 after such a message, 130 after an
    interruption."""
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    _say_what_cannot_be_shown()
    try:
        status = main() or 0
        print(end="", flush=True)
        return status
    except UserError as error:
        return _fail(f"error: {error}")
    except Unsupported as error:
        return _fail(f"not supported: {error}")
    except MemoryError as error:
        return _fail(f"error: more memory is needed than there is: {error}")
    except RecursionError:
        return _fail("not supported: the program is nested too deep")
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        _say_nothing_more()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _say_nothing_more()
        return _fail(f"error: cannot write what there is to say: {error.strerror}")


def _say_what_cannot_be_shown() -> None:
    """Let stdout and stderr spell out characters that their encoding lacks: \\xb5 for µ."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say_nothing_more() -> None:
    """Redirect stdout to nowhere after its reader has closed the pipe, so that no more errors
    come."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int = 1) -> int:
    print(message, file=sys.stderr)
    return status


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add the option `--set C=64`, as often as needed, to a parser; `sizes_of` reads it."""
    parser.add_argument(
        "--set",
        metavar="NAME=SIZE",
        type=usage(assigned),
        action="append",
        default=[],
        help="bind a size of the program, in place of what `where` says",
    )


def sizes_of(options: argparse.Namespace) -> Mapping[str, int]:
    """The sizes given with --set, by name; the last one given for a name counts."""
    return dict(options.set)


def assigned(text: str) -> tuple[str, int]:
    """The pair (name, size) in a text `NAME=SIZE`; a UserError if the text has another form."""
    name, equals, size = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"expected NAME=SIZE, found {text!r}")
    digits = size.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise UserError(f"expected a whole number for {name}, found {size!r}")
    return name, int(size)


def usage(read: Callable[[str], T]) -> Callable[[str], T]:
    """The function `read` as a type for argparse: its UserErrors become errors of usage."""

    def reading(text: str) -> T:
        try:
            return read(text)
        except UserError as error:
            raise argparse.ArgumentTypeError(error.message) from None

    return reading

"""What the commands share: mistakes end in a message and exit 1, `--set` names a size."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from ir.errors import Unsupported, UserError

T = TypeVar("T")

DEEPEST = 4000  # calls in calls: terms are trees, and walked as such


def guard(main: Callable[[], int | None]) -> int:
    """Run a command; the exit status of a mistake is 1, of an interruption 130."""
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    try:
        return main() or 0
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _fail(message: str, status: int = 1) -> int:
    print(message, file=sys.stderr)
    return status


def add_set(parser: argparse.ArgumentParser) -> None:
    """`--set C=64`, as often as needed; read it with `sizes_of`."""
    parser.add_argument(
        "--set",
        metavar="NAME=SIZE",
        type=usage(assigned),
        action="append",
        default=[],
        help="bind a size of the program, in place of what `where` says",
    )


def sizes_of(options: argparse.Namespace) -> Mapping[str, int]:
    """The sizes given with --set; the last of a name counts."""
    return dict(options.set)


def assigned(text: str) -> tuple[str, int]:
    """The name and the size that `NAME=SIZE` says."""
    name, equals, size = text.partition("=")
    if not equals or not name.isidentifier():
        raise UserError(f"expected NAME=SIZE, found {text!r}")
    digits = size.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise UserError(f"expected a whole number for {name}, found {size!r}")
    return name, int(size)


def usage(read: Callable[[str], T]) -> Callable[[str], T]:
    """A reader of text whose mistakes are bad usage of a command."""

    def reading(text: str) -> T:
        try:
            return read(text)
        except UserError as error:
            raise argparse.ArgumentTypeError(error.message) from None

    return reading

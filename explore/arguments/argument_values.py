"""The values that arguments of `explore` mean; what cannot be read is refused."""

from pathlib import Path

from explore.options.option_values import number
from explore.results.front import Objective
from explore.results.front import objectives as named
from ir.command import usage
from ir.errors import UserError


def port(text: str) -> int:
    """The port number in a text."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise UserError(f"expected a port from 1 to 65535, found {text!r}")
    return int(text)


def count(text: str) -> int:
    """The number from 1 to 1000 in a text."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1000):
        raise UserError(f"expected a number from 1 to 1000, found {text!r}")
    return int(text)


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


@usage
def part(text: str) -> float:
    """The share that a text such as `5%` or `0.05` means, as a number: 0.05 for both. Shares below
    0 or above 10 are refused, and without the sign those above 1, which may mean percent."""
    found = number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= found <= (10 if text.endswith("%") else 1):
        raise UserError(f"expected a share such as 5% or 0.05, found {text!r}")
    return found


@usage
def days(text: str) -> float:
    """The seconds in the number of days that a text such as `90d` means."""
    found = number(text.removesuffix("d"))
    if not 0 <= found < 1e6:
        raise UserError(f"expected a number of days such as 90d, found {text!r}")
    return found * 86_400

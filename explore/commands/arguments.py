"""Values of the options of `explore`, as people write them; what cannot be read is bad usage."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from explore.results.units import parse_bytes, parse_seconds
from ir.errors import UserError

if TYPE_CHECKING:
    from constraints.devices import Limit
    from explore.results.front import Objective

T = TypeVar("T")


def count(text: str) -> int:
    """A number of things."""
    return _whole(text, 1)


def seed(text: str) -> int:
    """What the order of variants and the inputs are drawn from."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a number from {least}, found {text!r}")
    return int(text)


def names(text: str) -> list[str]:
    """Names with commas between; one at least, since all are meant where an option is left out."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"expected names with commas between, found {text!r}")
    return found


def path(text: str) -> Path:
    """A file or folder; an empty name would be the current folder."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"expected the name of a file or folder, found {text!r}")
    return Path(text)


def size(text: str) -> int:
    """Bytes, as 64MiB."""
    return _told(parse_bytes, text)


def duration(text: str) -> float:
    """Seconds, as 10m."""
    return _told(parse_seconds, text)


def limit(text: str) -> "Limit":
    """A number of a device, replaced."""
    from constraints.devices import limit as parsed

    return _told(parsed, text)


def objectives(text: str) -> "tuple[Objective, ...]":
    """What a front is over."""
    from explore.results.front import objectives as named

    return _told(lambda given: named(given.split(",")), text)


def _told(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(error.message) from None

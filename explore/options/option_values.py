"""The values of options: what their text means, and which values they may have.

What cannot be read, or makes no sense, is a UserError that says what was expected.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from math import isfinite
from typing import Any

from ir.core.frozen import frozen
from ir.errors import UserError
from ir.text.suggest import no_such


@frozen
class Way:
    """The way in which users give an option on the command line: its flag, the function that reads
    its text, and its help.

    An option with `several` can be repeated; its function gives a tuple of entries for each text.
    `usual` is what help says of the case that the option is not given; empty if it says nothing.
    """

    flag: str
    read: Callable[[str], Any]
    metavar: str
    help: str
    several: bool = False
    usual: str = ""


def way(
    flag: str,
    read: Callable[[str], Any],
    metavar: str,
    help: str,
    *,
    several: bool = False,
    usual: str = "",
) -> dict[str, Way]:
    """The metadata of a field of options, which says how people give it: a `Way` of these
    arguments, by its key."""
    return {"way": Way(flag, read, metavar, help, several, usual)}


# ---- from text


def whole_from(least: int) -> Callable[[str], int]:
    """The reader of whole numbers of at least `least`."""

    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
            raise UserError(f"expected a whole number from {least}, found {text!r}")
        return int(text)

    return read


def number(text: str) -> float:
    """The number that a text such as 1e-4 means."""
    try:
        return float(text)
    except ValueError:
        raise UserError(f"expected a number, found {text!r}") from None


def names(text: str) -> tuple[str, ...]:
    """The names in a text, with commas between them; one at least."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise UserError(f"expected names with commas between, found {text!r}")
    return found


def one_of(what: str, known: Collection[str]) -> Callable[[str], str]:
    """The reader of one of the `known` names; `what` is the kind of thing named, for messages."""

    def read(text: str) -> str:
        demand_one(what, text, known)
        return text

    return read


# ---- plain values


def several(value: object, read: Callable[[str], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The entries of an option with `several`, from a list of them or from text, which `read` takes
    apart."""
    if isinstance(value, str):
        return read(value)
    if isinstance(value, Mapping):
        return tuple(value.items())
    if not isinstance(value, Iterable):
        raise UserError(f"expected a list of names, found {value!r}")
    return tuple(part for entry in value for part in _read(entry, read))


def _read(entry: object, read: Callable[[str], tuple[Any, ...]]) -> tuple[Any, ...]:
    return read(entry) if isinstance(entry, str) else (entry,)


def demand_whole(
    name: str, value: object, least: int | None = None, most: int | None = None
) -> None:
    """Raise a UserError that names `name` if the value is not a whole number of at least `least`,
    at most `most` (None: no limit)."""
    if isinstance(value, int) and not isinstance(value, bool) and _within(value, least, most):
        return
    wanted = "a whole number" if least is None else f"a whole number from {least}"
    wanted += "" if most is None else f" to {most}"
    raise UserError(f"{name}: expected {wanted}, found {value!r}")


def _within(value: int, least: int | None, most: int | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def demand_positive(name: str, value: object, what: str) -> None:
    """Raise a UserError that names `name` if the value is not a number above 0; `what` says in the
    message what was expected."""
    if isinstance(value, int | float) and isfinite(value) and value > 0:
        return
    raise UserError(f"{name}: expected {what} over 0, found {value!r}")


def demand_one(what: str, value: object, known: Collection[str]) -> None:
    """Raise a UserError if the value is not one of the known names; `what` is the kind of thing
    named, for the message."""
    if value not in known:
        raise no_such(what, value, known)

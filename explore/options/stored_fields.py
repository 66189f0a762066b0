"""The fields of JSON that somebody else may have written, each read as a value of a given kind.

A field whose value is of another kind raises `Damaged`, with its name, what was found and what was
expected.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, NoReturn, TypeVar

from ir.core.frozen import frozen
from ir.errors import UserError

T = TypeVar("T")

LARGEST = 1 << 62
SHORT, LONG, TEXT = 300, 20_000, 1 << 23  # characters of a line, of an explanation, of a program
MANY = 1 << 20  # entries of a list
UNPAIRED = re.compile("[\ud800-\udfff]")
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")  # a name in C, and in a file system


class Damaged(UserError):
    """Raised where stored data is not what a run stores: it was changed by another hand."""


def loaded(text: object, what: str, most: int = TEXT) -> "Fields":
    """The fields of the object in a JSON text of at most `most` characters, which messages call
    `what`; raises Damaged if the text is longer, or holds no object."""
    if not isinstance(text, str) or len(text) > most:
        raise Damaged(f"{what}: expected JSON of at most {most} characters, found {_short(text)}")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise Damaged(f"{what}: expected few levels of nesting, found {_short(text)}") from None
    except ValueError as error:
        raise Damaged(f"{what}: expected JSON, found {_short(text)} ({error})") from None
    return Fields.of(value, what)


@frozen
class Fields:
    """The fields of a JSON object, and its name in messages."""

    values: Mapping[str, Any]
    what: str

    @staticmethod
    def of(value: object, what: str) -> "Fields":
        """The fields of a value, called `what` in messages; raises Damaged if it is no object."""
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise Damaged(f"{what}: expected an object, found {_short(value)}")
        return Fields(value, what)

    def text(self, name: str, most: int = SHORT) -> str:
        """The text of field `name`, of at most `most` characters; those that would steer a terminal
        are replaced."""
        text = self.exact_text(name, most)
        if text.isprintable():  # most are: to look at each character takes far longer
            return text
        return "".join(c if _shown(c) else "\ufffd" for c in text)

    def line(self, name: str, most: int = SHORT, *, may_be_empty: bool = False) -> str:
        """The text of field `name` in one line; raises Damaged if it is empty and may not be."""
        text = self.text(name, most)
        if not text.strip() and not may_be_empty:
            raise self._refused(name, "a line of text", text)
        return "".join(c if c.isprintable() else "\ufffd" for c in text)

    def exact_text(self, name: str, most: int = TEXT) -> str:
        """The text of field `name` as it is, of at most `most` characters; raises Damaged if it
        cannot be encoded."""
        value = self._at(name)
        if not isinstance(value, str) or len(value) > most or _unpaired(value):
            raise self._refused(name, f"text of at most {most} characters", value)
        return value

    def matching(self, name: str, pattern: re.Pattern[str], what: str) -> str:
        """The text of field `name`; raises Damaged unless it matches the pattern, which messages
        call `what`."""
        value = self._at(name)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self._refused(name, what, value)
        return value

    def one_of(self, name: str, known: "tuple[T, ...]") -> T:
        """The value of field `name`; raises Damaged unless it is one of `known`, of the same
        type."""
        value = self._at(name)
        for one in known:
            if type(value) is type(one) and value == one:
                return one
        raise self._refused(name, f"one of {', '.join(map(str, known))}", value)

    def flag(self, name: str) -> bool:
        return self.one_of(name, (False, True))

    def whole(self, name: str, least: int = 0, most: int = LARGEST) -> int:
        """The whole number in field `name`; raises Damaged unless it is from `least` to `most`."""
        value = self._at(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self._refused(name, f"a whole number from {least} to {most}", value)
        return value

    def number(self, name: str, least: float = 0.0, most: float = 1e18) -> float:
        """The finite number in field `name`; raises Damaged unless it is from `least` to `most`."""
        value = self._at(name)
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not least <= value <= most or not isfinite(value):  # in this order: an int
            # beyond all floats is compared, but is not made one
            raise self._refused(name, f"a number from {least:g} to {most:g}", value)
        return float(value)

    def maybe(self, name: str, read: Callable[[str], T]) -> T | None:
        """The field `name` as `read` gives it; None if it is missing or null."""
        return None if self.values.get(name) is None else read(name)

    def given(self, name: str, read: Callable[[str], T], otherwise: T) -> T:
        """The field `name` as `read` gives it; `otherwise` if it is missing or null."""
        return otherwise if self.values.get(name) is None else read(name)

    def fields(self, name: str) -> "Fields":
        """The fields of the object in field `name`."""
        return Fields.of(self._at(name), f"{self.what}: {name}")

    def each(self, name: str, most: int = MANY) -> "Iterator[Fields]":
        """The entries of the list in field `name`, at most `most`, each wrapped as an object that
        has it as its field `value`."""
        value = self._at(name)
        if not isinstance(value, list) or len(value) > most:
            raise self._refused(name, f"a list of at most {most}", value)
        for i, entry in enumerate(value):
            yield Fields({"value": entry}, f"{self.what}: {name}[{i}]")

    def objects(self, name: str, most: int = MANY) -> "Iterator[Fields]":
        """The fields of each object in the list of field `name`, which has at most `most`."""
        return (Fields.of(entry.values["value"], entry.what) for entry in self.each(name, most))

    def named(self, most: int = 1000) -> "Iterator[str]":
        """The names of the fields; raises Damaged if there are more than `most`, or if one is not a
        plain name."""
        if len(self.values) > most:
            raise Damaged(f"{self.what}: expected at most {most} names, found {len(self.values)}")
        for name in self.values:
            if not PLAIN.fullmatch(name):
                raise Damaged(f"{self.what}: expected plain names, found {_short(name)}")
            yield name

    def _at(self, name: str) -> Any:
        if name not in self.values:
            raise Damaged(f"{self.what}: {name} is missing")
        return self.values[name]

    def _refused(self, name: str, expected: str, found: object) -> Damaged:
        return Damaged(f"{self.what}: {name}: expected {expected}, found {_short(found)}")


def _short(value: object) -> str:
    """The text of a value for a message: one line of ASCII, shortened."""
    if isinstance(value, str | bytes):
        value = value[:61]
    line = ascii(value) if not isinstance(value, list | dict) else type(value).__name__
    return line if len(line) <= 60 else f"{line[:57]}..."


def _shown(char: str) -> bool:
    return char.isprintable() or char in "\n\t"


def _unpaired(text: str) -> bool:
    """True if a text has half a surrogate pair, which no file can hold."""
    return UNPAIRED.search(text) is not None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"expected a number of JSON, found {name}")

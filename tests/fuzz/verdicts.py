"""The verdicts on a program that was lowered in one way."""

from dataclasses import dataclass
from enum import Enum

from tests.fuzz.ways import Way


class Kind(Enum):
    """The kinds of verdicts; a verdict of a kind that is not in `FINE` is a finding."""

    RIGHT = "right"
    REFUSED = "refused in words"
    UNDEFINED = "not compared: the result is not a number, or beyond its type"
    TEXT = "its text is another program's"
    UNPROVED = "unproved"
    WRONG = "wrong"
    ESCAPE = "wrote outside a buffer"
    BUILD = "does not build"
    LOST = "the driver lost it"
    TRACEBACK = "traceback"
    HANG = "took too long, or its process died"
    REPORT = "reported by the simulator"


FINE = (Kind.RIGHT, Kind.REFUSED, Kind.UNDEFINED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a program lowered in one way: its kind, what happened in words, and the number
    of kernels that were made."""

    kind: Kind
    way: Way
    detail: str = ""
    kernels: int = 0

    @property
    def fine(self) -> bool:
        return self.kind in FINE


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of trying the program of a seed: the program as text, all verdicts on it, and how
    it was drawn."""

    seed: str
    text: str
    verdicts: tuple[Verdict, ...]
    drawn: str = "lost"  # with the process that drew it

    @property
    def findings(self) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if not v.fine)

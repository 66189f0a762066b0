"""The kinds of messages: the user's mistake, a known limit, and (anything else) our bug."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source text: `start` and `end` are offsets into `text`; `name` is what
    messages call the text, such as its file."""

    text: str
    start: int
    end: int
    name: str = "<program>"


class UserError(Exception):
    """Raised for a mistake in what the user gave: what was found, what was expected, and where."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span

    def __str__(self) -> str:
        return self.message if self.span is None else f"{caret(self.span)}\n{self.message}"


class Unsupported(Exception):
    """Raised for a known limit of the compiler: it names the node, and what would be needed."""


class IllTyped(Exception):
    """Raised for a term that has no type: what was found, and what was expected."""


def caret(span: Span) -> str:
    """The line of text that a span lies in, with its place marked under it."""
    first = span.text.rfind("\n", 0, span.start) + 1
    last = span.text.find("\n", span.start)
    line = span.text[first : len(span.text) if last < 0 else last]
    number = span.text.count("\n", 0, span.start) + 1
    column = span.start - first
    window = max(0, column - 60)
    shown = line[window : window + 120]
    width = max(1, min(span.end - span.start, len(shown) - (column - window)))
    head = f"{span.name}:{number}:{column + 1}"
    return f"{head}\n  {shown}\n  {' ' * (column - window)}{'^' * width}"

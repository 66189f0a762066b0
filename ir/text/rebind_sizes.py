"""The sizes that a program's text binds, and the text with sizes replaced, to record a run with
`--set` as a text of its own."""

from collections.abc import Mapping

from ir.core.size import Size
from ir.errors import Span
from ir.text.read_tree import read
from ir.text.written_sizes import where_sizes


def rebound(text: str, sizes: Mapping[str, int]) -> str:
    """The text with these sizes bound after `where`; all else is as it was written."""
    spans = {binding.name.text: binding.span for binding in read(text).where}
    added = ", ".join(_binding(name, n) for name, n in sizes.items() if name not in spans)
    if added and not spans:
        return f"{text.rstrip()}\nwhere {added}\n"
    changes = [(span, _binding(name, sizes[name])) for name, span in spans.items() if name in sizes]
    if added:
        end = max(span.end for span in spans.values())
        changes.append((Span(text, end, end), f", {added}"))
    for span, put in sorted(changes, key=lambda change: change[0].start, reverse=True):
        text = f"{text[: span.start]}{put}{text[span.end :]}"
    return text


def sizes_of_text(text: str) -> dict[str, Size]:
    """The sizes that a program's text binds after `where`, by name."""
    return where_sizes(read(text).where, {})


def _binding(name: str, size: int) -> str:
    return f"{name} = {size}"

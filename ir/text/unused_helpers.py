"""Helpers that a program defines and does not use."""

from collections.abc import Iterator

from ir.errors import caret
from ir.text.check_names import used
from ir.text.read_tree import read
from ir.text.surface import Definition, File, pattern_names


def unused_helpers(file: File) -> Iterator[Definition]:
    """The definitions of a file that the program (its last definition) uses neither directly nor
    through other helpers."""
    *helpers, program = file.definitions
    needed = _names(program)
    left = list[Definition]()
    for helper in reversed(helpers):  # a definition calls earlier ones only
        if helper.name.text in needed:
            needed |= _names(helper)
        else:
            left.append(helper)
    yield from reversed(left)


def _names(d: Definition) -> set[str]:
    """The names that a definition uses, except those of its own parameters and local variables."""
    own = frozenset(n.text for p in d.params for n in pattern_names(p.pattern))
    return {name.text for name, inside in used(d.body, own) if name.text not in inside}


def notes_on(text: str, name: str) -> Iterator[str]:
    """A note for each unused helper of a program's text, with its line and column; `name` names the
    text in the notes, such as its file."""
    file = read(text, name)
    program = file.definitions[-1].name.text
    for helper in unused_helpers(file):
        yield f"note: {caret(helper.name.span)}\n`{helper.name.text}` is not used by `{program}`"

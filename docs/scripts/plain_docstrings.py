"""An extension of Griffe: docstrings are plain text, and laws show their equations.

Docstrings here are not Markdown: `[n + 1][size]a` is a type and `map *f` no emphasis. What Markdown
would take for markup is escaped, but for text in backticks and indented blocks.
"""

import ast
import re
from typing import Any

import griffe

MARKUP = re.compile(r"(`[^`\n]*`)|([\\*_\[\]<>#|~])")


class PlainDocstrings(griffe.Extension):
    """Every object's docstring as plain text; a rule's begins with its law."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Escape the docstring of `obj`; put the law of a rule in front of it."""
        law = law_of(obj)
        if obj.docstring is not None:
            obj.docstring.value = law + escaped(obj.docstring.value)
        elif law:
            obj.docstring = griffe.Docstring(law, parent=obj)


def law_of(obj: griffe.Object) -> str:
    """The equation in `@rule("...")` above a function, as an indented block; else nothing."""
    if not isinstance(obj, griffe.Function):
        return ""
    for decorator in obj.decorators:
        if decorator.callable_path.rpartition(".")[2] == "rule":
            return "".join(f"    {line}\n" for line in _words(str(decorator.value))) + "\n"
    return ""


def escaped(text: str) -> str:
    """Plain text as Markdown that shows it: markup escaped outside backticks and indents."""
    return "\n".join(line if line.startswith("    ") else _plain(line) for line in text.split("\n"))


def _plain(line: str) -> str:
    return MARKUP.sub(lambda found: found[1] or "\\" + found[2], line)


def _words(call: str) -> list[str]:
    tree = ast.parse(call, mode="eval").body
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    return [text for text in texts if isinstance(text, str)][:1]

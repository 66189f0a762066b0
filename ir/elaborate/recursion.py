"""The interface of the elaborator that its parts use to elaborate what is inside a call or pattern.

Only the use of an argument tells what it must be, so every part needs all of these methods.
"""

# key: e what is written, a argument, env the names around it, t type

from collections.abc import Mapping
from typing import Protocol

from ir.core.nodes import Expr, Lam
from ir.core.size import Size
from ir.core.types import Type
from ir.elaborate.environment import Argument, Env
from ir.errors import Span, UserError
from ir.text.surface import Name, Surface


class Recursion(Protocol):
    """The elaborator as its parts (calls, patterns, primitives) see it."""

    sizes: Mapping[str, Size]

    def step(self, span: Span, count: int = 1) -> None:
        """Add `count` to the steps; a UserError at `span` if they are too many."""

    def expr(self, e: Surface, env: Env) -> Expr:
        """The term that the surface tree e means, checked to be well typed."""

    def checked(self, made: Expr, span: Span) -> Expr:
        """The term `made` itself, after a check that it is well typed and its type not too large;
        else a UserError at `span`."""

    def unknown(self, e: Name, env: Env) -> UserError:
        """The UserError for a name that is not bound in env."""

    def value(self, a: Argument, env: Env) -> Expr:
        """The argument a as a term."""

    def number(self, word: str, a: Argument, env: Env) -> Expr:
        """The argument a as a term that is a scalar or a vector; `word` names the operation in
        messages."""

    def binary(self, op: str, a: Argument, b: Argument, env: Env) -> Expr:
        """The term a op b."""

    def select(self, c: Argument, a: Argument, b: Argument, env: Env) -> Expr:
        """The term select(c, a, b)."""

    def is_weak(self, a: Argument) -> bool:
        """True if a is a number literal (or arithmetic on literals) whose type adapts to the other
        operand."""

    def lam(self, a: Argument, t: Type, env: Env) -> Lam:
        """The argument a as a function on elements of type t."""

    def stride_of(self, a: Argument) -> Size | None:
        """The size s, if the argument is stride(s); else None."""

    def size(self, a: Argument) -> Size:
        """The argument a as a size."""

    def written_size(self, e: Surface, env: Env) -> Size:
        """The size that the surface tree e stands for."""

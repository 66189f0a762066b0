"""The interface of the whole emitter to its parts: to read or emit the subterms of a term."""

# key: e term, env what variables are bound to

from typing import Protocol

from codegen.emit.bound_values import Env
from codegen.emit.read_views import View
from codegen.emit.scope import Scope
from codegen.emit.write_places import Place
from ir.core.nodes import Expr


class Recursion(Protocol):
    """The emitter of one kernel, as those see it who know one kind of term each."""

    scope: Scope
    wanted: str  # a name for what is made real

    def read(self, e: Expr, env: Env) -> View:
        """The view of e: its value as a function of the indices of an element."""

    def emit(self, e: Expr, env: Env, to: Place) -> None:
        """Statements after which e is at its place."""

    def copy(self, view: View, to: Place) -> None:
        """Statements after which the elements of a view are at a place."""

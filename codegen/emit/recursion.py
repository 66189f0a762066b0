"""The interface of the emitter to the modules that it calls for single kinds of terms: by it they
read and emit the terms inside."""

# key: e term, env what variables are bound to

from typing import Protocol

from codegen.emit.bound_values import Env
from codegen.emit.read_views import View
from codegen.emit.scope import Scope
from codegen.emit.write_places import Place
from ir.core.nodes import Expr


class Recursion(Protocol):
    """The emitter of one kernel, as seen by the modules that it calls for single kinds of terms.
    Memory that is allocated for a term is named after `wanted`."""

    scope: Scope
    wanted: str  # a name for what is made real

    def read(self, e: Expr, env: Env) -> View:
        """The view of e: its value as a function of the indices of an element."""

    def emit(self, e: Expr, env: Env, to: Place) -> None:
        """Add statements that put the value of e at a place."""

    def copy(self, view: View, to: Place) -> None:
        """Add statements that copy the elements of a view to a place."""

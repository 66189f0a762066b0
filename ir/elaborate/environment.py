"""The meanings of names while a program is elaborated, and fresh names that do not clash."""

from collections.abc import Iterable, Mapping

from ir.core.frozen import distinct
from ir.core.nodes import Expr, Var
from ir.core.size import Size
from ir.core.terms import free, fresh
from ir.errors import Span
from ir.text.surface import Definition, Name, Surface

EACH = "; `map` does it with each element"  # of an array where a number is needed
PRELUDE = "<prelude>"


@distinct
class Written:
    """An argument that is not elaborated yet: its use decides whether it is a size, a function or a
    number."""

    text: Surface
    env: "Env"


@distinct
class Made:
    """An argument that is a typed term."""

    term: Expr
    span: Span


@distinct
class Sized:
    """An argument that is a size: one that was inferred from the types at a call."""

    size: Size
    span: Span


Argument = Written | Made | Sized


@distinct
class Helper:
    """A definition with the earlier definitions, which it may call."""

    definition: Definition
    known: "Mapping[str, Helper]"


@distinct
class Env:
    """An environment: local names, the variables in scope, and the definitions that may be called.

    `reach` holds the variables that occur in the bindings.
    """

    bindings: Mapping[str, Argument]
    scope: frozenset[str]
    known: Mapping[str, Helper]
    reach: frozenset[str] = frozenset()

    def bind(self, name: str, argument: Argument) -> "Env":
        bindings = {**self.bindings, name: argument}
        scope = self.scope
        if isinstance(argument, Made) and isinstance(argument.term, Var):
            scope |= {argument.term.name}
        return Env(bindings, scope, self.known, _reach_all(bindings.values()))

    def within(self, scope: frozenset[str]) -> "Env":
        """This environment with the variables `scope` in scope besides; its names are bound as
        before."""
        if scope <= self.scope:
            return self
        return Env(self.bindings, self.scope | scope, self.known, self.reach)

    def fresh(self, name: str) -> str:
        """A variable's name for `name`: the name itself, or with a number if it would hide a
        variable that bindings still use."""
        own = self.bindings.get(name)
        others = _reach_all(b for n, b in self.bindings.items() if n != name)
        hides_itself = isinstance(own, Made) and isinstance(own.term, Var) and own.term.name == name
        if name in others or (name in self.scope and not hides_itself):
            return fresh(name, self.scope | others)
        return name


def _reach_all(arguments: Iterable[Argument]) -> frozenset[str]:
    return frozenset().union(*map(_reach, arguments))


def _reach(argument: Argument) -> frozenset[str]:
    match argument:
        case Made(term, _):
            return free(term)
        case Written(_, env):
            return env.reach
    return frozenset()


def place(argument: Argument) -> Span:
    """The span where the user wrote an argument. If the argument is a name of a parameter in a
    definition of the prelude, it is the span of what the user wrote for that parameter."""
    if not isinstance(argument, Written):
        return argument.span
    text = argument.text
    if isinstance(text, Name) and text.span.name == PRELUDE and text.text in argument.env.bindings:
        return place(argument.env.bindings[text.text])
    return text.span

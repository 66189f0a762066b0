"""Calls of primitives, and methods that read each argument as a size, a value or a function."""

# key: i which argument, t type

from collections.abc import Callable

from ir.core.frozen import distinct, frozen
from ir.core.nodes import Expr, Lam
from ir.core.size import Size
from ir.core.type_rules import type_of
from ir.core.types import Array, Type, show_type
from ir.elaborate.environment import Argument, Env, place
from ir.elaborate.recursion import Recursion
from ir.errors import Span, UserError
from ir.text.surface import Name


@distinct
class Call:
    """A call of a primitive: its name (`head`), its arguments, the span where it stands, and the
    environment in which `elaborator` elaborates its arguments."""

    elaborator: Recursion
    head: Name
    args: tuple[Argument, ...]
    span: Span
    env: Env

    def value(self, i: int) -> Expr:
        """Argument i as a term."""
        return self.elaborator.value(self.args[i], self.env)

    def size(self, i: int, least: int | None = None) -> Size:
        n = self.elaborator.size(self.args[i])
        if least is not None and isinstance(n, int) and n < least:
            raise self.wrong(i, f"found {n}, expected a size of at least {least}")
        return n

    def array(self, i: int) -> tuple[Expr, Array]:
        """Argument i as a term, and its type, which must be an array; else a UserError."""
        xs = self.value(i)
        t = type_of(xs)
        if not isinstance(t, Array):
            raise self.wrong(i, f"{self.head.text} needs an array, found {show_type(t)}")
        return xs, t

    def nested(self, i: int) -> tuple[Expr, Array]:
        """Argument i as a term, and its type, which must be an array of arrays; else a
        UserError."""
        xs, t = self.array(i)
        if not isinstance(t.elem, Array):
            raise self.wrong(i, f"{self.head.text} needs an array of arrays, found {show_type(t)}")
        return xs, t

    def lam(self, i: int, t: Type) -> Lam:
        """Argument i as a function on elements of type t."""
        return self.elaborator.lam(self.args[i], t, self.env)

    def wrong(self, i: int, message: str) -> UserError:
        """The UserError with this message at argument i."""
        return UserError(message, place(self.args[i]))

    def divides(self, i: int, m: Size, n: Size) -> None:
        """Raise a UserError at argument i if m and n are numbers and m does not divide n."""
        if isinstance(m, int) and isinstance(n, int) and n % m:
            raise self.wrong(i, f"{m} does not divide the array's size {n}")


@frozen
class Primitive:
    """A primitive: its usage for messages, its least and most arguments, and the function that
    makes its node from a call."""

    usage: str
    low: int
    high: int
    make: Callable[[Call], Expr]

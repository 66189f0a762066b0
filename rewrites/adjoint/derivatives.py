"""The derivatives of operations on numbers: the factors that the cotangent of a result is
multiplied by to give those of the operands."""

# key: e term, a b operands

from collections.abc import Callable
from math import pi

from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Binary, Expr, Lit, Select, Unary
from ir.core.type_rules import type_of
from ir.core.types import Scalar, is_whole, show_type
from rewrites.analysis.folds import number
from rewrites.engine.refused import Refused

STEEP = 2.0**127  # times a normal number of the type float: 1 or more


def of_unary(e: Unary) -> Expr | None:
    """The factor that the cotangent of e is multiplied by to give that of its operand; None for
    1."""
    a = e.e
    if e.op in CONVERSIONS and not is_whole(type_of(e)) and not is_whole(type_of(a)):
        return None
    match e.op:
        case "neg":
            return _like(a, -1)
        case "exp":
            return e
        case "log":
            return Binary("/", _like(a, 1), a)
        case "sqrt":
            return Binary("/", _like(a, 0.5), e)
        case "tanh":
            return Binary("-", _like(a, 1), Binary("*", e, e))
        case "abs":
            return Binary("-", positive(a), positive(Unary("neg", a)))
        case "sinpi":
            return Binary("*", _like(a, pi), Unary("cospi", a))
        case "cospi":
            return Binary("*", _like(a, -pi), Unary("sinpi", a))
    raise Refused(f"expected an operation that has a derivative, found {e.op}")


def is_linear(e: Unary) -> bool:
    """True if the operation e is linear."""
    return e.op == "neg" or e.op in CONVERSIONS


def of_choice(e: Binary) -> tuple[Expr, Expr]:
    """The factors that the cotangent of e, a max or min, is multiplied by to give those of its two
    operands: 1 for the operand that is chosen, 0 for the other one. If the operands are equal, the
    second gets the 1."""
    a, b = (e.a, e.b) if e.op == "max" else (e.b, e.a)
    larger = positive(Binary("-", a, b))  # where the first operand is what counts
    other = Binary("-", _like(larger, 1), larger)
    return (larger, other)


def of_quotient(e: Binary) -> tuple[Expr, Expr]:
    """The factors that the cotangent of the quotient e is multiplied by to give those of its
    dividend and its divisor; Refused for whole numbers."""
    if is_whole(type_of(e)):
        raise Refused("expected a division of reals, found one of whole numbers, which rounds")
    one = Binary("/", _like(e, 1), e.b)
    return one, Binary("/", Unary("neg", e.a), Binary("*", e.b, e.b))


def is_equal(best: Expr) -> Callable[[Expr], Expr]:
    """The function that makes 1 of a number that is equal to `best`, and 0 of another. It compares
    the two, and takes no difference, which could be computed before they are rounded."""

    def of(e: Expr) -> Expr:
        return Select(Binary("==", e, best), _like(best, 1), _like(best, 0))

    return of


def positive(a: Expr) -> Expr:
    """The term that is 1 where a > 0 and else 0: a, times a large number unless it is whole, cut
    off at 0 and 1."""
    steep = a if is_whole(type_of(a)) else Binary("*", a, _like(a, STEEP))
    return Binary("min", Binary("max", steep, _like(a, 0)), _like(a, 1))


def _like(e: Expr, value: float) -> Lit:
    """The literal of this value in the type of e."""
    t = type_of(e)
    if not isinstance(t, Scalar):
        raise Refused(f"expected an operation on numbers, found one on {show_type(t)}")
    return number(value, t)

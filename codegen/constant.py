"""What is known of a value at one place inside unrolled loops: numbers are computed, and 0 and ±1
cost no operation.

As in mathematics, 0 times anything is 0 and x + 0 is x, also where x is infinite or -0.0.
"""

# key: e value, x y operands

from collections.abc import Callable, Mapping
from dataclasses import replace

from codegen.condition import ALWAYS, NEVER, substitute_in
from codegen.substitute import substitute
from codegen.tree import (
    Apply,
    Broadcast,
    Convert,
    Kind,
    Load,
    Memory,
    Number,
    Select,
    Space,
    Value,
    Whole,
    rewrite,
)
from ir.arithmetic import cospi, sinpi

ROOTS: dict[str, Callable[[float], float]] = {
    "cospi": lambda x: float(cospi(x)),
    "sinpi": lambda x: float(sinpi(x)),
}


def folded(e: Value, values: Mapping[str, int]) -> Value:
    """e where unrolled loops have these values."""
    return rewrite(e, lambda inner: _known(inner, values))


def _known(e: Value, values: Mapping[str, int]) -> Value:
    match e:
        case Load(Memory(space=Space.CONSTANT) as table, i, 1):
            at = substitute(i, values)
            return Number(table.values[at.constant], table.scalar) if at.is_constant else e
        case Convert(Whole(i), kind) if kind.width == 1:
            here = substitute(i, values)
            return Number(float(here.constant), kind.scalar) if here.is_constant else e
        case Select(condition, a, b):
            test = substitute_in(condition, values)
            return a if test == ALWAYS else b if test == NEVER else e
        case Apply(_, _, kind) if kind.scalar != "int":
            return _apply(e)
    return e


def _apply(e: Apply) -> Value:
    match e.op, e.arguments:
        case ("cospi" | "sinpi") as op, (x,) if (c := number(x)) is not None:
            return _literal(ROOTS[op](c), e.kind)
        case "neg", (x,) if (c := number(x)) is not None:
            return _literal(-c, e.kind)
        case "*", (x, y):
            return _product(e, x, y)
        case "fma", (x, y, z):
            product = _product(replace(e, op="*", arguments=(x, y)), x, y)
            return e if _is(product, "*") else _sum(e.kind, product, z)
        case "+", (x, y):
            return _sum(e.kind, x, y)
        case "-", (x, y):
            return _difference(e, x, y)
    return e


def _product(e: Apply, x: Value, y: Value) -> Value:
    for a, b in ((number(x), y), (number(y), x)):
        if a is not None and (c := number(b)) is not None:
            return _literal(a * c, e.kind)
        if a == 0:
            return _literal(0.0, e.kind)
        if a == 1:
            return b
        if a == -1:
            return _negative(b, e.kind)
    return e


def _sum(kind: Kind, x: Value, y: Value) -> Value:
    if number(x) == 0:
        return y
    if number(y) == 0:
        return x
    if _is(y, "neg"):
        return Apply("-", (x, y.arguments[0]), kind)  # type: ignore[union-attr]
    if _is(x, "neg"):
        return Apply("-", (y, x.arguments[0]), kind)  # type: ignore[union-attr]
    return Apply("+", (x, y), kind)


def _difference(e: Apply, x: Value, y: Value) -> Value:
    if number(y) == 0:
        return x
    if number(x) == 0:
        return _negative(y, e.kind)
    if _is(y, "neg"):
        return Apply("+", (x, y.arguments[0]), e.kind)  # type: ignore[union-attr]
    if (c := number(y)) is not None and c < 0:
        return Apply("+", (x, _literal(-c, e.kind)), e.kind)
    return e


def _negative(e: Value, kind: Kind) -> Value:
    if (c := number(e)) is not None:
        return _literal(-c, kind)
    if isinstance(e, Apply) and e.op == "neg":
        return e.arguments[0]
    return Apply("neg", (e,), kind)


def number(e: Value) -> float | None:
    """The number that a value is, in each of its lanes."""
    match e:
        case Number(value, _):
            return float(value)
        case Broadcast(Number(value, _), _):
            return float(value)
    return None


def _literal(value: float, kind: Kind) -> Value:
    scalar = Number(value + 0.0, kind.scalar)
    return scalar if kind.width == 1 else Broadcast(scalar, kind)


def _is(e: Value, op: str) -> bool:
    return isinstance(e, Apply) and e.op == op

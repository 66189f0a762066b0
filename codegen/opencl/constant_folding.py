"""Values simplified at one place inside unrolled loops: numbers are computed, and 0 and ±1 cost no
operation.

As in mathematics, 0 times anything is 0 and x + 0 is x, also where x is infinite or -0.0.
"""

# key: e value, x y z operands, c number

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from operator import is_

from codegen.index.condition import ALWAYS, NEVER, Condition, substitute_in
from codegen.index.substitute import substitute
from codegen.opencl.text_patterns import Varying
from codegen.tree.kernel_values import (
    Apply,
    Broadcast,
    Convert,
    Kind,
    Load,
    Number,
    Select,
    Value,
    Whole,
    operands,
    subvalues,
    with_operands,
)
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Kernel, Store, remembered
from codegen.tree.value_builders import is_whole
from ir.meaning.arithmetic import cospi, sinpi


@remembered
def folding(kernel: Kernel) -> "Folding":
    """The folded values of a kernel's stores, one object for all that ask."""
    return Folding()


class Folding:
    """The folded values of a kernel's stores, each computed once for all copies of the store in
    which the loops that its value depends on have the same values."""

    def __init__(self) -> None:
        self._stores: dict[int, tuple[Store, Varying[Value]]] = {}  # by identity

    def of(self, s: Store, loops: Collection[str]) -> Varying[Value]:
        """The folded value of s, for each choice of values of the `loops` that decide it."""
        known = self._stores.get(id(s))
        if known is None:
            names = deciding(s.value).intersection(loops)
            known = s, Varying(names, lambda values: folded(s.value, values))
            self._stores[id(s)] = known
        return known[1]


def deciding(e: Value) -> frozenset[str]:
    """The variables that decide how the value e is folded: those in conditions, in indices of
    constant tables, and in indices that are used as numbers; those in other addresses do not."""
    return frozenset[str]().union(*map(_decides, subvalues(e)))


def _decides(e: Value) -> frozenset[str]:
    match e:
        case Load(Memory(space=Space.CONSTANT), i, _) | Convert(Whole(i), _):
            return i.names
        case Select(condition, _, _):
            return condition.names
    return frozenset()


Test = Callable[[Condition, Mapping[str, int]], Condition]


def folded(e: Value, values: Mapping[str, int], tested: Test = substitute_in) -> Value:
    """The value e where unrolled loops have these values, and conditions become what `tested` makes
    of them."""
    match e:
        case Apply():
            new = tuple([folded(x, values, tested) for x in e.arguments])
            law = None if is_whole(e.kind) else LAWS.get(e.op)
            found = law(e.kind, *new) if law else None
            if found is not None:
                return found
            return e if all(map(is_, e.arguments, new)) else Apply(e.op, new, e.kind)
        case Load(memory=memory):
            return _entry(e, values) if memory.space is Space.CONSTANT and e.width == 1 else e
        case Convert(Whole(i), Kind(scalar, 1) as kind, "") if not is_whole(kind):
            here = substitute(i, values)
            return Number(float(here.constant), scalar) if here.is_constant else e
        case Select(condition, a, b):
            test = tested(condition, values)
            if test in (ALWAYS, NEVER):
                return folded(a if test == ALWAYS else b, values, tested)
    return with_operands(e, tuple([folded(inner, values, tested) for inner in operands(e)]))


def _entry(e: Load, values: Mapping[str, int]) -> Value:
    """The number that a constant table holds at the index of e, where variables have these values;
    e itself, if the index still varies."""
    at = substitute(e.index, values)
    table = e.memory
    return Number(table.values[at.constant], table.scalar) if at.is_constant else e


# ---- laws: the simpler value, if there is one


def _product(kind: Kind, x: Value, y: Value) -> Value | None:
    a, b = number(x), number(y)
    if a is not None and b is not None:
        return _literal(a * b, kind)
    for c, other in ((a, y), (b, x)):
        if c == 0:
            return _literal(0.0, kind)
        if c == 1:
            return other
        if c == -1:
            return _negative(other, kind)
    return None


def _fused(kind: Kind, x: Value, y: Value, z: Value) -> Value | None:
    product = _product(kind, x, y)
    if product is None:
        return None
    return _sum(kind, product, z) or Apply("+", (product, z), kind)


def _sum(kind: Kind, x: Value, y: Value) -> Value | None:
    if number(x) == 0:
        return y
    if number(y) == 0:
        return x
    if (positive := _negated(y)) is not None:
        return Apply("-", (x, positive), kind)
    if (positive := _negated(x)) is not None:
        return Apply("-", (y, positive), kind)
    return None


def _difference(kind: Kind, x: Value, y: Value) -> Value | None:
    c = number(y)
    if c == 0:
        return x
    if number(x) == 0:
        return _negative(y, kind)
    if (positive := _negated(y)) is not None:
        return Apply("+", (x, positive), kind)
    return None if c is None or c > 0 else Apply("+", (x, _literal(-c, kind)), kind)


def _opposite(kind: Kind, x: Value) -> Value | None:
    c = number(x)
    return None if c is None else _literal(-c, kind)


def _root(f: Callable[[float], float]) -> Callable[[Kind, Value], Value | None]:
    of = lru_cache(maxsize=1 << 12)(f)

    def known(kind: Kind, x: Value) -> Value | None:
        c = number(x)
        return None if c is None else _literal(of(c), kind)

    return known


LAWS: Mapping[str, Callable[..., Value | None]] = {
    "*": _product,
    "fma": _fused,
    "+": _sum,
    "-": _difference,
    "neg": _opposite,
    "cospi": _root(lambda x: float(cospi(x))),
    "sinpi": _root(lambda x: float(sinpi(x))),
}


def _negative(e: Value, kind: Kind) -> Value:
    return _opposite(kind, e) or _negated(e) or Apply("neg", (e,), kind)


def _negated(e: Value) -> Value | None:
    """The value x, where e is -x; else None."""
    return e.arguments[0] if isinstance(e, Apply) and e.op == "neg" else None


def number(e: Value) -> float | None:
    """The number that e is: a literal, or in a vector the one that stands in every lane; None for
    another value."""
    if isinstance(e, Broadcast):
        e = e.e
    return float(e.value) if isinstance(e, Number) else None


def _literal(value: float, kind: Kind) -> Value:
    scalar = Number(value + 0.0, kind.scalar)
    return scalar if kind.width == 1 else Broadcast(scalar, kind)

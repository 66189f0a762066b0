"""The values that kernels compute, as trees, and the values inside them.

Every index counts scalars: an access of width w at index i touches i … i + w − 1 of a memory. The
variables of indices are those of loops and the ids of work-items.
"""

# key: e value

from collections.abc import Callable, Iterator
from dataclasses import replace

from codegen.index.condition import Condition
from codegen.index.index import Index
from codegen.tree.memories import Memory
from ir.core.frozen import frozen
from ir.core.instruction import Instruction


@frozen
class Kind:
    """The type of a value: a scalar (width 1) or a vector."""

    scalar: str
    width: int = 1


@frozen
class Load:
    """The value memory[half][index … index + width − 1]."""

    memory: Memory
    index: Index
    width: int = 1
    half: Index | None = None


@frozen
class Number:
    """The value of a number that is written as a literal."""

    value: float | int
    scalar: str


@frozen
class Whole:
    """The value of an index, as an int."""

    index: Index


@frozen
class Apply:
    """The value op(arguments), for + - * / % << >> & | max min neg exp log sqrt tanh cospi sinpi
    abs, fma, and rounding to narrower numbers: half_rte half_rtz bfloat_rte bfloat_rtz.

    All arguments are of this kind. On ints / and % round down; fma(a, b, c) = a*b + c. Narrower
    whole numbers have max and min only. The comparisons < <= > >= == != of two arguments of another
    kind are ints, 1 or 0 in each lane; select(c, a, b) is a where the int c is not 0.
    """

    op: str
    arguments: tuple["Value", ...]
    kind: Kind


@frozen
class Convert:
    """The value e as another scalar type, lane by lane: to whole numbers it is rounded towards zero
    and to others to nearest, unless `rounding` is rte (to nearest) or rtz (towards zero). If it
    `saturates`, numbers out of range become the nearest in range."""

    e: "Value"
    kind: Kind
    rounding: str = ""
    saturates: bool = False


@frozen
class Repack:
    """A conversion between memory's format and numbers to compute with: e, halves or bfloats just
    loaded, as floats; floats e as halves or bfloats, to be stored or passed to an instruction; or
    halves or bfloats as their bits, ushorts, for an instruction."""

    e: "Value"
    kind: Kind


@frozen
class Broadcast:
    """The vector with the scalar e in every lane."""

    e: "Value"
    kind: Kind


@frozen
class Build:
    """The vector made of scalars, lane by lane, or of narrower vectors, one after the other."""

    parts: tuple["Value", ...]
    kind: Kind


@frozen
class Lane:
    """The scalar in one lane of the vector e."""

    e: "Value"
    lane: int


@frozen
class Call:
    """The result of an instruction in the running lane. An instruction of several lanes must be
    reached by all of them together, each with its own arguments."""

    instruction: Instruction
    arguments: tuple["Value", ...]
    kind: Kind


@frozen
class Select:
    """The value a where the condition holds, else b; only the one that is chosen is evaluated."""

    condition: Condition
    a: "Value"
    b: "Value"


Value = Load | Number | Whole | Apply | Convert | Repack | Broadcast | Build | Lane | Call | Select


# ---- the values inside a value


def kind_of(e: Value) -> Kind:
    """The kind of a value: its scalar type and its width."""
    match e:
        case Load(memory, _, width, _):
            return Kind(memory.scalar, width)
        case Number(_, scalar):
            return Kind(scalar)
        case Whole():
            return Kind("int")
        case Apply(_, _, kind) | Call(_, _, kind):
            return kind
        case Convert(_, kind) | Repack(_, kind) | Broadcast(_, kind) | Build(_, kind):
            return kind
        case Lane(inner, _):
            return Kind(kind_of(inner).scalar)
        case Select(_, a, _):
            return kind_of(a)


def operands(e: Value) -> tuple[Value, ...]:
    """The values directly inside a value."""
    match e:
        case Load() | Number() | Whole():
            return ()
        case Apply(_, arguments, _) | Call(_, arguments, _):
            return arguments
        case Convert(inner, _) | Repack(inner, _) | Broadcast(inner, _) | Lane(inner, _):
            return (inner,)
        case Build(parts, _):
            return parts
        case Select(_, a, b):
            return (a, b)


def subvalues(e: Value) -> Iterator[Value]:
    """The value e and every value inside it, in the order in which they are written."""
    left = [e]
    while left:
        inner = left.pop()
        yield inner
        left.extend(reversed(operands(inner)))


def loads(e: Value) -> Iterator[Load]:
    """The loads of a value, in the order in which they are written."""
    for inner in subvalues(e):
        if isinstance(inner, Load):
            yield inner


def with_operands(e: Value, new: tuple[Value, ...]) -> Value:
    """The value e with the values `new` in place of those directly inside it."""
    match e:
        case Apply() | Call():
            return replace(e, arguments=new)
        case Build() as build:
            return replace(build, parts=new)
        case Convert() | Repack() | Broadcast() | Lane():
            return replace(e, e=new[0])
        case Select(condition, _, _):
            return Select(condition, new[0], new[1])
    return e


def rewrite(e: Value, f: Callable[[Value], Value]) -> Value:
    """The value e with f applied to every value inside it, innermost first."""
    old = operands(e)
    new = tuple([rewrite(inner, f) for inner in old])
    if any(a is not b for a, b in zip(old, new, strict=True)):
        e = with_operands(e, new)
    return f(e)


def gathers(e: Value) -> bool:
    """True if e is a call of an instruction that several lanes carry out together."""
    return isinstance(e, Call) and e.instruction.lanes > 1


def placed_operands(call: Call) -> Iterator[tuple[Load, tuple[int, ...], tuple[int, ...]]]:
    """The operands of a call that its instruction reads from local memory itself: the load of the
    first piece of each, the digits of a piece's number, and the distances told in the call."""
    more = 0
    for placed in sorted(call.instruction.placed, key=lambda placed: placed.operand):
        at = placed.operand + more
        e, *apart = call.arguments[at : at + len(placed.digits) + 1]
        (load,) = loads(e)
        told = tuple([n.index.constant for n in apart if isinstance(n, Whole)])
        yield load, placed.digits, told
        more += len(apart)

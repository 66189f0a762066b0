"""Statement trees: kernels before they are spelled as text.

Memories are flat arrays of scalars, and every index counts scalars: an access of width w at index i
touches i … i + w − 1. Loops that are to be unrolled stay loops here (`Unroll`), and only printing
expands them, so that a tree stays as small as the program it came from. All trip counts are
numbers. The variables of indices are those of loops and the ids of work-items.

Key: e value, n trip count.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from codegen.index.condition import Condition
from codegen.index.index import Index
from ir.core.frozen import distinct, frozen
from ir.core.nodes import Instruction
from ir.core.types import BYTES


class Space(Enum):
    """The space of a memory, which says who sees it: everyone, one work-group, or one work-item.

    Constant memory is a table that stands in the text.
    """

    GLOBAL = "global"
    CONSTANT = "constant"
    LOCAL = "local"
    PRIVATE = "private"


@distinct
class Memory:
    """A memory of `halves` equal parts of `elements` scalars each; two memories never share
    storage.

    `shape` only says how the scalars of private memory are spelled: `acc_0_1`. `values` are those
    of a constant table.
    """

    name: str
    space: Space
    scalar: str  # the name of a scalar type
    elements: int
    halves: int = 1
    shape: tuple[int, ...] = ()
    values: tuple[float | int, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of the memory in bytes, all its halves."""
        return self.elements * self.halves * BYTES[self.scalar]


@frozen
class Kind:
    """The type of a value: a scalar (width 1) or a vector."""

    scalar: str
    width: int = 1


# ---- values


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


# ---- statements


class Unroll(Enum):
    """The choice whether to spell out a loop: NO, YES (asked for), or FREE (as reads best)."""

    NO = "no"
    YES = "yes"
    FREE = "free"


@frozen
class Block:
    """The statements of a block, one after the other."""

    statements: tuple["Statement", ...]


@frozen
class For:
    """The loop that runs `body` for var = 0 … count − 1 (count ≥ 2; no other loop uses the name).
    If it is `ahead`, what a step multiplies is loaded one step before."""

    var: str
    count: int
    body: Block
    unroll: Unroll = Unroll.NO
    ahead: bool = False


@frozen
class If:
    """The statement that runs `body` where the condition holds."""

    condition: Condition
    body: Block


@frozen
class Declare:
    """The declaration of a private or local memory, whose life ends with the enclosing block."""

    memory: Memory


@frozen
class Store:
    """The store memory[half][index …] = value, as wide as the value. If it is `begun`, a copy to
    local memory, it may happen at any time until the work-item awaits it; and if it goes `past` the
    first-level cache, what it copies is not kept there."""

    memory: Memory
    index: Index
    value: Value
    half: Index | None = None
    begun: bool = False
    past: bool = False


@frozen
class Await:
    """The place where a work-item waits for copies that it has begun: those begun since the last
    such place are a group, and all groups but the `later` latest are awaited."""

    later: int = 0


@frozen
class AwaitProducts:
    """The place where work-items wait for products of instructions that went on after they were
    called: those begun since the last such place are a group, and all groups but the `later` latest
    are awaited. The `results` of some, in registers, are used from here on."""

    results: tuple[Load, ...] = ()
    later: int = 0


@frozen
class Barrier:
    """A barrier: all work-items of the group meet here, and see each other's writes to these
    spaces."""

    spaces: frozenset[Space]


Statement = Block | For | If | Declare | Store | Await | AwaitProducts | Barrier


@frozen
class Id:
    """The id `name` = get_{kind}_id(dimension), 0 … extent − 1; kind is "global", "group" or
    "local"."""

    name: str
    kind: str
    dimension: int
    extent: int


@distinct
class Kernel:
    """A kernel and its launch: the buffers that it reads and writes, the ids that it uses (global
    ids, or group and local ones), its numbers of work-items and of groups, and its statements.

    A kernel equals only itself. Programs with a kernel in common share the object, so that a
    function under `remembered` is computed once for it.
    """

    name: str
    reads: tuple[Memory, ...]
    writes: tuple[Memory, ...]
    ids: tuple[Id, ...]
    local_size: tuple[int, int, int]
    groups: tuple[int, int, int]
    body: Block


remembered = lru_cache(maxsize=512)

# ---- looking through trees


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


def calls(kernel: Kernel) -> Iterator[Call]:
    """The calls of instructions in the values that a kernel stores."""
    for s in statements(kernel.body):
        if isinstance(s, Store):
            yield from (e for e in subvalues(s.value) if isinstance(e, Call))


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


def statements(s: Statement) -> Iterator[Statement]:
    """The statement s and every statement inside it, in the order of the text."""
    left = [s]
    while left:
        each = left.pop()
        yield each
        match each:
            case Block(inner):
                left.extend(reversed(inner))
            case For(_, _, body, _) | If(_, body):
                left.append(body)


def block(items: list[Statement]) -> Block:
    """A block of these statements without empty parts, nested blocks opened, neighbours under one
    guard joined."""
    flat: list[Statement] = []
    for item in items:
        match item:
            case Block(inner):
                flat.extend(inner)
            case For(_, _, Block(()), _) | If(_, Block(())):
                pass
            case If(condition, body) if flat and _is_guard(flat[-1], condition):
                flat[-1] = If(condition, _joined(flat[-1], body))
            case _:
                flat.append(item)
    return Block(tuple(flat))


def _is_guard(s: Statement, condition: Condition) -> bool:
    return isinstance(s, If) and s.condition == condition


def _joined(first: Statement, then: Block) -> Block:
    assert isinstance(first, If)
    return block([*first.body.statements, *then.statements])

"""Syntax trees of the OpenCL C that kernels are printed in, which the reader makes of a text.

Nothing here is shared with the trees that kernels are printed from.

Key: e expression.
"""

from collections.abc import Iterator

from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Space
from ir.core.frozen import distinct
from ir.core.instruction import Instruction

# ---- expressions


@distinct
class Name:
    """An expression that is a variable's name."""

    name: str


@distinct
class Whole:
    """An integer literal; `wide` if it is a long."""

    value: int
    wide: bool


@distinct
class Real:
    """A literal that is not an integer."""

    scalar: str


@distinct
class Element:
    """The expression array[index]."""

    array: str
    index: "CExpr"


@distinct
class Pointed:
    """The expression *(space kind *)&array[index], or *(space kind *)(array + index): the value of
    a kind that lies at an element. If `in_bytes`, it is *(space kind *)((space char *)array +
    index), whose index counts bytes."""

    space: Space
    kind: Kind
    element: Element
    in_bytes: bool = False


@distinct
class Pointer:
    """The expression (space kind *)((space char *)array + index): a pointer to the value `to`."""

    to: Pointed


@distinct
class Lanes:
    """The expression e.s013: some lanes of a vector."""

    e: "CExpr"
    lanes: tuple[int, ...]


@distinct
class Cast:
    """The expression (kind)e or (kind)(e, …)."""

    kind: Kind
    parts: tuple["CExpr", ...]


@distinct
class Call:
    """The expression function(arguments)."""

    function: str
    arguments: tuple["CExpr", ...]


@distinct
class Infix:
    """The expression left op right."""

    op: str
    left: "CExpr"
    right: "CExpr"


@distinct
class Negative:
    """The expression -e."""

    e: "CExpr"


@distinct
class Choice:
    """The expression test ? a : b."""

    test: "CExpr"
    a: "CExpr"
    b: "CExpr"


CExpr = (
    Name
    | Whole
    | Real
    | Element
    | Pointed
    | Pointer
    | Lanes
    | Cast
    | Call
    | Infix
    | Negative
    | Choice
)

Target = Name | Element | Pointed | Lanes

# ---- statements: `line` is the number of their line


@distinct
class Define:
    """The statement const int name = value; or one for a long."""

    name: str
    scalar: str
    value: CExpr
    line: int


@distinct
class Registers:
    """The declaration float4 name = value, name, …;"""

    kind: Kind
    names: tuple[tuple[str, CExpr | None], ...]
    line: int


@distinct
class ArrayOf:
    """The declaration space kind name[size], aligned to a multiple of `aligned` bytes (0: of the
    size of its elements)."""

    space: Space
    kind: Kind
    name: str
    size: int
    aligned: int
    line: int


@distinct
class Assign:
    """The statement target = … = value;"""

    targets: tuple["Target", ...]
    value: CExpr
    line: int


@distinct
class Begin:
    """The statement COPY_N(target, value); which begins a copy of N bytes; or, with a test,
    COPY_N_OR_ZERO(target, test, value); which copies zeros where the test fails. COPY_N_PAST does
    the same past the first-level cache."""

    bytes: int
    target: "Target"
    test: CExpr | None
    value: CExpr
    line: int


@distinct
class AwaitCopies:
    """The statement AWAIT_COPIES(); or AWAIT_COPIES_BUT(later);"""

    later: int
    line: int


@distinct
class AwaitProducts:
    """The statement AWAIT_PRODUCTS(); or AWAIT_PRODUCTS_BUT(later); for a number of groups."""

    later: int
    line: int


@distinct
class Settled:
    """The statement SETTLED(result);"""

    result: "Target"
    line: int


@distinct
class StoreVector:
    """The statement vstoreN(value, offset, pointer); with `halves`, vstore_halfN_rte, of floats."""

    width: int
    halves: bool
    value: CExpr
    offset: CExpr
    pointer: CExpr
    line: int


@distinct
class Fence:
    """The statement barrier(spaces); or, `ordered`, one before which work-items order what they
    wrote to local memory ahead of what instructions read there."""

    spaces: frozenset[Space]
    line: int
    ordered: bool = False


@distinct
class Branches:
    """The statement if (test) then else otherwise."""

    test: CExpr
    then: "Braces"
    otherwise: "Braces"
    line: int


@distinct
class Counted:
    """The statement for (int name = 0; name < count; ++name) body. It may define further ints where
    it begins (`walks`: names and values), and add numbers to such ints after each turn (`steps`):
    for (int name = 0, other = value; name < count; ++name, other += step) body."""

    name: str
    scalar: str
    count: int
    body: "Braces"
    line: int
    walks: tuple[tuple[str, CExpr], ...] = ()
    steps: tuple[tuple[str, int], ...] = ()


@distinct
class Braces:
    """The statement { statements }."""

    statements: tuple["CStatement", ...]


CStatement = (
    Define
    | Registers
    | ArrayOf
    | Assign
    | Begin
    | AwaitCopies
    | AwaitProducts
    | Settled
    | StoreVector
    | Fence
    | Branches
    | Counted
    | Braces
)

# ---- kernels


@distinct
class Parameter:
    """The parameter __global const scalar *restrict name of a kernel."""

    name: str
    scalar: str
    const: bool


@distinct
class Function:
    """The function kind name(kind a, …) { return value; }."""

    name: str
    kind: Kind
    parameters: tuple[tuple[str, Kind], ...]
    value: CExpr


@distinct
class KernelText:
    """The syntax tree of a text: one kernel, and the functions and instructions before it."""

    functions: tuple[Function, ...]
    instructions: tuple[Instruction, ...]
    name: str
    group_size: tuple[int, ...]
    sub_group: int | None
    parameters: tuple[Parameter, ...]
    body: Braces
    lines: tuple[str, ...]


def statements_in(s: CStatement) -> Iterator[CStatement]:
    """The statement s and every statement inside it, in the order of the text."""
    yield s
    match s:
        case Braces(inner):
            for each in inner:
                yield from statements_in(each)
        case Counted(body=body):
            yield from statements_in(body)
        case Branches(_, then, otherwise, _):
            yield from statements_in(then)
            yield from statements_in(otherwise)

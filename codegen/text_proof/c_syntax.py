"""The OpenCL C that kernels are printed in, as trees: what the reader makes of a text.

Nothing here is shared with the trees that kernels are printed from.

Key: e expression.
"""

from collections.abc import Iterator

from codegen.tree.statements import Kind, Space
from ir.core.frozen import distinct
from ir.core.nodes import Instruction

# ---- expressions


@distinct
class Name:
    name: str


@distinct
class Whole:
    """An integer literal; `wide`: a long."""

    value: int
    wide: bool


@distinct
class Real:
    """A literal that is no integer."""

    scalar: str


@distinct
class Element:
    """array[index]"""

    array: str
    index: "CExpr"


@distinct
class Pointed:
    """*(space kind *)&array[index]"""

    space: Space
    kind: Kind
    element: Element


@distinct
class Lanes:
    """e.s013"""

    e: "CExpr"
    lanes: tuple[int, ...]


@distinct
class Cast:
    """(kind)e, and (kind)(e, …)"""

    kind: Kind
    parts: tuple["CExpr", ...]


@distinct
class Call:
    function: str
    arguments: tuple["CExpr", ...]


@distinct
class Infix:
    op: str
    left: "CExpr"
    right: "CExpr"


@distinct
class Negative:
    """-e"""

    e: "CExpr"


@distinct
class Choice:
    """test ? a : b"""

    test: "CExpr"
    a: "CExpr"
    b: "CExpr"


CExpr = Name | Whole | Real | Element | Pointed | Lanes | Cast | Call | Infix | Negative | Choice

Target = Name | Element | Pointed | Lanes

# ---- statements: `line` is the number of their line


@distinct
class Define:
    """const int name = value, or a long"""

    name: str
    scalar: str
    value: CExpr
    line: int


@distinct
class Registers:
    """float4 name = value, name, …"""

    kind: Kind
    names: tuple[tuple[str, CExpr | None], ...]
    line: int


@distinct
class ArrayOf:
    """space kind name[size], at a multiple of `aligned` bytes (0: as its elements are)"""

    space: Space
    kind: Kind
    name: str
    size: int
    aligned: int
    line: int


@distinct
class Assign:
    """target = … = value"""

    targets: tuple["Target", ...]
    value: CExpr
    line: int


@distinct
class StoreVector:
    """vstoreN(value, offset, pointer)"""

    width: int
    value: CExpr
    offset: CExpr
    pointer: CExpr
    line: int


@distinct
class Fence:
    """barrier(spaces)"""

    spaces: frozenset[Space]
    line: int


@distinct
class Branches:
    """if (test) then else otherwise"""

    test: CExpr
    then: "Braces"
    otherwise: "Braces"
    line: int


@distinct
class Counted:
    """for (int name = 0; name < count; ++name) body"""

    name: str
    scalar: str
    count: int
    body: "Braces"
    line: int


@distinct
class Braces:
    """{ statements }"""

    statements: tuple["CStatement", ...]


CStatement = (
    Define | Registers | ArrayOf | Assign | StoreVector | Fence | Branches | Counted | Braces
)

# ---- kernels


@distinct
class Parameter:
    """__global const scalar *restrict name"""

    name: str
    scalar: str
    const: bool


@distinct
class Function:
    """kind name(kind a, …) { return value; }"""

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
    """s and every statement inside it, in the order of the text."""
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

"""Facts that are counted on a kernel's statement tree, and the limit on the length of its text."""

# key: s statement, n trip count

from math import prod

from codegen.memory.local_buffers import local_bytes
from codegen.memory.unrolled_registers import unrolled_loops
from codegen.tree.kernel_values import Apply, Load, subvalues
from codegen.tree.memories import Space
from codegen.tree.statements import Block, Declare, For, If, Kernel, Statement, Store, remembered
from ir.core.frozen import frozen
from ir.errors import Unsupported

MOST_STATEMENTS = 1 << 15


class TooLarge(Unsupported):
    """Raised for a kernel whose text would be too long for compilers to take in reasonable time."""


@frozen
class Facts:
    """The facts about the kernel of this name: the work-items of a group, the number of groups, the
    local memory of a group, the private memory of a work-item, and statements and operations,
    counted with loops unrolled."""

    kernel: str
    work_group: int
    groups: int
    local_bytes: int
    private_words: int  # 32-bit, of one work-item, if nothing is spilled or shared
    statements: int
    operations: int


@remembered
def facts(kernel: Kernel) -> Facts:
    """The facts that are counted on the statement tree of a kernel."""
    unrolled = unrolled_loops(kernel)
    return Facts(
        kernel.name,
        prod(kernel.local_size),
        prod(kernel.groups),
        local_bytes(kernel),
        _words(kernel.body),
        _statements(kernel.body, unrolled),
        _operations(kernel.body, unrolled),
    )


def refuse_too_large(found: Facts, most: int = MOST_STATEMENTS) -> None:
    """Raise TooLarge for a kernel with more statements than `most`, before its text is printed."""
    count = max(found.statements, found.operations // 2)
    if count > most:
        raise TooLarge(
            f"kernel {found.kernel} would have {count:,} statements after its loops are unrolled; "
            f"the limit is {most:,}: unroll less"
        )


def _statements(s: Statement, unrolled: frozenset[str]) -> int:
    match s:
        case Block(inner):
            return sum(_statements(each, unrolled) for each in inner)
        case For(var, n, body, _):
            inside = _statements(body, unrolled)
            return n * inside if var in unrolled else inside + 1
        case If(_, body):
            return _statements(body, unrolled) + 1
    return 1


def _operations(s: Statement, unrolled: frozenset[str]) -> int:
    match s:
        case Block(inner):
            return sum(_operations(each, unrolled) for each in inner)
        case For(var, n, body, _):
            return (n if var in unrolled else 1) * _operations(body, unrolled)
        case If(_, body):
            return _operations(body, unrolled)
        case Store(_, _, value, _):
            return sum(isinstance(e, Apply | Load) for e in subvalues(value))
    return 0


def _words(s: Statement) -> int:
    """The 32-bit words of private memory that are live at once in s: those that its own block
    declares, and those of the largest block inside."""
    match s:
        case Block(inner):
            own = sum(_declared(each) for each in inner)
            return own + max((_words(each) for each in inner), default=0)
        case For(_, _, body, _) | If(_, body):
            return _words(body)
    return 0


def _declared(s: Statement) -> int:
    if not isinstance(s, Declare) or s.memory.space is not Space.PRIVATE:
        return 0
    return -(-s.memory.bytes // 4)

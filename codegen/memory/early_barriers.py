"""Kernels whose barriers stand before what is loaded from global memory ahead of them.

Where an instruction reads local memory itself, work-items order their writes there before each
barrier (`ir/instructions/local_writes.py`), and on an H200 they wait for all that they have begun
to load by then. So the barrier comes first, and the loads go on beside what follows.
"""

# key: s statement

from dataclasses import replace

from codegen.tree.kernel_values import loads
from codegen.tree.memories import Space
from codegen.tree.statements import (
    Await,
    Barrier,
    Block,
    Declare,
    For,
    Kernel,
    Statement,
    Store,
    block,
    calls,
    remembered,
    statements,
)


@remembered
def with_early_barriers(kernel: Kernel) -> Kernel:
    """The kernel in which barriers of local memory alone stand before neighbours that do not access
    local memory, if its instructions read local memory themselves."""
    if not any(call.instruction.placed for call in calls(kernel)):
        return kernel
    return replace(kernel, body=_early(kernel.body))


def _early(body: Block) -> Block:
    done: list[Statement] = []
    for s in body.statements:
        match s:
            case Barrier(spaces) if spaces == {Space.LOCAL}:
                at = len(done)
                while at and not _is_local(done[at - 1]):
                    at -= 1
                done.insert(at, s)
            case For():
                done.append(replace(s, body=_early(s.body)))
            case _:
                done.append(s)
    return block(done)


def _is_local(s: Statement) -> bool:
    """True if work-items meet or access local memory at s, or declare it there."""
    for each in statements(s):
        match each:
            case Barrier() | Await():
                return True
            case Declare(memory) if memory.space is Space.LOCAL:
                return True
            case Store(memory, _, value):
                read = (load.memory for load in loads(value))
                if any(m.space is Space.LOCAL for m in (memory, *read)):
                    return True
    return False

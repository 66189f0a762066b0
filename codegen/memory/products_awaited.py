"""The places where work-items await products that go on after instructions were called.

Products that add to the same registers follow each other without waiting. They are awaited before
anything else uses their results or writes their operands, and before a barrier: behind it, others
may overwrite what they read. In sums whose turns go on without that, a turn awaits those of the
turn before: so few are under way, and what they read takes few registers.
"""

# key: s statement, e value

from dataclasses import replace

from codegen.index.index import as_index
from codegen.tree.kernel_values import Call, Load, loads
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    AwaitProducts,
    Barrier,
    Block,
    For,
    If,
    Kernel,
    Statement,
    Store,
    block,
    calls,
    remembered,
    statements,
)
from ir.core.frozen import frozen


@frozen
class _State:
    """The products at a place: whether some may be `going` on, what holds `results` that were not
    settled since they were made, each as wide as they are, and the `operands` of those that go
    on."""

    going: bool = False
    results: frozenset[tuple[Memory, int]] = frozenset()
    operands: frozenset[Memory] = frozenset()

    def __or__(self, other: "_State") -> "_State":
        return _State(
            self.going or other.going,
            self.results | other.results,
            self.operands | other.operands,
        )

    def uses(self, s: Statement) -> bool:
        """True if s uses results before they are settled, or writes an operand too early."""
        made = {memory for memory, _ in self.results}
        for each in statements(s):
            if isinstance(each, Store):
                used = {*_others(each), *(() if _follows(each) else (each.memory,))}
                if used & made or each.memory in self.operands:
                    return True
        return False


@remembered
def with_products_awaited(kernel: Kernel) -> Kernel:
    """The kernel with the products awaited, as late as may be, that its instructions begin."""
    if not any(call.instruction.goes_on for call in calls(kernel)):
        return kernel
    body, _ = _awaited(kernel.body, _State())
    return replace(kernel, body=body)


def _awaited(body: Block, state: _State) -> tuple[Block, _State]:
    done: list[Statement] = []
    for s in body.statements:
        if isinstance(s, Barrier):
            if state.going:
                done.append(AwaitProducts())
                state = _State(results=state.results)
        elif state.uses(s) and not _begins(s):
            done.append(AwaitProducts(_registers(state)))
            state = _State()
        s, state = _inside(s, state)
        done.append(s)
    return block(done), state


def _inside(s: Statement, state: _State) -> tuple[Statement, _State]:
    """The statement s with products awaited inside it, and the state after it."""
    match s:
        case For(_, _, body):
            before = state
            while True:
                inner, after = _awaited(body, before)
                if before | after == before:
                    return replace(s, body=_in_turns(s, inner)), after
                before |= after
        case If(_, body):
            inner, after = _awaited(body, state)
            return replace(s, body=inner), state | after
        case Block():
            return _awaited(s, state)
        case Store(memory, _, Call(instruction) as call) if instruction.goes_on:
            given = {load.memory for load in loads(call) if load.memory.space is Space.PRIVATE}
            results = state.results | {(memory, call.kind.width)}
            return s, _State(True, results, state.operands | (given - {memory}))
    return s, state


def _in_turns(s: For, body: Block) -> Block:
    """The `body` of the loop s; if it is a sum of products that go on from turn to turn, each turn
    awaits those of the one before."""
    if any(isinstance(each, AwaitProducts) for each in statements(body)):
        return body
    added = [each for each in statements(body) if isinstance(each, Store) and _added(each)]
    if any(s.var not in each.index.names for each in added):
        return block([*body.statements, AwaitProducts(later=1)])
    return body


def _begins(s: Statement) -> bool:
    """True if s is a loop or a branch in which products are begun, or all work-items meet: what has
    to be awaited is awaited inside it."""
    return isinstance(s, For | If | Block) and any(
        isinstance(each, Barrier) or _added(each) for each in statements(s)
    )


def _added(s: Statement) -> bool:
    """True if s begins products that are added to registers."""
    return isinstance(s, Store) and isinstance(s.value, Call) and s.value.instruction.goes_on


def _follows(s: Store) -> bool:
    """True if s begins products that are added to what the registers that it writes hold."""
    return _added(s) and any(_is_target(load, s) for load in loads(s.value))


def _others(s: Store) -> set[Memory]:
    """The memories that s reads, but for the registers that products are added to where they
    are."""
    return {load.memory for load in loads(s.value) if not (_follows(s) and _is_target(load, s))}


def _is_target(load: Load, s: Store) -> bool:
    return load.memory is s.memory and load.index == s.index and load.half == s.half


def _registers(state: _State) -> tuple[Load, ...]:
    """The results that are not settled, register by register."""
    found = sorted(state.results, key=lambda each: each[0].name)
    return tuple(
        Load(memory, as_index(at), width)
        for memory, width in found
        for at in range(0, memory.elements, width)
    )

"""The products that instructions go on to make after they were called, and what work-items do
before they have awaited them.

Until then a product reads local memory and the registers of its operands, and adds to those of its
results. So no barrier may come, behind which others may overwrite what it reads; up to the next
barrier the proof of races keeps them away, as every lane reads all that it reads. Nor may its
operands be written, nor its results be used; these not even later, unless they were settled, which
tells the compiler that they are new. Other products may be added to the same results: they follow
each other.
"""

# key: node part of a kernel

from dataclasses import dataclass, field, replace

from codegen.proof.accesses import (
    Awaits,
    AwaitsProducts,
    Begun,
    Branch,
    Footprint,
    Gather,
    Loop,
    Meet,
    Node,
    Sequence,
    Settles,
    Touch,
    Uses,
)
from ir.core.frozen import frozen


@frozen
class _State:
    going: bool = False  # products are made
    made: frozenset[str] = frozenset()  # registers of results that are not settled
    read: frozenset[str] = frozenset()  # registers of operands

    def __or__(self, other: "_State") -> "_State":
        return _State(self.going or other.going, self.made | other.made, self.read | other.read)


@frozen
class UnderWay:
    """The calls of instructions that go on, by the registers of their results, and what is wrong:
    pairs of such a register, or nothing, and what happens too early, in words."""

    begun: tuple[tuple[str, str], ...]
    early: tuple[tuple[str, str], ...]


def under_way(found: Footprint) -> UnderWay:
    """The products of a kernel with the footprint `found` that go on after calls, and what its
    work-items do too early."""
    walker = _Walker()
    rest = walker.after(found.root, _State())
    if rest.going:
        walker.early["", "the end may be reached before products are awaited"] = None
    return UnderWay(tuple(walker.begun), tuple(walker.early))


@dataclass(slots=True)
class _Walker:
    begun: dict[tuple[str, str], None] = field(default_factory=dict)
    early: dict[tuple[str, str], None] = field(default_factory=dict)

    def after(self, node: Node, state: _State) -> _State:
        """The products that may be under way after a node, if those in `state` may be before it."""
        match node:
            case Sequence(parts):
                for part in parts:
                    state = self.after(part, state)
                return state
            case Loop(_, _, body):
                return self.loop(body, state)
            case Branch(_, _, body):
                return state | self.after(body, state)
            case Begun(name, makes, reads, adds):
                self.begun[name, makes] = None
                self.use(state, reads, () if adds else (makes,))
                return _State(True, state.made | {makes}, state.read | {*reads})
            case Uses(reads, writes):
                self.use(state, reads, writes)
                return state
            case AwaitsProducts():
                return _State(made=state.made)
            case Settles(name):
                if state.going:
                    self.early[name, "it is settled before it is awaited"] = None
                return replace(state, made=state.made - {name})
            case Meet():
                if state.going:
                    self.early["", "a barrier comes before products are awaited"] = None
                return state
            case Touch() | Awaits() | Gather():
                return state

    def loop(self, body: Node, state: _State) -> _State:
        """The products that may be under way after a loop: those after any number of turns."""
        while True:
            after = self.after(body, state)
            if state | after == state:
                return after
            state |= after

    def use(self, state: _State, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
        """Note what is too early where these registers are read and written."""
        for name in (*reads, *writes):
            if name in state.made:
                self.early[name, "it is used before it is awaited and settled"] = None
        for name in writes:
            if name in state.read:
                self.early[name, "it is written while a product may read it"] = None

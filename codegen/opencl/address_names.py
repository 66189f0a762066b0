"""The names that indices of a kernel are spelled with, and the lines that define them."""

# key: i index, depth of a loop: 0 outside of all, spelled-out ones not counted

from collections.abc import Iterator
from dataclasses import dataclass, field

from codegen.index.atoms import Atom
from codegen.index.index import Index, summed
from codegen.index.substitute import unassumed
from codegen.opencl.index_text import INT_MAX, needs_64, to_c, to_c_anywhere
from codegen.opencl.walking_addresses import LoopPlace, Walk
from codegen.tree.array_axes import bare
from codegen.tree.memories import Memory, Space
from ir.core.frozen import frozen
from ir.core.types import BYTES


@frozen
class Definition:
    """The definition `const int name = index`, at the beginning of a loop's body or (None) of the
    kernel's."""

    loop: str | None
    name: str
    index: Index


@dataclass(slots=True)
class Naming:
    """The names for parts of indices in one kernel: those of base addresses (`bases`) and of atoms,
    by the keys of what they name, with their definitions. `taken` has all names in use, `keys`
    those of variables in indices; `depths` has the depth of each loop that stays a loop in the
    text, `spelled` the loops that do not. If `in_bytes`, indices into global memory count bytes,
    and base addresses walk where they can (`walks`): `loops` has the places of loops for that.
    `short` keeps what `shortened` gave, by the key of the index."""

    taken: set[str]
    keys: set[str]  # of the variables in indices
    depths: dict[str, int] = field(default_factory=dict)  # of loops that stay loops
    spelled: frozenset[str] = frozenset()
    in_bytes: bool = False  # indices into global memory count bytes
    bases: dict[str, Index] = field(default_factory=dict)  # by the key of the sum they name
    atoms: dict[str, str] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)
    loops: dict[str, LoopPlace] = field(default_factory=dict)
    tested: set[str] = field(default_factory=set)  # loops of which turns may be spelled apart
    walks: list[Walk] = field(default_factory=list)
    short: dict[str, Index] = field(default_factory=dict)

    def by_bytes(self, memory: Memory) -> bool:
        """True if indices into a memory count bytes: if it is global, an int can count its bytes,
        and the text is to address it so."""
        size = memory.elements * BYTES[memory.scalar]
        return self.in_bytes and memory.space is Space.GLOBAL and size <= INT_MAX

    def counted(self, memory: Memory, i: Index, half: Index | None) -> Index:
        """The index of scalar i in a whole memory, in bytes or in scalars; i is counted in the half
        with the number `half`, if the memory has halves."""
        whole = flat(memory, i, half)
        return whole * BYTES[memory.scalar] if self.by_bytes(memory) else whole

    def text(self, i: Index) -> str:
        """The text of an index, spelled with the names of its parts."""
        return to_c(i, self.atoms, needs_64(i))

    def lines(self, loop: str | None) -> Iterator[str]:
        """The lines that define names at the beginning of the body of the loop `loop` (None: of the
        kernel), where guards inside that body have not been tested yet."""
        for d in self.definitions:
            if d.loop == loop:
                others = {key: name for key, name in self.atoms.items() if name != d.name}
                wide = needs_64(unassumed(d.index))
                kind = "long" if wide else "int"
                yield f"const {kind} {d.name} = {to_c_anywhere(d.index, others, wide)};"

    def begun(self, loop: str) -> Iterator[str]:
        """The texts that give walking addresses their values where the loop `loop` begins."""
        for w in self.walks:
            if w.loop == loop:
                yield f"{w.name} = {to_c_anywhere(w.start, self.atoms, wide=False)}"

    def stepped(self, loop: str) -> Iterator[str]:
        """The texts that move walking addresses on after a turn of the loop `loop`."""
        for w in self.walks:
            if step := w.steps.get(loop, 0):
                yield f"{w.name} {'-' if step < 0 else '+'}= {abs(step)}"

    def moves_others(self, loop: str) -> bool:
        """True if turns of the loop `loop` move on an address that begins in a loop around it."""
        return any(w.steps.get(loop, 0) and w.loop != loop for w in self.walks)

    def shortened(self, i: Index) -> Index:
        """The index i, with its base address replaced by the name of that address, if it has
        one."""
        if i.key not in self.short:
            named = [base for _, base in self.sums(i) if base.key in self.bases]
            self.short[i.key] = i - named[-1] + self.bases[named[-1].key] if named else i
        return self.short[i.key]

    def sums(self, i: Index) -> Iterator[tuple[int, Index]]:
        """The partial sums of i, as pairs (depth, sum), outermost first: for each depth at which
        terms of i change, the sum of the terms that change in loops of at most this depth. The
        constant of i, and terms that change with spelled-out loops, are in none."""
        at = [(self.depth(atom), (atom, k)) for atom, k in i.terms]
        known = [(depth, term) for depth, term in at if depth is not None]
        for depth in sorted({depth for depth, _ in known}):
            yield depth, summed(tuple([term for d, term in known if d <= depth]), 0)

    def depth(self, atom: Atom) -> int | None:
        """The depth of the innermost loop that an atom changes in; None if it changes with
        spelled-out loops."""
        if not atom.names.isdisjoint(self.spelled):
            return None
        return max([self.depths.get(name, 0) for name in atom.names], default=0)

    def loop_of(self, names: frozenset[str]) -> str | None:
        """The innermost of the loops with these names; None if there is none."""
        inside = [name for name in names if name in self.depths]
        return max(inside, key=lambda name: self.depths[name], default=None)

    def fresh(self, hint: str) -> str:
        return fresh(hint, self.taken)


def fresh(hint: str, taken: set[str]) -> str:
    """The hint, or the hint with the first number that makes it free; it is added to `taken`."""
    name, n = hint, 1
    while name in taken:
        n += 1
        name = f"{hint}{n}"
    taken.add(name)
    return name


def flat(memory: Memory, index: Index, half: Index | None) -> Index:
    """The index in a whole memory, all its halves, of the scalar at `index` in the half with the
    number `half` (None: the memory has no halves); assumptions in the index are dropped."""
    whole = index if half is None else index + half * memory.elements
    return bare(whole)

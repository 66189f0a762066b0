"""Places in memory as OpenCL C, for one choice of values of the spelled-out loops around them."""

# key: e value, i index, w width

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from codegen.index.index import Index
from codegen.index.substitute import evaluate, substitute
from codegen.memory.unrolled_registers import InMemory, Layout, Registers, is_aligned
from codegen.numbers.integer_text import in_memory, type_text
from codegen.opencl.address_names import Naming, flat
from codegen.opencl.index_text import needs_64
from codegen.opencl.memory_names import Spellings
from codegen.opencl.text_patterns import Varying
from codegen.tree.kernel_values import Kind, Load
from codegen.tree.memories import Memory, Space
from ir.core.types import BYTES

ALIGNED = 64  # bytes that every array begins at a multiple of


@dataclass(slots=True)
class Places:
    """The state of spelling the places of one kernel's memories as text: how these are laid out
    (`layouts`) and named (`spelled`), the names for parts of indices (`naming`), and the values of
    the spelled-out loops around (`values`). `holes` keeps texts that are spelled once for all
    copies of a statement; `open` are the holes of the pattern that is being spelled.

    A place is scalar i of a memory. If the memory has two halves, i is counted in the half with the
    number `half`; else `half` is None.
    """

    layouts: Mapping[Memory, Layout]
    spelled: Spellings
    naming: Naming
    values: dict[str, int] = field(default_factory=dict)  # of the spelled-out loops around
    holes: dict[object, Varying[str]] = field(default_factory=dict)
    open: list[Varying[str]] = field(default_factory=list)  # of the pattern that is being spelled

    def hole(self, what: object, names: frozenset[str], spell: Callable[[], str]) -> str:
        """The text that `spell` gives for `what`; or, if that text changes with the spelled-out
        loops named in `names`, a hole that stands for it."""
        names &= self.values.keys()
        if not names:
            return spell()
        if what not in self.holes:
            self.holes[what] = Varying(names, lambda _: spell())
        self.open.append(self.holes[what])
        return f"{{{len(self.open) - 1}}}"

    def settled(self, i: Index) -> Index:
        """The index i, with the values of the spelled-out loops around in place of their
        variables."""
        return substitute(i, self.values) if self.values else i

    def address(self, memory: Memory, i: Index, half: Index | None, unit: int = 1) -> str:
        """The text of the index of scalar i of a memory, counted in units of `unit` scalars. The
        index counts from the beginning of the whole memory."""
        whole = self.naming.counted(memory, i, half)
        if unit > 1:
            whole = whole // unit
        short = self.naming.shortened(whole)
        return self.hole(short, short.names, lambda: self.naming.text(self.settled(short)))

    def subscript(self, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of the index of scalar i of a memory, in the array that the memory is in the
        text, or of the scalar's distance in bytes from that array's beginning."""
        text = self.address(memory, i, half)
        return text if text.isdecimal() else self.made_unsigned(text, memory, i, half)

    def made_unsigned(self, text: str, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of the index i of an access, `text`, cast to unsigned if it counts bytes in 32
        bits, as extending a sign takes instructions. It is at least 0, so its value stays the
        same."""
        counted = self.naming.by_bytes(memory)
        fits = counted and not needs_64(self.naming.counted(memory, i, half))
        if not fits:
            return text
        return f"(uint){text}" if text.isidentifier() else f"(uint)({text})"

    def pointer(self, memory: Memory, i: Index, half: Index | None) -> str:
        """The text of a pointer to scalar i of a memory."""
        at = self.subscript(memory, i, half)
        if self.naming.by_bytes(memory):
            return self.behind(memory, at, Kind(in_memory(memory)))
        return f"{self.name(memory)} + {at}"

    def behind(self, memory: Memory, at: str, kind: Kind) -> str:
        """The text of a pointer to a value of this kind that lies behind the beginning of a global
        memory by as many bytes as the text `at` says."""
        return f"(__global {type_text(kind)} *)((__global char *){self.name(memory)} + {at})"

    def name(self, memory: Memory) -> str:
        """The name, in the text, of a memory that is an array there."""
        found = self.spelled.get(memory)
        return found.names[0] if found else memory.name

    def cell(self, memory: Memory, i: Index, w: int, half: Index | None) -> str | None:
        """The text of w scalars at index i of a memory, as something that can be read and assigned
        to; None if reading them takes a function."""
        layout, name = self.layouts.get(memory), self.name(memory)
        if isinstance(layout, Registers):
            return self.lanes(memory, layout.width, i, w)
        if isinstance(layout, InMemory) and layout.width > 1:
            return f"{name}[{self.address(memory, i, half, w)}]" if w == layout.width else None
        if w == 1 and self.naming.by_bytes(memory):
            return self.pointed(memory, i, Kind(in_memory(memory)), half)
        if w == 1:
            return f"{name}[{self.subscript(memory, i, half)}]"
        fits = w in (2, 4, 8, 16) and w * BYTES[memory.scalar] <= ALIGNED
        if layout is None and fits and is_aligned(flat(memory, i, half), w):
            return self.pointed(memory, i, Kind(in_memory(memory), w), half)
        return None

    def pointed(self, memory: Memory, i: Index, kind: Kind, half: Index | None) -> str:
        """The text of the vector of this kind at index i of a memory, by a pointer to the vector's
        type; it must be aligned.

        In local and private memory the pointer is the array plus the index, not the address of an
        element: for an element, NVIDIA's compiler takes the alignment of the array's scalars, and
        loads these one by one; for a sum it takes the alignment of the vector.
        """
        to = f"*(__{memory.space.value} {type_text(kind)} *)"
        if self.naming.by_bytes(memory):
            return f"*{self.behind(memory, self.subscript(memory, i, half), kind)}"
        if memory.space is Space.GLOBAL:
            return f"{to}&{self.name(memory)}[{self.subscript(memory, i, half)}]"
        return f"{to}({self.pointer(memory, i, half)})"

    def lanes(self, memory: Memory, whole: int, i: Index, w: int) -> str:
        names = self.spelled[memory].names

        def spelled() -> str:
            at = evaluate(i, self.values)
            return names[at // whole] + (
                lanes_text(*range(at % whole, at % whole + w)) if w < whole else ""
            )

        return self.hole((memory, i, w), i.names, spelled)

    def load(self, e: Load) -> str:
        cell = self.cell(e.memory, e.index, e.width, e.half)
        if cell is None:
            return f"vload{e.width}(0, {as_const(self.pointer(e.memory, e.index, e.half))})"
        return as_const(cell)

    def cell_or_first(self, test: str, e: Load) -> str:
        """The text of the number that e loads if the text `test` holds, else of the first of its
        array: no cell outside it is read."""
        memory = e.memory
        at = f"{test} ? {self.address(memory, e.index, e.half)} : 0"
        at = self.made_unsigned(at, memory, e.index, e.half)
        if self.naming.by_bytes(memory):
            return as_const(f"*{self.behind(memory, at, Kind(in_memory(memory)))}")
        return f"{self.name(memory)}[{at}]"


def in_vectors(memory: Memory, i: Index, half: Index | None, w: int) -> bool:
    """True if the w 16-bit numbers at a place can be loaded or stored as one aligned vector
    of whole numbers that hold their bits.

    `vload_halfN` and `vstore_halfN`, which convert halves on the way, need no alignment, but
    NVIDIA's compiler makes w single accesses of each of them.
    """
    return w in (2, 4, 8, 16) and is_aligned(flat(memory, i, half), w)


def as_const(cell: str) -> str:
    """The text `cell` of a number that is only read, or of a pointer to one: pointers to global
    memory that it begins with are made ones to `const`."""
    if not cell.startswith(("*(__global", "(__global")):
        return cell
    return cell.replace("(__global", "(const __global", 2)


def lanes_text(*lanes: int) -> str:
    """The text of the choice of these lanes of a vector."""
    return ".s" + "".join(f"{lane:x}" for lane in lanes)

"""The names of a kernel's memories in its text: a copy of a buffer's numbers is named after that
buffer, any other memory after the program's variable that it stands for."""

# key: m memory, e value

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from codegen.memory.unrolled_registers import Layout, Registers
from codegen.tree.emitted_names import numbered
from codegen.tree.kernel_values import (
    Broadcast,
    Build,
    Convert,
    Lane,
    Load,
    Number,
    Repack,
    Select,
    Value,
    subvalues,
)
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import Declare, Kernel, Store, statements
from ir.core.frozen import frozen

COPIED = (Load, Number, Select, Build, Broadcast, Convert, Repack, Lane)
AHEAD = "next_"  # what is loaded for the next iteration
_COUNTED = re.compile(r"(?<=[A-Za-z])\d+$")  # rewriting tells variables of one name apart so


@frozen
class Spelled:
    """The names of a memory: that of its array, or those of its registers, in the order of its
    cells.

    Names of base addresses in the memory begin with `variable`; `shape` is that of its registers.
    """

    variable: str
    names: tuple[str, ...]
    shape: tuple[int, ...] = ()


Spellings = Mapping[Memory, Spelled]


def spellings(kernel: Kernel, layouts: Mapping[Memory, Layout], taken: set[str]) -> Spellings:
    """The names of every memory that a kernel declares or is given; they are added to `taken`.
    `layouts` tell which memories are registers: each register has a name of its own."""
    contents = _Contents()
    own: dict[Memory, None] = {}
    for s in statements(kernel.body):
        match s:
            case Declare(m):
                own[m] = None
            case Store(m, _, value, _):
                contents.stored.setdefault(m, []).append(value)
    spelled = {m: Spelled(m.name, (m.name,)) for m in (*kernel.reads, *kernel.writes)}
    for m in sorted(own, key=lambda m: _cells(m, layouts) == 1):  # blocks have the better right
        spelled[m] = _spelled(m, contents, layouts, taken)
    return spelled


def _spelled(
    m: Memory, contents: "_Contents", layouts: Mapping[Memory, Layout], taken: set[str]
) -> Spelled:
    layout, stem = layouts.get(m), contents.stem(m)
    if not isinstance(layout, Registers):
        return Spelled(*_first_free(stem, ("",), taken))
    shape = cells_shape(m, layout.width)
    if shape:
        tails = ["_".join(map(str, at)) for at in product(*map(range, shape))]
        return Spelled(*_first_free(stem, tails, taken), shape)
    if contents.origin(m) is m or numbered(f"{stem}_", "0") in taken:
        return Spelled(*_first_free(contents.own_stem(m), ("",), taken))
    return Spelled(*_first_free(stem, ("0",), taken))


def _first_free(stem: str, tails: Sequence[str], taken: set[str]) -> tuple[str, tuple[str, ...]]:
    """The variable `stem`, with the first number behind it (or none) for which all its names, one
    for each of `tails`, are free; and these names, which are added to `taken`."""
    between, n = "_" if stem[-1].isdigit() else "", 1
    while True:
        variable = f"{stem}{between}{n}_" if n > 1 else f"{stem}_"
        names = tuple([numbered(variable, tail) if tail else variable for tail in tails])
        if taken.isdisjoint(names):
            taken.update(names)
            return variable, names
        n += 1


def _cells(m: Memory, layouts: Mapping[Memory, Layout]) -> int:
    layout = layouts.get(m)
    return -(-m.elements // layout.width) if layout else m.elements


def cells_shape(m: Memory, width: int) -> tuple[int, ...]:
    """The dimensions of a memory in units of `width` scalars, without dimensions of length 1; its
    number of units alone, if its own dimensions do not divide into units."""
    cells = -(-m.elements // width)
    dims = [n for n in _in_units(m.shape, width) if n > 1]
    return tuple(dims) if prod(dims) == cells else (cells,)


def _in_units(shape: tuple[int, ...], width: int) -> list[int]:
    """The dimensions in units of `width` scalars: the innermost ones are divided by the width, as
    far as they can be."""
    dims = list(shape)
    for at in reversed(range(len(dims))):
        if width % dims[at] == 0:
            width, dims[at] = width // dims[at], 1
        elif dims[at] % width == 0:
            width, dims[at] = 1, dims[at] // width
        else:
            break
    return dims


@dataclass(slots=True)
class _Contents:
    """The contents of a kernel's memories: the values that are `stored` in each; and for some, the
    memory that they are a copy of (`origins`, as far as it was asked for)."""

    stored: dict[Memory, list[Value]] = field(default_factory=dict)
    origins: dict[Memory, Memory] = field(default_factory=dict)

    def origin(self, m: Memory) -> Memory:
        """The memory whose numbers the memory m only holds copies of; m itself, if it holds its
        own."""
        if m not in self.origins:
            self.origins[m] = m  # while it is asked for
            found = {self.origin(source) for source in self._sources(m)}
            self.origins[m] = found.pop() if len(found) == 1 else m
        return self.origins[m]

    def _sources(self, m: Memory) -> Iterator[Memory]:
        """The memories that m is a copy of; m itself, where something is computed."""
        for e in self.stored.get(m, ()):
            for inner in subvalues(e):
                if not isinstance(inner, COPIED):
                    yield m
                if isinstance(inner, Load):
                    yield inner.memory

    def stem(self, m: Memory) -> str:
        """The beginning of the names of a memory, taken from the memory whose copy it holds."""
        origin = self.origin(m)
        if origin is m:
            return self.own_stem(m)
        copied = self.stem(origin)
        if m.space is Space.LOCAL:
            return f"{copied}_tile"
        return f"{AHEAD}{copied}" if m.name.startswith(AHEAD) else copied

    def own_stem(self, m: Memory) -> str:
        """The beginning of the names of a memory, taken from its own name, whatever it holds."""
        own = m.name.removesuffix("_")
        return own if m.space is Space.GLOBAL else _COUNTED.sub("", own)

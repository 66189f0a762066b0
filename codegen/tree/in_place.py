"""The decision whether a loop may update its accumulator in place, from its reads and writes."""

from collections.abc import Mapping

from codegen.index.atoms import Var
from codegen.index.index import Index
from codegen.tree.array_axes import bare
from codegen.tree.kernel_values import kind_of, loads
from codegen.tree.memories import Memory
from codegen.tree.statements import Block, For, If, Store
from ir.core.frozen import frozen


@frozen
class Access:
    """An access to memory: its position in the order of the text, and the loops around it with
    their trip counts."""

    position: int
    loops: tuple[tuple[str, int], ...]
    memory: Memory
    index: Index
    width: int


def overwrites(body: Block, old: Mapping[Memory, Memory]) -> bool:
    """True if `body` may read the old value of a cell after it has written the new one.

    `old` names the memories that are written and the aliases through which old values are read. A
    read is safe if every write that may touch its cell comes after it: later in the text, at the
    same index, and in the same iteration, which holds if the loops around both are in the index.
    """
    read: list[Access] = []
    written: list[Access] = []
    _collect(body, (), old, read, written)
    aliases = {alias: memory for memory, alias in old.items()}
    return any(
        aliases[r.memory] is w.memory and not _after(r, w) and not _apart(r, w)
        for r in read
        for w in written
    )


def _after(r: Access, w: Access) -> bool:
    if r.position > w.position or r.width != w.width or bare(r.index) != bare(w.index):
        return False
    return tells_apart(r.index, [loop for loop in r.loops if loop in w.loops])


def _apart(r: Access, w: Access) -> bool:
    if not r.index.is_constant or not w.index.is_constant:
        return False
    a, b = r.index.constant, w.index.constant
    return a + r.width <= b or b + w.width <= a


def tells_apart(index: Index, loops: list[tuple[str, int]]) -> bool:
    """True if the index surely differs between any two iterations of these loops (name, count),
    everything else being equal."""
    counts = dict(loops)
    weights: list[tuple[int, int]] = []
    for atom, k in bare(index).terms:
        if isinstance(atom, Var) and atom.key in counts:
            weights.append((abs(k), counts.pop(atom.key)))
        elif not atom.names.isdisjoint(counts):
            return False
    if counts:
        return False
    reach = 0
    for k, count in sorted(weights):
        if k <= reach:
            return False
        reach += k * (count - 1)
    return True


def _collect(
    body: Block,
    loops: tuple[tuple[str, int], ...],
    old: Mapping[Memory, Memory],
    read: list[Access],
    written: list[Access],
) -> None:
    for s in body.statements:
        match s:
            case For(name, count, inner, _):
                _collect(inner, (*loops, (name, count)), old, read, written)
            case If(_, inner):
                _collect(inner, loops, old, read, written)
            case Store(memory, index, value, _):
                position = len(read) + len(written)
                for load in loads(value):
                    if load.memory in old.values():
                        read.append(Access(position, loops, load.memory, load.index, load.width))
                if memory in old:
                    width = kind_of(value).width
                    position = len(read) + len(written)
                    written.append(Access(position, loops, memory, index, width))

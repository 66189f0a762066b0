"""What private memory that is kept in registers is called."""

# key: w width

from itertools import product
from math import prod

from codegen.tree.emitted_names import numbered
from codegen.tree.statements import Declare, For, Kernel, Memory, statements


def names_in(kernel: Kernel) -> set[str]:
    """Every name in use in a kernel."""
    taken = {m.name for m in (*kernel.reads, *kernel.writes)} | {i.name for i in kernel.ids}
    for s in statements(kernel.body):
        match s:
            case For(name, _, _, _):
                taken.add(name)
            case Declare(memory):
                taken.add(memory.name)
    return taken | {kernel.name}


def register_names(memory: Memory, width: int, taken: set[str]) -> list[str]:
    """acc_0_1 for element [0][1] of memory acc_: dimensions of one element are left out."""
    cells = -(-memory.elements // width)
    if cells == 1:
        return [memory.name]
    dims = [n for n in _cells_shape(memory.shape, width) if n > 1]
    if prod(dims) != cells:
        dims = [cells]
    tails = ["_".join(map(str, at)) for at in product(*map(range, dims))]
    variable = memory.name
    while not taken.isdisjoint(names := [numbered(variable, tail) for tail in tails]):
        variable += "_"
    taken.update(names)
    return names


def _cells_shape(shape: tuple[int, ...], width: int) -> list[int]:
    """The dimensions in units of `width` scalars of the last ones."""
    dims = list(shape)
    for at in reversed(range(len(dims))):
        if width % dims[at] == 0:
            width, dims[at] = width // dims[at], 1
        elif dims[at] % width == 0:
            width, dims[at] = 1, dims[at] // width
        else:
            break
    return dims

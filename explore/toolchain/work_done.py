"""The work that a work-item does by a kernel's code, on average: instructions, those of each unit,
multiply-adds, products of floats and of whole numbers, messages to memory, and the words that
these move."""

from collections import Counter

from explore.toolchain.adreno_code import adreno_code
from explore.toolchain.block_weights import UnknownTurns, blocks, loops, weights
from explore.toolchain.machine_blocks import machine_blocks
from explore.toolchain.read_statistics import Counts, Statistics
from explore.toolchain.sampled_values import Size, items_of
from explore.toolchain.shader_ir import Shader, from_memory, shader

PRODUCTS = ("ffma", "ffmaz", "fmul", "fmulz")  # of floats, before instructions are chosen
# Of whole numbers, and how many an instruction makes. Adreno puts a product of 32 bits together
# from those of 16, of which the lowest counts.
_ADDED = ("iadd", "iadd_sat", "uadd", "uadd_sat")
WHOLE_PRODUCTS = {
    **dict.fromkeys(("imul", "imul24", "umul24", "imul_32x16", "umul_32x16", "umul_low"), 1),
    **dict.fromkeys(("imad", "imad24_ir3"), 1),
    **{f"{sign}dot_2x16_{added}": 2 for sign in ("s", "u") for added in _ADDED},
    **{f"{sign}dot_4x8_{added}": 4 for sign in ("s", "u", "su") for added in _ADDED},
}
MESSAGES = ("@load_global", "@store_global", "@load_shared", "@store_shared")


def work_done(found: Statistics, global_size: Size, size: Size) -> Counts:
    """The work that an item of a launch of these sizes (`size`: of a group) does, by name; empty
    where the turns of a loop are not known."""
    kernel = shader(found.before)
    if kernel is None:
        return ()
    try:
        often = weights(kernel, items_of(global_size, size))
    except UnknownTurns:
        return ()
    machine = machine_blocks(found.before)
    done = _of_blocks(machine, often) if machine else _by_share(kernel, often, found)
    done["products"] = _products(kernel, often)
    done |= _whole_products(kernel, often)
    return tuple(sorted(done.items()))


def _of_blocks(machine: dict[int, Counter[str]], often: dict[int, float]) -> dict[str, float]:
    """The work that an item does, by name: the counts of machine instructions in each block
    (`machine`), times how often an item carries out the block (`often`), both by the block's
    number."""
    done: dict[str, float] = {}
    for number, counts in machine.items():
        for name, n in counts.items():
            done[name] = done.get(name, 0.0) + n * often.get(number, 0.0)
    return done


def _by_share(kernel: Shader, often: dict[int, float], found: Statistics) -> dict[str, float]:
    """The work of an item for compilers that print no blocks of instructions. Its instructions are
    a share of those printed: as large as the share of the kernel's operations that an item carries
    out on average."""
    stand = does = products = messages = 0.0
    for block in blocks(kernel.body):
        n, times = float(block.operations.total()), often.get(block.number, 0.0)
        stand, does = stand + n, does + n * times
        products += block.operations["ffma"] * times
        messages += times * sum(
            n for name, n in block.operations.items() if name.startswith(MESSAGES)
        )
    share = does / stand if stand else 0.0
    return {
        "instructions": share * found.count("instructions"),
        "multiply_adds": products,
        "messages": messages + _private(kernel, often, found, share),
    }


def _private(kernel: Shader, often: dict[int, float], found: Statistics, share: float) -> float:
    """The messages to private memory of an item by code for Adreno: each is sent as often as the
    loop around it turns or, if the code does not have the tree's loops, as often as an instruction
    is carried out on average (`share`)."""
    code = adreno_code(found.before)
    turns = [often.get(number, 0.0) for number in loops(kernel.body)]
    if len(turns) != code.loops:
        return share * len(code.accesses)
    return sum(1.0 if a.loop is None else turns[a.loop] for a in code.accesses)


def _products(kernel: Shader, often: dict[int, float]) -> float:
    """The number of products of floats that a work-item makes on average; `often` tells how often
    it carries out each block."""
    return sum(
        often.get(block.number, 0.0) * sum(block.operations[name] for name in PRODUCTS)
        for block in blocks(kernel.body)
    )


def _whole_products(kernel: Shader, often: dict[int, float]) -> dict[str, float]:
    """The number of products of whole numbers that a work-item makes on average, by the name of
    this count, if its code has any: those of numbers from memory, as others are for addresses."""
    data = from_memory(kernel.made)
    found = [
        (WHOLE_PRODUCTS[m.operation] * m.lanes, often.get(block.number, 0.0))
        for block in blocks(kernel.body)
        for number in block.defines
        if (m := kernel.made[number]).operation in WHOLE_PRODUCTS and number in data
    ]
    return {"whole_products": sum(n * times for n, times in found)} if found else {}

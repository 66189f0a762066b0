"""The work that a work-item does by a kernel's code, on average: instructions, those of each unit,
multiply-adds, messages to memory, and the words that these move."""

from collections import Counter

from explore.toolchain.adreno_code import adreno_code
from explore.toolchain.block_weights import UnknownTurns, blocks, loops, weights
from explore.toolchain.machine_blocks import machine_blocks
from explore.toolchain.read_statistics import Counts, Statistics
from explore.toolchain.sampled_values import Size, items_of
from explore.toolchain.shader_ir import Shader, shader

PRODUCTS = ("ffma", "ffmaz", "fmul", "fmulz")  # of floats, before instructions are chosen
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

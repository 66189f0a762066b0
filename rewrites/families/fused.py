"""The family `fused`: what another kernel would make and store, a work-group makes for its tile.

Parameters: `tx` × `ty` pixels and `lx` × `tr` vectors of `v` rows (channels) that a group makes;
each of its `lx` × `ly` work-items makes `tr` vectors of them, `k` steps of the innermost reduction
unrolled. What the tile needs of the earlier kernel's results, with what lies around it, the group
computes into local memory: that kernel and its array are gone.
"""

# key: e term, s strategy, t operand

from collections.abc import Iterator
from functools import partial
from itertools import product

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program
from ir.core.size import named
from ir.core.type_rules import type_of
from ir.core.types import depth
from rewrites.analysis.compared_numbers import demand_none_compared
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, when
from rewrites.families.registers import Registers
from rewrites.families.registers import kernel as by_registers
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import (
    longest_inside,
    loop_nest,
    on_reduction,
    over,
    split_innermost,
)
from rewrites.kernels.work_group import copied, in_rounds, levels, spread
from rewrites.laws.lower import to_local
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.dimensions import Dims, sided
from rewrites.nest.named_nest import Nest, arranged, standing
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import chunked, rounded
from rewrites.nest.spine import body, inside, nest
from rewrites.storing.made_for_tiles import (
    computed_here,
    copied_tiles,
    in_place,
    joined,
    made_by,
    operands_first,
    reads_made,
)
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.tuning.family import (
    POWERS,
    SMALL,
    Family,
    Form,
    Parameter,
    Sides,
    Trait,
    Tuning,
    Way,
    parameter_names,
)
from rewrites.tuning.stored_forms import Views, chosen, stored_choices

LX, LY, TR, V, TX, TY, K = map(named, ("lx", "ly", "tr", "v", "tx", "ty", "k"))
TILES = ("batch", "row tiles", "tiles down", "tiles across")


@frozen
class Fused:
    """The choices of a form of the family `fused` that are not numbers. `choices`: which views are
    stored, and how constants are laid out. If `joined`, a kernel and one that makes its operands
    become one nest of maps over windows."""

    choices: Choices
    joined: bool = False  # the kernel and one that makes its operands are one nest of windows


def fused(params: frozenset[str], form: Fused) -> Strategy:
    """The strategy that lowers each kernel of a program together with those that make its operands;
    kernels without such operands are lowered by the family `registers`. `params` are the names of
    the program's parameters."""
    lowered = seq(
        one_each(params, normalise),
        in_place,
        prepare(params, form.choices),
        wherever(partial(kernel, form), partial(by_registers, params, Registers(form.choices))),
    )

    def run(e: Expr) -> Rewritten | None:
        demand_none_compared(e, "what is made again for each tile may be rounded otherwise")
        return lowered(e)

    return run


def kernel(form: Fused, e: Expr) -> Rewritten | None:
    """The kernel e lowered together with the kernels that make its operands; Refused if no kernel
    makes one."""
    if not reads_made(e):
        raise Refused(
            "expected a kernel whose operand another one makes, found that no other kernel "
            "makes an operand"
        )
    lower = _joined if form.joined else _apart
    return seq(lower(_arranged(sided(e))), stage("computed where it is read", computed_here))(e)


def _arranged(dims: Dims) -> Nest:
    """The nest of the maps in `dims`, rows in tiles: outermost the batch, then tiles of rows, then
    the dimensions `down` and `across`, along which windows may slide, and the rows of a tile."""
    columns, windows = dims.columns[:-2], dims.columns[-2:]
    return (
        arranged(
            batch=(*dims.batch, *columns), rows=dims.rows, down=windows[:-1], across=windows[-1:]
        )
        .merge("rows")
        .tile("rows", LX * TR * V, "row tiles", "rows")
        .order("batch", "row tiles", "down", "across", "rows")
    )


def _apart(pixels: Nest) -> Strategy:
    """The strategy by which a work-group copies to local memory the part of another kernel's
    results that its tile of `pixels` reads. The windows are then read from the copy."""
    blocks = _in_blocks(_in_tiles(pixels))
    return _over_groups(blocks, copied_tiles(blocks.count(*TILES), _copied_by_group))


def _joined(pixels: Nest) -> Strategy:
    """The strategy that makes one nest over windows of two kernels: the one of `pixels` and the one
    that makes its operand. For each tile the operand is made in local memory.

    If the operand's kernel reads what a third one makes, that is copied to local memory first.
    """
    results = pixels.count("batch", "row tiles", "down", "across")
    one = pixels.then(stage("two kernels as one nest", joined(results)))
    tiles = _in_tiles(one).at("pixels", stage("operands before results", operands_first))
    blocks = _in_blocks(tiles)
    groups = blocks.count(*TILES)
    copies = when(reads_made, copied_tiles(groups, _copied_by_group))
    return _over_groups(blocks, seq(made_by(groups, _made_by_group), attempt(copies)))


def _in_tiles(pixels: Nest) -> Nest:
    """The nest `pixels` with its windows taken in tiles, outermost, and the pixels of a tile as one
    map inside."""
    sides = {"down": chunked(TY), "across": chunked(TX)}
    tiled = patches(pixels, {name: sides[name] for name in sides if pixels.count(name)})
    return tiled.merge("pixels", "across", "down").order(*TILES, "pixels", "rows")


def _in_blocks(tiles: Nest) -> Nest:
    """The nest `tiles` in which each work-item makes a block of results: the loop over the steps of
    the sum is outside, and each step adds to the whole block."""
    return (
        tiles.on("rows", vectorize_map(v=V), "in vectors of v")
        .split("rows", LX, "row block", "row items")
        .split("pixels", LY, "pixel block", "pixel items")
        .order(*TILES, "pixel items", "row items", "pixel block", "row block")
        .inside(
            seq(
                stage("the longest sum innermost", on_reduction(longest_inside)), split_innermost(K)
            )
        )
        .into_sum("pixel block", "row block")
    )


def _over_groups(blocks: Nest, made: Strategy) -> Nest:
    told = stage("what other kernels make, for each tile", made)
    return over(blocks.then(told), Level.GROUP, TILES, spread(levels(2), loop_nest))


def _made_by_group(e: Expr) -> Rewritten | None:
    """The array of sums e made in local memory, in vectors, one by each work-item in a round."""
    inner = len(nest(e)) - 1
    vectors = seq(rounded(V), inside(vectorize_map(v=V)))
    elements = (
        standing(pixels=1, others=inner - 1, channels=1).on("channels", vectors, "in vectors of v")
        if inner
        else standing(pixels=1, others=0, channels=0)
    ).merge("elements", "pixels", "others", "channels")
    sums = body(attempt(on_reduction(loop_nest)))
    return seq(elements, inside(seq(sums, in_rounds((LX, LY), unrolled=False), to_local())))(e)


def _copied_by_group(t: Expr) -> Strategy:
    """The strategy that copies the array t to local memory, an element by each work-item, in
    rounds."""
    return copied((LX, LY), depth(type_of(t)), ahead=False, unrolled=False)


JOINED = Trait("joined", "a kernel and that of its operands are one nest of windows", staged=True)
TUNING = Tuning(
    "fused",
    {
        "lx": Parameter("work-items of a group along channels", POWERS),
        "ly": Parameter("work-items of a group along pixels", POWERS),
        "tr": Parameter("vectors of channels that a work-item makes", (1, 2, 4)),
        "tx": Parameter("pixels of a tile's row", (1, 2, 4, 7, 8, 14, 16, 28, 32)),
        "ty": Parameter("rows of pixels of a tile", SMALL),
        "k": Parameter("steps of the innermost sum in a turn", (*SMALL, 9, 16)),
        "v": Parameter("channels of a vector", (2, 4, 8, 16)),
        "vi": Parameter("channels of a vector where data are transformed", (2, 4, 8, 16)),
        "vo": Parameter("channels of a vector where results are transformed", (2, 4, 8, 16)),
    },
    sides=Sides(pixels=("tx", "ty"), channels=("lx", "tr", "v")),
)
VIEWS: Views = ((Windows.NONE, False),)


def fused_forms(p: Program) -> Iterator[Form]:
    """The forms of the family `fused` for a program: with operands apart or joined, and constants
    as they are or relaid."""
    stored = stored_choices(p, VIEWS, LX * TR * V)
    for (traits, choices), one in product(stored, (False, True)):
        way = Way(fused, parameter_names(p), Fused(choices, one))
        yield Form("fused", (*traits, *chosen({JOINED: one})), way, TUNING)


FAMILY = Family("fused", "a group makes what it needs of earlier kernels' results", fused_forms)

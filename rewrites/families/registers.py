"""The family `registers`: a block of results in registers, in vectors, and no local memory.

Parameters: `tx` and `ty` columns (pixels) and `tr` vectors of `v` rows (output channels) that one
work-item makes, `k` steps of the innermost reduction unrolled. Flipped: `tr` vectors of `v`
columns, `tx` rows, and `ty` lines of columns. With `wide-chunks`: `ts` blocks whose pixels are
converted at once.
"""

# key: e term, s strategy

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program
from ir.core.size import named
from rewrites.analysis.windows import has_windows
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, exhaust, seq, skip
from rewrites.kernels.copy_kernels import panel_by_panel, unfolded
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import (
    in_turns,
    loaded_in_vectors,
    longest_inside,
    longest_outside,
    on_reduction,
    over,
    split_innermost,
    unrolled_spine,
    vectors,
)
from rewrites.kernels.sums_of_dots import chunks_of_fours, chunks_of_pairs
from rewrites.laws.views import flat_zip
from rewrites.nest.dimensions import Dims, sided
from rewrites.nest.named_nest import Nest, in_lines
from rewrites.nest.normal_form import normalise
from rewrites.nest.prepared_sums import unlike_signs
from rewrites.storing.groups_of_rows import groups_as_one, in_groups
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.storing.widened_chunks import widened_in_turns
from rewrites.tuning.bytes_multiplied import has_bytes, has_narrow
from rewrites.tuning.dot_forms import dot_forms
from rewrites.tuning.family import (
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
from rewrites.tuning.stored_forms import (
    ALL_VIEWS,
    FLIPPED,
    ITEMS,
    LAID,
    Views,
    chosen,
    laid_choices,
    stored_choices,
)
from rewrites.tuning.sums_of_programs import kernels_of


@frozen
class Registers:
    """The choices of a form of the family `registers` that are not numbers.

    `choices`: which views are stored, and how constants are laid out. `level`: a block is made by a
    work-group of one work-item, or by a work-item that the term puts in no group. `tall`: a block
    has two dimensions of columns. `taps_inside`: the longest reduction is the outermost loop.
    `swept`: such a group or work-item makes a line of blocks, one after the other. `in_vectors`:
    numbers of several steps are loaded as a vector. `in_pairs`: the products of two steps are added
    before they go into a sum, `in_fours`: those of four steps, one factor of each made unsigned, or
    signed, if the other is not.
    `wide`: the numbers of several blocks of a swept line are converted to wider ones, once, before
    the blocks are made. `laid`: what is laid out in panels is so in every run, and not once.
    `groups`: vectors go over the rows of several groups, each of which has columns of its own, and
    sums are in the program's order.
    """

    choices: Choices
    level: Level = Level.GROUP
    tall: bool = False  # also a block over the second-innermost columns
    taps_inside: bool = False  # the longest reduction is the outermost loop
    swept: bool = False  # a worker makes a line of blocks, one after the other
    in_vectors: bool = False  # numbers of several steps are loaded as a vector
    in_pairs: bool = False  # the products of two steps are added before they go into a sum
    in_fours: bool = False  # those of four steps, of unsigned and signed bytes
    wide: bool = False  # the numbers of several blocks are widened once, before
    laid: bool = False  # panels are laid out in every run
    groups: bool = False  # vectors go over the rows of several groups


CHUNKS = ("column chunks",)  # the map over what is widened at once, if there is one


def registers(params: frozenset[str], form: Registers) -> Strategy:
    """The strategy that lowers every kernel of a program in this form of the family `registers`.
    `params` are the names of the program's parameters."""
    return seq(
        attempt(unlike_signs()) if form.in_fours else skip,
        one_each(params, normalise),
        exhaust(flat_zip()) if form.in_fours else skip,  # sums of weights beside these
        groups_as_one if form.groups else skip,
        prepare(params, form.choices),
        wherever(
            partial(kernel, params, form),
            copied=panel_by_panel(named("v")) if form.laid else unfolded,
        ),
    )


def kernel(params: frozenset[str], form: Registers, e: Expr) -> Rewritten | None:
    """The kernel e lowered in a form of the family `registers`. Which dimensions are its rows and
    columns follows from which operand they reach. `params` are the names of the program's
    parameters."""
    dims = _flipped(e) if form.choices.flipped else sided(e)
    if form.wide and (has_windows(e) or not dims.rows or not dims.columns):
        raise Refused(
            "expected pixels whose numbers several channels of results share, and no windows: with "
            f"`wide-chunks` a pixel is made wider once; found {shown(e)}"
        )
    return in_blocks(params, form, dims)(e)


def in_blocks(params: frozenset[str], form: Registers, dims: Dims) -> Strategy:
    """The strategy that lowers a kernel, with the rows and columns of `dims`, to a block of
    registers for each work-item. `params` are the names of the program's parameters."""
    if not dims.rows and not dims.columns:
        raise Refused(
            "expected an operand that several results share, found each result with "
            "operands of its own"
        )
    return _nest(params, form, dims)


def _flipped(e: Expr) -> Dims:
    """The dimensions of e with rows and columns exchanged. Where windows slide, only the innermost
    of several dimensions of columns becomes rows; the outer ones stay columns."""
    dims = sided(e)
    if not dims.columns:
        raise Refused(
            "expected two dimensions of results, found one: with `flipped`, vectors go over "
            "columns, and there are none"
        )
    apart = len(dims.columns) - 1 if has_windows(e) else 0
    return Dims(dims.batch, dims.columns[apart:], (*dims.columns[:apart], *dims.rows))


def _nest(params: frozenset[str], form: Registers, dims: Dims) -> Strategy:
    """The strategy that makes vectors of rows, and tiles of these, of the innermost columns and, if
    the form is `tall`, of lines of columns; rows and columns are those of `dims`. `params` are the
    names of the program's parameters."""
    tiled = (
        in_lines(dims, form.tall)
        .merge("rows")
        .on("rows", vectors(), "in vectors of v")
        .split("rows", named("tr"), "row tiles", "row block")
    )
    tiled = (
        _in_columns(tiled, form)
        .tile("lines", named("ty"), "line tiles", "line block")
        .then(stage("room for tiles", room(params)) if form.choices.room else skip)
    )
    outside, along = ("batch", "line tiles"), ("column tiles", "row tiles")
    block = ("line block", "column block", "row block")
    sums = (
        tiled.order(*outside, *(CHUNKS if form.wide else ()), *along, *block)
        .then(_longest(form))
        .then(_in_chunks(form))
        .into_sum(*block)
        .inside(_in_vectors if form.in_vectors else skip)
    )
    made = stage("a block in registers", unrolled_spine)
    if not form.swept:
        lowered = over(sums, form.level, (*outside, *along), made)
        return stage("a block of results for each work-item", lowered)
    if not sums.count(*outside):
        raise Refused(
            "expected several lines of results, found one: with `swept`, one work-group would make "
            "all of them"
        )
    turns = in_turns(sums.count(*along), made)
    turns = widened_in_turns(turns) if form.wide else turns
    lowered = over(sums, form.level, outside, stage("block after block", turns))
    return stage("a line of blocks of results for each work-group", lowered)


def _in_chunks(form: Registers) -> Strategy:
    if form.in_fours:
        return on_reduction(chunks_of_fours)
    return on_reduction(chunks_of_pairs) if form.in_pairs else split_innermost(named("k"))


def _in_columns(nest: Nest, form: Registers) -> Nest:
    """The nest with its columns in tiles of tx; in a form `wide`, in chunks of ts such tiles."""
    if not form.wide:
        return nest.tile("columns", named("tx"), "column tiles", "column block")
    chunks = nest.tile("columns", named("ts") * named("tx"), *CHUNKS, "columns")
    return chunks.split("columns", named("tx"), "column tiles", "column block")


def _in_vectors(e: Expr) -> Rewritten | None:
    """The term e with the numbers of several steps of each sum loaded as one vector; Refused if the
    sums are of vectors already."""
    made = stage("steps loaded as vectors", on_reduction(loaded_in_vectors))(e)
    if made is None:
        raise Refused(
            "expected sums of single numbers, so that those of several steps fill a vector; found "
            "sums of vectors"
        )
    return made


def _longest(form: Registers) -> Strategy:
    if form.groups:  # a group's channels, which lie side by side as groups do, stay innermost
        return skip
    if form.taps_inside:
        return stage("the longest sum outermost", on_reduction(longest_outside))
    return stage("the longest sum innermost", on_reduction(longest_inside))


REGISTERS = Trait("registers", "sums of products by blocks in registers")
TALL = Trait("tall", "a block over two dimensions of pixels")
TAPS = Trait("taps", "the longest sum (channels) is the outermost loop, taps inside it")
SWEPT = Trait(
    "swept", "a work-group makes a line of blocks, one after the other", weight=4.0, alone=True
)
VECTOR_LOADS = Trait(
    "vector-loads",
    "numbers of several steps of the sum are loaded and made floats as a vector",
    weight=2.0,
)
PAIRS = Trait(
    "pairs",
    "products of bytes are added in pairs before they go into a sum of ints",
    weight=8.0,
    alone=True,
)
FOURS = Trait(
    "fours",
    "products of an unsigned and a signed byte are added in fours",
    weight=8.0,
    alone=True,
)
WIDE_CHUNKS = Trait(
    "wide-chunks",
    "the pixels of several blocks are made floats or shorts, in local memory, before the blocks",
    weight=8.0,
    alone=True,
)
GROUPS = Trait("groups", "vectors go over the channels of several groups", weight=8.0, alone=True)
ALONE = frozenset({SWEPT, PAIRS, FOURS})  # of work-groups of one work-item
ORDERS = (  # the traits beside views, levels and `tall`
    (),
    (TAPS,),
    (SWEPT,),
    (VECTOR_LOADS,),
    (SWEPT, VECTOR_LOADS),
    (SWEPT, WIDE_CHUNKS),
    (PAIRS,),
    (SWEPT, PAIRS),
    (SWEPT, FOURS),
    (VECTOR_LOADS, PAIRS),
    (SWEPT, VECTOR_LOADS, PAIRS),
    (SWEPT, WIDE_CHUNKS, PAIRS),
    (GROUPS,),
    (SWEPT, GROUPS),
)
TUNING = Tuning(
    "registers",
    {
        "tr": Parameter("vectors of channels that a work-item makes", (1, 2, 3, 4, 6, 8)),
        "tx": Parameter("pixels of a row that it makes", (*SMALL, 10, 12, 14, 16, 20, 24, 28, 32)),
        "ty": Parameter("rows of pixels that it makes", SMALL),
        "k": Parameter("steps of the innermost sum in a turn", (*SMALL, 9, 11, 12, 16)),
        "v": Parameter("channels of a vector", (2, 4, 8, 16)),
        "ts": Parameter("blocks whose pixels are widened at once", (2, 4, 8, 16, 32, 64)),
        "vi": Parameter("channels of a vector where data are transformed", (2, 4, 8, 16)),
        "vo": Parameter("channels of a vector where results are transformed", (2, 4, 8, 16)),
    },
    kept=("tr", "tx", "ty", "v"),
    sides=Sides(pixels=("tx", "ty"), channels=("tr", "v")),
)
IN_16 = Parameter("channels of a vector", (16,))  # for which alone there is the instruction
FOURS_TUNING = replace(TUNING, parameters={**TUNING.parameters, "v": IN_16})
OVER_PIXELS = replace(TUNING, sides=Sides(pixels=("tr", "v", "ty"), channels=("tx",)))


def registers_forms(p: Program, views: Views = ALL_VIEWS) -> Iterator[Form]:
    """The forms of the family `registers` for a program, those that store one of `views`."""
    panel = named("tr") * named("v")
    stored = (*stored_choices(p, views, panel, named("tx")), *laid_choices(p, views, panel))
    possible = {PAIRS: has_bytes(p), FOURS: has_bytes(p), WIDE_CHUNKS: has_narrow(p)}
    possible |= {GROUPS: any(map(in_groups, kernels_of(p)))}
    orders = [order for order in ORDERS if all(possible.get(trait, True) for trait in order)]
    for (traits, choices), level, tall, order in product(
        stored, (Level.GROUP, Level.GLOBAL), (False, True), orders
    ):
        flipped, items = choices.flipped, level is Level.GLOBAL
        plain = choices.windows is Windows.NONE and not flipped
        in_order = choices.windows in (Windows.NONE, Windows.PADDED) and not flipped
        if ALONE & {*order} and (items or not plain):
            continue
        if GROUPS in order and not plain:
            continue
        if VECTOR_LOADS in order and not in_order:  # vectors go over neighbours in memory
            continue
        more = {ITEMS: items, SWEPT: SWEPT in order, TALL: tall, TAPS: TAPS in order}
        more |= {
            trait: trait in order for trait in (VECTOR_LOADS, PAIRS, FOURS, WIDE_CHUNKS, GROUPS)
        }
        more |= {FLIPPED: flipped}
        choice = Registers(
            choices,
            level,
            tall,
            taps_inside=TAPS in order,
            swept=SWEPT in order,
            in_vectors=VECTOR_LOADS in order,
            in_pairs=PAIRS in order,
            in_fours=FOURS in order,
            wide=WIDE_CHUNKS in order,
            laid=LAID in traits,
            groups=GROUPS in order,
        )
        way = Way(registers, parameter_names(p), choice)
        tuning = OVER_PIXELS if flipped else FOURS_TUNING if FOURS in order else TUNING
        yield Form("registers", (*traits, *chosen(more)), way, tuning)
    yield from dot_forms(p, views, TALL, TUNING)


FAMILY = Family("registers", "a block of results in registers, in vectors", registers_forms)

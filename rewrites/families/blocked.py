"""The family `blocked`: a work-group makes a tile of rows × columns of results from chunks staged
in local memory.

Parameters: `lx` × `ly` work-items a group, each with `tr` vectors of `v` rows times `tc` columns in
registers, chunks of `k` steps of the longest reduction, and `s` steps a part where it is split;
`p` slices of work-items, each for a part of the reduction of its own.
"""

# key: e term, s strategy

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product, zip_longest
from math import prod

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program
from ir.core.size import Size, named
from ir.core.terms import size_names
from ir.core.type_rules import size_of, type_of
from ir.core.types import FLOAT, leaves
from ir.instructions.entries.copies import COPIES
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import longest_inside, on_reduction, over, split_innermost
from rewrites.kernels.split_reduction import in_parts, made_apart
from rewrites.kernels.work_group import Items, has_vectors, side_by_side, staging, work_group
from rewrites.kernels.work_group_slices import COUNTS, in_slices, slices
from rewrites.laws.reductions import partial_reduce
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.dimensions import Dims, shared_by_groups, sided
from rewrites.nest.named_nest import Nest, arranged
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import beside_one, rounded
from rewrites.nest.spine import inside, nest
from rewrites.storing.constant_panels import shape
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
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
from rewrites.tuning.lowering import Lowering, Requirement
from rewrites.tuning.rounding import FEW, WORK_ITEMS, rounded_dimensions
from rewrites.tuning.stored_forms import AHEAD, ALL_VIEWS, FLIPPED, Views, chosen, stored_choices

LX, LY, TR, TC, V, K, S, P = map(named, ("lx", "ly", "tr", "tc", "v", "k", "s", "p"))


@frozen
class Blocked:
    """The choices of a form of the family `blocked` that are not numbers.

    `choices`: which views are stored, and how constants are laid out. `split`: parts of the
    reduction are stored, and summed by a second kernel. `ahead`: the next chunk is loaded while
    this one is used. `sliced`: each slice of a work-group makes a part of the reduction. `along`:
    columns are loaded along the reduction, in vectors. `own`: the number of outer dimensions of
    columns (-1: all but the last), such as images, whose elements have matrix products of their
    own. `in_flight`: copies to local memory are begun, and awaited together.
    """

    choices: Choices
    split: bool = False  # the reduction in parts, summed by a second kernel
    ahead: bool = False  # the next chunk is loaded while this one is used
    sliced: bool = False  # the reduction in parts, one for each slice of a work-group
    along: bool = False  # columns are loaded along the reduction, in vectors
    own: int = 0  # so many outer columns (-1: all but the last) have products of their own
    in_flight: bool = False  # copies to local memory are begun, and awaited together


def blocked(params: frozenset[str], form: Blocked) -> Strategy:
    """The strategy that lowers every kernel of a program in this form of the family `blocked`.
    `params` are the names of the program's parameters."""
    return seq(
        one_each(params, normalise),
        prepare(params, form.choices),
        in_parts(partial_reduce(k=S)) if form.split else skip,
        wherever(partial(kernel, params, form)),
        shared_by_groups,
    )


def kernel(params: frozenset[str], form: Blocked, e: Expr) -> Rewritten | None:
    """The kernel e lowered in a form of the family `blocked`. Which dimensions are its rows and
    columns follows from which operand they reach. `params` are the names of the program's
    parameters."""
    dims = sided(e)
    if form.own and len(dims.columns) < 2:
        raise Refused(
            f"expected several dimensions of columns, found {len(dims.columns)}: with `each`, the "
            "outer ones have products of their own; see the forms without it"
        )
    outer, columns = dims.columns[: form.own], dims.columns[form.own :]
    dims = Dims((*dims.batch, *outer), dims.rows, columns)
    if form.choices.flipped:
        dims = Dims(dims.batch, dims.columns, dims.rows)
    return in_tiles(params, form, dims)(e)


def in_tiles(params: frozenset[str], form: Blocked, dims: Dims) -> Strategy:
    """The strategy that lowers a kernel with the rows and columns of `dims`; where either are
    missing, a side of one element is added. `params` are the names of the program's parameters."""
    if not dims.rows and not dims.columns:
        raise Refused(
            "expected an operand that several results share, found each result with "
            "operands of its own"
        )
    if dims.rows and dims.columns:
        return partial(_in_tiles, params, form, dims)
    return seq(beside_one, partial(_in_tiles, params, form, dims.beside_one()))


@frozen
class Side:
    """One side of a work-group's tile: its work-items, the vectors or results of each, and the
    lanes of a vector."""

    items: Size
    each: Size
    lanes: Size = 1

    @property
    def all(self) -> Size:
        """The number of results along this side of a tile."""
        return self.items * self.each * self.lanes


ROWS, COLUMNS, ONE = Side(LX, TR, V), Side(LY, TC), Side(1, 1)


def _in_tiles(params: frozenset[str], form: Blocked, dims: Dims, e: Expr) -> Rewritten | None:
    lengths = [size_of(m.xs) for m in nest(e)]
    rows = ROWS if any(lengths[d] != 1 for d in dims.rows) else ONE
    columns = COLUMNS if any(lengths[d] != 1 for d in dims.columns) else ONE
    if form.along and columns is ONE:
        raise Refused(
            "expected several columns for a form with `along`, found one column: forms without "
            "`along` load its operand along the sum"
        )
    return _nest(params, form, dims, rows, columns)(e)


GROUPS = ("batch", "column tiles", "row tiles")


def _nest(params: frozenset[str], form: Blocked, dims: Dims, rows: Side, columns: Side) -> Strategy:
    """The strategy that puts the maps of `dims` over vectors of rows, over tiles with the sides
    `rows` and `columns` for work-groups, and over blocks of a tile for work-items. `params` are the
    names of the program's parameters."""
    tiled = (
        arranged(batch=dims.batch, columns=dims.columns, rows=dims.rows)
        .merge("columns")
        .merge("rows")
        .on("rows", _vectors(rows), "in vectors of v")
        .split("rows", rows.items * rows.each, "row tiles", "rows")
        .split("rows", rows.items, "row block", "row items")
        .tile("columns", columns.all, "column tiles", "columns")
        .split("columns", columns.each, "column items", "column block")
        .then(stage("room for tiles", room(params)) if form.choices.room else skip)
    )
    lower = _sliced if form.sliced else _whole
    return stage("a tile of results for each work-group", lower(form, tiled, rows, columns))


def _whole(form: Blocked, tiled: Nest, rows: Side, columns: Side) -> Nest:
    """The nest `tiled`, over a group's tiles with the sides `rows` and `columns`, lowered as `form`
    says: each work-item makes its block of sums, chunk by chunk, and the work-items of a group
    share each chunk."""
    blocks = (
        tiled.order(*GROUPS, "column items", "row items", "column block", "row block")
        .then(stage("the longest sum innermost", on_reduction(longest_inside)), split_innermost(K))
        .into_sum("column block", "row block")
        .around_chunks("column items", "row items")
    )
    staged = partial(_stage, form, (rows.items, columns.items))
    return over(blocks, Level.GROUP, GROUPS, work_group(2, staged))


def _sliced(form: Blocked, tiled: Nest, rows: Side, columns: Side) -> Nest:
    """The nest `tiled`, over a group's tiles with the sides `rows` and `columns`, lowered as `form`
    says: each slice of a group makes a part of every sum, and then the parts are added, column by
    column."""
    parts = tiled.order(*GROUPS, "column block", "column items", "row items", "row block")
    staged = partial(_stage, form, (rows.items, columns.items, P))
    apart = made_apart(parts, GROUPS, in_slices(P))
    return over(apart, Level.GROUP, GROUPS, slices(staged, K))


def _vectors(rows: Side) -> Strategy:
    """The strategy that puts a map over rows in vectors, after rounding it up to a multiple of a
    group's rows."""
    return seq(rounded(rows.all), skip if rows is ONE else inside(vectorize_map(v=rows.lanes)))


def _stage(form: Blocked, items: Items, t: Expr) -> Strategy:
    if has_vectors(t):
        return staging(items, form.ahead, form.in_flight)
    several_lines = any(n != 1 for n in shape(type_of(t))[:-1])
    vector = V if form.along and several_lines else None
    return side_by_side(items, form.ahead, vector, form.in_flight)


BLOCKED = Trait("blocked", "sums of products by tiles in local memory", staged=True)
EACH = Trait("each", "outermost columns (images) have products of their own")
STORED_PARTS = Trait("split", "partial sums are stored, a second kernel adds them", stores=True)
SLICES = Trait("sliced", "slices of a work-group make partial sums, which meet in local memory")
IN_FLIGHT = Trait(
    "in-flight",
    "copies to local memory are begun, and awaited together before they are used",
    weight=0.25,
    instruction=COPIES.name,
)
ALONG = Trait("along", "pixels are loaded along the sum, in vectors")
PARTS: tuple[tuple[Trait, ...], ...] = ((), (STORED_PARTS,), (SLICES,))

# Which outer columns have products of their own: of MEC all but the last, so that each row of
# results does; of im2col the outermost may, images for example.
OWN: dict[Windows, tuple[tuple[tuple[Trait, ...], int], ...]] = {
    Windows.MEC: (((), -1),),
    Windows.IM2COL: (((), 0), ((EACH,), 1)),
}


def blocked_forms(p: Program, views: Views = ALL_VIEWS) -> Iterator[Form]:
    """The forms of the family `blocked` for a program, those that store one of `views`."""
    panel, block = named("lx") * named("tr") * named("v"), named("ly") * named("tc")
    floats = FLOAT in {t for param in p.params for t in leaves(param.var.type)}
    ways = [(False, False), (True, False), (False, True)]  # along, in flight
    for (traits, choices), parts, ahead, (along, in_flight) in product(
        stored_choices(p, views, panel, block), PARTS, (False, True), ways if floats else ways[:2]
    ):
        flipped = choices.flipped
        kept = {AHEAD: ahead, FLIPPED: flipped, ALONG: along, IN_FLIGHT: in_flight}
        more = (*parts, *chosen(kept))
        tuning = OVER_PIXELS if flipped else TUNING
        for each, own in OWN.get(choices.windows, (((), 0),)):
            split, sliced = STORED_PARTS in parts, SLICES in parts
            form = Blocked(choices, split, ahead, sliced, along, own, in_flight)
            way = Way(blocked, parameter_names(p), form)
            yield Form("blocked", (*traits, *each, *more), way, tuning)


def enough_items(_: Program, lowering: Lowering) -> Lowering:
    """The lowering with one requirement more: its work-groups have at least `FEW` work-items, to
    keep a device busy, or, if that is less, an eighth as many as its smallest kernel has
    results."""
    free, steps = size_names(lowering.program.body), lowering.derivation.steps
    rows, columns = (list(rounded_dimensions(steps, name)) for name in ("lx", "ly"))
    tiles = [n * m for n, m in zip_longest(rows, columns, fillvalue=1)]
    if not tiles:
        return lowering
    few = min(FEW, max(1, min(tiles) // 8))
    items = prod(map(named, sorted(WORK_ITEMS & free)), start=1)
    busy = Requirement(few, items, f"a group of at least {few} work-items")
    return replace(lowering, requirements=(*lowering.requirements, busy))


TUNING = Tuning(
    "blocked",
    {
        "lx": Parameter("work-items of a group along channels", POWERS),
        "ly": Parameter("work-items of a group along pixels", POWERS),
        "tr": Parameter("vectors of channels that a work-item makes", (1, 2, 4)),
        "tc": Parameter("pixels that it makes", (1, 2, 4, 7, 8, 14, 16)),
        "k": Parameter("steps of the longest sum staged at once", (*SMALL, 9, 11, 12, 16, 32)),
        "p": Parameter("slices of a group, each with a part of every sum", COUNTS),
        "v": Parameter("channels of a vector", (2, 4, 8)),
        "vi": Parameter("channels of a vector where data are transformed", (2, 4, 8, 16)),
        "vo": Parameter("channels of a vector where results are transformed", (2, 4, 8, 16)),
        "s": Parameter("steps of a part, where sums are split"),
    },
    sides=Sides(pixels=("ly", "tc"), channels=("lx", "tr", "v")),
    refine=enough_items,
)
OVER_PIXELS = replace(TUNING, sides=Sides(pixels=("lx", "tr", "v"), channels=("ly", "tc")))
FAMILY = Family("blocked", "tiles of a work-group, staged in local memory", blocked_forms)

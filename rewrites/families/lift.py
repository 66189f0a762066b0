"""The family `lift`: direct convolution as in LIFT's paper for mobile GPUs, Listing 4.

A work-group makes a tile of windows for `kappa` kernels. A work-item sums a chunk of `omega`
products for `sigma` windows × `kappa` kernels, `v` products at a time; the partial sums are
completed in local memory, or by a second kernel. `theta` is the tile's side (elements of input,
where windows slide), `rho` the padding added so that tiles fit.
"""

# key: e term, s strategy, d dimension

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Map, Program, Reduce, Slide, Split
from ir.core.size import Size, bind, exact, named, names
from ir.core.terms import size_names, subterms
from ir.core.type_rules import size_of
from rewrites.analysis.compared_numbers import demand_none_compared
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import loop_nest, over
from rewrites.kernels.split_reduction import in_parts, made_apart, on_parts
from rewrites.kernels.vector_width import common, rounded
from rewrites.kernels.work_group import spread
from rewrites.laws.lower import to_local, to_parallel, to_seq
from rewrites.laws.maps import extend_map, split_map
from rewrites.laws.reductions import partial_reduce, stride_parts
from rewrites.laws.vectors import partial_reduce_vector
from rewrites.nest.dimensions import Dims, classify, parts_of, shared_by_groups, sided
from rewrites.nest.named_nest import Nest, arranged, standing
from rewrites.nest.normal_form import flat, perfect, simplify
from rewrites.nest.reshape import beside_one, several
from rewrites.nest.spine import inside, nest
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room, sunk
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.tuning.family import Family, Form, Parameter, Trait, Tuning, Way, parameter_names
from rewrites.tuning.lowering import Choice, Lowering
from rewrites.tuning.stored_forms import ALL_VIEWS, chosen, stored_choices

KAPPA, SIGMA, OMEGA, V = map(named, ("kappa", "sigma", "omega", "v"))


@frozen
class Lift:
    """The choices of a form of the family `lift` that are not numbers.

    `choices`: which views are stored, and how constants are laid out. `stored_sums`: partial sums
    are completed by a second kernel. `vectors`: `v` products are made at a time. `unrolled`: loops
    over products are spelled out. `coalesced`: neighbouring work-items read neighbouring elements.
    """

    choices: Choices
    stored_sums: bool = False  # partial sums are completed by a second kernel
    vectors: bool = True
    unrolled: bool = True
    coalesced: bool = False  # neighbouring work-items read neighbouring elements


def lift(params: frozenset[str], form: Lift) -> Strategy:
    """The strategy that lowers every kernel of a program in this form of the family `lift`.
    `params` are the names of the program's parameters."""
    lowered = seq(
        one_each(params, flat), prepare(params, form.choices), partial(_lower, params, form)
    )

    def run(e: Expr) -> Rewritten | None:
        demand_none_compared(e, "a sum that two kernels make may be rounded otherwise in each")
        return lowered(e)

    return run


def _lower(params: frozenset[str], form: Lift, e: Expr) -> Rewritten | None:
    vectors = seq(rounded(common(e)), partial_reduce_vector(k=OMEGA, v=V))
    sums = vectors if form.vectors else partial_reduce(k=OMEGA)
    if form.coalesced:
        sums = seq(sums, stride_parts())
    return seq(
        in_parts(sums) if form.stored_sums else skip,
        wherever(partial(_kernel, params, form, sums)),
        shared_by_groups,
    )(e)


def _kernel(params: frozenset[str], form: Lift, sums: Strategy, e: Expr) -> Rewritten | None:
    dims, parts = _sides(e), parts_of(nest(e))
    if form.stored_sums and not parts & set(dims.batch):
        # only the last reduction is taken in parts; where these are all, each is an item's
        form, sums = replace(form, stored_sums=False), whole if parts else sums
    if dims.rows and dims.columns:
        return _tiled(params, form, sums, dims, e)
    return seq(beside_one, partial(_tiled, params, form, sums, dims.beside_one()))(e)


def whole(e: Expr) -> Rewritten | None:
    """The sum e as a sum of one part, a sum over all elements of e; None if e is no sum."""
    return partial_reduce(k=size_of(e.xs))(e) if isinstance(e, Reduce) else None


def _sides(e: Expr) -> Dims:
    """The dimensions of the nest e as batch, rows and columns: those of `sided`, with one
    exception. If no operand tells rows from columns, and the rows would be a map along which
    windows slide, or one over parts of sums, then another map is the rows: the innermost, or none
    if there is no other."""
    dims, maps = sided(e), nest(e)
    tiled = _slid(maps) | parts_of(maps)
    if classify(e).rows or not tiled & set(dims.rows):
        return dims
    both = sorted((*dims.columns, *dims.rows))
    rows = [d for d in both if d not in tiled][-1:]
    return Dims(dims.batch, tuple(rows), tuple(d for d in both if d not in rows))


def _slid(maps: Sequence[Map]) -> set[int]:
    """The positions of the maps along which windows slide, among the maps of a nest."""
    counts = enumerate(sum(isinstance(s, Slide) for s in subterms(m.xs)) for m in maps)
    return {d for first, n in counts for d in range(first, first + n)}


def _tiled(
    params: frozenset[str], form: Lift, sums: Strategy, dims: Dims, e: Expr
) -> Rewritten | None:
    """The nest e, whose dimensions are `dims`, lowered to tiles of windows: each work-group makes
    one tile for a few kernels. The strategy `sums` makes sums of parts.

    Tiles × kernels go over groups, chunks of sums × windows over items, sigma × kappa inside.
    `params` are the names of the program's parameters.
    """
    lengths = [size_of(m.xs) for m in nest(e)]
    parts = (len(lengths) - 1,) if form.stored_sums else ()
    batch = (*(d for d in dims.batch if d not in parts), *dims.columns[:-2])
    windows = dims.columns[-2:]
    kernels = (
        arranged(
            batch=batch, down=windows[:-1], across=windows[-1:], kernels=dims.rows, parts=parts
        )
        .merge("kernels")
        .tile("kernels", several(KAPPA, [lengths[d] for d in dims.rows]), "kernel tiles", "kernels")
    )
    chunks = _chunks([lengths[d] for d in windows], _slides(e, windows))
    tiled = (
        patches(kernels, dict(zip(("down", "across")[-len(windows) :], chunks, strict=True)))
        .then(_room(params, form.choices))
        .order(*GROUPS, "down", "across", "kernels", "parts")
        .merge("windows", "down", "across")
        .split("windows", several(SIGMA, [lengths[d] for d in windows]), "window chunks", "windows")
    )
    lowered = _stored_sums(form, tiled) if parts else _local_sums(form, sums, tiled)
    return stage("a tile of windows for each work-group", lowered)(e)


GROUPS = ("batch", "tiles down", "tiles across", "kernel tiles")


def _room(params: frozenset[str], choices: Choices) -> Strategy:
    """The strategy that adds the elements which tiles need beyond an array's end: to the stored
    copy of the array if the form has `room`, or as a padding inside the windows where no view is
    stored. `params` are the names of the program's parameters."""
    if choices.room:
        return stage("room for tiles", room(params))
    return stage("padding of windows", sunk) if choices.windows is Windows.NONE else skip


def _slides(e: Expr, windows: Sequence[int]) -> list[Slide | None]:
    """The slides that made the windows of these nested dimensions, outermost first; None in place
    of each if there are not as many slides as dimensions."""
    found = [s for s in subterms(nest(e)[windows[0]].xs) if isinstance(s, Slide)]
    return [*found] if len(found) == len(windows) else [None] * len(windows)


def _chunks(lengths: Sequence[Size], slides: Sequence[Slide | None]) -> list[Strategy]:
    """The strategies that cut the maps over windows, one for each dimension, into tiles; tiles have
    the same side in dimensions of equal lengths and slides."""
    shapes = [(n, s and (s.size, s.step)) for n, s in zip(lengths, slides, strict=True)]
    suffixes = ["" if shape == shapes[-1] else "_y" for shape in shapes]
    return [_chunk(*of) for of in zip(lengths, slides, suffixes, strict=True)]


def _chunk(n: Size, slide: Slide | None, suffix: str) -> Strategy:
    """The strategy that cuts a map over n windows into chunks: those of the windows in a tile of
    `theta` elements, or chunks of `theta` results where nothing slides. `suffix` ends the names of
    this dimension's parameters."""
    if n == 1:
        return split_map(k=1)
    theta, rho = named("theta" + suffix), named("rho" + suffix)
    count = exact(theta - slide.size, slide.step) + 1 if slide else theta
    return seq(extend_map(r=rho), inside(split_map(k=count)))


def _local_sums(form: Lift, sums: Strategy, tiled: Nest) -> Nest:
    """The nest `tiled` with partial sums, which the strategy `sums` makes, in local memory, where
    each work-item completes its results."""
    return over(made_apart(tiled, GROUPS, sums), Level.GROUP, GROUPS, partial(_group, form))


def _group(form: Lift, e: Expr) -> Rewritten | None:
    parts = _blocks(standing("window chunks", "windows", "kernels", "parts"))
    made = on_parts(seq(perfect, simplify, parts, _items(form), to_local()))
    results = spread((LOCAL[1], LOCAL[0], to_seq(unrolled=True)), loop_nest)
    told = stage("parts of sums in local memory", made), stage("sums completed", results)
    return seq(*told)(e)


def _stored_sums(form: Lift, tiled: Nest) -> Nest:
    """The nest `tiled` whose partial sums are made by a kernel of their own, and stored, for a
    second one to add up."""
    return over(_blocks(tiled, *GROUPS), Level.GROUP, GROUPS, _items(form))


def _blocks(nest: Nest, *groups: str) -> Nest:
    """The nest with its maps over `groups` outermost, and a work-item for each chunk of windows and
    part of their sums, which makes a block of results."""
    in_order = nest.order(*groups, "window chunks", "parts", "windows", "kernels")
    return in_order.into_sum("windows", "kernels")


LOCAL = (to_parallel(level=Level.LOCAL, dim=0), to_parallel(level=Level.LOCAL, dim=1))


def _items(form: Lift) -> Strategy:
    """The strategy that spreads the nest of partial sums over work-items, by chunks of windows and
    parts."""
    levels = (LOCAL[1], LOCAL[0], to_seq(unrolled=True), to_seq(unrolled=True))
    return stage("a block in registers", spread(levels, partial(loop_nest, unrolled=form.unrolled)))


STORED_SUMS = Trait("stored-sums", "partial sums are stored, a second kernel adds them")
VECTORS = Trait("vectors", "products are made several at a time")
UNROLLED = Trait("unrolled", "loops are spelled out")
COALESCED = Trait(
    "coalesced", "neighbouring work-items read neighbouring elements", neighbours=True
)
TILES = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 24, 27, 28, 32})  # windows a side
MOST_SIDE = 256


def _forms(p: Program) -> Iterator[Form]:
    flags = ((False, True), (True, False), (True, False), (False, True))
    for (traits, choices), stored, vectors, unrolled, coalesced in product(
        stored_choices(p, ALL_VIEWS, named("kappa")), *flags
    ):
        more = {STORED_SUMS: stored, VECTORS: vectors, UNROLLED: unrolled, COALESCED: coalesced}
        lanes = named("v") if vectors else 1
        form = Lift(replace(choices, lanes=lanes), stored, vectors, unrolled, coalesced)
        way = Way(lift, parameter_names(p), form)
        yield Form("lift", (*traits, *chosen(more)), way, TUNING)


def _in_tiles(_: Program, lowering: Lowering) -> Lowering:
    """The lowering with its block of results: the windows that a tile holds, times `kappa` kernels
    if there are several."""
    e = lowering.program.body
    theta = {name for name in size_names(e) if name.startswith("theta")}
    counts = [s.size for s in subterms(e) if isinstance(s, Split) and names(s.size) & theta]
    kernels = named("kappa") if "kappa" in size_names(e) else 1
    block = (prod(counts[:2], start=1), kernels) if counts else None
    return replace(lowering, block=block, choices=(*lowering.choices, *_tile_sides(e)))


def _tile_sides(e: Expr) -> Iterator[Choice]:
    """The values worth trying for the sides of tiles, which depend on the windows' size and
    step."""
    tiles = {sub.size for sub in subterms(e) if isinstance(sub, Split)}
    for name in sorted(name for name in size_names(e) if name.startswith("theta")):
        counts = [n for n in tiles if names(n) == {name} and n != named(name)]
        if len(counts) == 1:
            sides = (side for side in range(1, MOST_SIDE) if bind(counts[0], {name: side}) in TILES)
            yield Choice(name, tuple(sides), "tiles of a few windows")


TUNING = Tuning(
    "lift",
    {
        "kappa": Parameter("kernels for which a work-item sums"),
        "sigma": Parameter("windows for which a work-item sums"),
        "omega": Parameter("products in a work-item's chunk of a sum"),
        "v": Parameter("products that are made at a time"),
        "theta": Parameter("side of a tile, in elements of the input"),
        "rho": Parameter("padding added so that tiles fit"),
    },
    kept=("kappa", "sigma", "v"),
    refine=_in_tiles,
)
FAMILY = Family("lift", "tiles and chunks as in LIFT's paper, Listing 4", _forms)

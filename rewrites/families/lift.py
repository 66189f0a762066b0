"""The family `lift`: direct convolution as in LIFT's paper for mobile GPUs, Listing 4.

A work-group makes a tile of windows for `kappa` kernels. A work-item sums a chunk of `omega`
products for `sigma` windows × `kappa` kernels, `v` products at a time; the partial sums are
completed in local memory, or by a second kernel. `theta` is the tile's side (elements of input,
where windows slide), `rho` the padding added so that tiles fit.
"""

# key: e term, s strategy, n position in the nest, d dimension

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ir.core.nodes import Expr, Level, Map, Reduce, Slide
from ir.core.size import Size, exact, named
from ir.core.terms import subterms
from ir.core.type_rules import size_of
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.input_patches import patches
from rewrites.kernels.over_work_items import spread
from rewrites.kernels.register_block import loop_nest, parallel
from rewrites.kernels.split_reduction import in_parts, made_apart, on_parts
from rewrites.kernels.vector_width import common, rounded
from rewrites.laws.lower import to_local, to_parallel, to_seq
from rewrites.laws.maps import extend_map, split_map
from rewrites.laws.reductions import partial_reduce, stride_parts
from rewrites.laws.vectors import partial_reduce_vector
from rewrites.nest.blocks_of_results import block
from rewrites.nest.dimensions import Dims, classify, parts_of, shared_by_groups, sided
from rewrites.nest.normal_form import flat, perfect, simplify
from rewrites.nest.reshape import beside_one, merge, on_map, several, sort, tile
from rewrites.nest.spine import inside, nest
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room, sunk
from rewrites.storing.stored_views import Choices, Windows, prepare

KAPPA, SIGMA, OMEGA, V = map(named, ("kappa", "sigma", "omega", "v"))


@dataclass(frozen=True, slots=True)
class Lift:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    choices: Choices
    stored_sums: bool = False  # partial sums are completed by a second kernel
    vectors: bool = True
    unrolled: bool = True
    coalesced: bool = False  # neighbouring work-items read neighbouring elements


def lift(params: frozenset[str], form: Lift) -> Strategy:
    """Lower every kernel of a program this way."""
    return seq(one_each(params, flat), prepare(params, form.choices), partial(_lower, params, form))


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
    """A sum as one part."""
    return partial_reduce(k=size_of(e.xs))(e) if isinstance(e, Reduce) else None


def _sides(e: Expr) -> Dims:
    """Rows and columns; where nothing is the same for all columns, these are what windows slide
    along, or parts of a sum."""
    dims, maps = sided(e), nest(e)
    tiled = _slid(maps) | parts_of(maps)
    if classify(e).rows or not tiled & set(dims.rows):
        return dims
    both = sorted((*dims.columns, *dims.rows))
    rows = [d for d in both if d not in tiled][-1:]
    return Dims(dims.batch, tuple(rows), tuple(d for d in both if d not in rows))


def _slid(maps: Sequence[Map]) -> set[int]:
    """The dimensions along which windows slide: as many from a map on as its array has slides."""
    counts = enumerate(sum(isinstance(s, Slide) for s in subterms(m.xs)) for m in maps)
    return {d for first, n in counts for d in range(first, first + n)}


def _tiled(
    params: frozenset[str], form: Lift, sums: Strategy, dims: Dims, e: Expr
) -> Rewritten | None:
    """Group: tiles × kernels; item: a chunk of the reduction × windows; inside: sigma × kappa."""
    lengths = [size_of(m.xs) for m in nest(e)]
    parts = (len(lengths) - 1,) if form.stored_sums else ()
    batch = [d for d in dims.batch if d not in parts] + list(dims.columns[:-2])
    windows = dims.columns[-2:]
    first = len(batch)  # position of the first dimension of windows
    n = len(windows)
    groups = first + n + 1  # batch…, tiles…, kernels
    steps: list[Strategy] = [sort([*batch, *windows, *dims.rows, *parts])]
    steps += [merge(first + n) for _ in dims.rows[1:]]
    steps.append(tile(first + n, several(KAPPA, [lengths[d] for d in dims.rows])))
    steps += patches(first, _chunks([lengths[d] for d in windows], _slides(e, windows)))
    if form.choices.room:
        steps.append(room(params))
    elif form.choices.windows is Windows.NONE:
        steps.append(sunk)  # padding that is a view may go on for ever
    steps.append(sort(_order(first, n, len(parts))))
    steps += [merge(groups) for _ in windows[1:]]
    steps.append(on_map(groups, split_map(k=several(SIGMA, [lengths[d] for d in windows]))))
    # groups…, windows' chunk, window, kernel (, part)
    inner = _stored_sums(form, groups) if parts else _local_sums(form, sums, groups)
    return seq(*steps, *inner)(e)


def _slides(e: Expr, windows: Sequence[int]) -> list[Slide | None]:
    """The slides that made the windows of nested dimensions, outermost first."""
    found = [s for s in subterms(nest(e)[windows[0]].xs) if isinstance(s, Slide)]
    return [*found] if len(found) == len(windows) else [None] * len(windows)


def _chunks(lengths: Sequence[Size], slides: Sequence[Slide | None]) -> list[Strategy]:
    """Tiles of windows; dimensions of one length and one slide have tiles of one side."""
    shapes = [(n, s and (s.size, s.step)) for n, s in zip(lengths, slides, strict=True)]
    suffixes = ["" if shape == shapes[-1] else "_y" for shape in shapes]
    return [_chunk(*of) for of in zip(lengths, slides, suffixes, strict=True)]


def _chunk(n: Size, slide: Slide | None, suffix: str) -> Strategy:
    """Chunks of as many windows as fit into a tile of theta elements of input."""
    if n == 1:
        return split_map(k=1)
    theta, rho = named("theta" + suffix), named("rho" + suffix)
    count = exact(theta - slide.size, slide.step) + 1 if slide else theta
    return seq(extend_map(r=rho), inside(split_map(k=count)))


def _order(first: int, n: int, parts: int) -> list[int]:
    """From (batch, tile …, window … inside out, kernels, kernel, part) to
    (batch, tile …, kernels, window …, kernel, part)."""
    tiles = range(first, first + n)
    windows = reversed(range(first + n, first + 2 * n))
    kernels = first + 2 * n
    return [*range(first), *tiles, kernels, *windows, *(kernels + 1 + i for i in range(1 + parts))]


def _local_sums(form: Lift, sums: Strategy, groups: int) -> list[Strategy]:
    made = seq(
        made_apart(groups + 3, groups, sums),
        *(merge(0) for _ in range(groups - 3)),
    )
    return [made, parallel(min(3, groups), Level.GROUP, partial(_group, form))]


def _group(form: Lift, e: Expr) -> Rewritten | None:
    """Partial sums into local memory, then each work-item completes its results."""
    parts = seq(perfect, simplify, sort((0, 3, 1, 2)), block(2, 3), _items(form), to_local())
    results = spread((LOCAL[1], LOCAL[0], to_seq(unrolled=True)), loop_nest)
    return seq(on_parts(parts), results)(e)


def _stored_sums(form: Lift, groups: int) -> list[Strategy]:
    order = [*range(groups), groups, groups + 3, groups + 1, groups + 2]
    return [
        sort(order),
        block(groups + 2, groups + 3),
        *(merge(0) for _ in range(groups - 3)),
        parallel(min(3, groups), Level.GROUP, _items(form)),
    ]


LOCAL = (to_parallel(level=Level.LOCAL, dim=0), to_parallel(level=Level.LOCAL, dim=1))


def _items(form: Lift) -> Strategy:
    """The nest that makes partial sums: windows' chunk × part over work-items."""
    levels = (LOCAL[1], LOCAL[0], to_seq(unrolled=True), to_seq(unrolled=True))
    return spread(levels, partial(loop_nest, unrolled=form.unrolled))

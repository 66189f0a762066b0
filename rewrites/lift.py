"""The family `lift`: direct convolution as in LIFT's paper for mobile GPUs, Listing 4.

A work-group makes a tile of windows for `kappa` kernels. A work-item sums a chunk of `omega`
products for `sigma` windows × `kappa` kernels, `v` products at a time; the partial sums are
completed in local memory, or by a second kernel. `theta` is the tile's side (elements of input,
where windows slide), `rho` the padding added so that tiles fit.
"""

# key: e term, s strategy, n position in the nest, d dimension

from dataclasses import dataclass, replace
from functools import partial

from ir.nat import Size, exact, named
from ir.nodes import Expr, Level, Map, Reduce, Slide
from ir.terms import subterms
from ir.typing import size_of
from rewrites.alone import one_each
from rewrites.apart import in_parts, made_apart, on_parts
from rewrites.block import loop_nest, parallel
from rewrites.dims import Dims, Refused, classify, shared_by_groups
from rewrites.hoist import block
from rewrites.laws_lower import to_local, to_parallel, to_seq
from rewrites.laws_map import extend_map, split_map
from rewrites.laws_reduce import partial_reduce, stride_parts
from rewrites.laws_units import round_fold
from rewrites.laws_vector import partial_reduce_vector
from rewrites.naive import wherever
from rewrites.normal import flat, perfect, simplify
from rewrites.patches import patches
from rewrites.prepare import Choices, Windows, prepare
from rewrites.relaid import has_width
from rewrites.reshape import merge, on_map, sort, tile
from rewrites.room import room, sunk
from rewrites.rule import Rewritten, Strategy
from rewrites.spine import inside, nest
from rewrites.spread import spread
from rewrites.strategy import attempt, seq, skip

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
    vectors = seq(even, partial_reduce_vector(k=OMEGA, v=V))
    sums = vectors if form.vectors else partial_reduce(k=OMEGA)
    if form.coalesced:
        sums = seq(sums, stride_parts())
    return seq(
        one_each(params, flat),
        prepare(params, form.choices),
        in_parts(sums) if form.stored_sums else skip,
        wherever(partial(_kernel, params, form, sums)),
        shared_by_groups,
    )


def even(e: Expr) -> Rewritten | None:
    """A sum with as many steps that some vectors divide them."""
    some = not isinstance(e, Reduce) or has_width(size_of(e.xs))
    return skip(e) if some else attempt(round_fold(k=4))(e)


def _kernel(params: frozenset[str], form: Lift, sums: Strategy, e: Expr) -> Rewritten | None:
    dims = classify(e)
    if not dims.columns or not dims.rows:
        raise Refused("no operand is shared between results: nothing for the kernels to share")
    if form.stored_sums and len(nest(e)) - 1 not in dims.batch:
        form = replace(form, stored_sums=False)  # only the last reduction is taken in parts
    return _tiled(params, form, sums, e, dims)(e)


def _tiled(params: frozenset[str], form: Lift, sums: Strategy, e: Expr, dims: Dims) -> Strategy:
    """Group: tiles × kernels; item: a chunk of the reduction × windows; inside: sigma × kappa."""
    parts = (len(nest(e)) - 1,) if form.stored_sums else ()
    batch = [d for d in dims.batch if d not in parts] + list(dims.columns[:-2])
    windows = dims.columns[-2:]
    first = len(batch)  # position of the first dimension of windows
    n = len(windows)
    groups = first + n + 1  # batch…, tiles…, kernels
    steps: list[Strategy] = [sort([*batch, *windows, *dims.rows, *parts])]
    steps += [merge(first + n) for _ in dims.rows[1:]]
    steps.append(tile(first + n, KAPPA))
    slides = _slides(nest(e)[windows[0]], n)
    suffixes = _suffixes(
        [(size_of(nest(e)[d].xs), s) for d, s in zip(windows, slides, strict=True)]
    )
    chunks = [_chunks(*tile) for tile in zip(slides, suffixes, strict=True)]
    steps += patches(first, chunks)
    if form.choices.room:
        steps.append(room(params))
    elif form.choices.windows is Windows.NONE:
        steps.append(sunk)  # padding that is a view may go on for ever
    steps.append(sort(_order(first, n, len(parts))))
    steps += [merge(groups) for _ in windows[1:]]
    steps.append(on_map(groups, split_map(k=SIGMA)))
    # groups…, windows' chunk, window, kernel (, part)
    inner = _stored_sums(form, groups) if parts else _local_sums(form, sums, groups)
    return seq(*steps, *inner)


def _slides(m: Map, n: int) -> list[Slide | None]:
    """The slides that made the windows of n nested dimensions, outermost first."""
    found = [s for s in subterms(m.xs) if isinstance(s, Slide)]
    return [*found] if len(found) == n else [None] * n


def _suffixes(dims: list[tuple[Size, Slide | None]]) -> list[str]:
    """Names that tell dimensions apart; those of one length and one slide share a tile's side."""
    shapes = [(n, s and (s.size, s.step)) for n, s in dims]
    return ["" if shape == shapes[-1] else "_y" for shape in shapes]


def _chunks(slide: Slide | None, suffix: str) -> Strategy:
    """Chunks of as many windows as fit into a tile of theta elements of input."""
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

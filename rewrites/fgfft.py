"""The family `fgfft`: fine-grained convolution by Fourier transforms of rows (Zhang 2019).

Each row is transformed once, whatever number of windows it is in: N C H transforms, and K C U of
kernels' rows, which are prepared once where they are constant. Products of spectra are summed over
channels and a kernel's rows, and what is left is transformed back, a row at a time.
"""

# key: e term, s strategy

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from ir.nat import ceil_div, named
from ir.nodes import Expr, Generate, Let, Level, Map, Reduce, Store
from ir.terms import children, subterms
from ir.typing import size_of
from ir.views import is_view
from rewrites.access import Index, NoAccess
from rewrites.block import unrolled_spine
from rewrites.blocked import Blocked, in_tiles
from rewrites.dims import Dims, Refused
from rewrites.fast import divided, in_registers, made
from rewrites.gather import stored_at
from rewrites.laws_fourier import REAL, TO_REAL, source
from rewrites.laws_hoist import store_as
from rewrites.laws_lower import share, to_parallel, to_private, to_reduce_seq, to_seq
from rewrites.laws_map import fuse_maps, inline_view
from rewrites.laws_spectra import is_sums, real_sums, three_sums
from rewrites.naive import plain
from rewrites.normal import nested_reductions, normalise, perfect, simplify
from rewrites.products import Rows, length, others, products, rows_of
from rewrites.registers import Registers, in_blocks
from rewrites.reshape import merge, sort, tile
from rewrites.rule import Rewritten, Strategy
from rewrites.shape import has_reduction
from rewrites.shared import SHORT, in_stages, staged, worth_sharing
from rewrites.spectral import rows, spectra
from rewrites.spine import body, inside, kernels, nest, nested, store_operands
from rewrites.strategy import (
    attempt,
    child,
    choice,
    outermost,
    place_where,
    repeat,
    seq,
    skip,
    when,
)

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fine:
    """What distinguishes the lowered forms of the family."""

    products: Registers | Blocked | None = (
        None  # sums of products of spectra are stored, and made this way
    )
    shared: bool = False  # a row's transforms are made by several work-items
    three: bool = False  # products of complex numbers are three real ones, not four (Gauss)
    regular: bool = False  # rows of spectra are transformed again, along every dimension of windows


def fgfft(params: frozenset[str], form: Fine) -> Strategy:
    """Transforms of rows, products of spectra, and transforms back."""
    return seq(
        normalise,
        store_operands(params),
        partial(_lowered, params, form),
        kernels(partial(_kernel, params, form)),
    )


def _lowered(params: frozenset[str], form: Fine, e: Expr) -> Rewritten | None:
    real = form.products is not None
    r = _row_of(e)
    if form.shared and length(r.row) < 2 * SHORT:
        raise Refused(f"rows of {r.row}: a work-item transforms one by itself")
    if not r.sums and r.step == 1:
        raise Refused("nothing is summed up besides the taps of a row, such as channels")
    orders = _orders(r)
    law = three_sums() if form.three else real_sums()
    return seq(
        rows,
        spectra(law if real else None),
        outermost(when(_is_let, _stored(*orders, form))),
        simplify,
        partial(_sums_stored, params, form.three) if real else skip,
    )(e)


def _sums_stored(params: frozenset[str], three: bool, e: Expr) -> Rewritten | None:
    """The sums of products of spectra leave the maps of rows, and are stored."""
    place = place_where(e, lambda t: isinstance(t, Let) and is_sums(t.value))
    if place is None:
        raise Refused("there is one row, and no sum of its products")
    return stored_at(params, (*place, 0), partial(_sums_laid, three))(e)


def _sums_laid(three: bool, dims: int) -> Strategy:
    """Frequencies outermost; the last dimension, which neighbouring work-items take, innermost."""
    if three:
        return store_as(order=(dims + 1, dims, *range(dims)))
    order = (dims + 1, *range(dims - 1), dims, *range(max(dims - 1, 0), dims))
    return store_as(order=order)


def _is_let(e: Expr) -> bool:
    return isinstance(e, Let)


def _row_of(e: Expr) -> Rows:
    try:
        return rows_of(products(e))
    except NoAccess as why:
        raise Refused(str(why)) from None


def _orders(r: Rows) -> tuple[Order, Order]:
    """How the spectra of rows, and those of the kernel's rows, lie in memory.

    Innermost is what neighbouring work-items take: the rows' last dimension, and the kernels.
    Outermost in both is what both have: each product is of rows that lie together.
    """
    x, g = others(r.x, r.along), others(r.g, r.across)
    phase = [len(x)] * (r.step > 1), [len(g)] * (r.step > 1)
    summed = [n for n, c in enumerate(g) if any(i in r.sums for i, _ in c.terms)]
    theirs = {i for c in x for i, _ in c.terms}
    both = [n for n, c in enumerate(g) if n not in summed and theirs & {i for i, _ in c.terms}]
    kept = [n for n in range(len(g)) if n not in (*summed, *both)]
    rows_of_x = list(range(len(x)))
    return (*rows_of_x[:-1], *phase[0], *rows_of_x[-1:]), (*both, *summed, *phase[1], *kept)


def _stored(x: Order, g: Order, form: Fine) -> Strategy:
    """Both lets, of rows' spectra and of kernels' spectra, are stored."""
    if form.products is None:
        data, taps = _spectra_stored(x), _spectra_stored(g)
    elif form.three:
        data, taps = _thirds_stored(x), _thirds_stored(g)
    else:
        data, taps = _products_stored(x, 1), _products_stored(g, 2)
    second = seq(child(0, taps), inline_view())
    return seq(child(0, data), child(1, outermost(when(_is_let, second))), inline_view())


def _spectra_stored(order: Order) -> Strategy:
    """Rows in this order; frequencies and parts outside of the last dimension of the rows."""
    n = len(order)
    return seq(sort(order), inside(store_as(order=(*range(n - 1), n + 1, n, *range(n - 1, n)))))


def _products_stored(order: Order, parts: int) -> Strategy:
    """Rows in this order; frequencies outermost, parts outside of the last dimension."""
    n = len(order)
    inner = reversed(range(n, n + parts))
    return _rows_laid(order, (n + parts, *range(n - 1), *inner, *range(n - 1, n)))


def _thirds_stored(order: Order) -> Strategy:
    """Rows in this order, for each frequency and each of the three products."""
    n = len(order)
    return _rows_laid(order, (n + 1, n, *range(n)))


def _rows_laid(order: Order, laid: Order) -> Strategy:
    fused = repeat(outermost(fuse_maps()))
    return seq(fused, sort(order), inside(store_as(order=laid)))


# ---- kernels


def _kernel(params: frozenset[str], form: Fine, e: Expr) -> Rewritten | None:
    """Rows over work-items, each in registers: the last dimension in groups, others in turns."""
    if not _transforms(e):
        if form.products is None or not has_reduction(e):
            return plain(e)
        return seq(perfect, nested_reductions, simplify, partial(_products, params, form))(e)
    return seq(perfect, simplify, partial(_rows, form.shared))(e)


def _rows(shared: bool, e: Expr) -> Rewritten | None:
    n = _outer(e)
    dims = min(n, 2)
    merged = [merge(0) for _ in range(n - 2)]
    if not shared:
        lanes = inside(_parallel(Level.LOCAL, 0))
        return seq(*merged, nested(dims, _row), _blocks(dims, lanes))(e)
    items = worth_sharing(e)
    if not dims or items is None:
        raise Refused("rows are short, or there is one: a work-item transforms one by itself")
    row = seq(_row_named, staged)
    lanes = inside(in_stages(items))
    return seq(*merged, nested(dims, row), _blocks(dims, lanes, turns=False))(e)


def _products(params: frozenset[str], form: Fine, e: Expr) -> Rewritten | None:
    """Sums of products: transformed along the windows that are left, or a matrix product."""
    assert form.products is not None
    matrices = partial(_matrices, params, form.products)
    again = seq(_as_stored, partial(_lowered, params, form), partial(_kernel, params, form))
    return choice(_unless_refused(again), matrices)(e) if form.regular else matrices(e)


def _matrices(params: frozenset[str], form: Registers | Blocked, e: Expr) -> Rewritten | None:
    """A matrix product for each frequency."""
    dims = _laid(e)
    if isinstance(form, Blocked):
        return in_tiles(params, form, dims)(e)
    return in_blocks(params, form, dims)(e)


def _unless_refused(s: Strategy) -> Strategy:
    """s, failing where it refuses."""

    def run(e: Expr) -> Rewritten | None:
        try:
            return s(e)
        except Refused:
            return None

    return run


def _laid(e: Expr) -> Dims:
    """What both operands have, rows, and kernels, each in the order in which spectra are stored."""
    try:
        p = products(e)
    except NoAccess as why:
        raise Refused(str(why)) from None
    x, g = ({i: n for n, c in enumerate(a.coordinates) for i, _ in c.terms} for a in p.operands)

    def among(chosen: Iterable[Index]) -> tuple[int, ...]:
        return tuple(p.maps.index(m) for m in sorted(chosen, key=lambda m: g.get(m, x.get(m, 0))))

    own = [{*p.maps} & {*one} - {*other} for one, other in ((x, g), (g, x))]
    both = {*p.maps} - own[0] - own[1]
    return Dims(among(both), columns=among(own[0]), rows=among(own[1]))


def _as_stored(e: Expr) -> Rewritten | None:
    dims = _laid(e)
    return sort((*dims.batch, *dims.columns, *dims.rows))(e)


def _transforms(e: Expr) -> bool:
    """Whether a kernel transforms; what is stored is made by another."""
    if isinstance(e, Store):
        return False
    own = isinstance(e, Generate) and bool(source(e, REAL) or source(e, TO_REAL))
    return own or any(map(_transforms, children(e)))


def _outer(e: Expr) -> int:
    """How many maps stand around what a work-item does."""
    maps = nest(e)
    return next((n for n, m in enumerate(maps) if _is_row(m)), len(maps))


def _is_row(m: Map) -> bool:
    return any(source(t, TO_REAL) is not None for t in subterms(m.xs))


def _row(e: Expr) -> Rewritten | None:
    """A row's sum and its transform back get names, then transforms are divided."""
    return seq(_sum_named, _row_named, divided, _in_registers)(e)


def _sum_named(e: Expr) -> Rewritten | None:
    found = next((s for t in subterms(e) if (s := source(t, TO_REAL))), None)
    if found is None or is_view(found[0]):
        return skip(e)
    return share(term=found[0], name="sums")(e)


def _row_named(e: Expr) -> Rewritten | None:
    if isinstance(e, Let):
        return child(1, _row_named)(e)
    found = next((t for t in subterms(e) if source(t, TO_REAL)), None)
    return skip(e) if found is None else share(term=found, name="row")(e)


def _in_registers(e: Expr) -> Rewritten | None:
    return seq(
        attempt(outermost(when(_is_sums, child(0, seq(_summed, to_private()))))),
        in_registers,
        made,
    )(e)


def _is_sums(e: Expr) -> bool:
    return isinstance(e, Let) and isinstance(e.value, Reduce)


def _summed(e: Expr) -> Rewritten | None:
    """Sums as loops around unrolled blocks of registers."""
    if not isinstance(e, Reduce):
        return unrolled_spine(e)
    return seq(child(0, unrolled_spine), child(1, child(0, _summed)), to_reduce_seq())(e)


def _blocks(dims: int, lanes: Strategy, turns: bool = True) -> Strategy:
    """Groups of block_size rows along the last dimension, which `lanes` hands to work-items;
    num_blocks along the others, each in turns, or one for each."""
    size, blocks = named("block_size"), named("num_blocks")

    def run(e: Expr) -> Rewritten | None:
        if dims == 0:
            return skip(e)
        if dims == 1 or not turns:
            groups = inside(seq(body(lanes), _parallel(Level.GROUP, 0)))
            if dims > 1:
                groups = inside(seq(body(groups), _parallel(Level.GROUP, 1)))
            return seq(tile(dims - 1, size), groups)(e)
        share = ceil_div(size_of(nest(e)[0].xs), blocks)
        loops = inside(seq(body(lanes), to_seq()))
        groups = seq(
            body(inside(seq(body(loops), _parallel(Level.GROUP, 0)))), _parallel(Level.GROUP, 1)
        )
        return seq(tile(1, size), tile(0, share), sort((0, 2, 1, 3)), inside(groups))(e)

    return run


def _parallel(level: Level, dim: int) -> Strategy:
    return to_parallel(level=level, dim=dim)

"""The kernels of convolution by Fourier transforms: transforms of rows, and matrix products of
their spectra."""

# key: e term, s strategy

from collections.abc import Iterable, Iterator
from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Let, Level, Map, Reduce
from ir.core.size import ceil_div, named
from ir.core.type_rules import size_of
from ir.core.views import is_view
from rewrites.analysis.affine_access import Index, NoAccess
from rewrites.analysis.kernel_terms import has_reduction, own_terms
from rewrites.engine.places import of_function, of_rest, of_start, of_value
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import (
    attempt,
    outermost,
    seq,
    skip,
    when,
)
from rewrites.families.blocked import Blocked, in_tiles
from rewrites.families.matrix import Matrix
from rewrites.families.matrix import kernel as matrix_kernel
from rewrites.families.registers import Registers, in_blocks
from rewrites.fast_algorithms.fourier import BACKWARD, FORWARD, REAL, TO_REAL, source
from rewrites.kernels.each_kernel import or_plain
from rewrites.kernels.naive import plain
from rewrites.kernels.register_block import unrolled_spine
from rewrites.laws.lower import share, to_parallel, to_private, to_reduce_seq, to_seq
from rewrites.nest.dimensions import Dims
from rewrites.nest.named_nest import standing
from rewrites.nest.normal_form import nested_reductions, perfect, simplify
from rewrites.nest.spine import body, inside, nest
from rewrites.nest.sums_of_products import products
from rewrites.transforms.fast_fourier import divided, in_registers, made
from rewrites.transforms.group_fourier import in_stages, staged, worth_sharing

BACK = (TO_REAL, BACKWARD)


@frozen
class Fine:
    """The choices of a form of the families `fgfft` and `fft` that are not numbers.

    `products`: spectra are stored, and their products made by this form of another family (None: in
    the kernel that transforms back). `shared`: several work-items make a row's transforms. `three`:
    products of complex numbers are three real ones, not four (Gauss). `regular`: rows of spectra
    are transformed again, along every dimension of windows.
    """

    products: Registers | Blocked | Matrix | None = (
        None  # sums of products of spectra are stored, and made this way
    )
    shared: bool = False  # a row's transforms are made by several work-items
    three: bool = False  # products of complex numbers are three real ones, not four (Gauss)
    regular: bool = False  # rows of spectra are transformed again, along every dimension of windows


def kernel(params: frozenset[str], form: Fine, e: Expr) -> Rewritten | None:
    """The kernel e lowered: if it makes transforms of rows, these are spread over work-items; if it
    makes products of spectra, it is lowered by the family that the form says. `params` are the
    names of the program's parameters."""
    if not _transforms(e):
        if form.products is None or not has_reduction(e):
            return plain(e)
        matrices = partial(_matrices, params, form.products)
        return or_plain(seq(perfect, nested_reductions, simplify, matrices))(e)
    return stage(
        "a kernel that transforms rows", seq(perfect, simplify, partial(_rows, form.shared))
    )(e)


def _rows(shared: bool, e: Expr) -> Rewritten | None:
    rows = standing(rows=_outer(e)).at_most(2, "rows")
    if not shared:
        lanes = inside(_parallel(Level.LOCAL, 0))
        return rows.inside(_row).then(_blocks(rows.depth, lanes))(e)
    items = worth_sharing(e)
    if not rows.depth or items is None:
        raise Refused(
            "expected several rows, each long enough for several work-items to share its "
            f"transform; found {'short rows' if rows.depth else 'one row'}"
        )
    together = _blocks(rows.depth, inside(in_stages(items)), turns=False)
    return rows.inside(seq(_row_named, staged)).then(together)(e)


def _matrices(
    params: frozenset[str], form: Registers | Blocked | Matrix, e: Expr
) -> Rewritten | None:
    """The kernel e, sums of products of spectra, lowered as a matrix product for each frequency.
    `params` are the names of the program's parameters."""
    dims = product_dimensions(e)
    if isinstance(form, Matrix):
        return matrix_kernel(form, e, dims)
    if isinstance(form, Blocked):
        return in_tiles(params, form, dims)(e)
    return in_blocks(params, form, dims)(e)


def product_dimensions(e: Expr) -> Dims:
    """The dimensions of e, a sum of products of spectra, as batch, columns (data rows) and rows
    (kernels), each in the order in which the spectra are stored."""
    try:
        p = products(e)
    except NoAccess as why:
        raise Refused(str(why)) from None
    if len(p.maps) != len(nest(e)):
        raise Refused(
            f"expected sums of products under {len(p.maps)} maps as a kernel's results, "
            f"found them inside of other results, under {len(nest(e))}"
        )
    x, g = ({i: n for n, c in enumerate(a.coordinates) for i, _ in c.terms} for a in p.operands)

    def among(chosen: Iterable[Index]) -> tuple[int, ...]:
        return tuple(p.maps.index(m) for m in sorted(chosen, key=lambda m: g.get(m, x.get(m, 0))))

    own = [{*p.maps} & {*one} - {*other} for one, other in ((x, g), (g, x))]
    both = {*p.maps} - own[0] - own[1]
    return Dims(among(both), columns=among(own[0]), rows=among(own[1]))


def _transforms(e: Expr) -> bool:
    """True if the kernel e contains a Fourier transform."""
    return any(source(t, kind) for t in own_terms(e) for kind in (REAL, FORWARD, *BACK))


def _outer(e: Expr) -> int:
    """The number of maps around the work of one work-item in the kernel e."""
    maps = nest(e)
    return next((n for n, m in enumerate(maps) if _is_row(m)), len(maps))


def _is_row(m: Map) -> bool:
    return any(_transformed_back(m.xs))


def _row(e: Expr) -> Rewritten | None:
    """The term e, the work of one row, with names for its sum and for its transform back, and with
    its transforms then divided into short ones."""
    return seq(_sum_named, _row_named, divided, _in_registers)(e)


def _sum_named(e: Expr) -> Rewritten | None:
    found = next(_transformed_back(e), None)
    if found is None or is_view(found[1]):
        return skip(e)
    return share(term=found[1], name="sums")(e)


def _row_named(e: Expr) -> Rewritten | None:
    if isinstance(e, Let) and not any(_transformed_back(e.value)):
        return of_rest(_row_named)(e)
    found = next(_transformed_back(e), None)
    return skip(e) if found is None else share(term=found[0], name="row")(e)


def _transformed_back(e: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The inverse Fourier transforms in the kernel e, each with the spectrum that it transforms."""
    found = ((t, source(t, kind)) for t in own_terms(e) for kind in BACK)
    yield from ((t, xs[0]) for t, xs in found if xs)


def _in_registers(e: Expr) -> Rewritten | None:
    return seq(
        attempt(outermost(when(_is_sums, of_value(seq(_summed, to_private()))))),
        in_registers,
        made,
    )(e)


def _is_sums(e: Expr) -> bool:
    return isinstance(e, Let) and isinstance(e.value, Reduce)


def _summed(e: Expr) -> Rewritten | None:
    """The sum e lowered to loops around unrolled blocks in registers."""
    if not isinstance(e, Reduce):
        return unrolled_spine(e)
    return seq(of_start(unrolled_spine), of_function(_summed), to_reduce_seq())(e)


def _blocks(dims: int, lanes: Strategy, turns: bool = True) -> Strategy:
    """The strategy that puts `block_size` rows in a work-group; `dims` is the number of maps over
    rows, and `lanes` lowers the map over the rows of a group.

    If there are several maps over rows, `num_blocks` groups share the rows of the outer maps, each
    group in turns; where `turns` is false, there is a group for each of these rows.
    """
    maps = standing(others=max(dims - 1, 0), last=min(dims, 1))
    rows = maps.tile("last", named("block_size"), "groups", "rows")

    def run(e: Expr) -> Rewritten | None:
        if dims == 0:
            return skip(e)
        if dims == 1 or not turns:
            groups = inside(seq(body(lanes), _parallel(Level.GROUP, 0)))
            if dims > 1:
                groups = inside(seq(body(groups), _parallel(Level.GROUP, 1)))
            return rows.then(groups)(e)
        share = ceil_div(size_of(nest(e)[0].xs), named("num_blocks"))
        in_turns = rows.tile("others", share, "shares", "turns", told_as="a group's share of")
        loops = inside(seq(body(lanes), to_seq()))
        groups = seq(
            body(inside(seq(body(loops), _parallel(Level.GROUP, 0)))), _parallel(Level.GROUP, 1)
        )
        return in_turns.order("shares", "groups", "turns", "rows").then(inside(groups))(e)

    return run


def _parallel(level: Level, dim: int) -> Strategy:
    return to_parallel(level=level, dim=dim)

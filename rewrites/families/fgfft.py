"""The family `fgfft`: fine-grained convolution by Fourier transforms of rows (Zhang 2019).

Each row of an image is transformed once, whatever number of windows it is in, and each row of a
kernel once, before any run if it is constant. Products of spectra are summed over channels and a
kernel's rows, and the sums are transformed back, a row at a time.
"""

# key: e term, s strategy

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import inf

from ir.core.nodes import Expr, Let, Level, Program
from ir.core.size import named
from rewrites.analysis.affine_access import NoAccess
from rewrites.engine.places import OF_VALUE, of_rest, of_value
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import exhaust, outermost, place_where, seq, skip, when
from rewrites.families.blocked import BLOCKED, Blocked
from rewrites.families.blocked import TUNING as BLOCKED_TUNING
from rewrites.families.fgfft_kernels import Fine, kernel
from rewrites.families.matrix import Matrix, of_products
from rewrites.families.registers import REGISTERS, Registers
from rewrites.families.registers import TUNING as REGISTERS_TUNING
from rewrites.fast_algorithms.bilinear_algorithms import gauss
from rewrites.fast_algorithms.by_columns import by_columns, spectral_products
from rewrites.fast_algorithms.sums_of_spectra import is_sums, real_sums, sums_in_planes, three_sums
from rewrites.kernels.each_kernel import divided
from rewrites.laws.hoisting import store_as
from rewrites.laws.maps import fuse_maps, inline_view
from rewrites.nest.labels import Labels, labels
from rewrites.nest.named_nest import arranged
from rewrites.nest.normal_form import normalise, simplify
from rewrites.nest.rows_in_windows import Rows, rows_of, slides_again
from rewrites.nest.spine import inside, kernels
from rewrites.nest.sums_of_products import Products, others, products
from rewrites.nest.window_nest import of_floats
from rewrites.storing.one_reduction_each import separate
from rewrites.storing.stored_views import Choices
from rewrites.storing.view_out_of_maps import Layout, stored_at
from rewrites.transforms.group_fourier import SHORT
from rewrites.transforms.row_spectra import rows, spectra
from rewrites.tuning.algorithm_growth import of_algorithms
from rewrites.tuning.by_instructions import products_by_instructions
from rewrites.tuning.family import Family, Parameter, Trait, Tuning, Way, parameter_names
from rewrites.tuning.family import Form as FormOf
from rewrites.tuning.family import Products as Made
from rewrites.tuning.stored_forms import AHEAD, ITEMS
from rewrites.tuning.sums_of_programs import sums_of

Order = tuple[int, ...]


def fgfft(params: frozenset[str], form: Fine) -> Strategy:
    """The strategy that lowers a convolution by transforms of rows, products of spectra, and
    transforms back. `params` are the names of the program's parameters."""
    return seq(
        separate(params, normalise),
        divided(partial(_lowered, params, form), skip),
        kernels(partial(kernel, params, form)),
    )


def _lowered(params: frozenset[str], form: Fine, e: Expr) -> Rewritten | None:
    try:
        p = products(e)
        r = rows_of(p)
    except NoAccess as why:
        raise Refused(str(why)) from None
    of_floats(a.base for a in p.operands)
    if form.shared and r.length < 2 * SHORT:
        raise Refused(
            f"expected transforms of at least {2 * SHORT} numbers, for several work-items to "
            f"share, found transforms of {r.length}: see the forms without `shared`"
        )
    if form.regular and not slides_again(p, r):
        raise Refused(
            "expected windows of several elements along two dimensions, found them along one "
            "dimension at most: use the family fgfft"
        )
    return seq(stage("sums row by row", rows), _rows_transformed(params, form, p, r))(e)


def _rows_transformed(params: frozenset[str], form: Fine, p: Products, r: Rows) -> Strategy:
    """The strategy that transforms the rows r of the products p and stores their spectra, and also
    stores the sums of products of spectra if the form has `products`.

    Where the sums slide along one more dimension, they are transformed along it, too. `params` are
    the names of the program's parameters.
    """
    again = form.regular and slides_again(p, r)
    real = None if form.products is None else three_sums() if form.three else real_sums()
    layout: Layout = partial(_columns, params, form) if again else partial(_sums_laid, form.three)
    stored = _stored(*_orders(r, isinstance(form.products, Matrix)), _layouts(form, again))
    sums = partial(_sums_stored, params, layout)
    return seq(
        stage("products of spectra", spectra(sums_in_planes() if again else real)),
        stage("spectra stored", seq(outermost(when(_is_let, stored)), simplify)),
        stage("sums of products stored", sums) if form.products else skip,
    )


def _sums_stored(params: frozenset[str], layout: Layout, e: Expr) -> Rewritten | None:
    """The term e with its sums of products of spectra moved out of the maps over rows, and stored
    in this layout; Refused if there is no such sum. `params` are the names of the program's
    parameters."""
    place = place_where(e, lambda t: isinstance(t, Let) and is_sums(t.value))
    if place is None:
        raise Refused(
            "expected sums, over rows or channels, of products of Fourier transforms; found none"
        )
    return stored_at(params, place + OF_VALUE, layout)(e)


def _columns(params: frozenset[str], form: Fine, _: int) -> Strategy:
    """The strategy that transforms sums of products of spectra along one more dimension: the one
    along which the spectra of data rows slide. The last argument, a number of dimensions, is for
    other layouts and is not used. `params` are the names of the program's parameters."""

    def run(e: Expr) -> Rewritten | None:
        p = spectral_products(e)
        r = rows_of(p)
        *maps, _ = p.maps  # the last is of frequencies
        dims = labels(others=len(maps) - 1, columns=1, parts=1, frequencies=1)
        laid = laid_as(dims, "others", "parts", "frequencies", "columns")
        return seq(by_columns(), _rows_transformed(params, form, p, r), inside(laid))(e)

    return run


def _sums_laid(three: bool, dims: int) -> Strategy:
    """The strategy that stores sums of products of spectra, for rows that lie in `dims` dimensions.
    In memory frequencies are outermost, and the last of these dimensions is innermost. `three` says
    that a product of complex numbers is three products of real ones (Gauss)."""
    sums = _rows_of_spectra(dims, parts=1)
    if three:
        return laid_as(sums, "frequencies", "parts", "others", "last")
    return laid_as(sums, "frequencies", "others", "parts", "last")


def laid_as(dims: Labels, *names: str) -> Strategy:
    """The strategy that stores a term, whose dimensions have the labels `dims`, with its dimensions
    in memory in the order of these names."""
    return store_as(order=dims.positions(*names))


def _rows_of_spectra(rows: int, **parts: int) -> Labels:
    """The labels of the dimensions of stored spectra: first those of the rows, `rows` of them, then
    the names in `parts`, each with as many dimensions as it is given, then frequencies."""
    return labels(others=max(rows - 1, 0), last=min(rows, 1), **parts, frequencies=1)


def _is_let(e: Expr) -> bool:
    return isinstance(e, Let)


def _orders(r: Rows, by_lanes: bool) -> tuple[Order, Order]:
    """The orders of dimensions in memory for the spectra of data rows and for those of kernels'
    rows.

    Innermost is the dimension that neighbouring work-items go over: the last one of data rows, or
    the kernels; or, of kernels whose products lanes make together (`by_lanes`), what is summed up.
    Outermost are the dimensions that both operands have, so that the rows of one product lie
    together.
    """
    x, g = others(r.data, r.data_dim), others(r.taps, r.taps_dim)
    of_x = labels(others=max(len(x) - 1, 0), last=min(len(x), 1), phase=int(r.phased))
    summed = [n for n, c in enumerate(g) if any(i in r.sums for i, _ in c.terms)]
    theirs = {i for c in x for i, _ in c.terms}
    both = [n for n, c in enumerate(g) if n not in summed and theirs & {i for i, _ in c.terms}]
    kept = [n for n in range(len(g)) if n not in (*summed, *both)]
    phase = labels(rows=len(g), phase=int(r.phased)).positions("phase")
    inner = (*phase, *kept, *summed) if by_lanes else (*summed, *phase, *kept)
    return of_x.positions("others", "phase", "last"), (*both, *inner)


Layouts = tuple[Callable[[Order], Strategy], Callable[[Order], Strategy]]


def _layouts(form: Fine, again: bool) -> Layouts:
    """Two functions, for the spectra of data rows and for those of kernels' rows: each takes an
    order of dimensions and gives the strategy that stores spectra in it. `again` says that the
    spectra are transformed along another dimension later."""
    if form.products is None or again:
        return _spectra_stored, _spectra_stored
    if form.three:
        return _thirds_stored, _thirds_stored
    return partial(_products_stored, 1), partial(_products_stored, 2)


def _stored(x: Order, g: Order, layouts: Layouts) -> Strategy:
    """The strategy that stores the values of two lets, one in the other at the head of a term: the
    spectra of data rows in the order x, and those of kernels' rows in the order g, each by its own
    one of the two `layouts`."""
    second = seq(of_value(layouts[1](g)), inline_view())
    return seq(of_value(layouts[0](x)), of_rest(outermost(when(_is_let, second))), inline_view())


def _spectra_stored(order: Order) -> Strategy:
    """The strategy that stores spectra with the dimensions of rows in this order, and the
    frequencies of a row outside of the last of these dimensions."""
    dims = _rows_of_spectra(len(order), parts=1)
    laid = laid_as(dims, "others", "frequencies", "parts", "last")
    return arranged(rows=order).then(inside(laid))


def _products_stored(parts: int, order: Order) -> Strategy:
    """The strategy that stores spectra with frequencies outermost, as matrix products of complex
    numbers read them. `parts` is 2 where a complex number is stored as two rows, (re, im) and (-im,
    re), else 1."""
    dims = _rows_of_spectra(len(order), outer_parts=parts - 1, parts=1)
    laid = laid_as(dims, "frequencies", "others", "parts", "outer_parts", "last")
    return _rows_laid(order, laid)


def _thirds_stored(order: Order) -> Strategy:
    """The strategy that stores spectra for each frequency and each of the three products of Gauss's
    method."""
    dims = _rows_of_spectra(len(order), thirds=1)
    return _rows_laid(order, laid_as(dims, "frequencies", "thirds", "others", "last"))


def _rows_laid(order: Order, laid: Strategy) -> Strategy:
    fused = exhaust(fuse_maps())
    return seq(fused, arranged(rows=order).then(inside(laid)))


GAUSS = Trait("gauss", "a product of complex numbers by three of real ones, not four")
SHARED = Trait("shared", "several work-items share the transform of a row")
TUNING = Tuning(
    "fgfft",
    {
        "block_size": Parameter("rows that a group transforms", (1, 2, 4, 8, 16, 32, 64, 128, 256)),
        "num_blocks": Parameter("groups that share the rows of a kernel, each in turns"),
        **BLOCKED_TUNING.parameters,
        **REGISTERS_TUNING.parameters,
    },
    kept=REGISTERS_TUNING.kept,
)


def _fgfft_forms(p: Program) -> Iterator[FormOf]:
    choices = Choices(panel=named("tr") * named("v"))
    groups, items = Registers(choices), Registers(choices, Level.GLOBAL)
    tiles, ahead = Blocked(choices), Blocked(choices, ahead=True)
    yield _form(p, "fgfft", Fine())
    yield _form(p, "fgfft", Fine(groups), REGISTERS)
    yield _form(p, "fgfft", Fine(items), REGISTERS, ITEMS)
    yield _form(p, "fgfft", Fine(tiles), BLOCKED)
    yield _form(p, "fgfft", Fine(ahead), BLOCKED, AHEAD)
    yield _form(p, "fgfft", Fine(groups, three=True), REGISTERS, GAUSS)
    yield _form(p, "fgfft", Fine(items, three=True), REGISTERS, ITEMS, GAUSS)
    yield _form(p, "fgfft", Fine(ahead, three=True), BLOCKED, AHEAD, GAUSS)
    yield _form(p, "fgfft", Fine(items, shared=True), REGISTERS, ITEMS, SHARED)
    yield _form(p, "fgfft", Fine(ahead, shared=True), BLOCKED, AHEAD, SHARED)
    rows = frozenset(tuple(sorted(found)[1:]) for found in sums_of(p) if len(found) > 1)
    by_items = {name: TUNING.parameters[name] for name in ("block_size", "num_blocks")}
    for made in products_by_instructions(p, rows, of_algorithms([gauss()])):
        if made.trait.largest == inf:  # spectra are as large as sums of rows
            traits, by_matrix = of_products(made)
            known = {**by_items, **made.tuning.parameters}
            every = replace(made.tuning, name="fgfft", parameters=known)
            yield _form(p, "fgfft", Fine(by_matrix, three=True), *traits, GAUSS, tuning=every)


def _fft_forms(p: Program) -> Iterator[FormOf]:
    choices = Choices(panel=named("tr") * named("v"))
    groups, ahead = Registers(choices), Blocked(choices, ahead=True)
    yield _form(p, "fft", Fine(groups, regular=True), REGISTERS)
    yield _form(p, "fft", Fine(ahead, regular=True), BLOCKED, AHEAD)
    yield _form(p, "fft", Fine(groups, shared=True, regular=True), REGISTERS, SHARED)


def _form(p: Program, family: str, form: Fine, *traits: Trait, tuning: Tuning = TUNING) -> FormOf:
    return FormOf(family, traits, Way(fgfft, parameter_names(p), form), tuning)


FAMILY = Family("fgfft", "Fourier transforms of rows, once each", _fgfft_forms, Made.SPECTRAL)
FFT = Family("fft", "Fourier transforms along every dimension", _fft_forms, Made.SPECTRAL)

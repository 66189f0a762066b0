"""The family `winograd`: convolutions with fewer products, by F(m, r) in one dimension or two.

Windows are taken in tiles of m results a side. For each tile and channel the data are transformed,
once for all output channels; weights are transformed when they are packed. What is left in between
is a matrix product for every point of the transform, and one more transform of its results.
"""

# key: e term, s strategy, m results a side

from collections.abc import Iterator, Sequence
from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program, Slide
from ir.core.size import named
from rewrites.analysis.affine_access import NoAccess
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.families.blocked import BLOCKED, Blocked
from rewrites.families.blocked import TUNING as BLOCKED_TUNING
from rewrites.families.blocked import kernel as blocked_kernel
from rewrites.families.matrix import Matrix, of_products
from rewrites.families.matrix import kernel as matrix_kernel
from rewrites.families.registers import REGISTERS, Registers
from rewrites.families.registers import TUNING as REGISTERS_TUNING
from rewrites.families.registers import kernel as registers_kernel
from rewrites.fast_algorithms.by_rows import uses
from rewrites.fast_algorithms.by_windows import by_windows
from rewrites.kernels.each_kernel import divided, remaining, wherever
from rewrites.kernels.register_block import on_reduction
from rewrites.laws.reductions import release_init
from rewrites.nest.captures_as_operands import carried
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.named_views import stored
from rewrites.nest.normal_form import normalise, perfect, simplify
from rewrites.nest.rows_in_windows import Rows, slid_along
from rewrites.nest.spine import inside, nest
from rewrites.nest.sums_of_products import Products as Sums
from rewrites.nest.sums_of_products import products
from rewrites.nest.window_nest import Windowed, windowed
from rewrites.storing.one_reduction_each import separate
from rewrites.storing.stored_views import Choices
from rewrites.transforms.elementwise_kernels import elementwise
from rewrites.transforms.epilogue import or_apart
from rewrites.transforms.fused_kernel import Fused, in_one_kernel, kernels_of
from rewrites.transforms.matrix_kernels import transform_kernel
from rewrites.transforms.stored_stages import kernels_in_panels, stored_stages
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, over_lines
from rewrites.transforms.tile_lanes import Lanes, lanes_of
from rewrites.transforms.tile_transforms import (
    on_made,
    one_stage,
    transformed_tiles,
    two_stages,
)
from rewrites.tuning.algorithm_growth import of_tiles
from rewrites.tuning.by_instructions import longest_sums, products_by_instructions
from rewrites.tuning.family import Family, Form, Trait, Tuning, Way, parameter_names
from rewrites.tuning.family import Products as Made
from rewrites.tuning.stored_forms import AHEAD, ITEMS, chosen

Products = Registers | Blocked | Matrix | Fused


@frozen
class Winograd:
    """The choices of a form of the family `winograd` that are not numbers: tiles have m results a
    side, and `products` is the form that makes the products between transforms, as matrix products
    (None: element by element)."""

    m: int  # results a side of a tile
    products: Products | None  # of matrices, or element by element


def winograd(params: frozenset[str], form: Winograd) -> Strategy:
    """The strategy that lowers a program in this form of the family `winograd`. `params` are the
    names of the program's parameters."""

    made = form.products
    if made is None:
        return seq(_transformed(params, elementwise(form.m)), _rest(params, Registers(Choices())))
    lowered = partial(_by_transforms, params, form.m, made)
    if isinstance(made, Fused):
        one = Registers(Choices(panel=made.panel), made.level)
        return seq(_transformed(params, lowered), _rest(params, one))
    others = wherever(partial(product_kernel, params, made))
    return seq(_transformed(params, lowered), others)


def _transformed(params: frozenset[str], s: Strategy) -> Strategy:
    """The strategy that applies s to each kernel which s can transform, and leaves the other
    kernels as they are. `params` are the names of the program's parameters."""
    return seq(separate(params, normalise), divided(or_apart(s), attempt(carried)))


def _rest(params: frozenset[str], form: Registers) -> Strategy:
    """The strategy that lowers the kernels without a transform, after those with one have been
    lowered. `params` are the names of the program's parameters."""
    return remaining(partial(registers_kernel, params, form))


def _by_transforms(params: frozenset[str], m: int, form: Products, e: Expr) -> Rewritten | None:
    """The kernel e lowered to transforms, in tiles of m a side, and products between them in the
    form `form`."""
    lowered = partial(_lowered, params, m, form, lanes_of(e))
    return seq(_tiles_of_sums(m), _planes, lowered)(e)


def _tiles_of_sums(m: int) -> Strategy:
    """The strategy that turns sums over whole images into sums over their tiles, of m elements a
    side, by the law `by_numbered_tiles`; nothing is done where the law does not apply."""
    tiled = attempt(over_lines(by_numbered_tiles(side=m)))
    return stage("sums over images as sums over their tiles", tiled)


def _planes(e: Expr) -> Rewritten | None:
    """The term e with its windows taken of single planes, by the law `by_windows`, and channels
    innermost; e itself where its maps go over such windows already, or the law does not apply."""
    try:
        p = products(e)
    except NoAccess:
        return skip(e)
    found = slid_along(p)
    windows = [p.maps.index(r.window) for r in found]
    stand = any(isinstance(nest(e)[n].xs, Slide) for n in windows)
    dense = all(r.gap == 1 for r in found)
    if stand and dense and not _holds_others(p, found) and not windowed(e).own:
        return skip(e)
    others = [n for n in range(len(p.maps)) if n not in windows]
    released = arranged(others=others, windows=windows).inside(
        on_reduction(attempt(release_init()))
    )
    planes = attempt(seq(released, inside(by_windows()), perfect, simplify))
    return stage("windows of planes, channels last", planes)(e)


def _holds_others(p: Sums, found: Sequence[Rows]) -> bool:
    """True if a map over a dimension that the data have, but the taps have not, such as images,
    lies inside a map over windows. `found` are the dimensions along which windows slide."""
    ours = [r.window for r in found]
    alone = uses(found[0].data.coordinates) - uses(found[0].taps.coordinates)
    reached = [i for i in p.maps if i in ours or i in alone]
    return any(i not in ours for i in reached[-len(ours) :])


def _lowered(
    params: frozenset[str], m: int, form: Products, lanes: Lanes, e: Expr
) -> Rewritten | None:
    w = windowed(e)
    return seq(transformed_tiles(m, w), _stages(params, form, w, lanes))(e)


def _stages(params: frozenset[str], form: Products, w: Windowed, lanes: Lanes) -> Strategy:
    """The strategy that lowers the transforms of the nest w and the products between them, fused or
    stored as the form says. `params` are the names of the program's parameters, and vectors of
    stored transforms go over `lanes`."""
    if isinstance(form, Fused):
        return _fused(form, w)
    if isinstance(form, Matrix):
        return stored_stages(form.rows, w, Lanes())
    return stored_stages(form.choices.panel, w, Lanes() if w.own else lanes)


def product_kernel(
    params: frozenset[str], form: Registers | Blocked | Matrix, e: Expr
) -> Rewritten | None:
    """The kernel e, which is no transform and not lowered yet, lowered by the family of `form`.
    `params` are the names of the program's parameters."""
    if isinstance(form, Registers):
        return registers_kernel(params, form, e)
    if isinstance(form, Matrix):
        return matrix_kernel(form, e)
    return blocked_kernel(params, form, e)


def _fused(form: Fused, w: Windowed) -> Strategy:
    """The strategy that makes products and results of the nest w in one kernel, which also
    transforms the data if the form is `whole`; else the transformed data are stored. Refused where
    images have kernels of their own."""
    if w.own:
        raise Refused(
            "expected kernels that all images share, found kernels of their own for each image: "
            "see the forms without `fused`"
        )
    data = stage("data transformed", stored(transform_kernel(w.outer + 1, named("vi"))))
    divided = one_stage(w.outer) if form.whole else seq(two_stages(w.outer), inside(on_made(data)))
    packed = kernels_of(kernels_in_panels(form.panel, w.d, by_step=True))
    kernels = standing(tiles=w.outer, kernels=1).at("kernels", packed)
    return seq(divided, kernels, in_one_kernel(form.level, w.outer, w.d))


FUSED = Trait("fused", "one kernel makes the products and transforms their sums")
WHOLE = Trait("whole", "that kernel transforms the data too")
ELEMENTWISE = Trait("elementwise", "products of planes, element by element")
USUAL = 4  # results a side: two save less, and six lose more of a number's digits


def _tiles(m: int) -> Trait:
    weight = 2.0 if m == USUAL else 1.0
    return Trait(f"F{m}", f"tiles of {m} results a side", tile=m, weight=weight)


def _forms(p: Program) -> Iterator[Form]:
    panel = named("tr") * named("v")
    for m in (2, 4, 6):
        for level in (Level.GROUP, Level.GLOBAL):
            traits = (REGISTERS, *chosen({ITEMS: level is Level.GLOBAL}))
            products = Registers(Choices(panel=panel), level)
            yield _form(p, Winograd(m, products), REGISTERS_TUNING, *traits)
        for ahead in (False, True):
            traits = (BLOCKED, *chosen({AHEAD: ahead}))
            tiled = Blocked(Choices(panel=named("lx") * panel), ahead=ahead)
            yield _form(p, Winograd(m, tiled), BLOCKED_TUNING, *traits)
    for m in (2, 4):  # all sums of a tile are in registers: as many as fit
        for whole in (False, True):
            traits = (FUSED, *chosen({WHOLE: whole}))
            yield _form(p, Winograd(m, Fused(panel, whole=whole)), REGISTERS_TUNING, *traits)
    for m in (2, 4, 6):
        yield _form(p, Winograd(m, None), REGISTERS_TUNING, ELEMENTWISE)
    for m in (2, 4):  # transforms of larger tiles make too much of what instructions lose
        for made in products_by_instructions(p, longest_sums(p), of_tiles(p, m)):
            traits, choices = of_products(made)
            yield _form(p, Winograd(m, choices), made.tuning, *traits)


def _form(p: Program, form: Winograd, tuning: Tuning, *traits: Trait) -> Form:
    way = Way(winograd, parameter_names(p), form)
    return Form("winograd", (_tiles(form.m), *traits), way, tuning)


FAMILY = Family("winograd", "fewer products, of transformed tiles", _forms, Made.FEWER)

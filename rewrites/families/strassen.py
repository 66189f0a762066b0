"""The family `strassen`: a matrix product by seven products of half its size, or one of complex
numbers by three real ones.

Rows and columns are those of the reduction's operands, whatever nest of maps goes over them: the
pixels and channels of a convolution too. One kernel stores the sums of blocks that the seven
products multiply, the products are matrix products in a batch, and a last kernel adds these up to
the results.
"""

# key: e term, s strategy, level how often the law was used around

from collections.abc import Iterator
from functools import lru_cache, partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Map, Program, Var, Zip
from ir.core.size import named
from ir.core.terms import free
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, leaves, show_type
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.folds import operator
from rewrites.engine.places import (
    OF_ARRAY,
    OF_FUNCTION,
    OF_SUMMED,
    of_array,
    of_function,
    of_part,
    of_value,
    part,
)
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import at, attempt, everywhere, seq, skip
from rewrites.families.blocked import BLOCKED, Blocked
from rewrites.families.blocked import TUNING as BLOCKED_TUNING
from rewrites.families.matrix import Matrix, of_products
from rewrites.families.registers import REGISTERS, Registers
from rewrites.families.registers import TUNING as REGISTERS_TUNING
from rewrites.families.winograd import product_kernel
from rewrites.fast_algorithms.bilinear_algorithms import gauss as gauss_algorithm
from rewrites.fast_algorithms.bilinear_algorithms import strassen as seven
from rewrites.fast_algorithms.block_products import fewer_blocks, round_product
from rewrites.fast_algorithms.complex_products import three_products
from rewrites.fast_algorithms.constant_matrices import sums_products
from rewrites.kernels.each_kernel import divided, wherever
from rewrites.kernels.register_block import trips
from rewrites.laws.maps import fission, inline_view
from rewrites.laws.pads import fission_zip
from rewrites.laws.zips import unused_part
from rewrites.nest.captures_as_operands import carried
from rewrites.nest.dimensions import Dims, classify, reduction
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import arranged, standing
from rewrites.nest.named_views import reordered, stored, stored_as
from rewrites.nest.normal_form import flat, normalise, perfect
from rewrites.nest.spine import inside
from rewrites.storing.fragment_order import in_fragments
from rewrites.storing.one_reduction_each import separate
from rewrites.storing.stored_views import Choices
from rewrites.transforms.epilogue import on_sums, sums_apart
from rewrites.transforms.matrix_kernels import tidied, transform_kernel
from rewrites.transforms.tile_transforms import products
from rewrites.tuning.algorithm_growth import of_algorithms
from rewrites.tuning.by_instructions import longest_sums, products_by_instructions
from rewrites.tuning.family import Family, Form, Products, Trait, Tuning, Way, parameter_names

Leaf = Registers | Blocked | Matrix


@frozen
class Strassen:
    """The choices of a form of the family `strassen` that are not numbers: how often a product
    becomes seven (`levels`; 0 for a product of complex numbers, which becomes three), and the form
    that makes these products."""

    levels: int  # how often a product becomes seven; 0 where it is of complex numbers
    products: Leaf  # how these are made


def strassen(params: frozenset[str], form: Strassen) -> Strategy:
    """The strategy that lowers a program in this form of the family `strassen`. `params` are the
    names of the program's parameters."""

    def run(e: Expr) -> Rewritten | None:
        dims = classify(e)
        if not dims.rows or not dims.columns or len(trips(reduction(e))) != 1:
            raise Refused(
                "expected a matrix product: rows, columns, and one sum for each pair; found "
                f"{len(dims.rows)} dimensions of rows, {len(dims.columns)} of columns, and "
                f"{len(trips(reduction(e)))} nested sums"
            )
        return seq(_matrices(dims), inside(_lowered(form, len(dims.batch))))(e)

    return seq(
        separate(params, flat),
        divided(run, seq(normalise, carried)),
        wherever(partial(product_kernel, params, form.products)),
    )


def _matrices(dims: Dims) -> Strategy:
    """The strategy that makes one map of those over the columns of `dims` and one of those over its
    rows, inside the maps over the batch."""
    maps = arranged(batch=dims.batch, columns=dims.columns, rows=dims.rows)
    return maps.merge("columns").merge("rows")


def _lowered(form: Strassen, batch: int) -> Strategy:
    """The strategy that lowers one matrix product, or each of a batch of them, in this form: with
    seven products in place of eight at each of its levels; `batch` is the number of maps over the
    batch."""
    made = seq(_matrix_product(batch, 2**form.levels), inside(_by_seven(form, batch)))
    added = stage("results of sums of products", transform_kernel(batch + 2, VO))
    results = seq(made, added) if form.levels else made

    return seq(sums_apart(batch + 2), on_sums(results))


def _matrix_product(batch: int, parts: int) -> Strategy:
    """The strategy that turns a term inside `batch` maps into a plain matrix product, each row of
    one array with each row of another, sides rounded up to multiples of `parts`."""
    rounded = attempt(round_product(k=parts))
    whole = standing(batch=batch).inside(seq(_operands_apart, rounded))
    return stage("operands whole", seq(everywhere(unused_part()), whole, perfect))


def _operands_apart(e: Expr) -> Rewritten | None:
    """The product e with its two operands made arrays of rows, outside of its maps."""
    steps = [attempt(on_part(i)) for i in (0, 1)]
    return seq(*steps)(e)


def on_part(i: int) -> Strategy:
    """The strategy that, in nested maps around a sum, moves the sum's i-th operand out of the maps
    that it depends on: a map before makes it as an array."""
    operand = OF_SUMMED + part(i)

    def run(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        found = get(e.f.body, OF_FUNCTION + operand)
        if isinstance(found, Var):
            return skip(e)
        if free(found) & bound(e.f):
            return fission(place=OF_FUNCTION + operand)(e)
        return of_function(fission(place=operand))(e)

    return run


def _by_seven(form: Strassen, batch: int) -> Strategy:
    """The strategy that makes one product, or each of a batch, by seven products of half the size,
    as many times over as the form has levels; where it has none, a product of complex numbers by
    three real products. `batch` is the number of maps over the batch."""
    levels, leaf = form.levels, form.products
    if levels == 0:
        return _by_three(leaf, batch)
    if batch:
        return seq(_cut_each(batch, _cut), of_array(_stages(levels, leaf, batch + 1)))

    def run(e: Expr) -> Rewritten | None:
        return seq(_cut, lambda e: at(products(e), _stages(levels, leaf, 1))(e))(e)

    return run


def _by_three(leaf: Leaf, batch: int) -> Strategy:
    """The strategy that makes a product of complex matrices by three products of real ones, which
    are stored, in the form `leaf`; `batch` is the number of maps over the batch."""
    if batch:
        seen = at(OF_FUNCTION * batch, inline_view())
        return seq(_cut_each(batch, _cut_parts), seen, of_array(_stages(1, leaf, batch + 1)))
    return seq(_cut_parts, of_value(_stages(1, leaf, 1)), inline_view())


def _cut_parts(e: Expr) -> Rewritten:
    """The matrix product e of complex numbers rewritten by the law `three_products`; Refused where
    it does not apply."""
    done = stage("three products of real numbers", three_products())(e)
    if done is None:
        raise Refused(f"expected sums from 0 of products of complex numbers, found {shown(e)}")
    return done


def _cut_each(maps: int, cut: Strategy) -> Strategy:
    """The strategy that applies `cut` to each matrix product inside `maps` maps, and moves its
    operands and results out of the maps."""

    def apart(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        place = products(e.f.body)
        parts = [fission_zip(place=place + OF_ARRAY + part(i)) for i in (0, 1)]
        return seq(*parts, fission(place=place))(e)

    inner = cut if maps == 1 else _cut_each(maps - 1, cut)
    return seq(of_function(inner), apart)


def _cut(e: Expr) -> Rewritten:
    """The matrix product e rewritten by the law `fewer_blocks`; Refused where it does not apply."""
    done = stage("seven products of halves", fewer_blocks())(e)
    if done is None:
        raise Refused(_why_not(e))
    return done


def _why_not(e: Expr) -> str:
    """The reason, as a message, why the law `fewer_blocks` does not apply to e."""
    sums = reduction(e)
    parts = sums.xs.parts if isinstance(sums.xs, Zip) else ()
    if operator(sums.f) != "+":
        found = operator(sums.f) or "no fold"
        return f"expected sums (folds by +), found {found}: products of blocks are added up"
    if type_of(sums) != FLOAT or any({*leaves(elem_of(part))} != {FLOAT} for part in parts):
        kinds = sorted({show_type(t) for part in (sums, *parts) for t in leaves(type_of(part))})
        found = ", ".join(kinds)
        return f"expected floats, found {found}: the law's error is known for floats alone"
    if len(parts) != 2 or not sums_products(sums.f):
        return f"expected each sum to be of products of two numbers alone, found {shown(sums)}"
    return f"expected a matrix product of operands that use nothing of each other, found {shown(e)}"


VI, VO = named("vi"), named("vo")


def _stages(levels: int, form: Leaf, deep: int) -> Strategy:
    """The strategy that stores the sums of blocks and makes the products of these in the form
    `form`, each by seven smaller ones again while `levels` is more than 1.

    `deep` is the number of maps that go over the seven products.
    """
    left = stage("sums of the left operand's blocks", stored(transform_kernel(deep + 1, VI)))
    right = stage("sums of the right operand's blocks", _right_blocks(form, deep))
    operands = of_array(seq(of_part(0, left), of_part(1, right)))
    if levels > 1:
        smaller = _stages(levels - 1, form, deep + 1)
        nested_products = seq(_cut_each(deep, _cut), of_array(smaller))
        return seq(operands, nested_products, stored(transform_kernel(deep + 2, VO)))
    sums = standing(products=deep, columns=1, rows=1).exchange("columns", "rows")
    made = stored_as(sums.labels, ("products", "columns", "rows"), tidied)
    return seq(operands, stage("products stored", seq(tidied, sums, inside(made))))


def _right_blocks(form: Leaf, deep: int) -> Strategy:
    """The strategy that stores the sums of the right operand's blocks, whose rows work-items take
    side by side, with rows innermost; where lanes take them, the sums are stored again in the order
    in which lanes hold them. `deep` is the number of maps over products."""
    dims = labels(products=deep, rows=1, steps=1)
    if isinstance(form, Matrix):
        in_lanes = in_fragments(form.rows, deep + 2)
        laid = reordered(dims, ("rows", "products", "steps"), in_lanes)
        return seq(stored(transform_kernel(deep + 1, VI)), laid)
    blocks = standing(products=deep - 1, rows=1, steps=1).exchange("rows", "steps")
    across = seq(perfect, tidied, blocks, transform_kernel(deep + 1, VI))
    return stored_as(dims, ("products", "steps", "rows"), across)


CUTS = (
    (1, Trait("once", "seven products of half the size")),
    (2, Trait("twice", "seven products, each by seven of a quarter of the size")),
    (0, Trait("gauss", "a product of complex numbers by three of real ones, not four")),
)


def _forms(p: Program) -> Iterator[Form]:
    for levels, often in CUTS:
        yield _form(
            p, REGISTERS_TUNING, levels, Registers(Choices(), Level.GLOBAL), often, REGISTERS
        )
        yield _form(p, BLOCKED_TUNING, levels, Blocked(Choices()), often, BLOCKED)
    once, _, gauss = CUTS
    (levels, often), algorithm = (gauss, gauss_algorithm()) if _is_complex(p) else (once, seven())
    grown = of_algorithms([algorithm])
    for made in products_by_instructions(p, longest_sums(p, 2**levels), grown):
        traits, leaf = of_products(made)
        yield _form(p, made.tuning, levels, leaf, often, *traits)


def _form(p: Program, tuning: Tuning, levels: int, leaf: Leaf, *traits: Trait) -> Form:
    way = Way(strassen, parameter_names(p), Strassen(levels, leaf))
    return Form("strassen", traits, way, tuning)


@lru_cache(maxsize=64)
def _is_complex(p: Program) -> bool:
    """True if the program sums up products of complex numbers that the form `gauss` serves."""
    form = Strassen(0, Registers(Choices(), Level.GLOBAL))
    try:
        return strassen(parameter_names(p), form)(p.body) is not None
    except Refused:
        return False


FAMILY = Family("strassen", "a matrix product by seven of half its size", _forms, Products.FEWER)

"""The family `toeplitz`: weights replicated, so that sums over windows are a matrix product.

Where windows slide along the rows of an operand, the other operand's rows become Toeplitz matrices:
one row for each window, zeros where that window is not. They are stored, once for constants, and
what is left is a product of the rows with those matrices: no windows in that dimension.
"""

# key: e term, s strategy

from collections.abc import Iterator, Sequence
from functools import partial

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Map, Program, Zip
from ir.core.size import Size, named
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import depth, leaves
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy, get
from rewrites.engine.stages import stage
from rewrites.engine.strategy import (
    attempt,
    choice,
    everywhere,
    exhaust,
    outermost,
    seq,
    when,
)
from rewrites.families.blocked import BLOCKED, Blocked, in_tiles
from rewrites.families.blocked import TUNING as BLOCKED_TUNING
from rewrites.families.registers import REGISTERS, Registers, in_blocks
from rewrites.families.registers import TUNING as REGISTERS_TUNING
from rewrites.fast_algorithms.toeplitz import is_toeplitz, replicate_taps
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.work_group import flattened
from rewrites.laws.hoisting import store_as
from rewrites.laws.maps import constant_part, fuse_zip, inline_view
from rewrites.laws.reductions import absorb_init, interchange_reduce_map
from rewrites.laws.views import flat_zip
from rewrites.nest.dimensions import Dims, classify, depends, operands, reduction
from rewrites.nest.labels import labels
from rewrites.nest.normal_form import normalise
from rewrites.nest.spine import body, nest, store_operands
from rewrites.storing.constant_panels import panels
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.storing.view_out_of_maps import stored_at, views
from rewrites.transforms.matrix_kernels import tidied
from rewrites.transforms.row_spectra import rows
from rewrites.tuning.family import Family, Form, Trait, Tuning, Way, parameter_names
from rewrites.tuning.stored_forms import AHEAD, ITEMS, TRAITS


@frozen
class Toeplitz:
    """The choice of a form of the family `toeplitz` that is no number: the form of another family
    that makes the products with Toeplitz matrices."""

    products: Registers | Blocked  # how the products with the matrices are made


def toeplitz(params: frozenset[str], form: Toeplitz) -> Strategy:
    """The strategy that lowers a program in this form of the family `toeplitz`. `params` are the
    names of the program's parameters."""
    return seq(
        stage("constants replicated: no windows in rows", replicated(params)),
        stage("matrices stored", partial(_stored, params, form.products.choices.panel)),
        tidied,
        prepare(params, form.products.choices),
        wherever(partial(_kernel, params, form.products)),
    )


# ---- from windows to matrices


def replicated(params: frozenset[str]) -> Strategy:
    """The strategy that turns sums over windows of rows into products of whole rows with Toeplitz
    matrices. `params` are the names of the program's parameters."""
    return seq(
        normalise,
        store_operands(params),
        rows,
        exhaust(inline_view()),
        choice(outermost(replicate_taps()), lambda e: _refuse(_not_linear(e))),
        each_result,
        normalise,
        exhaust(flat_zip()),
        tidied,
    )


def _not_linear(e: Expr) -> str:
    return f"expected sums over windows that are linear in the taps, found {shown(e)}"


def _refuse(why: str) -> Rewritten | None:
    raise Refused(why)


def _is_sum(e: Expr) -> bool:
    return isinstance(e, Map) and isinstance(e.xs, Zip)


_added = seq(fuse_zip(), attempt(body(absorb_init())))

each_result: Strategy = everywhere(
    choice(when(_is_sum, _added), seq(interchange_reduce_map(), attempt(constant_part())))
)
"""Sums of arrays become arrays of sums."""


# ---- the matrices in memory


def oriented(e: Expr) -> Dims:
    """The dimensions of e with those of the Toeplitz matrices, windows and kernels, as its rows."""
    dims, first = classify(e), _first(e)
    if first in dims.batch:
        raise Refused(
            "expected matrices that results share, found that each result has a matrix of its own"
        )
    return Dims(dims.batch, dims.columns, dims.rows) if first in dims.columns else dims


def _first(e: Expr) -> int | None:
    """The position of the outermost map over Toeplitz matrices in the nest e; None without one."""
    return next((n for n, m in enumerate(nest(e)) if _of_matrices(m.xs)), None)


def _of_matrices(e: Expr) -> bool:
    return any(map(is_toeplitz, subterms(e)))


def _stored(params: frozenset[str], panel: Size, e: Expr) -> Rewritten | None:
    """The term e with its matrices stored: in panels of `panel` rows, or, if the batch has several
    matrices, one after the other. `params` are the names of the program's parameters."""
    dims, first = oriented(e), _first(e)
    reached = (depends(nest(e), part) for part in operands(reduction(e)))
    over = next((sorted(dims_of) for dims_of in reached if first in dims_of), [])
    batch = [n for n, d in enumerate(over) if d in dims.batch]
    laid = _together(batch, len(over)) if batch else _in_panels(len(over), panel)
    places = (place for place in views(e, params) if _is_matrices(get(e, place)))
    done = next((stored_at(params, place, lambda _: laid)(e) for place in places), None)
    return done or _refuse(
        "expected matrices that depend on the maps around them alone, found that they also depend "
        "on other variables"
    )


def _is_matrices(e: Expr) -> bool:
    return _of_matrices(e) and len(list(leaves(type_of(e)))) == 1


def _in_panels(rows: int, panel: Size) -> Strategy:
    """The strategy that stores matrices in panels of `panel` rows; their `rows` outer dimensions,
    over windows and kernels, are seen as one."""

    def run(e: Expr) -> Rewritten | None:
        return flattened(rows, panels(depth(type_of(e)) - rows + 1, panel))(e)

    return run


def _together(batch: Sequence[int], around: int) -> Strategy:
    """The strategy that stores the Toeplitz matrices of a batch with its dimensions in this order,
    outermost first: those of the batch, those that are summed over, and those of a matrix's rows.
    Of the array's `around` outer dimensions, those at the positions `batch` are the batch, and the
    others are of rows."""

    def run(e: Expr) -> Rewritten | None:
        lying = [f"kind {n}" if n in batch else f"row {n}" for n in range(around)]
        summed = [f"summed {n}" for n in range(depth(type_of(e)) - around)]
        kinds = [f"kind {n}" for n in batch]
        rows = [name for name in lying if name not in kinds]
        return store_as(order=labels(*lying, *summed).positions(*kinds, *summed, *rows))(e)

    return run


def _kernel(params: frozenset[str], form: Registers | Blocked, e: Expr) -> Rewritten | None:
    dims = oriented(e)
    if isinstance(form, Registers):
        return in_blocks(params, form, dims)(e)
    return in_tiles(params, form, dims)(e)


def _forms(p: Program) -> Iterator[Form]:
    panel = named("tr") * named("v")
    for windows in (Windows.NONE, Windows.PADDED, Windows.PLANES):
        one, group = Choices(windows, panel=panel), Choices(windows, panel=named("lx") * panel)
        for traits, products, tuning in _products(one, group):
            way = Way(toeplitz, parameter_names(p), Toeplitz(products))
            yield Form("toeplitz", (*traits, *TRAITS[windows]), way, tuning)


def _products(
    one: Choices, group: Choices
) -> Iterator[tuple[tuple[Trait, ...], Registers | Blocked, Tuning]]:
    """The ways to make products with the matrices, each with its traits and its tuning. Those by
    the family `registers` have the choices `one`, with panels for a work-item's block; those by the
    family `blocked` have the choices `group`, with panels for a work-group's."""
    yield (REGISTERS,), Registers(one), REGISTERS_TUNING
    yield (REGISTERS, ITEMS), Registers(one, Level.GLOBAL), REGISTERS_TUNING
    yield (BLOCKED,), Blocked(group), BLOCKED_TUNING
    yield (BLOCKED, AHEAD), Blocked(group, ahead=True), BLOCKED_TUNING


FAMILY = Family(
    "toeplitz",
    "weights stored once for every window of a row: a matrix product without windows",
    _forms,
    by_default=False,
)

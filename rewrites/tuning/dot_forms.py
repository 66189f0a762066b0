"""Forms of the family `registers` for bytes: four products at once, by an instruction.

A work-item makes `tr` times `v` rows times `tx` columns (times `ty` lines), each by dot products of
four bytes along the longest sum; what is made of `v` sums is a vector. Devices without the
instruction make the four products one by one.
"""

# key: e term

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program
from ir.core.size import named
from ir.instructions.entries.dot_products import LANES
from ir.instructions.table import DOTS
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import (
    innermost_reduction,
    longest_inside,
    on_reduction,
    over,
    split_innermost,
)
from rewrites.kernels.sums_of_dots import sums_of_dots
from rewrites.nest.dimensions import sided
from rewrites.nest.named_nest import in_lines
from rewrites.nest.normal_form import nested_reductions, normalise
from rewrites.nest.reshape import rounded
from rewrites.nest.spine import kernels
from rewrites.number_laws.units import round_fold
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
from rewrites.storing.stored_views import Choices, prepare
from rewrites.tuning.bytes_multiplied import of_its_bytes
from rewrites.tuning.family import Form, Trait, Tuning, Way, parameter_names
from rewrites.tuning.stored_forms import ITEMS, Views, chosen, stored_choices

ACROSS = Trait(
    "across", "operands are loaded in vectors of channels, lanes of which make the instruction's"
)
V = named("v")
ROWS = named("tr") * V


@frozen
class Dots:
    """The choices of a form by dot products that are not numbers.

    `choices`: which views are stored, and how constants are laid out. `instruction` is the name of
    the one that makes four products. `level`: a block is made by a work-group of one work-item, or
    by a work-item that the term puts in no group. `tall`: a block has two dimensions of columns.
    `across`: operands are loaded in vectors along the dimensions of results, not along the sum.
    """

    choices: Choices
    instruction: str
    level: Level
    tall: bool  # also a block over the second-innermost columns
    across: bool = False  # operands are loaded in vectors of results


def dots(params: frozenset[str], form: Dots) -> Strategy:
    """The strategy that lowers each kernel that sums products of bytes to dot products of four
    bytes. `params` are the names of the program's parameters."""
    return seq(
        one_each(params, normalise),
        stage("sums of multiples of four", kernels(attempt(on_reduction(_in_fours)))),
        prepare(params, form.choices),
        wherever(partial(_kernel, params, form)),
    )


def _in_fours(e: Expr) -> Rewritten | None:
    """The nest of sums e with its longest sum innermost, lengthened by zeros to a multiple of four
    steps."""
    rounded_up = innermost_reduction(attempt(round_fold(k=LANES)))
    return seq(nested_reductions, longest_inside, rounded_up)(e)


def _kernel(params: frozenset[str], form: Dots, e: Expr) -> Rewritten | None:
    """The kernel e lowered to dot products. Its dimensions are rows or columns by which of the two
    operands depends on them. `params` are the names of the program's parameters."""
    dims = sided(e)
    if not dims.rows and not dims.columns:
        raise Refused(
            "expected an operand that several results share, found each result with "
            "operands of its own"
        )
    tiled = (
        in_lines(dims, form.tall)
        .merge("rows")
        .on("rows", rounded(ROWS), "as many as tiles have")
        .split("rows", ROWS, "row tiles", "row block")
        .tile("columns", named("tx"), "column tiles", "column block")
        .tile("lines", named("ty"), "line tiles", "line block")
        .then(stage("room for tiles", room(params)) if form.choices.room else skip)
    )
    tiles = ("batch", "line tiles", "column tiles", "row tiles")
    block = ("line block", "column block", "row block")
    sums = (
        tiled.order(*tiles, *block)
        .then(stage("the longest sum innermost", on_reduction(longest_inside)))
        .then(split_innermost(LANES))
        .around_chunks(*block)
    )
    lowered = over(sums, form.level, tiles, sums_of_dots(DOTS[form.instruction], V, form.across))
    return stage("a block of results for each work-item", lowered)(e)


def dot_forms(p: Program, views: Views, tall: Trait, tuning: Tuning) -> Iterator[Form]:
    """The forms by dot products of a program that multiplies bytes; each stores one of `views`, or
    none. `tall` is the trait of forms whose blocks have two dimensions of columns, and `tuning` the
    tuning that all these forms have."""
    for name in of_its_bytes(p, DOTS):
        meaning = f"four products by the instruction {name}"
        trait = Trait(name.replace("_", "-"), meaning, instruction=name)
        for (traits, choices), level, is_tall, across in product(
            stored_choices(p, views, ROWS),
            (Level.GROUP, Level.GLOBAL),
            (False, True),
            (False, True),
        ):
            laid = replace(choices, lanes=1 if across else LANES)
            made = Dots(laid, name, level, is_tall, across)
            more = chosen({ITEMS: level is Level.GLOBAL, tall: is_tall, ACROSS: across})
            way = Way(dots, parameter_names(p), made)
            yield Form("registers", (trait, *traits, *more), way, tuning)

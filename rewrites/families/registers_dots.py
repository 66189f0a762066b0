"""Forms of the family `registers` for bytes: four products at once, by an instruction.

A work-item makes `tr` rows times `tx` columns (times `ty` lines), each by dot products of four
bytes along the longest sum. Devices without the instruction make the four products one by one.
"""

# key: e term

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from ir.core.nodes import Expr, Level, Program
from ir.core.size import named
from ir.core.terms import variables
from ir.core.types import CHAR, UCHAR, Array, Scalar, Type, Vector, leaves
from ir.instructions.dot_products import LANES
from ir.instructions.table import DOTS
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import seq, skip
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.register_block import longest_inside, on_reduction, over, split_innermost
from rewrites.kernels.sums_of_dots import sums_of_dots
from rewrites.nest.dimensions import sided
from rewrites.nest.named_nest import arranged
from rewrites.nest.normal_form import normalise
from rewrites.nest.reshape import rounded
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.padding_for_tiles import room
from rewrites.storing.stored_views import Choices, prepare
from rewrites.tuning.family import Form, Trait, Tuning, Way, parameter_names
from rewrites.tuning.stored_forms import ITEMS, Views, chosen, stored_choices

TR = named("tr")


@dataclass(frozen=True, slots=True)
class Dots:
    """The choices of a form of dot products that are not numbers."""

    choices: Choices
    instruction: str
    level: Level
    tall: bool  # also a block over the second-innermost columns


def dots(params: frozenset[str], form: Dots) -> Strategy:
    """The strategy that lowers every kernel of a program that sums products of bytes to dot
    products of four. `params` are the names of the program's parameters."""
    return seq(
        one_each(params, normalise),
        prepare(params, form.choices),
        wherever(partial(_kernel, params, form)),
    )


def _kernel(params: frozenset[str], form: Dots, e: Expr) -> Rewritten | None:
    """The kernel e lowered to dot products; its rows and columns are found by which operand they
    reach."""
    dims = sided(e)
    if not dims.rows and not dims.columns:
        raise Refused(
            "expected rows or columns, found no dimension in which results differ in one operand"
        )
    columns = dims.columns if dims.rows else dims.columns[:-1]
    lines = columns[-2:-1] if form.tall else ()
    tiled = (
        arranged(
            batch=(*dims.batch, *columns[: len(columns[:-1]) - len(lines)]),
            lines=lines,
            columns=columns[-1:],
            rows=dims.rows or dims.columns[-1:],
        )
        .merge("rows")
        .on("rows", rounded(TR), "as many as tiles have")
        .split("rows", TR, "row tiles", "row block")
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
    lowered = over(sums, form.level, tiles, sums_of_dots(DOTS[form.instruction]))
    return stage("a block of results for each work-item", lowered)(e)


def dot_forms(p: Program, views: Views, tall: Trait, tuning: Tuning) -> Iterator[Form]:
    """The forms of dot products for a program that multiplies bytes, those that store one of
    `views`."""
    for name in _of_its_bytes(p):
        meaning = f"four products by the instruction {name}"
        trait = Trait(name.replace("_", "-"), meaning, instruction=name)
        for (traits, choices), level, is_tall in product(
            stored_choices(p, views, TR), (Level.GROUP, Level.GLOBAL), (False, True)
        ):
            made = Dots(replace(choices, lanes=LANES), name, level, is_tall)
            more = chosen({ITEMS: level is Level.GLOBAL, tall: is_tall})
            way = Way(dots, parameter_names(p), made)
            yield Form("registers", (trait, *traits, *more), way, tuning)


def _of_its_bytes(p: Program) -> Iterator[str]:
    """The names of the dot products of the bytes that a program's constants hold, or without those
    its other parameters, with bytes of its other parameters."""
    const, other = (_bytes(p, const) for const in (True, False))
    pairs = {frozenset(pair) for pair in product(const or other, other)}
    for name, entry in DOTS.items():
        first, second, _ = (_element(v.type) for v in variables(entry.program.pattern))
        if frozenset((first, second)) in pairs:
            yield name


def _bytes(p: Program, const: bool) -> set[Scalar | Vector]:
    held = (leaves(param.var.type) for param in p.params if param.const == const)
    return {t for types in held for t in types} & {CHAR, UCHAR}


def _element(t: Type) -> Type:
    return t.elem if isinstance(t, Array) else t

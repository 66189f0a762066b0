"""The family `io-optimal`: blocks of results stay on chip while one channel at a time goes by.

The dataflow of Zhang et al. (PPoPP 2021, section 4). A work-group makes `tx` × `ty` pixels of
`lx` × `tr` vectors of `v` output channels, in registers. For each input channel it stages the patch
of that channel under its pixels, and the channel's weights, then adds their products. Of each part
of the input a group reads no element twice.
"""

# key: e term, s strategy

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Level, Program, Reduce, Zip
from ir.core.size import named
from ir.core.type_rules import size_of, type_of
from ir.core.types import depth
from rewrites.engine.places import of_array, of_part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, seq
from rewrites.families.blocked import TUNING as BLOCKED_TUNING
from rewrites.kernels.each_kernel import wherever
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import on_reduction, outside, over, split_innermost, trips
from rewrites.kernels.work_group import copied, has_vectors, staging, work_group
from rewrites.laws.planes import fuse_reduce_zip, planes
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.dimensions import Dims, classify, reduction, shared_by_groups
from rewrites.nest.named_nest import arranged
from rewrites.nest.normal_form import normalise, simplify
from rewrites.nest.reshape import chunked, rounded
from rewrites.nest.spine import inside, nest
from rewrites.nest.work_amounts import amounts
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.stored_views import Choices, Windows, prepare
from rewrites.tuning.family import (
    Family,
    Form,
    Parameter,
    Sides,
    Tuning,
    Way,
    constant_names,
    parameter_names,
)
from rewrites.tuning.io_optimal_blocks import AT_ONCE, balanced, near_volume
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.stored_forms import AHEAD, Views, chosen, stored_choices

LX, LY, TR, V, TX, TY = map(named, ("lx", "ly", "tr", "v", "tx", "ty"))


def dataflow(params: frozenset[str], choices: Choices, ahead: bool) -> Strategy:
    """The strategy that lowers every kernel of a program in a form of the family `io-optimal`. If
    `ahead`, the next channel is loaded while this one is used. `params` are the names of the
    program's parameters."""
    return seq(
        one_each(params, normalise),
        prepare(params, choices),
        wherever(partial(_kernel, ahead)),
        shared_by_groups,
    )


def _kernel(ahead: bool, e: Expr) -> Rewritten | None:
    dims = classify(e)
    if not dims.rows or not dims.columns:
        raise Refused(
            "expected an operand that results share, found none: there is nothing to keep on chip"
        )
    if all(size_of(nest(e)[d].xs) == 1 for d in dims.rows):
        raise Refused(
            "expected several output channels, found one: its vectors would have room for two, "
            "and blocks would move twice as many bytes"
        )
    sums = trips(reduction(e))
    done = choice(*(_nest(ahead, dims, len(sums), c) for c in reversed(range(len(sums)))))(e)
    if done is None:
        raise Refused("expected an operand that is the same for all pixels of a block, found none")
    return done


TILES = ("batch", "tiles down", "tiles across", "row tiles")


def _nest(ahead: bool, dims: Dims, sums: int, channel: int) -> Strategy:
    """The strategy for the nest of maps of a kernel, in the dimensions `dims`, around `sums` nested
    sums; number `channel` of these becomes the outermost loop. If `ahead`, the next channel is
    loaded while this one is used."""
    down, across = dims.columns[-2:-1], dims.columns[-1:]
    batch = (*dims.batch, *dims.columns[:-2])
    chunks = {"down": chunked(TY), "across": chunked(TX)} if down else {"across": chunked(TX)}
    windows = arranged(batch=batch, down=down, across=across, rows=dims.rows).merge("rows")
    tiled = (
        patches(windows, chunks)
        .merge("pixels", "across", "down")
        .on("rows", seq(rounded(LX * TR * V), inside(vectorize_map(v=V))), "in vectors of v")
        .split("rows", LX * TR, "row tiles", "rows")
        .split("rows", LX, "row block", "row items")
        .split("pixels", LY, "pixel block", "pixel items")
        .order(*TILES, "pixel items", "row items", "pixel block", "row block")
    )
    by_channel = (
        tiled.then(stage("one channel after the other", on_reduction(outside(channel))))
        .then(split_innermost(1) if sums == 1 else attempt(simplify))
        .into_sum("pixel block", "row block")
        .into_sum("pixel items", "row items", left=max(1, sums - 1))
        .then(stage("a plane of the input a step", on_reduction(_by_planes)))
    )
    lowered = over(by_channel, Level.GROUP, TILES, work_group(2, partial(_stage, ahead)))
    return stage("a block of results for each work-group", lowered)


def _by_planes(e: Expr) -> Rewritten | None:
    """The sum e with each of its steps reading windows of one plane (channel) of the pixels'
    operand."""
    if not isinstance(e, Reduce) or not isinstance(e.xs, Zip):
        return None
    pixels = [i for i, part in enumerate(e.xs.parts) if not has_vectors(part)]
    if len(pixels) != 1:
        return None
    by_planes = of_array(of_part(pixels[0], planes()))
    return seq(by_planes, fuse_reduce_zip(), attempt(simplify))(e)


def _stage(ahead: bool, t: Expr) -> Strategy:
    """The strategy that copies the operand t to local memory: a patch of the input in its own
    order, weights with those of one work-item innermost. If `ahead`, the next channel is copied
    while this one is used."""
    if has_vectors(t):
        return staging((LX, LY), ahead)
    return copied((LX, LY), depth(type_of(t)), ahead)


@frozen
class IoOptimal:
    """The choices of a form of the family `io-optimal` that are not numbers. If `ahead`, the next
    channel is loaded while this one is used."""

    choices: Choices
    ahead: bool


def _strategy(params: frozenset[str], form: IoOptimal) -> Strategy:
    return dataflow(params, form.choices, form.ahead)


VIEWS: Views = tuple((w, False) for w in (Windows.NONE, Windows.PADDED, Windows.PLANES))


def _forms(p: Program) -> Iterator[Form]:
    stored = stored_choices(p, VIEWS, named("lx") * named("tr") * named("v"))
    for (traits, choices), ahead in product(stored, (False, True)):
        way = Way(_strategy, parameter_names(p), IoOptimal(choices, ahead))
        yield Form("io-optimal", (*traits, *chosen({AHEAD: ahead})), way, TUNING)


def _as_the_dataflow(p: Program, lowering: Lowering) -> Lowering:
    """The lowering with the dataflow's requirements on its block, where the program is one sum of
    products."""
    known, block = amounts(p.body, parameter_names(p)), lowering.block
    if known is None or block is None:
        return lowering
    near = near_volume(lowering.program.body, constant_names(p), block, known)
    required = (*lowering.requirements, *balanced(block, known), near)
    return replace(lowering, requirements=required, at_once=AT_ONCE)


# A patch that reaches far beyond the image is no bargain.
PATCH = (*range(1, 17), 24, 27, 28, 32)
TUNING = Tuning(
    "io-optimal",
    {
        **{name: BLOCKED_TUNING.parameters[name] for name in ("lx", "ly", "v")},
        "tr": Parameter("vectors of channels that a work-item makes", (1, 2, 3, 4)),
        "tx": Parameter("pixels of a row that a group makes", PATCH),
        "ty": Parameter("rows of pixels that a group makes", PATCH),
    },
    sides=Sides(pixels=("tx", "ty"), channels=("lx", "tr", "v")),
    refine=_as_the_dataflow,
)
FAMILY = Family("io-optimal", "blocks that move as little as can be", _forms)

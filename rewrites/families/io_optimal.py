"""The family `io-optimal`: blocks of results stay on chip while one channel at a time goes by.

The dataflow of Zhang et al. (PPoPP 2021, section 4). A work-group makes `tx` × `ty` pixels of
`lx` × `tr` vectors of `v` output channels, in registers. For each input channel it stages the patch
of that channel under its pixels, and the channel's weights, then adds their products. Of each part
of the input a group reads no element twice.
"""

# key: e term, s strategy, n position in the nest, b how many batch dimensions

from functools import partial

from ir.core.nodes import Expr, Level, Reduce, Zip
from ir.core.size import Size, named
from ir.core.type_rules import size_of, type_of
from rewrites.analysis.predicates import depth, has_reduction
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import at, attempt, child, choice, seq
from rewrites.kernels.copy_kernels import unfolded
from rewrites.kernels.input_patches import patches
from rewrites.kernels.register_block import on_reduction, parallel, split_innermost, trips
from rewrites.kernels.work_group import copied, has_vectors, staging, work_group
from rewrites.laws.maps import split_map
from rewrites.laws.planes import fuse_reduce_zip, planes
from rewrites.laws.reductions import interchange_reduce
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.blocks_of_results import block
from rewrites.nest.dimensions import Dims, classify, reduction, shared_by_groups
from rewrites.nest.normal_form import nested_reductions, normalise, simplify
from rewrites.nest.reshape import merge, on_map, rounded, sort
from rewrites.nest.spine import inside, kernels, nest
from rewrites.storing.one_reduction_each import one_each
from rewrites.storing.stored_views import Choices, prepare

LX, LY, TR, V, TX, TY = map(named, ("lx", "ly", "tr", "v", "tx", "ty"))


def dataflow(params: frozenset[str], choices: Choices, ahead: bool) -> Strategy:
    """Lower every kernel of a program this way."""
    return seq(
        one_each(params, normalise),
        prepare(params, choices),
        kernels(partial(_kernel, ahead)),
        shared_by_groups,
    )


def _kernel(ahead: bool, e: Expr) -> Rewritten | None:
    if not has_reduction(e):
        return unfolded(e)
    dims = classify(e)
    if not dims.rows or not dims.columns:
        raise Refused("no operand is shared between results: nothing to keep on chip")
    if all(size_of(nest(e)[d].xs) == 1 for d in dims.rows):
        raise Refused(
            "one output channel: vectors round it up to two, and blocks move twice as much"
        )
    sums = trips(reduction(e))
    done = choice(*(seq(*_steps(ahead, dims, len(sums), c)) for c in reversed(range(len(sums)))))(e)
    if done is None:
        raise Refused("no part of the input that goes by is the same for all pixels of a block")
    return done


def _steps(ahead: bool, dims: Dims, sums: int, channel: int) -> list[Strategy]:
    """`channel`: which of the nested sums is the outermost loop."""
    columns = dims.columns[-2:]
    batch = [*dims.batch, *dims.columns[:-2]]
    b, n = len(batch), len(columns)
    steps = [sort([*batch, *columns, *dims.rows])]
    steps += [merge(b + n) for _ in dims.rows[1:]]
    sides = (TY, TX) if n == 2 else (TX,)
    steps += patches(b, [_chunks(k) for k in sides])
    c = b + n  # the block's pixels, then the rows at c + 1
    steps += [merge(c) for _ in columns[1:]]
    steps += [
        on_map(c + 1, seq(rounded(LX * TR * V), inside(vectorize_map(v=V)))),
        on_map(c + 1, split_map(k=LX * TR)),
        on_map(c + 2, split_map(k=LX)),
        on_map(c, split_map(k=LY)),
        # tiles…, pixel block, pixel item, row tile, row block, row item
        sort([*range(c), c + 2, c + 1, c + 4, c, c + 3]),
        on_reduction(_outside(channel)),
        split_innermost(1) if sums == 1 else attempt(simplify),
        block(c + 3, c + 4),
        block(c + 1, c + 2, left=max(1, sums - 1)),
        on_reduction(_by_planes),
    ]
    steps += [merge(0) for _ in range(c + 1 - 3)]
    groups = min(3, c + 1)
    steps.append(parallel(groups, Level.GROUP, work_group(2, partial(_stage, ahead))))
    return steps


def _chunks(k: Size) -> Strategy:
    return seq(rounded(k), inside(split_map(k=k)))


def _outside(level: int) -> Strategy:
    """The sum at a level of a nest becomes its outermost."""
    moves = [at((1, 0) * i, interchange_reduce()) for i in reversed(range(level))]
    return seq(*(seq(m, simplify, nested_reductions) for m in moves))


def _by_planes(e: Expr) -> Rewritten | None:
    """Each step of a reduction reads windows of one plane of the pixels' operand."""
    if not isinstance(e, Reduce) or not isinstance(e.xs, Zip):
        return None
    pixels = [i for i, part in enumerate(e.xs.parts) if not has_vectors(part)]
    if len(pixels) != 1:
        return None
    return seq(child(2, child(pixels[0], planes())), fuse_reduce_zip(), attempt(simplify))(e)


def _stage(ahead: bool, t: Expr) -> Strategy:
    """A patch as it lies, weights with a work-item's own innermost."""
    if has_vectors(t):
        return staging((LX, LY), ahead)
    return copied((LX, LY), depth(type_of(t)), ahead)

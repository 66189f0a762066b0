"""Tests that rules keep type and meaning: each is applied to random terms, and the terms before and
after are interpreted."""

# key: e term

import importlib
import pkgutil
from random import Random

import numpy as np
import pytest

from ir.core.nodes import Edge, Expr, Level, Lit, Pad, PadEdge, Program, Var
from ir.core.size import Size, named, round_up
from ir.core.terms import free, subterms
from ir.core.type_rules import type_of
from ir.core.types import BFLOAT, FLOAT, Array, equal
from ir.meaning.inputs import Data, random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from rewrites import fast_algorithms, laws, number_laws
from rewrites.analysis.number_parts import high_part
from rewrites.analysis.out_views import is_crop
from rewrites.engine.meaning_check import same_data
from rewrites.engine.rule import Argument, Rule, Unsound, apply_rule
from rewrites.engine.strategy import seq
from rewrites.fast_algorithms import block_products as products
from rewrites.fast_algorithms import by_rows as over_rows
from rewrites.fast_algorithms import by_spectra
from rewrites.fast_algorithms import complex_products as complexes
from rewrites.fast_algorithms import constant_matrices as constant
from rewrites.fast_algorithms import fewer_products as bilinear
from rewrites.fast_algorithms import sums_of_spectra as spectra
from rewrites.fast_algorithms import toeplitz as matrices
from rewrites.fast_algorithms.by_columns import by_columns
from rewrites.fast_algorithms.by_windows import by_windows
from rewrites.laws import captures, lets, lower, maps, pads, planes, slides, vectors, views, zips
from rewrites.laws import functions_of_elements as functions
from rewrites.laws import hoisting as out
from rewrites.laws import interchange as nests
from rewrites.laws import reductions as folds
from rewrites.number_laws import (
    accumulators,
    byte_signs,
    instructions,
    lane_results,
    pairs_of_products,
    precision,
    read_beside,
    whole_sums,
    widening,
    zero_points,
)
from rewrites.transforms.sums_over_tiles import by_numbered_tiles, by_parts_of_tiles
from tests.support import bilinear_instances, instances, instruction_instances, spectral_instances
from tests.support.conditions import CONDITIONS
from tests.support.random_terms import Terms, nameless, well_formed

ENOUGH = 28
DRAWS = 10  # of which one makes a new term
POISON = -(2**31)  # what pad_any adds to an array of int; to one of float it adds NaN
INSTANCES = {
    **instances.INSTANCES,
    **bilinear_instances.INSTANCES,
    **spectral_instances.INSTANCES,
    **instruction_instances.INSTANCES,
}


def all_rules() -> list[tuple[str, Rule]]:
    """The rules in the rooms of laws and in rewrites/fast_algorithms, with their names."""
    found = {
        name: value
        for room in (laws, number_laws, fast_algorithms)
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, Rule)
    }
    return sorted(found.items())


RULES = all_rules()


def known(a: Data, b: Data) -> tuple[Data, Data]:
    """The numbers of a, and those of b, at the places where a is neither the poison of pad_any nor
    NaN."""
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        both = [known(x, y) for x, y in zip(a, b, strict=True)]
        return tuple(x for x, _ in both), tuple(y for _, y in both)
    assert not isinstance(b, tuple)
    assert a.shape == b.shape
    seen = ~np.isnan(a) & (a != POISON)
    return a[seen], b[seen]


def check(before: Expr, after: Expr, program: Program, seed: int, rounding: float = 0.0) -> None:
    """Assert that a term has the same type and value after a rule as before it, and no new free
    variables; values may differ by `rounding` machine epsilons."""
    assert equal(type_of(before), type_of(after))
    assert free(after) <= free(before), f"{show(before)}\nbecame\n{show(after)}"
    assert well_formed(after), f"{show(before)}\nbecame\n{show(after)}"
    inputs = random_inputs(program, seed)
    expected = evaluate(program, inputs)
    found = evaluate(Program(program.name, program.params, after), inputs)
    anywhere = not any(isinstance(s, PadEdge) and s.edge is Edge.ANY for s in subterms(before))
    if not anywhere:
        expected, found = known(expected, found)
    assert same_data(expected, found, rounding), f"{show(before)}\nbecame\n{show(after)}"


def test_no_rule_is_missing() -> None:
    drawn = {r.law for r in INSTANCES}
    assert [name for name, r in RULES if r.law not in drawn] == []


@pytest.mark.parametrize("rule", [r for _, r in RULES], ids=[name for name, _ in RULES])
def test_a_rule_keeps_type_and_meaning(rule: Rule) -> None:
    """The rule applies to ENOUGH random terms, which differ in more than names, and each of them
    keeps its type and meaning."""
    seen = set[Expr]()
    for seed in range(DRAWS * ENOUGH):
        g = Terms(Random(seed))
        before, arguments = INSTANCES[rule](g)
        if not well_formed(before) or (term := nameless(before)) in seen:
            continue
        result = apply_rule(rule, arguments, before)
        if result is None:
            continue
        (step,) = result[1]
        check(before, result[0], g.program(before), seed, step.rounding)
        seen.add(term)
        if len(seen) == ENOUGH:
            return
    pytest.fail(f"the rule applied to only {len(seen)} different terms")


# ---- twins: what is not of its pattern, a rule must not apply to (side conditions: conditions.py)

XS, YS, XSS = "xs : [float]6", "ys : [float]6", "xss : [[float]3]2"
BOTH = f"{XS}, {YS}"
SUM = "reduce({}, (acc, x) -> acc + x, {})"
ROWS_ADDED = "reduce(generate(3, i -> {}), (acc, row) -> map(x -> x.0 + x.1, zip(acc, {})), xss)"
FIRST_DROPPED = "pad_any(-1, 0, pad(1, 0, 0.0, row))"
COMPLEX_ROWS = "xss : [[(float, float)]4]2, yss : [[(float, float)]4]3"
COMPLEX_SUMS = (
    "map(x -> map(y -> reduce((0.0, {}), (s, (z, w)) -> (s.0 + (z.0 * w.0 - z.1 * w.1), "
    "s.1 + (z.0 * w.1 {} z.1 * w.0)), zip(x, y)), yss), xss)"
)
PRODUCTS = "a : [[float]16]8, b : [[float]8]8, c : [[float]8]16"
WIDE = "a : [[float]16]16, b : [[float]8]16, c : [[float]8]16"
BFLOATS = high_part(BFLOAT)
PRODUCT = (
    "reduce(c, (acc, (p, q)) -> map((row, x) -> map((s, y) -> {}, zip(row, q)), zip(acc, p)), "
    "zip(a, b))"
)
OVER = "map(w -> reduce(0.0, (a, (x, h)) -> a + {}, zip(w, {})), slide(2, 1, {}))"

REFUSALS: list[tuple[Rule, dict[str, Argument], str, str]] = [
    # lowering
    (lower.to_parallel, {"level": Level.LOCAL, "dim": 0}, XS, "split(2, xs)"),
    (lower.to_seq, {}, XS, "mapSeq(x -> -x, xs)"),
    (lower.to_reduce_seq, {}, XS, "reduceSeq(0.0, (acc, x) -> acc + x, xs)"),
    (lower.copy, {}, "x : float", "-x"),
    (lower.copy_deep, {}, "x : (float, float)", "x"),
    # maps
    (maps.fuse_maps, {}, XS, "map(x -> -x, join(split(2, xs)))"),
    (maps.constant_part, {}, XS, "map(x -> -x, generate(6, i -> 1.0))"),
    (maps.unit_map, {}, XS, "at(0, xs)"),
    (nests.interchange, {}, XSS, "map(row -> map(x -> -x, row), xss)"),
    (nests.transpose_joined, {}, XSS, "transpose(xss)"),
    (nests.concat_outside, {}, XSS, "map(row -> map(x -> -x, row), xss)"),
    (nests.interchange_beside, {}, XSS, "map(row -> at(0, row), xss)"),
    (nests.collapse, {}, XSS, "map(row -> at(0, row), xss)"),
    (nests.collapse_beside, {}, XSS, "map(row -> map(x -> -x, row), xss)"),
    (maps.pull_view, {}, XSS, "map(row -> map(x -> -x, row), xss)"),
    # reductions
    (folds.split_reduce, {"k": 4}, XS, SUM.format(0.0, "xs")),
    (folds.unjoin_reduce, {}, XS, SUM.format(0.0, "xs")),
    (
        folds.join_reduce, {}, XSS,
        "reduce(0.0, (acc, row) -> reduce(1.0, (a, x) -> a + x, row), xss)",
    ),
    (
        captures.carry, {"x": Var("b", FLOAT)}, f"{XS}, b : float",
        "reduce(b, (acc, x) -> acc + x, xs)",
    ),
    (accumulators.sum_in_float, {}, XS, SUM.format(0.0, "xs")),
    (accumulators.rounded_later, {}, "h : half", "float(h)"),
    (pairs_of_products.sum_in_pairs, {}, XS, SUM.format(0.0, "xs")),
    (pairs_of_products.sum_in_fours, {}, XS, SUM.format(0.0, "xs")),
    (byte_signs.other_sign, {"part": 0}, "xs : [char]6", SUM.format(0, "xs")),
    (whole_sums.sum_in_int, {}, XS, SUM.format(0.0, "xs")),
    (whole_sums.choice_in_int, {}, "x : float, y : float", "max(x, y)"),
    (whole_sums.saturated_int, {}, "x : float", "char_sat(x)"),
    (widening.float_product, {}, "h : half", "float(h)"),
    (widening.widen, {"name": "xs"}, XS, "map(x -> -x, xs)"),
    (widening.float_once, {}, XS, "let! ys = xs map(y -> -y, ys)"),
    (widening.short_once, {}, XS, "let! ys = xs map(y -> -y, ys)"),
    (accumulators.split_loop, {"k": 4}, XS, "reduceSeq(0.0, (acc, x) -> acc + x, xs)"),
    (accumulators.sum_afresh, {}, f"{XS}, f : float", "reduceSeq(f, (acc, x) -> acc + x, xs)"),
    (accumulators.sum_apart, {}, f"{XS}, f : float", "reduceSeq(f, (acc, x) -> acc + x, xs)"),
    (zero_points.zero_points_out, {}, "xs : [int]6", SUM.format(0, "xs")),
    (folds.fuse_reduce, {}, XS, SUM.format(0.0, "xs")),
    (folds.interchange_map_reduce, {}, XSS, "map(row -> at(0, row), xss)"),
    (folds.stride_parts, {}, XS, SUM.format(0.0, "map(c -> at(0, c), split(2, xs))")),
    # vectors
    (vectors.vectorize_map, {"v": 2}, XSS, "map(row -> asVector(3, row), xss)"),
    (vectors.partial_reduce_vector, {"k": 3, "v": 2}, XS, SUM.format(0.0, "xs")),
    # views
    (views.join_split, {}, XSS, "join(xss)"),
    (views.transpose_twice, {}, XSS, "transpose(xss)"),
    (views.map_transpose_twice, {}, "xs : [[[float]2]2]2", "map(x -> transpose(x), xs)"),
    (views.get_tuple, {}, "x : (float, float)", "x.0"),
    (views.scalar_vector, {}, "xs : [float<2>]6", "asScalar(xs)"),
    (views.flat_zip, {}, BOTH, "map((x, y) -> x + y, zip(xs, ys))"),
    (views.pad_zip, {}, XS, "pad_clamp(0, 1, xs)"),
    (views.split_inner, {"k": 4, "level": 1}, XSS, "xss"),
    (views.split_inner, {"k": 1, "level": 1}, XS, "xs"),
    (views.round_open, {"k": 4}, "xs : [(float, int)]6", "xs"),
    (zips.split_zip, {}, XS, "split(2, xs)"),
    # windows and edges
    (slides.tile_slide, {"u": 4}, XS, "slide(3, 2, xs)"),
    (slides.strict_slide, {}, XS, "slide_strict(2, 2, xs)"),
    (slides.slide_map, {}, XS, "slide(2, 2, xs)"),
    (slides.pad_map, {}, XS, "pad(1, 1, 0.0, map(x -> x + 1.0, xs))"),
    (slides.map_pad_edge, {}, XS, "map(x -> x + 1.0, pad(1, 1, 0.0, xs))"),
    (slides.slide_rows, {}, XSS, "transpose(map(row -> split(1, row), xss))"),
    (slides.slide_slide, {}, XSS, "slide(1, 1, map(row -> split(1, row), xss))"),
    (slides.close_gaps, {}, XS, "slide(2, 2, xs)"),
    (planes.planes, {}, XS, "slide(2, 1, xs)"),
    (planes.planes, {}, XSS, "map(row -> split(1, row), xss)"),
    (planes.planes, {}, BOTH, "zip(xs, ys)"),
    (planes.planes, {}, XSS, "map(row -> map(x -> x + 1.0, row), transpose(xss))"),
    (planes.chunks_of_planes, {}, XSS, "transpose(xss)"),
    (planes.chunks_of_planes, {}, XSS, "split(1, transpose(split(1, xss)))"),
    (planes.fuse_reduce_zip, {}, BOTH,
     "reduce(0.0, (a, (x, y)) -> a + x * y, zip(xs, ys))"),
    # room
    (pads.pad_transpose, {}, XSS, "pad(0, 1, 0.0, transpose(xss))"),
    (pads.rows_pad_edge, {}, "xss : [[[float]2]3]2",
     "map(x -> map(y -> pad_any(0, 1, y), x), transpose(xss))"),
    (pads.pad_pad, {}, XS, "pad_any(1, 0, pad(1, 1, 0.0, xs))"),
    (pads.map_join, {}, XSS, "map(row -> at(0, row), split(1, xss))"),
    (pads.pad_zeros, {}, "xs : [(float, int)]6", "pad_any(0, 1, xs)"),
    (pads.fission_zip, {"place": (0,)}, BOTH, "map((x, y) -> -x + x * y, zip(xs, ys))"),
    (pads.fission_zip, {"place": ()}, BOTH, "map((x, y) -> x + y, zip(xs, ys))"),
    (pads.fission_zip, {"place": (0, 0)}, f"zs : [[float]3]6, {XS}",
     "map((z, x) -> (map(z -> -z, z), x), zip(zs, xs))"),
    (slides.pad_twice, {}, XS, "pad(1, 0, 1.0, pad(0, -1, 1.0, xs))"),
    (
        slides.windows_across, {}, "xss : [[float]4]3",
        "map(rows -> map(w -> at(0, rows), transpose(map(row -> slide(2, 1, row), rows))),"
        " slide(2, 1, xss))",
    ),
    (
        slides.windows_down, {}, "xss : [[float]4]3",
        "map(cols -> map(w -> at(0, cols), slide(2, 1, transpose(cols))), slide(2, 1, xss))",
    ),
    (
        slides.planes_inside, {}, "xsss : [[[float]4]3]2",
        "map(x -> map(rows -> map(w -> at(0, x), transpose(map(row -> slide(2, 1, row), rows))),"
        " slide(2, 1, x)), xsss)",
    ),
    # bilinear maps: a window that is no slide by one, not 0 first, not bilinear, not all windows
    (
        bilinear.fewer_products, {"m": (3,), "r": (2,)}, BOTH,
        "map(w -> dot(w, at(0, split(2, ys))), slide(2, 2, xs))",
    ),
    (
        products.fewer_blocks, {}, "xss : [[float]4]3, yss : [[float]4]2",
        "map(x -> map(y -> dot(x, y), yss), xss)",
    ),
    (
        products.fewer_blocks, {}, "xss : [[float]4]2, yss : [[float]4]2",
        "map(x -> map(y -> reduce(1.0, (acc, (a, b)) -> acc + a * b, zip(x, y)), yss), xss)",
    ),
    (complexes.three_products, {}, COMPLEX_ROWS, COMPLEX_SUMS.format("1.0", "+")),
    (complexes.three_products, {}, COMPLEX_ROWS, COMPLEX_SUMS.format("0.0", "-")),
    (constant.spell_rows, {}, BOTH, "map(row -> dot(row, xs), [xs, ys])"),
    (constant.divide_matrix, {}, XS, "map(row -> dot(row, xs), [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]])"),
    (constant.spell_rows, {}, "x : float", "map(row -> dot(row, row), [[1.0, 2.0]])"),
    # taps replicated: not linear in the taps, what is no number, taps of each window
    (matrices.replicate_taps, {}, f"{XS}, g : [float]2", OVER.format("x + h", "g", "xs")),
    (matrices.replicate_taps, {}, f"{XS}, g : [float]2", OVER.format("x * h * h", "g", "xs")),
    (matrices.replicate_taps, {}, f"{XS}, g : [float]2", OVER.format("x * abs(h)", "g", "xs")),
    (
        matrices.replicate_taps, {}, f"{XS}, g : [float]2",
        OVER.format("x * h", "g", "pad_any(0, 1, xs)"),
    ),
    (matrices.replicate_taps, {}, XS, OVER.format("x * h", "map(x -> x * at(0, w), w)", "xs")),
    (matrices.replicate_taps, {}, XS, "map(w -> reduce(0.0, (a, x) -> a + x, w), slide(2, 1, xs))"),
    # rows
    (over_rows.by_rows, {}, XSS, "map(row -> reduce(0.0, (a, x) -> a + x * x, row), xss)"),
    (over_rows.by_rows, {}, XS, "map(w -> reduce(0.0, (a, x) -> a + x, w), slide(2, 1, xs))"),
    (
        over_rows.by_rows, {}, f"{XS}, g : [float]2",
        "map(w -> reduce(1.0, (a, (x, y)) -> a + x * y, zip(w, g)), slide(2, 1, xs))",
    ),
    (
        over_rows.by_rows, {}, "xs : [float]7, gs : [[float]2]6",
        "map((w, g) -> reduce(0.0, (a, (x, y)) -> a + x * y, zip(w, g)), "
        "zip(slide(2, 1, xs), gs))",
    ),
    (by_windows, {}, XSS, "map(row -> reduce(0.0, (a, x) -> a + x * x, row), xss)"),
    (by_windows, {}, f"{XS}, g : [float]2", "map(w -> dot(w, g), slide(2, 2, xs))"),
    (by_numbered_tiles, {"side": 2}, XSS, "map(row -> sum(row), xss)"),
    (by_parts_of_tiles, {"side": 2, "part": 1}, XSS, "map(row -> sum(row), xss)"),
    (by_spectra.linear_sum, {}, XSS, ROWS_ADDED.format("0.0", "row")),
    (by_spectra.linear_sum, {}, XSS, ROWS_ADDED.format("1.0", FIRST_DROPPED)),
    (
        by_spectra.correlate, {}, f"{XS}, g : [float]2",
        "map(window -> reduce(0.0, (acc, t) -> acc + t.0 * t.1, zip(window, g)), slide(2, 2, xs))",
    ),
    (
        by_spectra.correlate, {}, XS,
        "map(window -> reduce(0.0, (acc, t) -> acc + t.0 * t.1, zip(window, window)), "
        "slide(2, 1, xs))",
    ),
    (spectra.real_sums, {}, XSS, SUM.format("0.0", "at(0, xss)")),
    (spectra.real_sums, {}, XSS, ROWS_ADDED.format("0.0", "row")),
    (by_columns, {}, XSS, "map(row -> map(x -> -x, row), xss)"),
    (by_columns, {}, XSS, ROWS_ADDED.format("0.0", "row")),
    (spectra.sums_in_planes, {}, XSS, SUM.format("0.0", "at(0, xss)")),
    (spectra.sums_in_planes, {}, XSS, ROWS_ADDED.format("0.0", "row")),
    (spectra.three_sums, {}, XSS, SUM.format("0.0", "at(0, xss)")),
    (spectra.three_sums, {}, XSS, ROWS_ADDED.format("0.0", "row")),
    (out.hoist, {"term": Var("q", FLOAT)}, XS, "map(x -> -x, xs)"),
    (out.before_view, {"levels": 2}, XSS, "map(row -> map(x -> -x, row), xss)"),
    (out.let_made, {"term": Var("x", FLOAT)}, "x : float", "let! y = -x y + x"),
    # instructions: other sizes, another sum, lanes that hold something else
    (instructions.instruct, {"name": "mma_tf32"}, BOTH, "dot(xs, ys)"),
    (instructions.instruct, {"name": "mma_tf32"}, PRODUCTS, PRODUCT.format("s - x * y")),
    (instructions.instruct, {"name": "mma_tf32", "parts": True}, PRODUCTS,
     PRODUCT.format("s + x * y")),
    (instructions.instruct, {"name": "lanes_sum_32"}, "xs : [float]16", SUM.format("0.0", "xs")),
    (instructions.instruct, {"name": "lanes_sum_32"}, "xs : [float]32", SUM.format("1.0", "xs")),
    (lane_results.first_lane, {}, "xs : [float]32",
     "map(x -> at(1, lanes_sum_32(xs)) + x, xs)"),
    (lane_results.first_lane, {}, "xs : [float]32", "map(x -> at(0, xs) + x, xs)"),
    (lane_results.first_lane, {}, "xs : [float]32", "map(x -> (at(0, lanes_sum_32(xs)), x), xs)"),
    (precision.in_parts, {"name": "mma_tf32"}, PRODUCTS, PRODUCT.format("s - x * y")),
    (precision.in_parts, {"name": "mma_tf32"}, BOTH, "dot(xs, ys)"),
    (precision.in_parts, {"name": "mma_f16"}, PRODUCTS, PRODUCT.format("s + x * y")),
    (precision.in_parts, {"name": "mma_tf32", "count": 3}, PRODUCTS, PRODUCT.format("s + x * y")),
    (precision.narrowed, {"name": "mma_bf16"}, WIDE, PRODUCT.format("s - x * y")),
    (precision.narrowed, {"name": "mma_tf32"}, PRODUCTS, PRODUCT.format("s + x * y")),
    (precision.narrowed_factors, {"name": "mma_bf16"}, "x : float, y : float", "x + y"),
    (precision.narrowed_factors, {"name": "mma_f16"}, "x : half, y : half", "x * y"),
    (precision.narrowed_factors, {"name": "mma_tf32"}, "x : float, y : float", "x * y"),
    # functions of what is read: read as it is too, padded by other numbers, free variables
    (functions.let_mapped, {"f": BFLOATS}, XS, "let! y = xs map(x -> float(bfloat(x)) + x, y)"),
    (functions.let_mapped, {"f": BFLOATS}, XS, "let! y = xs map(x -> -x, y)"),
    (functions.let_mapped, {"f": BFLOATS}, XS,
     "let! y = xs map(x -> float(bfloat(x)), pad(1, 0, 1.0, y))"),
    (functions.let_mapped, {"f": BFLOATS}, "k : float", "let! y = k float(bfloat(y))"),
    (functions.map_after_view, {}, XS, "pad(1, 0, 1.0, map(x -> -x, xs))"),
    (functions.map_after_view, {}, XS, "join(split(2, xs))"),
    (functions.map_after_view, {}, f"{XS}, k : float", "split(2, map(x -> x + k, xs))"),
    (functions.map_into_store, {}, XS, "map(x -> -x, xs)"),
    (functions.map_into_store, {}, XSS, "map(row -> at(0, row), store(xss))"),
    (precision.afresh, {}, XS, SUM.format("0.0", "xs")),
    (precision.afresh, {}, XSS,
     "reduce(0.0, (acc, row) -> reduce(acc, (a, x) -> a - x, row), xss)"),
    (instructions.still_in_lanes, {}, "xs : [float<4>]32", "asVector(4, asScalar(xs))"),
    (instructions.lanes_open, {"name": "mma_tf32", "level": 0}, "xss : [[float]16]8", "xss"),
    (instructions.lanes_open, {"name": "mma_tf32", "level": 1}, "xss : [[float]8]16", "xss"),
    (instructions.reduce_inside_view, {}, XS, SUM.format("0.0", "xs")),
    (instructions.map_inside_view, {}, XS, "map(x -> -x, xs)"),
    (instructions.map_inside_view, {}, XSS, "map(row -> map(x -> -x, at(0, xss)), transpose(xss))"),
    (instructions.map_inside_view, {}, XSS,
     "map(row -> map(x -> x + at(0, row), row), transpose(xss))"),
    (read_beside.read_beside, {}, XSS, "map(row -> map(x -> -x, row), transpose(xss))"),
    # lets
    (lets.let_out, {}, XSS, "map(row -> (let! y = -(at(0, row)) y), xss)"),
    (lets.let_beside, {}, XSS, "map(row -> map(x -> x + 1.0, row), xss)"),
    (lets.inline_once, {}, "x : float, xs : [float]2", "let y = -x map(x -> x + y, xs)"),
    (lets.drop_let, {}, "x : float", "let y = -x y + y"),
]  # fmt: skip

NEVER_REFUSED = {lower.to_private, lower.to_local, lower.not_stored}


def term(params: str, body: str) -> Expr:
    return parse(f"test({params}) = {body}").body


@pytest.mark.parametrize(
    ("rule", "arguments", "params", "body"),
    REFUSALS,
    ids=[f"{r.rewrite.__name__}: {body}"[:60] for r, _, _, body in REFUSALS],
)
def test_what_is_not_of_its_pattern_is_refused(
    rule: Rule, arguments: dict[str, Argument], params: str, body: str
) -> None:
    assert apply_rule(rule, arguments, term(params, body)) is None


@pytest.mark.parametrize(
    ("nested", "one"),
    [
        ("map(row -> map(x -> -x, row), xss)", "split(3, map(x -> -x, join(xss)))"),
        (
            "map(row -> map(x -> -x, pad(1, 0, 0.0, row)), xss)",
            "split(4, map(x -> -x, join(map(row -> pad(1, 0, 0.0, row), xss))))",
        ),
        (
            "map(row -> map(x -> x + at(0, row), row), xss)",
            "split(3, map((row, x) -> x + at(0, row), "
            "join(map(row -> map(x -> (row, x), row), xss))))",
        ),
    ],
)
def test_nested_maps_collapse_to_one_over_elements_or_over_pairs(nested: str, one: str) -> None:
    """The law `collapse` makes the term `one` of the term `nested`. The terms are written by hand,
    as random terms do not show if the law has ceased to apply to some."""
    made = apply_rule(nests.collapse, {}, term(XSS, nested))
    assert made is not None
    assert show(made[0]) == one


def test_nested_maps_collapse_to_one_over_elements_beside_what_they_belong_to() -> None:
    nested = "map((row, x) -> map((a, b) -> a * b + x, zip(row, row)), zip(xss, firsts))"
    made = apply_rule(nests.collapse_beside, {}, term(f"{XSS}, firsts : [float]2", nested))
    assert made is not None
    assert " ".join(show(made[0]).split()) == (
        "split(3, map((x, a, b) -> a * b + x, "
        "zip(join(map(x -> generate(3, index -> x), firsts)), join(xss), join(xss))))"
    )


def test_every_rule_has_a_twin() -> None:
    twins = {r for r, *_ in REFUSALS} | NEVER_REFUSED | {c.rule for c in CONDITIONS}
    assert [name for name, r in RULES if r not in twins] == []


def test_a_rule_that_changes_a_type_is_an_error() -> None:
    half = Rule("xs  =  half of xs", lambda e: Pad(0, -1, Lit(0.0, FLOAT), e))
    with pytest.raises(Unsound, match=r"\[float\]6 became \[float\]5"):
        apply_rule(half, {}, term(XS, "xs"))


def test_tiles_of_windows_are_typed_for_any_tile_size() -> None:
    e = term("xs : [float]66", "slide(3, 1, xs)")
    tiled = slides.tile_slide.rewrite(e, u=named("u") + 2)
    assert tiled is not None
    assert equal(type_of(e), type_of(tiled))


def test_pads_by_an_amount_that_may_crop_are_not_added_up() -> None:
    """Two pads become one if the inner amount cannot be negative (t), but not if it may be (4 - t):
    the outer pad does not bring back what a crop took away."""
    zero, t = Lit(0.0, FLOAT), named("t")
    inside = [Pad(0, amount, zero, term(XS, "xs")) for amount in (t, 4 - t)]
    added = [slides.pad_twice.rewrite(Pad(0, 2, zero, e)) for e in inside]
    assert added == [Pad(0, t + 2, zero, term(XS, "xs")), None]


@pytest.mark.parametrize(
    ("amount", "crops"),
    [
        (-named("a"), True),
        (named("a") - round_up(named("a"), named("b")), True),
        (named("a") - named("b"), False),  # they may be equal, and either may be the larger
        (1 - named("a"), False),  # of nothing
    ],
    ids=str,
)
def test_an_amount_crops_where_no_values_of_its_names_let_it_pad(amount: Size, crops: bool) -> None:
    """The law pad r c . map f = map f . pad_any r is applied only if r <= 0 for all values of the
    names in r; else f would be applied to the constant c."""
    mapped = Pad(0, amount, Lit(1.0, FLOAT), term(XS, "map(x -> x + 1.0, xs)"))
    assert (slides.pad_map.rewrite(mapped) is not None) == crops


def test_what_leaves_one_element_crops_at_one_side() -> None:
    """As an array of n has at least one element, padding it by 1 - n at one side is taken for a
    crop; padding by 1 and -n, or by 2 - n, is not."""
    n = named("n")
    xs = Var("xs", Array(FLOAT, n))
    assert is_crop(PadEdge(Edge.ANY, 0, 1 - n, xs))
    assert not is_crop(PadEdge(Edge.ANY, 1, -n, xs))
    assert not is_crop(PadEdge(Edge.ANY, 0, 2 - n, xs))


def test_vectors_form_before_a_stride_and_lanes_stay_together() -> None:
    """If a sum in vectors of v is split in parts whose elements lie a stride apart, the stride is
    one of whole vectors: lane j still sums the elements whose number is j modulo v."""
    e = term("xs : [float]12", SUM.format(0.0, "xs"))
    done = seq(vectors.partial_reduce_vector(k=4, v=2), folds.stride_parts())(e)
    assert done is not None
    assert "split(2, reorder(i -> i / 2 + 3 * (i % 2), asVector(2, xs)))" in show(done[0])

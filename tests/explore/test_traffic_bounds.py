"""Tests that the global traffic of kernels is counted right, and is never below its bound."""

from dataclasses import replace
from math import ceil, isclose, sqrt
from random import Random

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.plan import Buffer, Plan, Role
from constraints.devices import profile
from explore.bounds.least_bytes import moved_bytes
from explore.bounds.least_traffic import Products, Windows
from explore.bounds.products_of_program import products
from explore.bounds.program_work import least_bytes, operations
from explore.building.traffic import chip_bytes, kernel_traffic, traffic_bytes
from explore.report.traffic_against_bounds import bound_of, dataflow_traffic, least_traffic
from explore.results.records import Bounds, Variant
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.dependence.needed_elements import dependence
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.lower import lower

CONV = """
conv(const weights : [[[[float]C]R]R]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(R, S, pad2d(P, 0.0, image)))
where H = {h}, W = {w}, P = {p}, R = {r}, S = {s}, C = {c}, M = {m}
"""
SHAPES = (
    {"h": 13, "w": 13, "p": 1, "r": 3, "s": 1, "c": 8, "m": 16},
    {"h": 9, "w": 11, "p": 2, "r": 5, "s": 2, "c": 3, "m": 6},
    {"h": 8, "w": 8, "p": 0, "r": 1, "s": 1, "c": 16, "m": 8},
    {"h": 13, "w": 12, "p": 0, "r": 1, "s": 4, "c": 16, "m": 8},
    {"h": 13, "w": 13, "p": 1, "r": 2, "s": 4, "c": 5, "m": 6},
    {"h": 12, "w": 13, "p": 3, "r": 7, "s": 2, "c": 3, "m": 5},
    {"h": 1, "w": 1, "p": 1, "r": 3, "s": 1, "c": 5, "m": 8},
)
MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 16, N = 32, K = 24
"""


SQUARE = (Windows(3, 1, 28, 28), Windows(3, 1, 28, 28))


def traffic(text: str) -> int:
    """The bytes of global traffic that are counted for a lowered program, given as text."""
    return traffic_bytes(generate(parse(text)))


def test_windows_may_leave_gaps_and_an_end_that_is_not_read() -> None:
    """The least traffic counts each element of the image that is in some window once, and no
    element that lies in a gap between windows or after the last window."""
    for h, w, r, s in ((13, 12, 1, 4), (13, 13, 2, 4), (12, 12, 3, 3), (9, 9, 3, 1)):
        p = parse(CONV.format(h=h, w=w, p=0, r=r, s=s, c=2, m=3))
        rows, columns = (
            len({s * i + k for i in range((n - r) // s + 1) for k in range(r)}) for n in (h, w)
        )
        out = ((h - r) // s + 1) * ((w - r) // s + 1) * 3
        assert moved_bytes(p) == 4 * (rows * columns * 2 + r * r * 2 * 3 + out)
        assert moved_bytes(p) <= least_bytes(p)


def test_what_is_taken_out_or_left_out_is_not_read() -> None:
    first = parse("f(xss : [[float]6]4, ys : [float]6) = map((x, y) -> x + y, zip(at(2, xss), ys))")
    assert moved_bytes(first) == 4 * (6 + 6 + 6)
    ends = parse(
        "f(xs : [float]8) = map(w -> sum(w), slide(1, 4, concat(pad(-2, 0, 0.0, xs), xs)))"
    )
    assert moved_bytes(ends) <= 4 * (4 + 4)
    assert least_bytes(ends) == 4 * (8 + 4)


def test_a_tile_in_local_memory_is_loaded_once() -> None:
    tile = """
    p(xs : [float]64) = join(mapWorkgroup(0)(row ->
        let tile = toLocal(mapLocal(0)(x -> x, row))
        mapLocal(0)(i -> reduceSeq(0.0, (acc, w) -> acc + w, tile), row), split(16, xs)))
    """
    assert traffic(tile) == 4 * (64 + 64)


def test_what_items_read_together_is_moved_once_and_what_they_read_again_again() -> None:
    shared = """
    p(xs : [float]8, ys : [float]32) = join(mapWorkgroup(0)(row ->
        mapLocal(0)(y -> reduceSeq(y, (acc, x) -> acc + x, xs), row), split(16, ys)))
    """
    assert traffic(shared) == 4 * (2 * 8 + 32 + 32)
    again = shared.replace("reduceSeq(y, ", "reduceSeq(reduceSeq(y, (a, x) -> a + x, xs), ")
    assert traffic(again) == 4 * (2 * 2 * 8 + 32 + 32)


def test_overlapping_windows_are_moved_address_by_address_and_padding_not_at_all() -> None:
    windows = """
    p(xs : [float]32) = join(mapWorkgroup(0)(ws ->
        mapLocal(0)(w -> reduceSeq(0.0, (acc, x) -> acc + x, w), ws),
      split(16, slide(3, 1, pad(1, 1, 0.0, xs)))))
    """
    taps = 31 + 32 + 31  # the first tap is padding for the first window, the last for the last
    assert traffic(windows) == 4 * (taps + 32)


def test_blocks_of_a_matrix_product_move_each_operand_once_a_block() -> None:
    p = parse(MATMUL)
    made = at(p, "blocked", "", {"lx": 2, "ly": 4, "tr": 1, "tc": 2, "v": 4, "k": 4})
    rows, columns = 8, 8  # of a block
    blocks = (32 // rows) * (16 // columns)
    assert traffic_bytes(made) == 4 * (blocks * 24 * (rows + columns) + 16 * 32)


def at(p: Program, family: str, form: str, point: dict[str, int]) -> Generated:
    """The code of p by a form of a family, at a point."""
    chosen = next(f for f in forms(p, family) if f.name == form)
    return generate(bound(lower(p, chosen).program, point))


@pytest.mark.parametrize(
    ("family", "shape"),
    [(f, s) for f in FAMILIES for s in Random(f"{f} shapes").sample(SHAPES, 2)],
    ids=lambda x: x if isinstance(x, str) else " ".join(f"{k}{v}" for k, v in x.items()),
)
def test_no_variant_moves_less_than_its_bound(family: str, shape: dict[str, int]) -> None:
    p = parse(CONV.format(**shape))
    whole = Bounds(operations(p), moved_bytes(p), products=products(p))
    assert whole.products is not None
    every = forms(p, family)  # none, where a family is for other programs
    first, others = every[:1], every[1:]
    for form in (*first, *Random(f"{family} {shape}").sample(others, min(1, len(others)))):
        try:
            lowering = lower(p, form)
        except Refused:
            continue
        for point in points(lowering, profile("h200"), 2, 0)[1]:
            made = generate(bound(lowering.program, point))
            moved, held = traffic_bytes(made), chip_bytes(made)
            assert held > 0
            what = Variant("v", family, (), form=form.name)
            least = least_traffic(replace(what, chip_bytes=held), whole)
            assert moved_bytes(p) <= (least or 0) <= moved, (form.name, point)


def test_bounds_count_bytes_of_the_smallest_elements() -> None:
    p = parse("mm(a : [[half]32]32, b : [[half]32]32) = map(r -> map(c -> dot(r, c), b), a)")
    known = products(p)
    assert known is not None
    assert known.word == 2
    kept = Variant("v", "blocked", (), chip_bytes=2 * 64)
    whole = Bounds(operations(p), 1, products=known)
    assert least_traffic(kept, whole) == ceil(2 * known.direct(64))


def test_the_amounts_of_a_convolution() -> None:
    p = parse(CONV.format(h=15, w=15, p=1, r=3, s=2, c=5, m=7))
    real = 121 / 144  # of 8 windows of 3 along a side the first and last hold one zero each
    along = Windows(3, 2, 8, 4)  # 6 × 6 of 8 × 8 hold no padding; no more is known of a side
    known = products(p)
    assert known is not None
    assert known == Products(8 * 8 * 7 * 5 * 9, 8 * 8 * 7, 9 / 4, (along, along), known.real)
    assert isclose(known.real, real)


@pytest.mark.parametrize(
    ("h", "w", "p", "r", "s"), [(1, 1, 1, 3, 1), (5, 2, 3, 5, 2), (13, 9, 2, 1, 4), (6, 7, 0, 3, 1)]
)
def test_products_with_padding_are_not_counted_by_the_bound(
    h: int, w: int, p: int, r: int, s: int
) -> None:
    """The bound counts as many products as the results sum up to where image and kernels are all
    ones: products with padding are left out."""
    program = parse(CONV.format(h=h, w=w, p=p, r=r, s=s, c=2, m=3))
    ones = {"weights": np.ones((3, r, r, 2)), "image": np.ones((h, w, 2))}
    known = products(program)
    assert known is not None
    assert isclose(known.real * known.count, np.asarray(evaluate(program, ones)).sum())


@pytest.mark.parametrize("form", ["registers items", "blocked"])
def test_weights_that_only_meet_padding_need_not_be_read(form: str) -> None:
    """For an image of one row, only the middle rows of kernels are counted as read, and the traffic
    of `toeplitz`, which stores these alone, is not below the bound."""
    p = parse(CONV.format(**SHAPES[-1]))
    assert moved_bytes(p) == 4 * (5 + 5 * 8 + 8)
    chosen = next(f for f in forms(p, "toeplitz") if f.name == form)
    low = lower(p, chosen)
    for point in points(low, profile("h200"), 3, 0)[1]:
        made = generate(bound(low.program, point))
        what = Variant("v", "toeplitz", (), form=form, chip_bytes=chip_bytes(made))
        whole = Bounds(operations(p), moved_bytes(p), products=products(p))
        assert (least_traffic(what, whole) or 0) <= traffic_bytes(made), point


def test_what_is_not_understood_leaves_nothing_to_claim() -> None:
    """If an input reaches results only by a reduction that is no sum, the analysis says that 0 of
    its elements are sure to be read. The number of products that it gives is right, or None."""
    text = CONV.replace("pad2d(P, 0.0, image)", "pad2d(P, reduce(2.0, (a, x) -> a * x, xs), image)")
    text = text.replace("image : ", "xs : [float]4, image : ")
    p = parse(text.format(h=6, w=6, p=1, r=3, s=1, c=2, m=3))
    assert dependence(p).read == {"xs": 0, "weights": 54, "image": 72}
    known = products(p)
    assert known is None or isclose(known.real * known.count, 3 * 2 * 16 * 16)


def test_the_formulas_of_the_paper() -> None:
    known = Products(28 * 28 * 64 * 32 * 9, 28 * 28 * 64, 9.0, SQUARE)
    assert isclose(known.direct(1024), 28 * 28 * 64 * 32 * 9 / (4 * sqrt(2 * 9 * 1024)))
    assert isclose(known.volume(1024), 2 * 28 * 28 * 64 * 32 * 9 / 96 + 28 * 28 * 64)
    # Ho Wo Co Ci (m + r - 1) r / (m 2 sqrt(2 chip)) - chip
    wide = 28 * 28 * 64 * 32 * 6 * 3 / (4 * 2 * sqrt(2 * 1024)) - 1024
    assert isclose(known.winograd(4, 1024) or 0, wide)
    assert Products(100, 10, 1.0).winograd(4, 8) is None


def test_a_program_without_shared_operands_has_only_its_data_to_move() -> None:
    p = parse("p(xs : [float]8, ys : [float]8) = map((x, y) -> x * y, zip(xs, ys))")
    assert products(p) is None
    bounds = Bounds(operations(p), least_bytes(p))
    assert least_traffic(Variant("p", "naive", (), flops=8, chip_bytes=4), bounds) == 3 * 8 * 4


@pytest.mark.parametrize("family", FAMILIES)
def test_each_algorithm_is_held_to_a_bound_of_its_own(family: str) -> None:
    """The bound of a variant depends on its family: for `winograd` it is Winograd's; for
    `strassen`, `fgfft` and `fft` the bytes of the program's data alone; for other families that of
    direct convolution."""
    known = Products(10**9, 10, 9.0, SQUARE)
    bounds = Bounds(2 * 10**9, 100, products=known)
    tile = 2 if family == "winograd" else None
    made = Variant("a", family, (), tile=tile, flops=4 * 10**9, chip_bytes=4096)
    least, volume = least_traffic(made, bounds), dataflow_traffic(made, bounds)
    if family == "winograd":
        assert bound_of(made, bounds) == "Winograd's"
        assert least == ceil(4 * (known.winograd(2, 1024) or 0))
    elif family in {"strassen", "fgfft", "fft"}:
        assert (bound_of(made, bounds), least, volume) == ("its data alone", 100, None)
    else:
        assert bound_of(made, bounds) == "direct"
        assert (least, volume) == (ceil(4 * known.direct(1024)), ceil(4 * known.volume(1024)))


def test_winograds_bound_is_of_square_windows_of_step_1() -> None:
    made = Variant("a", "winograd", (), tile=2, chip_bytes=4096)
    rows = Products(10**9, 10, 3.0, (SQUARE[0], Windows(1, 1, 28, 28)))
    bounds = Bounds(1, 100, products=rows)
    assert bound_of(made, bounds) == "its data alone"
    assert least_traffic(made, bounds) == 100
    assert bound_of(made, Bounds(1, 100)) == "its data alone"


def test_a_bound_of_results_alone_says_so() -> None:
    out = Buffer("out", "float", (25,), 100, Role.OUTPUT)
    made = Variant("a", "fft", (), plan=Plan((), (out,), 100, 0))
    assert bound_of(made, Bounds(1, 100)).startswith("its results alone")
    assert bound_of(made, Bounds(1, 104)) == "its data alone"


def test_winograds_bound_is_of_tiles_without_padding() -> None:
    """Winograd's bound counts only tiles that hold no padding. An image of one pixel has no such
    tile, so that the bound is negative there: minus the 64 numbers that fit on chip."""
    p = parse(CONV.format(h=28, w=28, p=1, r=3, s=1, c=32, m=64))
    known, free = products(p), Products(28 * 28 * 64 * 32 * 9, 28 * 28 * 64, 9.0, SQUARE)
    assert known is not None
    assert [w.whole for w in known.windows] == [24, 24]  # 26, but only 26 × 26 of 28 × 28 is known
    part = ((24 - 3) // 4 * 4 / 28) ** 2
    assert isclose((known.winograd(4, 64) or 0) + 64, part * ((free.winograd(4, 64) or 0) + 64))
    alone = products(parse(CONV.format(h=1, w=1, p=1, r=3, s=1, c=32, m=64)))
    assert alone is not None
    assert alone.winograd(4, 64) == -64


def test_winograds_algorithm_has_a_bound_and_a_dataflow_of_its_own() -> None:
    known = Products(28 * 28 * 64 * 32 * 9, 28 * 28 * 64, 9.0, SQUARE)
    bounds = Bounds(2 * known.count, 100, products=known)
    made = Variant("a", "winograd", (), tile=4, flops=10**6, chip_bytes=4096, block=8)
    assert least_traffic(made, bounds) == ceil(4 * (known.winograd(4, 1024) or 0))
    # 2 Ho Wo Co Ci (m + r - 1) r / (m sqrt(chip)), and the results
    volume = 2 * 28 * 28 * 64 * 32 * 6 * 3 / (4 * 32) + 28 * 28 * 64
    assert dataflow_traffic(made, bounds) == 4 * volume
    direct = replace(made, family="blocked", tile=None, block=256)
    assert dataflow_traffic(direct, bounds) == ceil(4 * known.volume(256))


def test_traffic_of_kernels_for_constants_is_not_of_the_inference() -> None:
    p = parse(CONV.format(**SHAPES[0]))
    made = at(p, "registers", "relaid", {"k": 1, "tr": 1, "tx": 1, "v": 4})
    prepared = [k for k, s in zip(made.kernels, made.plan.kernels, strict=True) if s.prepack]
    assert prepared
    assert traffic_bytes(made) == sum(kernel_traffic(k) for k in made.kernels if k not in prepared)

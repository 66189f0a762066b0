"""Tests that every family, for each program, either lowers it and keeps its meaning, or refuses it
with a reason."""

# key: h w spatial sizes, c channels, m output channels, k kernel size

from contextlib import suppress
from functools import cache
from random import Random

import numpy as np
import pytest

from constraints.devices import PROFILES
from explore.space.derive_form import points
from ir.core.nodes import Expr, Generate, Lit, Program, Store, ToLocal
from ir.core.terms import children
from ir.core.types import INT
from ir.parse import parse
from ir.text.show import show
from rewrites.analysis.folds import unit
from rewrites.analysis.out_views import adds
from rewrites.engine.meaning_check import means_the_same
from rewrites.engine.refused import Refused
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import FAMILIES, forms
from rewrites.kernels.work_group_slices import COUNTS
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.support.families import LOWERING

DEVICE = PROFILES["cpu"]
FORMS = 2  # how many of a family's forms are tried on each program
TRIED = 18  # the number of programs that are tried with each family

SIZES = "where C = 4, M = 6, H = 5, W = 6, K = 3, N = 2, G = 2"
WEIGHTS, IMAGE = "const weights : [[[[float]C]K]K]M", "image : [[[float]C]W]H"
BIASES = "const biases : [float]M"
MAC = "(acc, (x, w)) -> acc + x * w"

CONVOLUTIONS = {
    "as in the paper": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  map2d(window -> map((kernel, bias) ->
      reduce(bias, {MAC}, zip(flatten(window), flatten(kernel))), zip(weights, biases)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
{SIZES}""",
    "kernels outermost": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  let windows = slide2d(K, 1, pad2d(1, 0.0, image))
  map((kernel, bias) -> map2d(window ->
      reduce(bias, {MAC}, zip(flatten(window), flatten(kernel))), windows),
    zip(weights, biases))
{SIZES}""",
    "bias after": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  map2d(window -> map((kernel, bias) -> dot(flatten(window), flatten(kernel)) + bias,
      zip(weights, biases)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
{SIZES}""",
    "bias in a map of its own": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  map2d(sums -> map((sum, bias) -> relu(sum + bias), zip(sums, biases)),
    map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
      slide2d(K, 1, pad2d(1, 0.0, image))))
{SIZES}""",
    "bias after sums that have a name": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  let sums = map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
    slide2d(K, 1, image)), weights)
  map((plane, bias) -> map2d(sum -> relu(sum + bias), plane), zip(sums, biases))
{SIZES}""",
    "a sum used twice": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel ->
      let sum = dot(flatten(window), flatten(kernel))
      max(sum, 0.5 * sum), weights),
    slide2d(K, 1, image))
{SIZES}""",
    "planes added up": f"""
conv(const weights : [[[[float]K]K]C]M, {BIASES}, image : [[[float]W]H]C) =
  map((kernel, bias) -> map2d(sum -> sum + bias,
      reduce(generate2d(H, W, (i, j) -> 0.0), (sums, (plane, taps)) ->
          map((row, windows) ->
              map((sum, window) -> sum + dot(flatten(window), flatten(taps)), zip(row, windows)),
            zip(sums, slide2d(K, 1, pad2d(1, 0.0, plane)))),
        zip(image, kernel))),
    zip(weights, biases))
{SIZES}""",
    "windows not flattened": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel ->
      reduce(0.0, (a, (rows, taps)) -> reduce(a, (b, (row, tap)) -> reduce(b, {MAC},
        zip(row, tap)), zip(rows, taps)), zip(window, kernel)), weights),
    slide2d(K, 1, image))
{SIZES}""",
    "sums of sums": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel ->
      sum(map((rows, taps) -> sum(map((row, tap) -> dot(row, tap), zip(rows, taps))),
        zip(window, kernel))), weights),
    slide2d(K, 1, image))
{SIZES}""",
    "channels first": f"""
conv(const weights : [[[[float]K]K]C]M, image : [[[float]W]H]C) =
  map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
      map(row -> map(transpose, transpose(row)),
        transpose(map(plane -> slide2d(K, 1, pad2d(1, 0.0, plane)), image)))),
    weights)
{SIZES}""",
    "a matrix product of windows": f"""
conv({WEIGHTS}, {IMAGE}) =
  split(W - K + 1, map(window -> map(kernel -> dot(window, kernel), map(k -> flatten(k), weights)),
    map(window -> flatten(window), join(slide2d(K, 1, image)))))
{SIZES}""",
    "columns before rows": f"""
conv({WEIGHTS}, {IMAGE}) =
  transpose(map(column -> map(window -> map(kernel ->
      dot(flatten(window), flatten(kernel)), weights), column),
    transpose(slide2d(K, 1, image))))
{SIZES}""",
}

OTHERS = {
    "conv 1d": f"""
conv(const weights : [[[float]C]K]M, {BIASES}, signal : [[float]C]W) =
  map(window -> map((kernel, bias) ->
      reduce(bias, {MAC}, zip(flatten(window), flatten(kernel))), zip(weights, biases)),
    slide(K, 1, pad(1, 1, 0.0, signal)))
{SIZES}""",
    "conv 3d": """
conv(const weights : [[[[[float]C]K]K]K]M, volume : [[[[float]C]W]H]D) =
  map3d(window -> map(kernel -> relu(dot(flatten(window), flatten(kernel))), weights),
    slide3d(K, 1, pad3d(1, 0.0, volume)))
where C = 2, M = 3, D = 3, H = 4, W = 3, K = 3""",
    "batched": f"""
conv({WEIGHTS}, images : [[[[float]C]W]H]N) =
  map(image -> map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, image)), images)
{SIZES}""",
    "grouped": f"""
conv(const weights : [[[[[float](C / G)]K]K](M / G)]G, {IMAGE}) =
  map2d(window -> join(map((part, kernels) ->
      map(kernel -> dot(flatten(part), flatten(kernel)), kernels),
    zip(transpose(map(pixel -> split(C / G, pixel), join(window))), weights))),
    slide2d(K, 1, image))
{SIZES}""",
    "depthwise": f"""
conv(const weights : [[[float]K]K]C, {IMAGE}) =
  map2d(window -> map((channel, kernel) -> dot(channel, flatten(kernel)),
      zip(transpose(join(window)), weights)),
    slide2d(K, 1, pad2d(1, 0.0, image)))
{SIZES}""",
    "dilated": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel ->
      dot(flatten(dilate2d((2, 2), window)), flatten(kernel)), weights),
    slide2d(2 * (K - 1) + 1, 1, pad2d(1, 0.0, image)))
{SIZES}""",
    "strided": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 2, pad2d(1, 0.0, image)))
{SIZES}""",
    "1 x 1": f"""
conv(const weights : [[float]C]M, {BIASES}, {IMAGE}) =
  map2d(pixel -> map((kernel, bias) -> relu(reduce(bias, {MAC}, zip(pixel, kernel))),
    zip(weights, biases)), image)
{SIZES}""",
    "matrix product": """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 6, N = 5, K = 8""",
    "matrix product of columns by rows": """
matmul(a : [[float]M]K, b : [[float]N]K) =
  reduce(generate2d(M, N, (i, j) -> 0.0), (sums, (column, row)) ->
      map((r, x) -> map((sum, y) -> sum + x * y, zip(r, row)), zip(sums, column)),
    zip(a, b))
where M = 6, N = 5, K = 8""",
    "fully connected": """
fc(const weights : [[float]N]M, const biases : [float]M, xs : [float]N) =
  map((row, bias) -> relu(dot(row, xs) + bias), zip(weights, biases))
where M = 6, N = 8""",
    "pooling": f"""
pool({IMAGE}) =
  map2d(window -> map(channel -> reduce(-inf, (acc, x) -> max(acc, x), channel),
    transpose(join(window))), slide2d(K, 2, image))
{SIZES}""",
    "stencil": """
stencil(grid : [[float]W]H) =
  map2d(p -> at(1, at(1, p)) + 2.0 * at(1, at(0, p)) - at(0, at(1, p)),
    slide2d(3, 1, pad2d_clamp(1, grid)))
where H = 5, W = 6""",
    "blur": """
blur(const weights : [[float]3]3, grid : [[float]W]H) =
  map2d(p -> dot(flatten(p), flatten(weights)), slide2d(3, 1, pad2d_clamp(1, grid)))
where H = 5, W = 6""",
    "a stencil of sums": f"""
conv({WEIGHTS}, {IMAGE}) =
  let sums = map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
    slide2d(K, 1, image)), weights)
  map(plane -> map2d(p -> at(0, at(1, p)) - at(1, at(1, p)), slide2d(2, 1, plane)), sums)
{SIZES}""",
    "dot product": """
dotted(xs : [float]N, ys : [float]N) = dot(xs, ys)
where N = 12""",
    "two convolutions": """
conv(const first : [[[float]C]K]M, const second : [[[float]M]K]N, signal : [[float]C]W) =
  let hidden = map(window -> map(kernel -> relu(dot(flatten(window), flatten(kernel))), first),
    slide(K, 1, signal))
  map(window -> map(kernel -> dot(flatten(window), flatten(kernel)), second), slide(K, 1, hidden))
where C = 2, M = 4, N = 3, W = 9, K = 3""",
}

PROGRAMS = CONVOLUTIONS | OTHERS


# The same computations written in still other ways, with layers of other kinds among them.
REWRITTEN = {
    "planes from a matrix product": f"""
product(a, b) = map(row -> map(column -> dot(row, column), b), a)
conv({WEIGHTS}, {IMAGE}) =
  map(plane -> split(W, plane), product(map(k -> flatten(k), weights),
    map(window -> flatten(window), join(slide2d(K, 1, pad2d(1, 0.0, image))))))
{SIZES}""",
    "a helper for one kernel": f"""
one(kernel, image) = map2d(window -> dot(flatten(window), flatten(kernel)),
  slide2d(K, 1, pad2d(1, 0.0, image)))
conv({WEIGHTS}, {IMAGE}) = map(row -> transpose(row),
  transpose(map(kernel -> one(kernel, image), weights)))
{SIZES}""",
    "three passes: sums, bias, relu": f"""
conv({WEIGHTS}, {BIASES}, {IMAGE}) =
  let sums = map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
  let biased = map2d(pixel -> map((s, b) -> s + b, zip(pixel, biases)), sums)
  map2d(pixel -> map(relu, pixel), biased)
{SIZES}""",
    "windows of volumes, one channel deep": f"""
conv(const weights : [[[[float]K]K]C]M, image : [[[float]W]H]C) =
  map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
    at(0, slide3d((C, K, K), (1, 1, 1), map(plane -> pad2d(1, 0.0, plane), image)))), weights)
{SIZES}""",
    "kernels innermost": f"""
conv(const weights : [[[[float]M]C]K]K, {IMAGE}) =
  map2d(window -> map(kernel -> dot(flatten(window), kernel), transpose(join(join(weights)))),
    slide2d(K, 1, pad2d(1, 0.0, image)))
{SIZES}""",
    "products first": f"""
conv({WEIGHTS}, {IMAGE}) =
  map2d(window -> map(kernel -> sum(map((w, x) -> w * x, zip(flatten(kernel), flatten(window)))),
    weights), slide2d(K, 1, image))
{SIZES}""",
    "a sum of shifted 1 x 1 convolutions": f"""
conv(const weights : [[[float]C]M]K, signal : [[float]C]W) =
  reduce(generate2d(W - K + 1, M, (i, j) -> 0.0), (sums, (shifted, kernels)) ->
      map((acc, pixel) -> map((s, kernel) -> s + dot(pixel, kernel), zip(acc, kernels)),
        zip(sums, shifted)),
    zip(transpose(slide(K, 1, signal)), weights))
{SIZES}""",
    "channels accumulated one by one": f"""
conv(const weights : [[[[float]K]K]M]C, image : [[[float]W]H]C) =
  reduce(generate(M, m -> generate2d(H - K + 1, W - K + 1, (i, j) -> 0.0)),
    (sums, (plane, kernels)) -> map((acc, kernel) -> map((row, windows) ->
        map((s, window) -> s + dot(flatten(window), flatten(kernel)), zip(row, windows)),
          zip(acc, slide2d(K, 1, plane))), zip(sums, kernels)),
    zip(image, weights))
{SIZES}""",
    "planes of one channel each, summed pixel by pixel": f"""
conv(const weights : [[[[float]K]K]C]M, image : [[[float]W]H]C) =
  map(kernel -> map(rows -> map(column -> sum(column), transpose(rows)),
    transpose(map((plane, taps) -> map2d(window -> dot(flatten(window), flatten(taps)),
      slide2d(K, 1, pad2d(1, 0.0, plane))), zip(image, kernel)))), weights)
{SIZES}""",
    "planes of one channel each, summed plane by plane": f"""
conv(const weights : [[[[float]K]K]C]M, image : [[[float]W]H]C) =
  map(kernel -> reduce(generate2d(H, W, (i, j) -> 0.0), (sums, plane) ->
      map2d((s, x) -> s + x, zip2d(sums, plane)),
    map((plane, taps) -> map2d(window -> dot(flatten(window), flatten(taps)),
      slide2d(K, 1, pad2d(1, 0.0, plane))), zip(image, kernel))), weights)
{SIZES}""",
    "a batch inside": f"""
conv({WEIGHTS}, images : [[[[float]C]W]H]N) =
  map(kernel -> map(image -> map2d(window -> dot(flatten(window), flatten(kernel)),
    slide2d(K, 1, pad2d(1, 0.0, image))), images), weights)
{SIZES}""",
    "groups outermost": f"""
conv(const weights : [[[[[float](C / G)]K]K](M / G)]G, images : [[[[float](C / G)]W]H]G) =
  map((image, kernels) -> map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
    slide2d(K, 1, image)), kernels), zip(images, weights))
{SIZES}""",
    "a residual block": f"""
conv(const weights : [[[[float]C]K]K]C, {IMAGE}) =
  map2d((window, pixel) -> map((kernel, x) -> relu(dot(flatten(window), flatten(kernel)) + x),
    zip(weights, pixel)), zip2d(slide2d(K, 1, pad2d(1, 0.0, image)), image))
{SIZES}""",
    "normalised by scale and bias": f"""
conv({WEIGHTS}, const scale : [float]M, {BIASES}, {IMAGE}) =
  map2d(window -> map((kernel, s, b) -> relu(s * dot(flatten(window), flatten(kernel)) + b),
    zip(weights, scale, biases)), slide2d(K, 1, image))
{SIZES}""",
    "1 x 1 with channels first": f"""
conv(const weights : [[float]C]M, image : [[[float]W]H]C) =
  map(kernel -> split(W, map(pixel -> dot(kernel, pixel), transpose(map(p -> join(p), image)))),
    weights)
{SIZES}""",
    "rows of a product": """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> reduce(generate(N, j -> 0.0), (acc, (x, ys)) ->
    map((s, y) -> s + x * y, zip(acc, ys)), zip(row, b)), a)
where M = 6, N = 5, K = 8""",
    "products in a batch": """
matmul(a : [[[float]K]M]G, b : [[[float]N]K]G) =
  map((x, y) -> map(row -> map(col -> dot(row, col), transpose(y)), x), zip(a, b))
where M = 6, N = 5, K = 8, G = 3""",
    "depthwise, then 1 x 1": f"""
conv(const taps : [[[float]K]K]C, const weights : [[float]C]M, {IMAGE}) =
  let filtered = map2d(window -> map((channel, kernel) -> dot(channel, flatten(kernel)),
    zip(transpose(join(window)), taps)), slide2d(K, 1, pad2d(1, 0.0, image)))
  map2d(pixel -> map(kernel -> dot(pixel, kernel), weights), filtered)
{SIZES}""",
    "added to the image": f"""
conv(const weights : [[[[float]C]K]K]C, const biases : [float]C, {IMAGE}) =
  let sums = map2d(window -> map((kernel, bias) -> dot(flatten(window), flatten(kernel)) + bias,
      zip(weights, biases)), slide2d(K, 1, pad2d(1, 0.0, image)))
  map2d((xs, ys) -> map((x, y) -> relu(x + y), zip(xs, ys)), zip2d(sums, image))
{SIZES}""",
    "pooled after": f"""
conv({WEIGHTS}, {IMAGE}) =
  let sums = map2d(window -> map(kernel -> relu(dot(flatten(window), flatten(kernel))), weights),
    slide2d(K, 1, pad2d(1, 0.0, image)))
  map2d(window -> map(channel -> maximum(channel), transpose(join(window))), slide2d(2, 2, sums))
{SIZES}""",
}


@cache
def program(name: str) -> Program:
    return parse((PROGRAMS | REWRITTEN)[name], name)


def lowered(name: str, family: str, seed: int) -> tuple[list[Lowering], list[Refused]]:
    """The lowerings of a program by the plainest form of a family and some random ones, and the
    refusals of those that do not apply."""
    p, made, refused = program(name), list[Lowering](), list[Refused]()
    every = forms(p, family)  # none, where a family is for other programs
    first, others = every[:1], [*every[1:]]
    Random(seed).shuffle(others)
    more = FORMS - 1 if family in LOWERING else 0  # the others are selections of these
    for form in (*first, *others[:more]):
        try:
            made.append(lower(p, form))
        except Refused as why:
            refused.append(why)
    return made, refused


@pytest.mark.parametrize(
    ("family", "name"),
    [(f, name) for f in FAMILIES for name in Random(f"{f} programs").sample([*PROGRAMS], TRIED)],
)
def test_a_lowered_program_means_the_same(family: str, name: str) -> None:
    seed = sum(map(ord, name + family))
    rng = Random(seed)
    made, refused = lowered(name, family, seed)
    assert all(str(why) for why in refused)
    for lowering in made:
        end = lowering.derivation.end
        assert end == lowering.program.body
        values = small_values([end], rng)
        assert values is not None, f"no parameters for {family} {lowering.form}"
        known = lowering.derivation.rounding_in_doubles
        assert means_the_same(program(name), end, values, seed, known), f"{lowering.form} {values}"


@pytest.mark.parametrize("name", CONVOLUTIONS | REWRITTEN)
@pytest.mark.parametrize("family", ["blocked", "registers", "lift"])
def test_however_a_convolution_is_written_it_reaches(family: str, name: str) -> None:
    p, plainest = program(name), forms(program(name), family)[0]
    made = lower(p, plainest).program
    values = small_values([made.body], Random(2))
    assert values
    assert means_the_same(p, made.body, values, 2)


@pytest.mark.parametrize(
    ("h", "c", "m"), [(1, 3, 3), (1, 1, 1), (3, 5, 2), (7, 512, 512), (13, 3, 5), (27, 7, 13)]
)
@pytest.mark.parametrize("family", ["lift", "registers", "blocked"])
def test_every_layer_has_points_whatever_its_sizes(family: str, h: int, c: int, m: int) -> None:
    p = parse(CONVOLUTIONS["as in the paper"], set={"H": h, "W": h, "C": c, "M": m})
    for form in forms(p, family)[::47]:
        if "sliced" in form.name.split() and not any(c % n == 0 and c > n for n in COUNTS):
            continue  # no parts of two steps
        words = form.name.split()
        if "along" in words and (m if "flipped" in words else h) == 1:
            continue  # one column, which is loaded along as it is
        space, chosen = points(lower(p, form), DEVICE, 1, 0)
        assert space.count > 0
        assert len(chosen) == 1


@pytest.mark.parametrize("c", [5, 7])
@pytest.mark.parametrize(
    "name",
    ["windows not flattened", "sums of sums", "a sum of shifted 1 x 1 convolutions",
     "pooled after"],
)  # fmt: skip
def test_vectors_of_lift_fit_sums_that_none_divides(name: str, c: int) -> None:
    """Forms of `lift` with vectors have legal points for sums whose lengths no width of vectors
    divides, as the longest loop of a sum is rounded up; all sums of a program have one width.

    Lengths such as 45 and 63 are divisible by 3, while a pooling has sums of 4, which are divisible
    by 2: no width divides both.
    """
    p, tried = parse((PROGRAMS | REWRITTEN)[name], set={"C": c}), 0
    for form in [f for f in forms(p, "lift") if "vectors" in f.name.split()][::15]:
        with suppress(Refused):
            made = lower(p, form)
            space, chosen = points(made, DEVICE, 1, 0)
            assert space.count > 0, form.name
            assert len(chosen) == 1
            tried += 1
    assert tried > 0


def test_results_that_another_kernel_reads_more_of_are_no_parts_of_sums() -> None:
    """Forms of `lift` with `stored-sums` keep the meaning of a depthwise convolution and a 1 × 1
    one after it, though the second kernel's tiles may need more elements than there are results, so
    that the first kernel makes rho + 6 of them."""
    p, tried = program("depthwise, then 1 x 1"), 0
    for form in [f for f in forms(p, "lift") if "stored-sums" in f.name.split()][::9]:
        made = lower(p, form).program.body
        values = small_values([made], Random(3))
        assert values is not None
        assert means_the_same(p, made, values, 3)
        tried += 1
    assert tried > 2


def roomless(e: Expr) -> list[Expr]:
    """The terms in e that add elements so that tiles fit, except those in arrays that are copied to
    memory: reads of these terms have to be clamped."""
    if isinstance(e, Store | ToLocal | Generate):
        return []
    return [e] * adds(e) + [x for c in children(e) for x in roomless(c)]


@pytest.mark.parametrize(
    "name",
    ["as in the paper", "kernels outermost", "channels first", "conv 3d", "batched", "grouped",
     "depthwise", "strided", "1 x 1", "matrix product", "blur", "pooling"],
)  # fmt: skip
@pytest.mark.parametrize("family", ["registers", "blocked", "lift"])
def test_tiles_that_are_rounded_up_fit_into_copies_with_room(family: str, name: str) -> None:
    p, tried = program(name), 0
    for form in forms(p, family):
        if form.name.removesuffix(" vectors unrolled") not in ("padded room", "planes room relaid"):
            continue
        with suppress(Refused):
            made = lower(p, form).program.body
            assert [show(e) for e in roomless(made)] == []
            values = small_values([made], Random(1))
            assert values is not None
            assert means_the_same(p, made, values, 1)
            tried += 1
    assert tried > 0


def test_a_refusal_says_what_is_missing() -> None:
    p = program("dot product")
    with pytest.raises(Refused, match="one result, a sum inside no map"):
        lower(p, forms(p, "registers")[0])


@pytest.mark.parametrize(("family", "word"), [("lift", "stored-sums"), ("blocked", "split")])
def test_what_has_no_sum_is_refused_with_a_reason(family: str, word: str) -> None:
    p = program("stencil")
    form = next(f for f in forms(p, family) if word in f.name.split())
    with pytest.raises(Refused, match="a sum that can be made in parts"):
        lower(p, form)
    with pytest.raises(Refused, match="nothing is summed up"):
        lower(p, forms(p, family)[0])


def test_the_sides_of_tiles_fit_windows_of_any_size_and_step() -> None:
    p = parse(
        """
conv(const weights : [[[[float]3]11]11]96, image : [[[float]3]227]227) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(11, 4, image))"""
    )
    sides = next(c for c in lower(p, forms(p, "lift")[0]).choices if c.parameter == "theta")
    assert sides.values[:4] == (11, 15, 19, 23)


def test_every_form_that_stores_windows_lowers_or_is_refused() -> None:
    """Each form of im2col lowers a program that sums windows outside of its products, or raises
    Refused."""
    p = program("a sum of shifted 1 x 1 convolutions")
    for form in forms(p, "im2col"):
        with suppress(Refused):
            assert lower(p, form).derivation.steps


def test_the_unit_of_a_maximum_is_the_least_number() -> None:
    least = unit("max", INT)
    assert isinstance(least, Lit)
    assert least.value == np.iinfo(np.int32).min

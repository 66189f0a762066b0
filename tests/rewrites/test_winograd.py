"""Tests of `winograd`: convolutions of all shapes that it lowers are right, with as many
multiplications as F(m, r) has."""

# key: n batch, s image side, r kernel side, p padding, t step, c channels, m output channels

from itertools import product
from math import log2
from pathlib import Path
from random import Random

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.plan import Role
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.building.operations import multiplications, scalings
from explore.measure.reference import EPSILON, expected
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse, parse_file
from rewrites.engine.meaning_check import means_the_same
from rewrites.engine.refused import Refused
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import forms
from rewrites.fast_algorithms.bilinear_algorithms import Bilinear, cook_toom, correlation
from rewrites.fast_algorithms.fewer_products import rounded
from rewrites.fast_algorithms.matrix_factors import additions, divided
from rewrites.transforms.tile_transforms import MOST_GROWTH, MOST_POINTS
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.prepared_forms import PREPARATIONS

CONV = """
conv(const weights : [[[[float]C]R]R]M, const biases : [float]M, images : [[[[float]C]S]S]N) =
  map(image -> map2d(window -> map((kernel, bias) ->
      relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))),
      zip(weights, biases)),
    slide2d(R, T, pad2d(P, 0.0, image))), images)
where N = {n}, S = {s}, R = {r}, P = {p}, T = {t}, C = {c}, M = {m}
"""
ROW = """
row(const weights : [[[float]C]R]M, signal : [[float]C]S) =
  map(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide(R, 1, pad(P, P, 0.0, signal)))
where S = {s}, R = {r}, P = {p}, C = {c}, M = {m}
"""


ROOT = Path(__file__).resolve().parents[2]


def conv(**sizes: int) -> Program:
    return parse(CONV.format(**{"n": 1, "p": 0, "t": 1, "c": 3, "m": 4, **sizes}))


def of_matrices(p: Program) -> list[Form]:
    """The forms of `winograd` that make matrix products without instructions, for a program p that
    sums over more than windows."""
    every = forms(p, "winograd")
    return [f for f in every if "elementwise" not in f.name and not f.instructions]


def shapes(count: int) -> list[dict[str, int]]:
    """The sizes, by name, of `count` convolutions of unusual shapes, drawn at random."""
    rng = Random(5)
    axes = {
        "n": (1, 5), "s": (1, 13, 27), "r": (1, 2, 3, 5, 7, 9, 11), "p": (0, 1, 2, 3),
        "t": (1, 1, 2, 4), "c": (1, 3, 5, 64), "m": (2, 5),
    }  # fmt: skip
    every = [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]
    whole = [x for x in every if x["s"] + 2 * x["p"] >= x["r"]]
    small = [x for x in whole if x["c"] * x["n"] * x["s"] ** 2 < 20_000]
    return rng.sample(small, count)


@pytest.mark.parametrize("shape", shapes(30), ids=str)
def test_shapes_are_right_or_refused_with_a_reason(shape: dict[str, int]) -> None:
    p = conv(**shape)
    form = Random(str(shape)).choice(of_matrices(p))
    covered = shape["t"] == 1 and shape["r"] > 1
    if not covered:
        with pytest.raises(Refused, match=r"apart|found windows of one"):
            lower(p, form)
        return
    if int(form.name[1]) + shape["r"] > 13:  # more points than a float has digits for, in 2-D
        with pytest.raises(Refused, match="digits"):
            lower(p, form)
        return
    lowering = lower(p, form)
    end = lowering.derivation.end
    values = small_values([end], Random(1))
    assert values is not None
    assert means_the_same(p, end, values, 1, lowering.derivation.rounding)


def drawn(lowering: Lowering, count: int) -> list[Generated]:
    """The code at up to `count` random legal points of a form, after asserting that it is
    proved."""
    _, found = points(lowering, profile("cpu"), count, 1)
    made = [generate(bound(lowering.program, point)) for point in found]
    assert made
    assert all(prove(kernel).ok for one in made for kernel in one.kernels)
    return made


PLANES = """
planes(const weights : [[[[float]3]3]C]M, const biases : [float]M, images : [[[[float]W]H]C]2) =
  map(image ->
      let windows = map(plane -> slide2d(3, 1, pad2d(1, 0.0, plane)), image)
      map((kernel, bias) -> map2d(window ->
          relu(dot(flatten(window), flatten(kernel)) + bias),
          map(row -> transpose(row), transpose(windows))),
        zip(weights, biases)),
    images)
where C = 5, M = 6, W = 9, H = 7
"""
SOME = [
    parse(PLANES),
    conv(s=13, r=3, p=1, c=5, m=6),
    conv(n=5, s=7, r=2, c=3),
    conv(s=9, r=5, p=2, c=8, m=16),
    conv(s=1, r=3, p=1, c=64, m=8),
    parse(ROW.format(s=27, r=3, p=1, c=4, m=8)),
    parse(ROW.format(s=27, r=5, p=0, c=3, m=5)),
]


@pytest.mark.parametrize("n", range(len(SOME)))
def test_generated_programs_agree_with_the_interpreter(n: int, session: Session) -> None:
    p = SOME[n]
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    lowering = lower(p, of_matrices(p)[::2][n % 3])
    for made in drawn(lowering, 1):
        out = session.build(made.plan, checking=True)(inputs)
        assert meant.agrees(out, lowering.derivation.rounding)


NARROW = """
narrow(const weights : [[[[float]C]B]A]M, image : [[[float]C]W]H) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d((A, B), (1, 1), pad2d((P, P, Q, Q), 0.0, image)))
where A = {a}, B = {b}, P = {p}, Q = {q}, C = 8, M = 4, W = 8, H = 8
"""


@pytest.mark.parametrize(("a", "b"), [(1, 3), (3, 1)])
@pytest.mark.parametrize("name", ["F4 registers", "F2 blocked", "F4 fused", "F2 fused whole"])
def test_kernels_of_one_row_or_column_are_transformed_along_the_other(
    a: int, b: int, name: str, session: Session
) -> None:
    p = parse(NARROW.format(a=a, b=b, p=a // 2, q=b // 2))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    lowering = lower(p, next(f for f in forms(p, "winograd") if f.name == name))
    (made,) = drawn(lowering, 1)
    out = session.build(made.plan, checking=True)(inputs)
    assert meant.agrees(out, lowering.derivation.rounding)


@pytest.mark.parametrize(("a", "b"), [(1, 3), (3, 1)])
def test_they_make_half_as_many_products(a: int, b: int) -> None:
    """Windows of 3 along one dimension alone: F(4, 3) makes each 4 results of a row or a column by
    6 multiplications, where direct convolution takes 12."""
    p = parse(NARROW.format(a=a, b=b, p=a // 2, q=b // 2))
    lowering = lower(p, next(f for f in forms(p, "winograd") if "F4 r" in f.name))
    one = {"k": 1, "tr": 1, "tx": 1, "v": 4, "vi": 4, "vo": 4}
    kernels = generate(bound(lowering.program, one)).kernels
    assert scalings(kernels) == 0
    assert multiplications(kernels[-2:-1]) == 8 * 8 // 4 * 6 * 8 * 4


# ---- how many products


def test_matrices_are_proved_in_exact_arithmetic() -> None:
    for m, r in product(range(2, 8), range(2, 8)):
        found = cook_toom(m, r)
        assert found.products == m + r - 1
        assert found.computes(correlation)
    two = cook_toom(2, 3)
    wrong = Bilinear(two.a, two.g, (two.b[1], *two.b[1:]))
    assert not wrong.computes(correlation)


@pytest.mark.parametrize("r", range(2, 12))
@pytest.mark.parametrize("m", [2, 4, 6])
def test_products_by_powers_of_two_are_added_to_others(m: int, r: int) -> None:
    """In each row of the matrices (or of their factors), some number is ±1 or no power of two, so
    that no sum of a transform has only products by powers of two."""
    found = cook_toom(m, r)
    assert found.computes(correlation)
    for matrix in (found.a, found.b, found.g):
        rows = tuple(tuple(map(float, row)) for row in matrix)
        for row in (row for factor in divided(rows) or (rows,) for row in factor):
            kept = [abs(x) for x in row if x]
            assert 1 in kept or any(not log2(x).is_integer() for x in kept)


@pytest.mark.parametrize(
    ("m", "r", "before", "after"), [(2, 3, 8, 8), (4, 3, 30, 22), (6, 3, 68, 44), (2, 5, 24, 20)]
)
def test_what_rows_or_columns_share_is_added_once(m: int, r: int, before: int, after: int) -> None:
    """The matrices that transform data and results take `before` additions; written as products of
    two factors, exactly equal to them, they take `after`."""
    made = 0
    for matrix in (cook_toom(m, r).a, cook_toom(m, r).b):
        rows = tuple(tuple(map(float, row)) for row in matrix)
        factors = divided(rows) or (rows,)
        assert len(factors) == 1 or np.array_equal(
            np.array(factors[0]) @ np.array(factors[1]), rows
        )
        before -= additions(rows)
        made += additions(*factors)
    assert (before, made) == (0, after)


@pytest.mark.parametrize(
    ("m", "r", "fewer", "others"),
    [(2, 3, 2.25, 0), (4, 3, 4.0, 2), (6, 3, 324 / 64, 10), (2, 5, 100 / 36, 2)],
)
def test_products_are_fewer_by_what_is_said(m: int, r: int, fewer: float, others: int) -> None:
    """The sums of F(m × m, r × r) take the multiplications of direct convolution divided by
    `fewer`, on a layer whose sides are multiples of m.

    `others` is the number of multiplications in the transform of one row or column of data: the
    numbers of its matrix that are no powers of two, counted once where two rows share them.
    """
    side = 2 * m
    p = conv(s=side, r=r, p=r // 2, c=16, m=32)
    form = next(f for f in forms(p, "winograd") if f.name == f"F{m} registers")
    made = drawn(lower(p, form), 40)
    direct = side * side * r * r * 16 * 32
    counts = [[multiplications([k]) for k in one.kernels] for one in made]
    assert {scalings(one.kernels) for one in made[:5]} == {0}
    assert min(kernels[-2] for kernels in counts) == round(direct / fewer)
    transforms = 2 * (m + r - 1) * 2 * 2 * 16  # of rows and columns, of each tile and channel
    assert {kernels[0] for kernels in counts} == {others * transforms}
    assert {kernels[-1] for kernels in counts} == {0}


def names(p: Program, m: int) -> list[str]:
    return [f.name for f in of_matrices(p) if f.name.startswith(f"F{m} ")]


@pytest.mark.parametrize("r", range(2, 12))
@pytest.mark.parametrize("m", [2, 4, 6])
def test_rows_of_all_kernel_sizes_are_within_their_known_error(m: int, r: int) -> None:
    p = parse(ROW.format(s=17, r=r, p=1, c=2, m=3))
    form = next(f for f in forms(p, "winograd") if f.name == names(p, m)[r % len(names(p, m))])
    lowering = lower(p, form)
    values = small_values([lowering.derivation.end], Random(r))
    assert values is not None
    assert lowering.derivation.rounding * EPSILON < 1e-3
    assert means_the_same(p, lowering.derivation.end, values, 1, lowering.derivation.rounding)


def test_what_a_transform_would_lose_its_digits_in_is_refused() -> None:
    p = conv(s=13, r=9, p=2, c=1, m=2)
    form = next(f for f in forms(p, "winograd") if f.name == "F6 registers")
    with pytest.raises(Refused, match="loses nearly all digits"):
        lower(p, form)


def test_more_points_always_lose_more() -> None:
    """With one point more than MOST_POINTS, rounding errors grow by more than MOST_GROWTH, however
    the points are divided between m and r. So F(2, 257), which has still more points, is refused
    without computing by how much its errors grow."""
    for m in range(2, MOST_POINTS + 1):
        assert rounded((m,), (MOST_POINTS + 2 - m,)) > MOST_GROWTH
    taps = parse_file(ROOT / "examples/conv1d.lift", {"K": 257, "P": 128})
    form = next(f for f in forms(taps, "winograd") if f.name == "F2 registers")
    with pytest.raises(Refused, match="loses nearly all digits"):
        lower(taps, form)


DEPTHWISE = """
depthwise(const weights : [[[float]3]3]4, image : [[[float]4]9]9) =
  map2d(window -> map((channel, kernel) -> dot(channel, flatten(kernel)),
      zip(transpose(join(window)), weights)),
    slide2d(3, 1, image))
"""


STENCIL = """
blur(const g : [[float]3]3, image : [[float]9]9) =
  map2d(window -> dot(flatten(window), flatten(g)), slide2d(3, 1, image))
"""
PLAIN = """
blurs(const gs : [[[float]3]3]4, image : [[float]9]9) =
  map2d(window -> map(g -> dot(flatten(window), flatten(g)), gs), slide2d(3, 1, image))
"""
SIGNAL = """
signal(const gs : [[float]3]4, xs : [float]20) =
  map(window -> map(g -> dot(window, g), gs), slide(3, 1, xs))
"""
HALVES = """
halves(const weights : [[[[half]3]3]3]4, image : [[[half]3]8]8) =
  map2d(w -> map(k -> reduce(0.0, (acc, (x, h)) -> acc + x * h, zip(flatten(w), flatten(k))),
      weights), slide2d(3, 1, image))
"""
USED_AGAIN = """
again(const gs : [[[float]2]3]4, xs : [[float]2]20) =
  map(w -> map(g -> reduce(0.0, (acc, (x, h)) -> acc + dot(x, h) * at(0, at(0, w)), zip(w, g)), gs),
    slide(3, 1, xs))
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (USED_AGAIN, "windows of neighbouring elements"),
        (HALVES, "expected products of floats"),
        (DEPTHWISE, "several kernels for each"),
        (STENCIL, "several kernels for each"),
        (PLAIN, "something besides, such as channels"),
        (SIGNAL, "something besides, such as channels"),
    ],
)
def test_what_it_does_not_cover_is_refused_with_a_reason(text: str, reason: str) -> None:
    p = parse(text)
    for form in (f for f in of_matrices(p) if not {*PREPARATIONS} & {*f.words}):
        with pytest.raises(Refused, match=reason):
            lower(p, form)


# ---- kernels of one's own

OWN = {
    "images": """
own(const weights : [[[[[float]3]3]3]4]2, biases : [[float]4]2, images : [[[[float]3]10]10]2) =
  map((image, kernels, bs) -> map2d(window -> map((kernel, b) ->
      relu(b + dot(flatten(window), flatten(kernel))), zip(kernels, bs)),
    slide2d(3, 1, image)), zip(images, weights, biases))
""",
    "groups": """
grouped(const weights : [[[[[float]3]3]3]4]2, images : [[[[float]6]10]10]3) =
  map(image -> map2d(window -> join(map((part, kernels) ->
      map(kernel -> dot(flatten(part), flatten(kernel)), kernels),
      zip(transpose(map(pixel -> split(3, pixel), join(window))), weights))),
    slide2d(3, 1, image)), images)
""",
    "groups of rows": """
grouped(weights : [[[[float]3]3]4]2, biases : [[float]4]2, signal : [[float]6]20) =
  map(window -> map((part, kernels, bs) -> map((kernel, b) ->
      reduce(b, (acc, (x, w)) -> acc + x * w, zip(flatten(part), flatten(kernel))),
        zip(kernels, bs)), zip(transpose(map(pixel -> split(3, pixel), window)), weights, biases)),
    slide(3, 1, pad(1, 1, 0.0, signal)))
""",
}


@pytest.mark.parametrize("name", ["F2 registers", "F4 blocked ahead"])
@pytest.mark.parametrize("of", OWN)
def test_images_and_groups_may_have_kernels_of_their_own(
    of: str, name: str, session: Session
) -> None:
    """Convolutions in which each image or group has its own kernels are right, and F(2, 3) makes 4
    multiplications where direct convolution makes 6, in each dimension."""
    p = parse(OWN[of])
    lowering = lower(p, next(f for f in forms(p, "winograd") if f.name == name))
    (made,) = drawn(lowering, 1)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, lowering.derivation.rounding)
    if name == "F2 registers":
        one = {"k": 1, "tr": 1, "tx": 1, "v": 4, "vi": 2, "vo": 2}
        found = lowering.program.free
        point = {size: n for size, n in one.items() if size in found}
        kernels = generate(bound(lowering.program, point)).kernels
        products = {"images": 2 * 4 * 3, "groups": 3 * 2 * 4 * 3, "groups of rows": 2 * 4 * 3}[of]
        points = 10 * 4 if of == "groups of rows" else (4 * 4) ** 2
        assert multiplications(kernels[-2:-1]) == products * points


AROUND = {
    "numbers of each image": """
each(const weights : [[[[float]4]3]3]4, s : [float]2, t : [float]2, images : [[[[float]4]9]7]2) =
  map((image, b, c) -> map2d(w -> map(k -> c + b * dot(flatten(w), flatten(k)), weights),
      slide2d(3, 1, pad2d(1, 0.0, image))),
    zip(images, s, t))
""",
    "a number of each row": """
rows(const weights : [[[[float]4]3]3]4, bias : [float]7, image : [[[float]4]9]7) =
  map((ws, b) -> map(w -> map(k -> relu(b + dot(flatten(w), flatten(k))), weights), ws),
    zip(slide2d(3, 1, pad2d(1, 0.0, image)), bias))
""",
    "a number of each result": """
residual(const weights : [[[[float]4]3]3]4, image : [[[float]4]9]7, skip : [[[float]4]9]7) =
  map((ws, ss) -> map((w, s) -> map((k, v) -> v + dot(flatten(w), flatten(k)),
      zip(weights, s)), zip(ws, ss)),
    zip(slide2d(3, 1, pad2d(1, 0.0, image)), skip))
""",
    "images inside of windows": """
inside(const weights : [[[[float]4]3]3]5, images : [[[[float]4]2]9]7) =
  map2d(w -> map(part -> map(k -> dot(flatten(part), flatten(k)), weights),
      transpose(map(r -> transpose(r), w))),
    slide2d(3, 1, images))
""",
    "another convolution": """
two(const a : [[[[float]3]3]3]4, const b : [[[[float]4]3]3]5, image : [[[float]3]9]7) =
  let mid = map2d(w -> map(k -> relu(dot(flatten(w), flatten(k))), a),
    slide2d(3, 1, pad2d(1, 0.0, image)))
  map2d(w -> map(k -> dot(flatten(w), flatten(k)), b), slide2d(3, 1, pad2d(1, 0.0, mid)))
""",
    "largest of windows": """
pooled(const weights : [[[[float]3]3]3]4, image : [[[float]3]18]10) =
  let pool = map2d(w -> map(c -> reduce(0.0, (m, x) -> max(m, x), c), transpose(join(w))),
    slide2d(2, 2, image))
  map2d(w -> map(k -> dot(flatten(w), flatten(k)), weights), slide2d(3, 1, pool))
""",
}


@pytest.mark.parametrize(
    ("around", "name"),
    [
        *product(AROUND, ["F2 registers", "F2 fused"]),
        ("numbers of each image", "F4 blocked"),
        ("numbers of each image", "F2 fused whole"),
    ],
)
def test_what_stands_around_a_convolution_may_be_anything(
    around: str, name: str, session: Session
) -> None:
    agrees(parse(AROUND[around]), name, session)


def agrees(p: Program, name: str, session: Session) -> None:
    lowering = lower(p, next(f for f in forms(p, "winograd") if f.name == name))
    (made,) = drawn(lowering, 1)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, lowering.derivation.rounding)


# ---- stages fused


@pytest.mark.parametrize(("m", "fewer"), [(2, 2.25), (4, 4.0)])
@pytest.mark.parametrize("whole", [False, True])
def test_fused_stages_store_less_and_multiply_no_more(
    m: int, fewer: float, whole: bool, session: Session
) -> None:
    """With `fused`, only the transformed data are stored (with `whole`, nothing), and the last
    kernel makes the multiplications of F(m, 3); with `whole`, also those of transforming the
    data."""
    p = conv(s=8, r=3, p=1, c=16, m=8)
    name = f"F{m} fused" + " whole" * whole
    lowering = lower(p, next(f for f in forms(p, "winograd") if f.name == name))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    sizes = {"k": 2, "tr": 1, "tx": 2, "v": 8, **({} if whole else {"vi": 4})}
    made = generate(bound(lowering.program, sizes))
    assert all(prove(kernel).ok for kernel in made.kernels)
    tiles, points = (8 // m) ** 2, (m + 2) ** 2
    stored = [b.bytes for b in made.plan.buffers if b.role is Role.TEMPORARY]
    assert stored == ([] if whole else [4 * tiles * points * 16])
    transforms = tiles * 16 * 24 if whole and m == 4 else 0  # F(4, 3) has two 5s in a row's matrix
    assert scalings(made.kernels) == 0
    assert multiplications(made.kernels[-1:]) == 8 * 8 * 9 * 16 * 8 / fewer + transforms
    out = session.build(made.plan, checking=True)(inputs)
    assert meant.agrees(out, lowering.derivation.rounding)


@pytest.mark.parametrize("n", range(len(SOME)))
def test_fused_programs_of_all_kinds_agree_with_the_interpreter(n: int, session: Session) -> None:
    p = SOME[n]
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    meant = expected(p, inputs)
    fused = [f for f in forms(p, "winograd") if "fused" in f.name]
    lowering = lower(p, fused[n % len(fused)])
    for made in drawn(lowering, 1):
        out = session.build(made.plan, checking=True)(inputs)
        assert meant.agrees(out, lowering.derivation.rounding)


SCALED = """
scaled(const gs : [[[float]2]3]4, xs : [[float]2]20) =
  map(w -> map(g -> reduce(0.0, (acc, (x, h)) -> acc + 3.0 * dot(x, h), zip(w, g)), gs),
    slide(3, 1, xs))
"""
SCALED_PLANE = """
scaled(const gs : [[[[float]2]3]3]4, image : [[[float]2]9]9, s : float) =
  map(rows -> map(w -> map(g -> reduce(0.0, (acc, (r, k)) ->
        reduce(acc, (a, (x, h)) -> a + s * dot(x, h) * 0.5, zip(r, k)), zip(w, g)), gs),
      transpose(map(r -> slide(3, 1, r), rows))),
    slide(3, 1, image))
"""


@pytest.mark.parametrize("text", [SCALED, SCALED_PLANE])
@pytest.mark.parametrize("name", ["F2 registers", "F2 fused", "F4 fused whole"])
def test_what_is_done_to_each_sum_of_channels_stays(text: str, name: str, session: Session) -> None:
    p = parse(text)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    lowering = lower(p, next(f for f in forms(p, "winograd") if f.name == name))
    (made,) = drawn(lowering, 1)
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.agrees(out, lowering.derivation.rounding)

"""Tests of `fgfft` and `fft`: convolutions by Fourier transforms of rows are right, each row is
transformed once, and no more numbers are multiplied than must be."""

# key: n batch, c channels, m output channels, h image side, k kernel side, s step, p padding

import re
from contextlib import suppress
from dataclasses import replace
from math import prod
from random import Random

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.plan import Role
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import PROFILES
from constraints.quantities.quantities import quantities
from explore.building.operations import multiplications, scalings
from explore.measure.reference import expected
from explore.space.derive_form import points
from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import first, forms
from rewrites.families.fgfft_kernels import product_dimensions
from rewrites.fast_algorithms.by_rows import by_rows
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.prepared_forms import PREPARATIONS

CONV = """
conv(const weights : [[[[float]C]K]K]M, const biases : [float]M, images : [[[[float]C]H]H]N) =
  map(image -> map2d(window -> map((kernel, bias) ->
      relu(reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))),
      zip(weights, biases)),
    slide2d(K, S, pad2d(P, 0.0, image))), images)
where N = {n}, C = {c}, M = {m}, H = {h}, K = {k}, S = {s}, P = {p}
"""
SHAPES = [
    {"n": 5, "c": 3, "m": 4, "h": 13, "k": 3, "s": 1, "p": 1},
    {"n": 1, "c": 5, "m": 7, "h": 27, "k": 5, "s": 2, "p": 2},
    {"n": 1, "c": 64, "m": 2, "h": 1, "k": 3, "s": 1, "p": 1},
    {"n": 1, "c": 1, "m": 1, "h": 13, "k": 7, "s": 4, "p": 3},
    {"n": 5, "c": 1, "m": 3, "h": 13, "k": 11, "s": 1, "p": 0},
    {"n": 1, "c": 3, "m": 2, "h": 27, "k": 9, "s": 1, "p": 3},
    {"n": 1, "c": 3, "m": 2, "h": 13, "k": 1, "s": 1, "p": 0},
    {"n": 1, "c": 3, "m": 2, "h": 13, "k": 2, "s": 4, "p": 1},
]


def lowered(sizes: dict[str, int]) -> tuple[Program, Lowering]:
    p = parse(CONV.format(**sizes))
    return p, first(p, "fgfft")


def generated(found: Lowering, **values: int) -> Generated:
    p = found.program
    return generate(Program(p.name, p.params, bind_sizes(p.body, values)))


@pytest.mark.parametrize("sizes", SHAPES, ids=lambda s: " ".join(f"{k}{v}" for k, v in s.items()))
def test_it_is_right_within_its_known_error(session: Session, sizes: dict[str, int]) -> None:
    p, found = lowered(sizes)
    made = generated(found, block_size=4, num_blocks=3)
    assert not any(prove(k).failures for k in made.kernels)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.agrees(out, found.derivation.rounding)


@pytest.mark.parametrize(
    ("family", "form", "stored"),
    [("fgfft", "registers", 2), ("fgfft", "registers items gauss", 2), ("fft", "registers", 4)],
)
def test_stored_sums_are_right_too(session: Session, family: str, form: str, stored: int) -> None:
    """Forms that store both spectra and the sums of their products give right results, and `stored`
    arrays are temporaries; `fft` has twice as many as `fgfft`, as it transforms rows and
    columns."""
    p = parse(CONV.format(n=1, c=4, m=4, h=13, k=3, s=2, p=1))
    found = next(lower(p, f) for f in forms(p, family) if f.name == form)
    values = small_values([found.program.body], Random(1))
    assert values is not None
    made = generated(found, **{**values, "v": 2})
    assert not any(prove(k).failures for k in made.kernels)
    assert [b.role for b in made.plan.buffers].count(Role.TEMPORARY) == stored
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.lost(out) <= 1e-6


GROUPED = """
grouped(const weights : [[[[[float](C / G)]K]K](M / G)]G, image : [[[float]C]W]H) =
  map2d(window ->
      join(map((part, kernels) -> map(kernel -> dot(flatten(part), flatten(kernel)), kernels),
        zip(transpose(map(pixel -> split(C / G, pixel), join(window))), weights))),
    slide2d(K, 1, pad2d(1, 0.0, image)))
where C = 4, W = 5, H = 7, K = 3, M = 6, G = 2
"""


@pytest.mark.parametrize("family", ["fgfft", "fft"])
def test_groups_of_channels_have_kernels_of_their_own(session: Session, family: str) -> None:
    """A convolution in groups is right, and the spectrum of each row of each channel (7 rows of 4
    channels) is stored once."""
    p = parse(GROUPED)
    found = next(lower(p, f) for f in forms(p, family) if f.name == "registers")
    made = generated(found, block_size=2, num_blocks=3, k=1, tr=1, tx=2, v=2)
    rows = next(b for b in made.plan.buffers if b.role is Role.TEMPORARY)
    assert prod(rows.shape) == 7 * 4 * 5 * 2
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, found.derivation.rounding)


SEVERAL = {
    "two": """
two(const a : [[[[float]2]3]3]4, const b : [[[[float]4]3]3]2, image : [[[float]2]6]5) =
  let mid = map2d(w -> map(k -> relu(dot(flatten(w), flatten(k))), a),
    slide2d(3, 1, pad2d(1, 0.0, image)))
  map2d(w -> map(k -> dot(flatten(w), flatten(k)), b), slide2d(3, 1, pad2d(1, 0.0, mid)))
""",
    "pooled": """
pooled(const weights : [[[[float]3]3]3]4, image : [[[float]3]12]10) =
  let pool = map2d(w -> map(c -> reduce(0.0, (m, x) -> max(m, x), c), transpose(join(w))),
    slide2d(2, 2, image))
  map2d(w -> map(k -> dot(flatten(w), flatten(k)), weights), slide2d(3, 1, pool))
""",
}


@pytest.mark.parametrize(("family", "form"), [("fgfft", ""), ("fgfft", "registers")])
@pytest.mark.parametrize(("name", "spectra"), [("two", 2), ("pooled", 1)])
def test_each_convolution_of_a_program_is_transformed(
    session: Session, family: str, form: str, name: str, spectra: int
) -> None:
    """In a program of two convolutions both are transformed; in a program of a convolution and a
    pooling, only the convolution. The results are right."""
    p = parse(SEVERAL[name])
    found = next(lower(p, f) for f in forms(p, family) if f.name == form)
    assert sum(step.rule == by_rows for step in found.derivation.steps) == spectra
    values = small_values([found.program.body], Random(1))
    assert values is not None
    made = generated(found, **values)
    assert not any(prove(k).failures for k in made.kernels)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, found.derivation.rounding)


def test_each_row_is_transformed_once() -> None:
    """The spectra that are stored are those of N C H rows (N images, C channels, H rows), and not
    of the rows of each window; the spectra that are packed are those of M C K rows (M kernels of K
    rows)."""
    n, c, m, h, k = 2, 3, 4, 13, 5
    _, found = lowered({"n": n, "c": c, "m": m, "h": h, "k": k, "s": 1, "p": 2})
    made = generated(found, block_size=1, num_blocks=1)
    rows = {b.role: prod(b.shape) // (2 * 9) for b in made.plan.buffers}  # 16 numbers have 9
    assert rows[Role.TEMPORARY] == n * c * h
    assert rows[Role.PACKED] == m * c * k


@pytest.mark.parametrize(
    ("h", "k", "p", "s", "steps"),
    [(1, 7, 3, 1, 1), (2, 7, 3, 1, 3), (2, 7, 3, 2, 2), (5, 3, 1, 1, 3)],
)
def test_products_with_rows_that_are_zeros_for_all_results_are_not_made(
    h: int, k: int, p: int, s: int, steps: int
) -> None:
    """Products are made in `steps` steps: one for each row of the kernel that meets a row of the
    image in some window.

    In a step there is a product of complex numbers for every row of results, kernel, channel and
    frequency.
    """
    sizes = {"n": 1, "c": 4, "m": 4, "h": h, "k": k, "s": s, "p": p}
    _, found = lowered(sizes)
    made = generated(found, block_size=1, num_blocks=1).kernels[-1]
    results = (h + 2 * p - k) // s + 1
    frequencies = next_power(max(-(-(h + p) // s), -(-k // s), results)) // 2 + 1
    products = 4 * 4 * 4 * results * steps * s * frequencies
    others = multiplications([made]) - products
    assert 0 <= others < products / steps / s


def next_power(n: int) -> int:
    return 1 << (n - 1).bit_length()


def test_each_row_of_results_is_transformed_back_once() -> None:
    """N M Q sums of products are stored (for N images, M kernels and Q rows of results), and one
    kernel alone transforms them back."""
    n, m, h, k = 2, 4, 13, 5
    p = parse(CONV.format(n=n, c=3, m=m, h=h, k=k, s=1, p=2))
    found = next(lower(p, f) for f in forms(p, "fgfft") if f.name == "registers")
    made = generated(found, block_size=1, num_blocks=1, k=1, tr=1, tx=1, v=2)
    sums = [b for b in made.plan.buffers if b.role is Role.TEMPORARY][-1]
    assert prod(sums.shape) == 2 * 9 * n * m * h
    backwards = [s for s in found.derivation.steps if s.rule.law.startswith("irdft n")]
    assert len(backwards) == 2  # 16 and 8, down to four: one transform, in one kernel


@pytest.mark.parametrize("name", ["", "registers"])
def test_there_are_no_more_groups_than_rows_and_no_kernel_twice(name: str) -> None:
    p = parse(CONV.format(n=1, c=3, m=4, h=5, k=3, s=1, p=1))
    found = next(lower(p, f) for f in forms(p, "fgfft") if f.name == name)
    ((_, tried),) = ((c.parameter, c.values) for c in found.choices if c.parameter == "num_blocks")
    assert tried == (1, 2, 4, 5, 9)  # 5 rows of images and results, 3 · 3 of kernels
    others = {c.parameter: c.values[0] for c in found.choices if c.parameter != "num_blocks"}
    one = {"k": 1, **others}
    sources = [generated(found, **one, num_blocks=n).plan.source for n in tried]
    assert len(set(sources)) == len(tried)


def made_in_blocks_of_one(p: Program, family: str, form: str) -> Generated:
    """The code of a form at a point with blocks of one result, so that no tile is rounded up and
    nothing is computed twice."""
    found = lower(p, {f.name: f for f in forms(p, family)}[form])
    return generated(found, block_size=1, num_blocks=1, k=1, tr=1, tx=1, v=2)


@pytest.mark.parametrize(("form", "real"), [("registers", 4), ("registers gauss", 3)])
def test_a_product_of_complex_numbers_is_four_real_ones_or_three(form: str, real: int) -> None:
    """The sums take four multiplications (three with `gauss`) for each product of complex numbers.
    There is such a product for each choice of a frequency (9 for rows of 16), a row of results, an
    output channel, a channel, and a row of the kernel."""
    m, c, h, k = 4, 3, 13, 3
    p = parse(CONV.format(n=1, c=c, m=m, h=h, k=k, s=1, p=1))
    data, _, sums, back = made_in_blocks_of_one(p, "fgfft", form).kernels
    assert scalings([data, sums, back]) == 0
    assert multiplications([sums]) == 9 * real * h * m * c * k


@pytest.mark.parametrize(("c", "k", "blocks"), [(5, 3, 1), (3, 5, 8), (2, 7, 13)])
def test_products_with_rows_of_padding_are_left_out(
    session: Session, c: int, k: int, blocks: int
) -> None:
    """The kernel that makes the products and transforms them back gives right results. It has no
    multiplication by 0 or 1, and no branch that takes 0 for a row of padding: such rows, which add
    nothing to any sum, are left out."""
    p = parse(CONV.format(n=1, c=c, m=6, h=13, k=k, s=1, p=k // 2))
    found = lower(p, {f.name: f for f in forms(p, "fgfft")}[""])
    made = generated(found, block_size=1, num_blocks=blocks)
    sums = made.plan.kernels[-1].text
    assert not re.search(r"\* -?[01]\.0f|fma\([^;]*, -?[01]\.0f,|[ (]-?[01]\.0f( \*|,)", sums)
    assert not re.search(r"else \{?\s*[^;{]*= (\(float\d*\)\()?0\.0f", sums)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    meant = expected(p, inputs)
    assert meant.lost(session.build(made.plan, checking=True)(inputs)) <= 1e-6


def test_the_second_transform_of_fft_is_a_complex_one() -> None:
    """The kernels of `fft` make as many multiplications as an FFT in two dimensions of real
    numbers: half spectra of rows (9 of 16 numbers) are transformed along columns as complex
    numbers.

    A product with a root of unity takes four multiplications unless the root is 1, i, -1 or -i. A
    real transform of 16 has 5 products with other roots: 3 of its own, and 1 in each of its two
    transforms of 8. A complex one of 16 has 8, between its 4 phases.
    """
    m, c, h = 4, 3, 13
    real, turned, half, l = 5 * 4, 8 * 4, 9, 16
    p = parse(CONV.format(n=1, c=c, m=m, h=h, k=3, s=1, p=1))
    made = made_in_blocks_of_one(p, "fft", "registers")
    packed = [b.name for b in made.plan.buffers if b.role is Role.PACKED]
    kernels = [k for k in made.kernels if not any(name in k.name for name in packed)]
    assert scalings(kernels) == 0
    assert [multiplications([k]) for k in kernels] == [
        c * h * real,
        c * half * turned,
        half * l * c * m * 4,
        m * half * turned,
        m * h * real,
    ]


def test_a_kernel_takes_only_what_it_reads_or_writes() -> None:
    """Each parameter of each generated kernel is used in the kernel's text."""
    p = parse(CONV.format(n=1, c=3, m=4, h=13, k=3, s=1, p=1))
    for family, form in (("fgfft", ""), ("fgfft", "registers")):
        found = next(lower(p, f) for f in forms(p, family) if f.name == form)
        values = small_values([found.program.body], Random(1))
        assert values is not None
        source = generated(found, **{**values, "v": 2}).plan.source
        for kernel in source.split("__kernel void ")[1:]:
            head, _, text = kernel.partition("{")
            assert all(name in text for name in re.findall(r"restrict (\w+)", head))


@pytest.mark.parametrize(
    ("h", "k", "p", "length"),
    [(13, 3, 1, 16), (13, 5, 2, 16), (15, 3, 1, 16), (27, 7, 3, 32), (28, 9, 4, 32), (1, 7, 3, 8)],
)
def test_a_row_is_as_long_as_it_must_be(h: int, k: int, p: int, length: int) -> None:
    """The length of transforms is the least power of two that is no less than H + P (a row with the
    padding of one side), a row of the kernel, and a row of results: zeros after the row serve as
    padding of its other side, too."""
    _, found = lowered({"n": 1, "c": 1, "m": 1, "h": h, "k": k, "s": 1, "p": p})
    laws = [step.rule.law for step in found.derivation.steps]
    assert 2 ** (sum(law.startswith("irdft n") for law in laws) + 2) == length


UNEVEN = """
uneven(const gs : [[[[float]2]V]3]4, image : [[[float]2]W]7) =
  map2d(w -> map(g -> dot(flatten(w), flatten(g)), gs),
    slide2d((3, V), (1, S), pad2d((1, 1, L, R), Z, image)))
where V = {v}, W = {w}, S = {s}, L = {l}, R = {r}
"""


@pytest.mark.parametrize(
    ("w", "v", "s", "l", "r", "z"),
    [
        (13, 5, 1, 2, 2, "0.0"),
        (13, 6, 1, 1, 3, "0.0"),
        (13, 6, 1, 3, 1, "0.0"),
        (29, 5, 2, 3, 2, "0.0"),
        (2, 8, 1, 4, 3, "0.0"),
        (13, 5, 1, 2, 2, "1.0"),
    ],
)
@pytest.mark.parametrize(
    ("family", "form"), [("fgfft", ""), ("fgfft", "registers"), ("fft", "registers")]
)
def test_rows_share_the_zeros_of_both_sides(
    w: int, v: int, s: int, l: int, r: int, z: str, family: str, form: str, session: Session
) -> None:
    p = parse(UNEVEN.replace("Z", z).format(w=w, v=v, s=s, l=l, r=r))
    found = lower(p, {f.name: f for f in forms(p, family)}[form])
    names = {"block_size": 1, "num_blocks": 1, "k": 1, "tr": 1, "tx": 1, "v": 2}
    made = generated(found, **names)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3).items()}
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.agrees(out, found.derivation.rounding)


def test_a_matrix_product_has_no_rows_that_windows_slide_along() -> None:
    p = parse("mm(a : [[float]8]8, b : [[float]8]8) = map(r -> map(c -> dot(r, c), b), a)")
    with pytest.raises(Refused, match="expected windows that slide along an operand"):
        first(p, "fgfft")


KERNELS = """
blurs(const gs : [[[float]3]3]4, image : [[float]9]11) =
  map2d(w -> map(g -> dot(flatten(w), flatten(g)), gs), slide2d(3, 1, pad2d(1, 0.0, image)))
"""
STENCIL = """
blur(const g : [[float]3]3, image : [[float]9]11) =
  map2d(w -> dot(flatten(w), flatten(g)), slide2d(3, 1, pad2d(1, 0.0, image)))
"""
SIGNAL = """
signal(const gs : [[float]5]4, xs : [float]40) =
  map(w -> map(g -> dot(w, g), gs), slide(5, 1, xs))
"""
TALL = """
tall(const gs : [[[[float]2]1]3]4, image : [[[float]2]9]11) =
  map2d(w -> map(g -> dot(flatten(w), flatten(g)), gs), slide2d((3, 1), (1, 1), image))
"""


@pytest.mark.parametrize(
    ("text", "family", "form"),
    [
        (KERNELS, "fgfft", ""),
        (KERNELS, "fgfft", "blocked ahead gauss"),
        (KERNELS, "fft", "registers"),
        (STENCIL, "fgfft", "registers"),
        (STENCIL, "fft", "registers"),
        (SIGNAL, "fgfft", ""),
        (SIGNAL, "fgfft", "registers gauss"),
        (TALL, "fgfft", "registers"),
    ],
    ids=lambda text: text.split("(")[0].strip(),
)
def test_channels_and_windows_along_both_dimensions_may_be_missing(
    session: Session, text: str, family: str, form: str
) -> None:
    p = parse(text)
    found = lower(p, {f.name: f for f in forms(p, family)}[form])
    values = small_values([found.program.body], Random(1))
    assert values is not None
    made = generated(found, **{**values, "v": 2})
    assert not any(prove(k).failures for k in made.kernels)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.lost(out) <= 1e-6


@pytest.mark.parametrize("text", [SIGNAL, TALL])
def test_one_dimension_of_windows_is_left_to_fgfft(text: str) -> None:
    with pytest.raises(Refused, match="along one dimension at most"):
        first(parse(text), "fft")


@pytest.mark.parametrize("family", ["fgfft", "fft"])
def test_every_transform_is_a_fast_one(family: str) -> None:
    """No kernel computes a root of unity (cospi), and neither does prepack: roots are literals or
    tables."""
    p = parse(CONV.format(n=2, c=4, m=4, h=13, k=3, s=1, p=1))
    kept = "", "registers"
    for form in (f for f in forms(p, family) if f.name in kept):
        found = lower(p, form)
        values = small_values([found.program.body], Random(1))
        assert values is not None
        source = generated(found, **{**values, "v": 2}).plan.source
        assert "cospi" not in source


def test_the_sums_of_fft_are_loaded_in_vectors() -> None:
    """The kernel that transforms the sums of `fft` back loads vectors of 8 channels, as channels
    are innermost in what is stored."""
    p = parse(CONV.format(n=1, c=4, m=8, h=6, k=3, s=1, p=1))
    found = next(lower(p, f) for f in forms(p, "fft") if f.name == "registers")
    values = small_values([found.program.body], Random(1))
    assert values is not None
    source = generated(found, **{**values, "tr": 1, "v": 8}).plan.source
    assert "(const __global float8 *)" in source


def test_there_are_points_for_a_device_that_wants_little_code() -> None:
    """For a device that wants kernels of at most 256 operations (`quick_code`), forms with
    transforms of 32, which no parameter shortens, still have a legal point."""
    p = parse(CONV.format(n=1, c=4, m=8, h=26, k=3, s=1, p=1))
    profile = replace(PROFILES["cpu"], quick_code=256)
    for form in forms(p, "fgfft")[:2]:
        assert points(lower(p, form), profile, 1, 0)[1], form.name


LONG = [
    ("fgfft", "registers items", {"n": 2, "c": 3, "m": 5, "h": 61, "k": 4, "s": 1, "p": 2}),
    ("fgfft", "registers items", {"n": 1, "c": 2, "m": 3, "h": 130, "k": 3, "s": 1, "p": 1}),
    ("fft", "registers", {"n": 1, "c": 2, "m": 3, "h": 61, "k": 3, "s": 1, "p": 1}),
]


@pytest.mark.parametrize(
    ("family", "form", "sizes"), LONG, ids=("rows of 128", "rows of 256", "rows and columns")
)
def test_work_items_share_the_transform_of_a_long_row(
    session: Session, family: str, form: str, sizes: dict[str, int]
) -> None:
    """With `shared`, transforms of long rows are right, their roots of unity come from tables, and
    the private arrays of a work-item are small."""
    p = parse(CONV.format(**sizes))
    found = lower(p, {f.name: f for f in forms(p, family)}[f"{form} shared"])
    made = generated(found, block_size=4, k=1, tr=1, tx=2, v=2)
    assert not any(prove(k).failures for k in made.kernels)
    assert "cospi" not in made.plan.source
    words = [a.size for k in quantities(found.program).kernels for a in k.private_bytes]
    assert all(n < 4 * 64 for n in words if isinstance(n, int))
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1, False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    meant = expected(p, inputs)
    assert meant.lost(out) <= 1e-6


def test_the_root_that_is_one_is_in_no_product_of_a_shared_row() -> None:
    """The tables of a transform of 64 numbers as 8 rows of 8 have 56 roots of unity: the first
    column's, which are 1, are left out. A real or imaginary part that should be 0 is exactly 0."""
    p = parse(CONV.format(n=2, c=3, m=5, h=125, k=4, s=1, p=1))
    found = next(lower(p, f) for f in forms(p, "fgfft") if "items shared" in f.name)
    source = generated(found, block_size=4, k=1, tr=1, tx=2, v=2).plan.source
    tables = re.findall(r"table\d*_\[56\] = \{([^}]*)\}", source)
    roots = [float(root[:-1]) for table in tables for root in table.split(", ")]
    assert len(roots) >= 2 * 56
    assert all(root == 0 or abs(root) > 1e-3 for root in roots)


def test_short_rows_are_not_shared() -> None:
    p = parse(CONV.format(n=1, c=2, m=2, h=13, k=3, s=1, p=1))
    with pytest.raises(Refused, match="for several work-items to share"):
        lower(p, {f.name: f for f in forms(p, "fgfft")}["registers items shared"])


def test_numbers_other_than_floats_are_refused() -> None:
    halves = parse(KERNELS.replace("float", "half"))
    for family in ("fgfft", "fft"):
        for form in (f for f in forms(halves, family) if not {*PREPARATIONS} & {*f.words}):
            with pytest.raises(Refused, match="expected products of floats"):
                lower(halves, form)


def test_sums_inside_of_other_results_are_refused() -> None:
    p = parse("""
        most(rows : [[float]4]5, kernels : [[float]4]3) =
          map(row -> reduce(0.0, (most, x) -> max(most, x),
                map(kernel -> dot(row, kernel), kernels)),
              rows)""")
    with pytest.raises(Refused, match=r"under 2 maps .* inside of other results, under 1"):
        product_dimensions(p.body)


def test_every_form_of_a_lone_row_is_lowered_or_refused() -> None:
    """For one kernel on one row, where no operand is shared between products, each form is lowered
    or raises Refused; four forms are lowered."""
    p = parse("row(const w : [float]3, xs : [float]98) = map(v -> dot(v, w), slide(3, 1, xs))")
    made = {}
    for form in forms(p, "fgfft"):
        with suppress(Refused):
            made[form.name] = lower(p, form)
    assert {"", "registers", "blocked", "registers gauss"} <= set(made)

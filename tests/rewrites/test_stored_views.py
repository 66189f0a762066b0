"""Tests of the families named after a view that they store (im2col, mec and others): they store as
many elements as their papers say, and are right."""

# key: n batch, h w image sides, p padding, r kernel side, s step, c channels, m output channels

from contextlib import suppress
from math import prod
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Plan, Role
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from tests.support.families import STORING

IMAGE = """
conv(weights, biases, image) =
  map2d(window ->
      map((kernel, bias) ->
          reduce(bias, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel))),
        zip(weights, biases)),
    slide2d(R, S, pad2d(P, 0.0, image)))
"""
ONE = (
    IMAGE
    + """
one(const weights : [[[[float]C]R]R]M, const biases : [float]M, image : [[[float]C]W]H) =
  conv(weights, biases, image)
"""
)
MANY = (
    IMAGE
    + """
many(const weights : [[[[float]C]R]R]M, const biases : [float]M, images : [[[[float]C]W]H]N) =
  map(image -> conv(weights, biases, image), images)
"""
)
SHAPES = (
    {"N": 1, "H": 13, "W": 13, "P": 1, "R": 3, "S": 1, "C": 5, "M": 6},
    {"N": 5, "H": 6, "W": 7, "P": 0, "R": 2, "S": 2, "C": 3, "M": 4},
    {"N": 5, "H": 1, "W": 1, "P": 3, "R": 5, "S": 4, "C": 1, "M": 8},
    {"N": 2, "H": 9, "W": 11, "P": 2, "R": 1, "S": 4, "C": 4, "M": 3},
    {"N": 1, "H": 27, "W": 13, "P": 3, "R": 11, "S": 4, "C": 3, "M": 5},
)


def program(shape: dict[str, int]) -> Program:
    """The convolution of an image, or of a batch of images, with sizes by name."""
    sizes = ", ".join(f"{name} = {n}" for name, n in shape.items())
    return parse(f"{ONE if shape['N'] == 1 else MANY}where {sizes}")


def elements(family: str, n: int, h: int, w: int, p: int, r: int, s: int, c: int) -> int:
    """The number of elements that a family stores, by the formula of its paper, for n images of h ×
    w × c, padded by p, with windows of r × r at steps of s."""
    high, wide = h + 2 * p, w + 2 * p
    ho, wo = (high - r) // s + 1, (wide - r) // s + 1
    return {
        "implicit-gemm": 0,
        "padded": n * high * wide * c,
        "im2col": n * ho * wo * r * r * c,
        "im2win": n * c * ho * wide * r,  # Lu et al. 2023: [N][C][Ho][Wi Hf]
        "mec": n * wo * high * r * c,  # Cho & Brand 2017, section 3.2
    }[family]


def plan(p: Program, family: str, form: Form) -> Plan:
    """The plan of a form at one of its legal points, after asserting that its kernels are
    proved."""
    return plan_at_point(p, family, form)[0]


def plan_at_point(p: Program, family: str, form: Form) -> tuple[Plan, dict[str, int]]:
    lowering = lower(p, form)
    _, (point, *_) = points(lowering, profile("cpu"), 1, 0)
    made = generate(bound(lowering.program, point))
    assert all(prove(kernel).ok for kernel in made.kernels)
    return made.plan, point


def some_forms(p: Program, family: str) -> list[Form]:
    """The plainest form that a family has for p, and a random one that has legal points, both
    without `room`."""
    first, *others = (f for f in forms(p, family) if "room" not in f.name.split())
    Random(f"{family} {p.params}").shuffle(others)
    return [first, next(f for f in others if has_points(p, family, f))]


def has_points(p: Program, family: str, form: Form) -> bool:
    with suppress(Refused):
        return bool(points(lower(p, form), profile("cpu"), 1, 0)[1])
    return False


@pytest.mark.parametrize("family", STORING)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: " ".join(f"{k}{v}" for k, v in s.items()))
def test_a_family_stores_what_its_paper_says_and_computes_the_program(
    family: str, shape: dict[str, int], session: Session
) -> None:
    p = program(shape)
    inputs = random_inputs(p, 1)
    if family == "padded" and not shape["P"]:
        with pytest.raises(Refused, match="found no padding"):
            lower(p, forms(p, family)[0])
        return
    stored = elements(family, *(shape[name] for name in "NHWPRSC"))
    for form in some_forms(p, family):
        made = plan(p, family, form)
        temporary = [b for b in made.buffers if b.role is Role.TEMPORARY]
        if "split" not in form.name:
            assert sum(b.bytes for b in temporary) == made.workspace_bytes == 4 * stored, form.name
        result = session.build(made)({name: np.asarray(x) for name, x in inputs.items()})
        assert np.array_equal(result, np.asarray(evaluate(p, inputs))), form.name


ADDED = """
added(a, b) =
  map((p, q) -> map((u, v) -> map((x, y) -> x + y, zip(u, v)), zip(p, q)), zip(a, b))
"""
WEIGHTS = "const weights : [[[[float]C]R]R]M, const biases : [float]M, "
MAPPED = {  # what is done to each element before it is padded, where windows are taken of it
    "relu": ("image : [[[float]C]W]H", "map2d(p -> map(x -> relu(x), p), image)"),
    "scale": (
        "image : [[[float]C]W]H, s : [float]C",
        "map2d(p -> map((x, t) -> 3.0 * x * t, zip(p, s)), image)",
    ),
    "add": ("image : [[[float]C]W]H", "map2d(p -> map(x -> x + 2.0, p), image)"),
    "skip": ("image : [[[float]C]W]H, other : [[[float]C]W]H", "added(image, other)"),
}
BATCH = """
many({weights} images : [[[[float]C]W]H]N, others : [[[[float]C]W]H]N) =
  map((image, other) -> conv(weights, biases, added(image, other)), zip(images, others))
"""
MAPPED_SHAPE = {"N": 1, "H": 5, "W": 6, "R": 3, "S": 1, "C": 3, "M": 4}


def mapped(how: str, padding: int) -> Program:
    """A convolution of an image (or of a batch), padded by `padding`, whose image is first computed
    from the inputs element by element in the way `how`."""
    n = {"N": 2 if how == "batch" else 1}
    sizes = ", ".join(f"{k} = {v}" for k, v in (MAPPED_SHAPE | n | {"P": padding}).items())
    if how == "batch":
        return parse(f"{IMAGE}{ADDED}{BATCH.format(weights=WEIGHTS)}where {sizes}")
    inputs, image = MAPPED[how]
    main = f"one({WEIGHTS}{inputs}) = conv(weights, biases, {image})"
    return parse(f"{IMAGE}{ADDED}{main}\nwhere {sizes}")


@pytest.mark.parametrize("family", STORING)
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("how", [*MAPPED, "batch"])
def test_what_is_computed_of_each_element_is_stored_in_the_same_views(
    how: str, padding: int, family: str, session: Session
) -> None:
    p = mapped(how, padding)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    if family == "padded" and not padding:
        with pytest.raises(Refused, match="found no padding"):
            lower(p, forms(p, family)[0])
        return
    shape = MAPPED_SHAPE | {"N": 2 if how == "batch" else 1, "P": padding}
    stored = elements(family, *(shape[name] for name in "NHWPRSC"))
    for form in some_forms(p, family) if padding else forms(p, family)[:1]:
        made = plan(p, family, form)
        if "split" not in form.name:
            assert made.workspace_bytes == 4 * stored, form.name
        result = session.build(made)(inputs)
        assert np.array_equal(result, np.asarray(evaluate(p, inputs))), form.name


def test_what_is_padded_after_a_map_has_room_for_tiles() -> None:
    p = mapped("relu", 1)
    found = {f.name: f for f in forms(p, "padded")}
    for name in ("blocked room", "blocked room along", "registers room"):
        made = plan(p, "padded", found[name])
        assert made.workspace_bytes >= 4 * elements("padded", 1, 5, 6, 1, 3, 1, 3), name


def test_padding_of_columns_alone_is_in_the_windows_of_rows(session: Session) -> None:
    p = parse(
        """
        c(const g : [[float]3]3, image : [[float]7]6) =
          map2d(w -> reduce(0.0, (acc, (x, t)) -> acc + x * t, zip(flatten(w), flatten(g))),
            slide2d(3, 1, pad2d((0, 0, 1, 1), 0.0, image)))
        """
    )
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    for form in some_forms(p, "im2win"):
        made = plan(p, "im2win", form)
        assert "split" in form.name or made.workspace_bytes == 4 * 4 * 9 * 3
        assert np.array_equal(session.build(made)(inputs), np.asarray(evaluate(p, inputs)))


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("c(xs : [[float]5]4) = pad2d(1, 0.0, map2d(x -> x + 2.0, xs))", 6 * 7),
        ("c(xs : [float]9) = slide(3, 1, map(x -> x + 2.0, xs))", 7 * 3),
        ("c(xs : [float]9) = map(w -> map(x -> x + 2.0, w), slide(3, 1, xs))", 7 * 3),
    ],
)
def test_a_view_of_what_is_computed_has_a_work_item_for_each_result(
    text: str, results: int, session: Session
) -> None:
    p = parse(text)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    (form,) = forms(p, "naive")
    made = generate(lower(p, form).program).plan
    assert prod(made.kernels[0].global_size) == results
    assert np.array_equal(session.build(made)(inputs), np.asarray(evaluate(p, inputs)))


def replicated(shape: dict[str, int], panel: int) -> int:
    """The number of elements that `toeplitz` stores for a convolution of this shape. For each row
    of a kernel that meets the image, it stores a matrix that has the kernel's row once for each
    window; the matrix has its rows rounded up to whole panels of `panel`."""
    n, step = shape["R"], shape["S"]
    windows = (shape["W"] + 2 * shape["P"] - n) // step + 1
    dense = windows - 1 + -(-n // step)  # of each `step`-th element, those that are in a window
    down = (shape["H"] + 2 * shape["P"] - n) // step
    first, last = max(0, shape["P"] - step * down), min(n, shape["P"] + shape["H"])
    rows = -(-shape["M"] * windows // panel) * panel  # of the kernel's, those that are on an image
    return rows * (last - first) * shape["C"] * step * dense


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: " ".join(f"{k}{v}" for k, v in s.items()))
def test_toeplitz_matrices_are_stored_once_for_the_weights(
    shape: dict[str, int], session: Session
) -> None:
    p = program(shape)
    inputs = random_inputs(p, 1)
    for form in some_forms(p, "toeplitz"):
        if shape["P"] == 0 and {"padded", "planes"} & set(form.name.split()):
            continue
        made, point = plan_at_point(p, "toeplitz", form)
        panel = prod(point.get(name, 1) for name in ("lx", "tr", "v"))
        packed = [b for b in made.buffers if b.role is Role.PACKED]
        assert [b.bytes for b in packed] == [4 * replicated(shape, panel)], form.name
        assert "weights" not in {b for k in made.kernels if not k.prepack for b in k.arguments}
        result = session.build(made)({name: np.asarray(x) for name, x in inputs.items()})
        assert np.array_equal(result, np.asarray(evaluate(p, inputs))), form.name


def test_im2col_multiplies_the_windows_of_all_images_at_once_or_of_each(session: Session) -> None:
    p = program({"N": 3, "H": 4, "W": 5, "P": 0, "R": 2, "S": 1, "C": 4, "M": 8})
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    point = {"lx": 2, "ly": 2, "tr": 1, "tc": 4, "v": 4, "k": 2, "u": 4}  # 8 windows of 12 an image
    groups = {}
    for form in forms(p, "im2col"):
        if form.name in ("blocked", "blocked each"):
            made = generate(bound(lower(p, form).program, point)).plan
            launch = made.kernels[-1]
            groups[form.name] = prod(launch.global_size) // prod(launch.local_size)
            assert np.array_equal(session.build(made)(inputs), np.asarray(evaluate(p, inputs)))
    assert groups == {"blocked": 5, "blocked each": 6}


@pytest.mark.parametrize("u", [1, 32, 64])
def test_work_items_that_share_a_row_have_neighbours_of_it(u: int, session: Session) -> None:
    """The kernel that stores windows is launched with u work-items for each row of windows, and the
    results are right."""
    p = program({"N": 1, "H": 6, "W": 5, "P": 0, "R": 3, "S": 1, "C": 64, "M": 2})
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    form = next(f for f in forms(p, "im2col") if f.name == "registers")
    lowering = lower(p, form)
    _, found = points(lowering, profile("cpu"), 200, 1)
    point = next(q for q in found if dict(q)["u"] == u)
    made = generate(bound(lowering.program, point)).plan
    copy = made.kernels[0]
    assert prod(copy.global_size) == 4 * 3 * u
    assert np.array_equal(session.build(made)(inputs), np.asarray(evaluate(p, inputs)))

"""Tests of the forms of `winograd`, `strassen` and `fgfft` whose products are made by matrix
instructions: right by emulation, proved, and with the errors and the range that they tell."""

from math import inf
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import calls
from explore.measure.reference import expected
from explore.space.derive_form import points
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from ir import Program, parse
from ir.core.nodes import Store
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import BFLOAT, leaves
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.engine.meaning_check import means_the_same
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import form_named, forms
from rewrites.number_laws.instructions import instruct
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import H200, agrees, program
from tests.rewrites.test_winograd import PLANES, conv

VGG = {"C": 16, "W": 7, "M": 30}
ROWS = """
rows(const taps : [[[float]16]3]16, image : [[[float]16]9]5) =
  map(row -> map(window -> map(kernel -> dot(flatten(window), flatten(kernel)), taps),
    slide(3, 1, row)), image)
"""
PROGRAMS = {
    "floats": (program("vgg.lift", VGG), "F2 mma-tf32"),
    "parts of floats": (program("vgg.lift", VGG), "F2 mma-tf32 ahead parts"),
    "bfloats": (program("vgg.lift", VGG), "F2 mma-bf16 parts"),
    "bfloats, running": (program("vgg.lift", {**VGG, "C": 32}), "F2 mma-bf16 ahead parts running"),
    "three bfloats": (program("vgg.lift", VGG), "F2 mma-bf16 three-parts"),
    "halves": (program("vgg.lift", VGG), "F2 mma-f16 parts"),
    "in slices": (program("vgg.lift", {**VGG, "C": 64}), "F2 mma-bf16 ahead sliced parts"),
    "planes": (parse(PLANES, set={"C": 16, "M": 16, "W": 7, "H": 5}), "F2 mma-bf16 parts"),
    "rows": (parse(ROWS), "F2 mma-bf16 parts"),
    "Arm's": (program("vgg.lift", {**VGG, "C": 8}), "F2 arm-matrix"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_between_transforms_are_made_by_instructions(session: Session, name: str) -> None:
    """F(2, 3) is exact on small whole numbers, and so are its forms by instructions."""
    p, form = PROGRAMS[name]
    low = lower(p, form_named(p, "winograd", form))
    assert [step.rule for step in low.derivation.steps].count(instruct) >= 1
    agrees(session, p, low, seed=len(name))


COMPLEX = """
times(z, w) = (z.0 * w.0 - z.1 * w.1, z.0 * w.1 + z.1 * w.0)
spectra(const w : [[[float]K]M]2, x : [[[float]K]N]2) =
  map((pr, pi) -> map((qr, qi) ->
      reduce((0.0, 0.0), (acc, (z, v)) ->
          (acc.0 + times(z, v).0, acc.1 + times(z, v).1),
        zip(zip(pr, pi), zip(qr, qi))),
    zip(at(0, w), at(1, w))), zip(at(0, x), at(1, x)))
where M = 32, N = 32, K = 32
"""
OF_BLOCKS = {
    "product": (program("matmul.lift", {"M": 32, "N": 32, "K": 32}), "once mma-bf16 parts"),
    "ahead": (program("matmul.lift", {"M": 48, "N": 32, "K": 64}), "once mma-tf32 ahead parts"),
    "odd sides": (program("matmul.lift", {"M": 31, "N": 30, "K": 32}), "once mma-f16 parts"),
    "pixels": (
        program("conv1x1.lift", {"C": 64, "W": 8, "H": 8, "M": 32}),
        "once mma-bf16 three-parts",
    ),
    "complex": (parse(COMPLEX), "gauss mma-bf16 parts"),
}


@pytest.mark.parametrize("name", OF_BLOCKS)
def test_products_of_sums_of_blocks_are_made_by_instructions(session: Session, name: str) -> None:
    p, form = OF_BLOCKS[name]
    low = lower(p, form_named(p, "strassen", form))
    assert [step.rule for step in low.derivation.steps].count(instruct) >= 1
    agrees(session, p, low, seed=len(name))


def test_blocks_lie_as_lanes_and_groups_read_them() -> None:
    """One operand's sums of blocks are stored again, in parts and in the order of lanes, and
    derivations replay. Complex products alone have the forms `gauss`."""
    p = program("matmul.lift", {"M": 32, "N": 32, "K": 32})
    low = lower(p, form_named(p, "strassen", "once mma-bf16 parts"))
    assert low.derivation.replay() == low.derivation.end
    stored = [{*leaves(type_of(e))} for e in subterms(low.program.body) if isinstance(e, Store)]
    assert stored.count({BFLOAT}) == 1
    assert not any(f.instructions for f in forms(p, "strassen") if "gauss" in f.words)
    assert all("gauss" in f.words for f in forms(parse(COMPLEX), "strassen") if f.instructions)


OF_SPECTRA = {
    "channels": (program("vgg.lift", VGG), "mma-bf16 parts gauss"),
    "ahead": (program("vgg.lift", {**VGG, "C": 32}), "mma-tf32 ahead parts gauss"),
    "groups": (
        program("grouped.lift", {"C": 32, "W": 8, "H": 4, "M": 32, "G": 2}),
        "mma-bf16 three-parts gauss",
    ),
}


@pytest.mark.parametrize("name", OF_SPECTRA)
def test_products_of_spectra_are_made_by_instructions(session: Session, name: str) -> None:
    """Gauss's three products of complex numbers are matrix products of floats; spectra of kernels
    are stored in parts by the kernel that makes them."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    p, form = OF_SPECTRA[name]
    low = lower(p, form_named(p, "fgfft", form))
    assert low.derivation.replay() == low.derivation.end
    made = generate(bound(low.program, points(low, H200, 1, 1)[1][0]), max_work_group=1024)
    assert all(proof.ok for proof in prove_texts(made.plan))
    assert [bool([*calls(kernel)]) for kernel in made.kernels] == [False, False, True, False]
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 3, integers=False).items()}
    out = session.build(made.plan, checking=True)(inputs)
    assert expected(p, inputs).agrees(out, low.derivation.rounding)


def test_no_halves_multiply_spectra() -> None:
    """Spectra are as large as sums of rows, so halves might not hold them."""
    found = {w for f in forms(program("vgg.lift", VGG), "fgfft") for w in f.words}
    assert {"mma-bf16", "mma-tf32"} <= found
    assert not {"mma-f16", "intel-f16"} & found


def test_the_derivation_replays_and_kernels_are_stored_in_parts() -> None:
    """Transformed kernels are parted once, when they are packed; transformed data are stored as
    floats, and parted where groups stage them."""
    p = program("vgg.lift", VGG)
    low = lower(p, form_named(p, "winograd", "F2 mma-bf16 parts"))
    assert low.derivation.replay() == low.derivation.end
    stored = [{*leaves(type_of(e))} for e in subterms(low.program.body) if isinstance(e, Store)]
    assert stored.count({BFLOAT}) == 1


def lost(p: Program, form: str) -> tuple[float, float]:
    """The error of a program's results by a form of `winograd`, on random numbers, where
    instructions keep as many bits as devices do; and the known error of the derivation."""
    low = lower(p, form_named(p, "winograd", form))
    _, (point, *_) = points(low, H200, 1, 0)
    inputs = random_inputs(p, seed=1, integers=False)
    exact, found = (
        np.asarray(evaluate(e, inputs, cuts=True), np.float64)
        for e in (p, bound(low.program, point))
    )
    error = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    return error, low.derivation.rounding * 2.0**-23


@pytest.mark.parametrize(
    ("form", "least", "most"),
    [
        ("F2 mma-bf16 parts", 1e-6, 1e-5),
        ("F4 mma-bf16 parts", 1e-5, 1e-4),
        ("F4 mma-bf16 three-parts", 1e-8, 1e-6),
        ("F4 mma-f16 parts", 1e-7, 3e-6),
        ("F2 mma-bf16", 1e-3, 1e-2),
    ],
)
def test_transforms_make_errors_of_products_grow_as_is_told(
    form: str, least: float, most: float
) -> None:
    """Errors lie below the known error of the derivation, and, of random numbers, below what the
    form says that products and sums lose."""
    p = program("vgg.lift", {**VGG, "C": 64})
    error, known = lost(p, form)
    told = form_named(p, "winograd", form)
    assert least < error < min(most, known, told.loses + told.loses_in_sums)


def test_forms_whose_transforms_make_too_much_of_errors_are_not_tried() -> None:
    p = program("vgg.lift", {"C": 64, "W": 28, "M": 64})
    todo = tasks(p, H200, families=("winograd",), budget=9**9, seed=1, max_error=1e-5, largest=9)
    found = {task.form.name for task in todo}
    assert {"F2 mma-bf16 parts", "F4 mma-bf16 three-parts", "F4 mma-f16 parts"} <= found
    assert not {"F4 mma-bf16 parts", "F2 mma-bf16"} & found


def test_the_range_of_halves_is_that_of_transformed_numbers() -> None:
    """F(4, 3) makes numbers up to a hundred times as large in two dimensions, before they are
    rounded to halves."""
    p = program("vgg.lift", VGG)
    direct = form_named(p, "matrix", "mma-f16 patch parts").largest
    assert form_named(p, "winograd", "F2 mma-f16 parts").largest == direct / 9
    assert form_named(p, "winograd", "F4 mma-f16 parts").largest == direct / 100


def test_sums_of_channels_that_no_instruction_divides_are_left() -> None:
    found = {f.words[1] for f in forms(program("vgg.lift", {**VGG, "C": 24}), "winograd")}
    assert {"mma-tf32", "mma-bf16-8"} <= found
    assert "mma-bf16" not in found
    odd = program("vgg.lift", {**VGG, "C": 5})
    assert not any(f.instructions for f in forms(odd, "winograd"))


@pytest.mark.parametrize("seed", range(12))
def test_unusual_shapes_mean_the_same(seed: int) -> None:
    """Random images, windows, strides of one, batches and numbers of kernels, by a random form
    whose range holds the transformed numbers."""
    rng = Random(seed)
    p = conv(
        n=rng.choice((1, 3)),
        s=rng.choice((5, 7, 13)),
        r=rng.choice((2, 3, 5)),
        p=rng.choice((0, 1, 2)),
        t=1,
        c=16,
        m=rng.choice((5, 16)),
    )
    form = rng.choice([f for f in forms(p, "winograd") if f.instructions and f.largest == inf])
    low = lower(p, form)
    values = small_values([low.derivation.end], rng)
    assert values is not None
    assert means_the_same(p, low.derivation.end, values, seed, low.derivation.rounding_in_doubles)


def test_only_the_products_use_the_instruction() -> None:
    p = program("vgg.lift", VGG)
    low = lower(p, form_named(p, "winograd", "F4 mma-tf32 parts"))
    _, (point, *_) = points(low, H200, 1, 0)
    made = generate(bound(low.program, point))
    assert [bool([*calls(kernel)]) for kernel in made.kernels] == [False, False, False, True, False]

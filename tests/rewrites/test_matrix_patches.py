"""Tests of the family `matrix` with patches staged in local memory: kernels are right, in bounds,
and free of bank conflicts."""

from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Apply, loads
from codegen.tree.memories import Space
from codegen.tree.statements import For, Unroll, calls, statements
from codegen.tree.statements import Store as Written
from explore.building.bank_conflicts import bank_conflicts
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir import Program, ToLocal, parse
from ir.core.terms import subterms
from ir.meaning.inputs import shape_of
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named
from rewrites.laws.planes import chunks_of_planes
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import ATTENTION, H200, agrees, program

PROGRAMS = {
    "product": ("matmul.lift", {"M": 40, "N": 24, "K": 32}, "patch"),
    "product, laid": ("matmul.lift", {"M": 40, "N": 24, "K": 32}, "patch laid ahead"),
    "convolution": ("vgg.lift", {"C": 16, "W": 14, "M": 30}, "patch"),
    "ahead": ("vgg.lift", {"C": 32, "W": 13, "M": 32}, "patch relaid ahead"),
    "product in parts": ("matmul.lift", {"M": 16, "N": 16, "K": 32}, "patch parts"),
    "in parts": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "patch relaid ahead parts"),
    "spelled out": ("vgg.lift", {"C": 16, "W": 6, "M": 16}, "patch relaid spelled"),
    "padding stored": ("vgg.lift", {"C": 16, "W": 8, "M": 32}, "patch padded relaid"),
    "with a stride": ("conv2d.lift", {"C": 8, "W": 17, "H": 16, "M": 32}, "patch relaid"),
    "dilated": ("dilated.lift", {"C": 16, "W": 7, "H": 6, "M": 16}, "patch sliced"),
    "in groups": ("grouped.lift", {"C": 32, "W": 8, "H": 4, "M": 32, "G": 2}, "patch"),
    "of volumes": (
        "conv3d.lift",
        {"C": 8, "W": 6, "H": 4, "D": 4, "M": 16},
        "patch relaid sliced by-taps",
    ),
    "pixel by pixel": ("conv1x1.lift", {"C": 8, "W": 6, "H": 5, "M": 16}, "patch"),
}  # fmt: skip


def made(p: Program, form: str, seed: int = 0) -> Generated:
    low = lower(p, form_named(p, "matrix", f"mma-tf32 {form}"))
    _, (point,) = points(low, H200, 1, seed)
    return generate(bound(low.program, point), max_work_group=1024)


@pytest.mark.parametrize("name", PROGRAMS)
def test_patches_serve_every_program_of_tiles(session: Session, name: str) -> None:
    file, sizes, form = PROGRAMS[name]
    p = program(file, sizes)
    low = lower(p, form_named(p, "matrix", f"mma-tf32 {form}"))
    agrees(session, p, low, seed=len(name))


def test_the_first_half_of_attention_is_served_too(session: Session) -> None:
    p = parse(ATTENTION)
    agrees(session, p, lower(p, form_named(p, "matrix", "mma-tf32 patch")), seed=2)


def test_columns_of_a_product_are_laid_out_for_the_groups_that_stage_them() -> None:
    """The matrix b has its columns far apart in memory: without `laid` a group loads number by
    number what it stages of them; with it, vectors of what a kernel of its own has laid out."""
    p = program("matmul.lift", {"M": 16, "N": 16, "K": 32})
    widths = {}
    for form in ("patch", "patch laid"):
        generated = made(p, form)
        staged = [
            s.value
            for s in statements(generated.kernels[-1].body)
            if isinstance(s, Written) and s.memory.space is Space.LOCAL
        ]
        widths[form] = {load.width for value in staged for load in loads(value)}
    assert widths == {"patch": {1}, "patch laid": {4}}


def test_a_patch_with_its_halo_is_staged_once_for_all_taps() -> None:
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-tf32 patch relaid"))
    assert [step.rule for step in low.derivation.steps].count(chunks_of_planes) == 1
    assert sum(isinstance(e, ToLocal) for e in subterms(low.program.body)) == 1
    assert low.derivation.replay() == low.derivation.end
    point = {"tx": 4, "ty": 4, "tr": 1, "sr": 1, "sc": 2, "k": 1, "rp": 2}
    made = generate(bound(low.program, point))
    (kernel,) = [k for k in made.kernels if any(calls(k))]
    stored = [s for s in statements(kernel.body) if isinstance(s, Written)]
    (patch,) = {s.memory for s in stored if s.memory.space is Space.LOCAL}
    assert patch.elements == 6 * 8 * 8  # four pixels and their halo, a line with room for two more
    for call in calls(kernel):
        assert [load.memory.space for load in loads(call.arguments[1])] == [Space.LOCAL]


def test_lanes_read_no_different_words_of_one_bank() -> None:
    p = program("vgg.lift", {"C": 16, "W": 28, "M": 32})
    for form in ("mma-tf32 patch", "mma-tf32 patch relaid ahead"):
        low = lower(p, form_named(p, "matrix", form))
        for point in points(low, H200, 6, 1)[1]:
            generated = generate(bound(low.program, point), max_work_group=1024)
            assert bank_conflicts(generated) == 0, point


def test_lines_without_room_would_make_lanes_wait() -> None:
    """For lines of 14 pixels and their halo, only 2 elements of room after each line avoid bank
    conflicts, and the form offers no other room."""
    p = program("vgg.lift", {"C": 16, "W": 14, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-tf32 patch"))
    point = {"tx": 4, "ty": 14, "tr": 1, "sr": 1, "sc": 1, "k": 1}
    lost = [bank_conflicts(generate(bound(low.program, {**point, "rp": n}))) for n in range(4)]
    assert [bool(n) for n in lost] == [True, True, False, True]
    (room,) = [c for c in low.choices if c.parameter == "rp" and len(c.values) == 1]
    assert room.values == (2,)


def test_all_sums_of_a_chunk_may_be_spelled_out() -> None:
    """A plain kernel has two loops that are not spelled out, over chunks and, inside, over rows of
    a window; with `spelled` it has only the one over chunks, with `through` none."""
    p = program("vgg.lift", {"C": 32, "W": 8, "M": 16})
    for form, loops in (("patch", 2), ("patch spelled", 1), ("patch ahead spelled through", 0)):
        low = lower(p, form_named(p, "matrix", f"mma-tf32 {form}"))
        point = {"tx": 4, "ty": 4, "tr": 1, "sr": 1, "sc": 2, "k": 2, "rp": 0}
        kernel = generate(bound(low.program, point)).kernels[-1]
        found = [s for s in statements(kernel.body) if isinstance(s, For)]
        assert sum(s.unroll is Unroll.NO for s in found) == loops


def test_sums_that_are_spelled_out_in_any_case_have_no_form_for_it() -> None:
    p = program("matmul.lift", {"M": 32, "N": 32, "K": 32})
    with pytest.raises(Refused, match="expected more than 2 sums in a chunk, found 1"):
        lower(p, form_named(p, "matrix", "mma-tf32 patch spelled"))


def test_constants_go_straight_to_lanes() -> None:
    """A matrix product has one array staged in local memory, the columns' operand; the other goes
    to registers."""
    p = program("matmul.lift", {"M": 64, "N": 64, "K": 64})
    low = lower(p, form_named(p, "matrix", "mma-tf32 patch"))
    assert sum(isinstance(e, ToLocal) for e in subterms(low.program.body)) == 1


def products(form: str) -> tuple[Program, Generated]:
    """A matrix product of 16 × 16 results with 64 terms each, and its kernels by a form of `matrix`
    at a point."""
    p = program("matmul.lift", {"M": 16, "N": 16, "K": 64})
    low = lower(p, form_named(p, "matrix", f"mma-tf32 {form}"))
    point = {"tx": 16, "tr": 1, "sr": 1, "sc": 1, "k": 2}
    return p, generate(bound(low.program, point))


def error(session: Session, form: str) -> float:
    """The relative error, on the device, of a product of two matrices of random numbers by a form
    of `matrix`."""
    p, generated = products(form)
    random = np.random.default_rng()
    given = {n: random.uniform(-1, 1, (64, 16)).astype(np.float32) for n in "ab"}
    shapes = {v.var.name: shape_of(v.var.type) for v in p.params}
    inputs = {n: x.reshape(shapes[n]) for n, x in zip(shapes, given.values(), strict=True)}
    out = session.build(generated.plan, checking=True)(inputs)
    exact = np.asarray(evaluate(p, inputs))
    return float(np.linalg.norm(np.asarray(out) - exact) / np.linalg.norm(exact))


def test_products_of_parts_are_as_good_as_floats_and_known_to_be(session: Session) -> None:
    """With `parts`, which multiplies high and low parts of numbers, the error of a matrix product
    is below 1e-5 and below the known error; without, it is above 1e-4."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    p = program("matmul.lift", {"M": 16, "N": 16, "K": 64})
    known = lower(p, form_named(p, "matrix", "mma-tf32 patch parts")).derivation.rounding
    assert known == 2.0**5 + 3 * 2.0**4  # epsilons: products of low parts, and what is not kept
    assert error(session, "patch parts") < min(1e-5, known * 2.0**-23)
    assert error(session, "patch") > 1e-4


def test_each_chunk_is_summed_up_afresh_and_added_by_ordinary_addition() -> None:
    _, generated = products("patch parts")
    (kernel,) = generated.kernels
    assert len(list(calls(kernel))) == 3
    added = [s for s in statements(kernel.body) if isinstance(s, Written)]
    assert sum(isinstance(s.value, Apply) and s.value.op == "+" for s in added) == 1


def test_a_branch_around_a_register_that_an_instruction_gives_is_refused() -> None:
    _, generated = products("patch parts")
    kernel = generated.plan.kernels[0]
    assert all(proof.ok for proof in prove_texts(generated.plan))
    line = next(s for s in kernel.text.split("\n") if "= mma_tf32(" in s and "float4 made" in s)
    apart = kernel.text.replace(line, f"if (get_local_id(0) < 31) {{ {line.strip()} }}", 1)
    plan = replace(generated.plan, kernels=(replace(kernel, text=apart),))
    assert not all(proof.ok for proof in prove_texts(plan))


def test_the_count_of_conflicts_is_none_where_nothing_is_local() -> None:
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-tf32 padded"))
    _, (point,) = points(low, H200, 1, 0)
    assert bank_conflicts(generate(bound(low.program, point))) is None


def test_a_patch_that_is_read_beyond_its_halo_would_be_found(session: Session) -> None:
    """Where image and kernels are all ones, each result counts the taps that lie inside the image:
    places of a patch beyond the image hold zeros."""
    p = program("vgg.lift", {"C": 8, "W": 5, "M": 16})
    generated = made(p, "patch")
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    ones = {
        "weights": np.ones((16, 3, 3, 8), np.float32),
        "biases": np.zeros(16, np.float32),
        "image": np.ones((5, 5, 8), np.float32),
    }
    out = np.asarray(session.build(generated.plan, checking=True)(ones))
    assert out[0, 0, 0] == 4 * 8
    assert out[0, 2, 0] == 6 * 8
    assert out[2, 2, 0] == 9 * 8

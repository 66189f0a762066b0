"""Tests of forms of `matrix` that multiply the high and low parts of numbers: numbers are split
into parts where they are packed and where they are staged, as floats and as bfloats."""

from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Load, Repack
from codegen.tree.memories import Space
from codegen.tree.statements import Store as Written
from codegen.tree.statements import calls, statements
from explore.building.bank_conflicts import bank_conflicts
from explore.space.derive_form import points
from explore.space.forms_to_derive import tasks
from explore.space.lowering import bound
from ir import Program, ToLocal, parse
from ir.core.nodes import Store
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import BFLOAT, FLOAT, leaves
from ir.meaning.inputs import random_inputs, shape_of
from ir.meaning.interpret import evaluate
from rewrites.families.all_families import form_named, forms
from rewrites.laws.functions_of_elements import let_mapped
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import H200, agrees, program

PROGRAMS = {
    "product": ("matmul.lift", {"M": 40, "N": 24, "K": 32}, "mma-bf16 patch"),
    "product by lanes": ("matmul.lift", {"M": 40, "N": 24, "K": 32}, "mma-bf16"),
    "product in parts": ("matmul.lift", {"M": 16, "N": 24, "K": 64}, "mma-bf16 patch ahead parts"),
    "parts of floats": ("matmul.lift", {"M": 16, "N": 24, "K": 32}, "mma-tf32 patch parts"),
    "convolution": (
        "vgg.lift",
        {"C": 16, "W": 8, "M": 30},
        "mma-bf16 patch relaid parts running",
    ),
    "padding stored": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "mma-bf16 padded relaid"),
    "in parts": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "mma-bf16 patch padded relaid parts"),
    "halves": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "mma-f16 patch relaid parts"),
    "halves in slices": (
        "vgg.lift",
        {"C": 32, "W": 5, "M": 16},
        "mma-f16 patch relaid ahead sliced by-taps parts",
    ),
    "one half": ("matmul.lift", {"M": 40, "N": 24, "K": 32}, "mma-f16 patch"),
    "three parts": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "mma-bf16 patch relaid three-parts"),
    "three parts in slices": (
        "vgg.lift",
        {"C": 32, "W": 5, "M": 16},
        "mma-bf16 patch relaid ahead sliced by-taps three-parts",
    ),
    "three parts of a product": (
        "matmul.lift",
        {"M": 16, "N": 24, "K": 64},
        "mma-bf16 patch three-parts running",
    ),
    "ahead": ("vgg.lift", {"C": 64, "W": 4, "M": 16}, "mma-bf16 patch relaid ahead sliced parts"),
    "with a stride": ("conv2d.lift", {"C": 16, "W": 9, "H": 8, "M": 16}, "intel-bf16 patch parts"),
    "dilated": ("dilated.lift", {"C": 16, "W": 7, "H": 6, "M": 16}, "mma-bf16 patch relaid"),
    "groups": (
        "grouped.lift",
        {"C": 32, "W": 8, "H": 4, "M": 32, "G": 2},
        "mma-bf16 patch sliced by-taps parts",
    ),
    "8 steps": ("vgg.lift", {"C": 8, "W": 6, "M": 16}, "mma-bf16-8 patch relaid parts"),
    "volumes": ("conv3d.lift", {"C": 16, "W": 6, "H": 4, "D": 4, "M": 16}, "mma-bf16 patch relaid"),
    "pixel by pixel": ("conv1x1.lift", {"C": 16, "W": 6, "H": 5, "M": 16}, "mma-bf16 patch parts"),
}  # fmt: skip
PLACED = {"wgmma-tf32", "wgmma-f16"}
FOR_FLOATS = {"mma-tf32", "arm-matrix", "mma-bf16", "mma-f16", "intel-bf16", "intel-f16"}
FOR_FLOATS |= {*PLACED, "wgmma-bf16", "wgmma-bf16-across", "wgmma-f16-across"}
FOR_HALVES = {"mma-tf32", "arm-matrix", "mma-f16", "intel-f16", *PLACED, "wgmma-f16-across"}
HALVES = """
product(a : [[half]K]M, b : [[half]K]N) =
  map(row -> map(column -> reduce(0.0, (acc, (x, y)) -> acc + float(x) * float(y),
    zip(row, column)), b), a)
where M = 24, N = 40, K = 32
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_parts_serve_every_program_of_tiles(session: Session, name: str) -> None:
    file, sizes, form = PROGRAMS[name]
    p = program(file, sizes)
    agrees(session, p, lower(p, form_named(p, "matrix", form)), seed=len(name))


@pytest.mark.parametrize(("t", "entry"), [("half", "mma-f16"), ("bfloat", "mma-bf16")])
@pytest.mark.parametrize("form", ["", " patch", " patch ahead"])
def test_programs_of_narrow_numbers_are_served_as_they_are(
    session: Session, t: str, entry: str, form: str
) -> None:
    p = parse(HALVES.replace("half", t))
    agrees(session, p, lower(p, form_named(p, "matrix", f"{entry}{form}")), seed=1)


def test_an_instruction_is_offered_only_for_numbers_that_it_can_multiply() -> None:
    floats, halves = program("matmul.lift", {}), parse(HALVES)
    offered = [{f.words[0] for f in forms(p, "matrix")} for p in (floats, halves)]
    assert offered == [FOR_FLOATS, FOR_HALVES]


def test_an_instruction_of_fewer_steps_is_offered_for_sums_that_only_they_divide() -> None:
    for steps, more in (
        (48, set()),
        (24, {"mma-bf16-8", "mma-f16-8"}),
        (4, {"mma-tf32-4"}),
        (3, set()),
    ):
        p = program("matmul.lift", {"K": steps})
        found = {f.words[0] for f in forms(p, "matrix")}
        assert found == FOR_FLOATS | more


def test_numbers_are_parted_once_where_they_are_packed_and_where_they_are_staged() -> None:
    """Arrays that are stored or staged hold pairs of parts; operands of instructions are loaded
    (and bfloats repacked), but not computed."""
    p = program("vgg.lift", {"C": 32, "W": 8, "M": 16})
    for entry, t in (("mma-tf32", FLOAT), ("mma-bf16", BFLOAT)):
        low = lower(p, form_named(p, "matrix", f"{entry} patch relaid ahead parts"))
        assert low.derivation.replay() == low.derivation.end
        assert [step.rule for step in low.derivation.steps].count(let_mapped) == 2
        kept = [e for e in subterms(low.program.body) if isinstance(e, ToLocal | Store)]
        assert [[*leaves(type_of(e))] for e in kept] == [[t, t]] * 2
        kernel = generate(bound(low.program, points(low, H200, 1, 0)[1][0])).kernels[-1]
        found = {type(x) for call in calls(kernel) for x in call.arguments[:2]}
        assert found == {Load if t == FLOAT else Repack}


def test_what_is_loaded_ahead_is_kept_as_it_was_loaded() -> None:
    """A work-item keeps four bytes of each number that it loads ahead: the number, and not its two
    parts."""
    p = program("vgg.lift", {"C": 32, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-bf16 patch relaid ahead parts"))
    point = {"tx": 8, "ty": 1, "tr": 1, "sr": 1, "sc": 1, "k": 1, "rp": 0}
    kernel = generate(bound(low.program, point)).kernels[-1]
    written = [s for s in statements(kernel.body) if isinstance(s, Written)]
    ahead = {s.memory for s in written if s.memory.name.startswith("next_")}
    local = {s.memory for s in written if s.memory.space is Space.LOCAL}
    staged = sum(memory.elements for memory in local) // 2
    assert sum(memory.elements for memory in ahead) == -(-staged // 128) * 4


def test_vectors_of_a_staged_tile_are_addressed_by_sums() -> None:
    """The text adds an offset to the start of a local array where it loads a vector, and never
    takes the address of an element: NVIDIA's compiler would load such a vector scalar by scalar."""
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-bf16 patch relaid"))
    text = generate(bound(low.program, points(low, H200, 1, 0)[1][0])).plan.source
    assert "*(__local ushort4 *)(" in text
    assert ")&image_tile_[" not in text


def test_two_floats_are_rounded_at_once_on_devices_that_have_instructions_of_few_bits() -> None:
    """NVIDIA's instructions that round two floats to bfloats or to halves are used only in kernels
    with a matrix instruction of such numbers, as other devices do not have them. A text in which
    the operands of such an instruction are swapped is not proved."""
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    texts = {}
    for entry, rounds in (("bf16", "cvt.rn.bf16x2.f32"), ("f16", "cvt.rn.f16x2.f32"), ("tf32", "")):
        low = lower(p, form_named(p, "matrix", f"mma-{entry} patch relaid parts"))
        plan = generate(bound(low.program, points(low, H200, 1, 0)[1][0])).plan
        assert all(proof.ok for proof in prove_texts(plan))
        texts[entry] = [(rounds or "x2.f32") in kernel.source for kernel in plan.kernels]
        if texts[entry][-1]:
            needs = tuple(n.replace('"f"(x.s1)', '"f"(x.s0)') for n in plan.kernels[-1].needs)
            wrong = replace(plan.kernels[-1], needs=needs)
            assert needs != plan.kernels[-1].needs
            kernels = (*plan.kernels[:-1], wrong)
            assert not all(proof.ok for proof in prove_texts(replace(plan, kernels=kernels)))
    assert [*texts.values()] == [[False, True], [False, True], [False, False]]


def test_halves_that_are_only_moved_need_no_extension() -> None:
    """A kernel that only moves halves to local memory has an array of 16-bit integers there: OpenCL
    allows local arrays of halves only with cl_khr_fp16, which NVIDIA's driver lacks."""
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-f16 patch relaid parts"))
    plan = generate(bound(low.program, points(low, H200, 1, 0)[1][0])).plan
    assert "__local ushort image_tile_" in plan.source
    assert not plan.uses_half
    assert all(proof.ok for proof in prove_texts(plan))


def test_lanes_read_no_different_words_of_one_bank() -> None:
    p = program("vgg.lift", {"C": 32, "W": 28, "M": 32})
    for form in ("mma-bf16 patch", "mma-bf16 patch relaid ahead parts"):
        low = lower(p, form_named(p, "matrix", form))
        for point in points(low, H200, 4, 1)[1]:
            generated = generate(bound(low.program, point), max_work_group=1024)
            assert bank_conflicts(generated) == 0, point


def products(form: str) -> tuple[Program, Generated, float]:
    """A matrix product of 16 × 16 results with 64 terms each, its kernels by a form of `matrix` at
    a point, and the known error of the form's derivation."""
    p = program("matmul.lift", {"M": 16, "N": 16, "K": 64})
    low = lower(p, form_named(p, "matrix", form))
    point = {"tx": 16, "tr": 1, "sr": 1, "sc": 1, "k": 2}
    return p, generate(bound(low.program, point)), low.derivation.rounding * 2.0**-23


def test_what_additions_cut_off_is_known() -> None:
    """What the interpreter loses when instructions keep as many bits as devices do is what a form
    says that its sums lose; sums begun afresh lose next to nothing. The form that loses too much is
    not tried."""
    for form, k in (("mma-bf16 patch parts running", 512), ("mma-f16 patch parts running", 1024)):
        p = program("matmul.lift", {"M": 16, "N": 24, "K": k})
        point = {"tx": 24, "tr": 1, "sr": 1, "sc": 1, "k": 2}
        low = bound(lower(p, form_named(p, "matrix", form)).program, point)
        inputs = random_inputs(p, seed=k, integers=False)
        whole, cut = (
            np.asarray(evaluate(low, inputs, cuts=cuts), np.float64) for cuts in (False, True)
        )
        lost = np.linalg.norm(cut - whole) / np.linalg.norm(whole)
        assert 0.7 < lost / form_named(p, "matrix", form).loses_in_sums < 1.3
        fresh = form_named(p, "matrix", form.removesuffix(" running"))
        assert fresh.loses_in_sums < lost / 8
    long = program("matmul.lift", {"M": 64, "N": 64, "K": 4096})
    todo = tasks(long, H200, families=("matrix",), budget=9**9, seed=1, max_error=1e-5, largest=9)
    found = {task.form.name for task in todo}
    assert {"mma-bf16 patch parts", "mma-f16 patch parts running"} <= found
    assert "mma-bf16 patch three-parts" in found
    assert "mma-bf16 patch parts running" not in found


@pytest.mark.parametrize(
    ("form", "least", "most"),
    [
        ("mma-bf16 patch", 1e-3, 4e-3),
        ("mma-bf16 patch parts", 1e-7, 1e-5),
        ("mma-bf16 patch three-parts", 1e-9, 3e-7),
        ("mma-f16 patch", 1e-4, 5e-4),
        ("mma-f16 patch parts", 1e-9, 5e-7),
    ],
)
def test_the_error_of_products_of_bfloats_is_known(
    session: Session, form: str, least: float, most: float
) -> None:
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    p, generated, known = products(form)
    random = np.random.default_rng()
    shapes = {v.var.name: shape_of(v.var.type) for v in p.params}
    inputs = {n: random.uniform(-1, 1, s).astype(np.float32) for n, s in shapes.items()}
    out = session.build(generated.plan, checking=True)(inputs)
    exact = np.asarray(evaluate(p, inputs))
    error = float(np.linalg.norm(np.asarray(out) - exact) / np.linalg.norm(exact))
    assert least < error < min(most, known)

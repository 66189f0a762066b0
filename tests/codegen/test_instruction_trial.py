"""Tests of trying instructions on a device: exactly those that the device carries out are found."""

from dataclasses import replace

import pytest

from codegen import instruction_trial
from codegen.compile import generate
from codegen.instruction_trial import instructions_of, trial
from codegen.proof.prove import prove
from codegen.runtime.built_program import Program
from codegen.runtime.results import GuardViolated, PoisonFound, Tried
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from ir import parse
from ir.errors import Unsupported
from ir.instructions.entries.copies import COPIES
from ir.instructions.entry import Listed
from ir.instructions.table import ACROSS, DOTS, LOADING, MATRIX, TABLE


@pytest.mark.parametrize("entry", TABLE.values(), ids=list(TABLE))
def test_the_kernel_of_a_trial_is_proved(entry: Listed) -> None:
    made = generate(trial(entry))
    assert all(prove(kernel).ok for kernel in made.kernels)
    assert all(proof.ok for proof in prove_texts(made.plan))


def test_a_device_with_shuffles_carries_out_what_is_emulated(session: Session) -> None:
    shuffles = "cl_khr_subgroup_shuffle" in session.handle.extensions
    nvidia = "NVIDIA" in session.device.platform
    dots = "cl_khr_integer_dot_product" in session.handle.extensions
    expected = {Tried(name, emulated=not nvidia) for name in MATRIX if shuffles or nvidia}
    expected |= {Tried(name, emulated=not dots) for name in DOTS}
    sized = "cl_intel_required_subgroup_size" in session.handle.extensions
    ours = [name for name, e in ACROSS.items() if shuffles or (nvidia and e.lanes == 32)]
    expected |= {Tried(name, emulated=not (sized or nvidia)) for name in ours}
    expected |= {Tried(name, emulated=not nvidia) for name in LOADING if shuffles or nvidia}
    expected |= {Tried(COPIES.name, emulated=not nvidia)}
    assert set(instructions_of(session.device)) == expected


@pytest.mark.parametrize("fault", [GuardViolated("trial", "out", 64), PoisonFound("out", 1, (0,))])
def test_an_instruction_that_writes_elsewhere_is_not_listed(
    session: Session, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def run(*_: object) -> None:
        raise fault

    monkeypatch.setattr(Program, "__call__", run)
    monkeypatch.setattr(instruction_trial, "TABLE", {"mma_bf16": MATRIX["mma_bf16"]})
    assert instructions_of(session.device) == ()


@pytest.mark.parametrize("name", ["mma_bf16", "mma_tf32_4", "arm_matrix_uu"])
def test_an_instruction_whose_lanes_hold_something_else_is_not_listed(
    session: Session, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The digits of lanes and registers of an operand are in another order: a bijection, but not
    the instruction's."""
    first, *others = MATRIX[name].fragments
    turned = replace(first, lanes=first.lanes[::-1], registers=first.registers[::-1])
    layouts = (turned, *others)
    wrong = replace(MATRIX[name], fragments=layouts, brought=layouts)
    monkeypatch.setattr(instruction_trial, "TABLE", {name: wrong})
    assert instructions_of(session.device) == ()


@pytest.mark.parametrize(
    ("name", "right", "planted"),
    [
        ("mma_tf32", "of_row = 4 * g + s", "of_row = 4 * s + g"),
        ("mma_bf16", "of_even = 8 * t + s", "of_even = 8 * t + 4 + s"),
        ("mma_bf16", "sub_group_shuffle(x.y, of_row)", "sub_group_shuffle(x.z, of_row)"),
        ("mma_bf16", "as_float(a & 0xffff0000u) *", "0.0f *"),
        ("mma_f16", "s < 4", "s < 3"),
        ("mma_tf32_4", "sub_group_shuffle(x.y, of_row)", "sub_group_shuffle(x.x, of_row)"),
        ("arm_matrix", "4 * s + q", "4 * q + s"),
        ("arm_matrix_ss", "x.s3 * y.s3", "x.s2 * y.s3"),
        ("intel_bf16", "sub_group_shuffle(rows.w, s)", "sub_group_shuffle(rows.z, s)"),
        ("intel_f16", "b.se, b.sf", "b.sf, b.se"),
        ("ldmatrix_x4_bf16", "8 * m + g, t)", "8 * m + t, g)"),
        ("ldmatrix_x2_trans_f16", "2 * t + 1, g / 2", "2 * t, g / 2"),
        ("wgmma_bf16", "piece * steps + column / 8", "column / 8 * steps + piece"),
        ("wgmma_f16_across", "column / 8 * columns + 2 * s", "column / 8 * columns + s"),
        ("wgmma_tf32", "x[2 * piece + 1], 4 * g + s", "x[2 * piece], 4 * g + s"),
    ],
    ids=[
        "lanes exchanged", "columns exchanged", "r and h exchanged", "half a pair", "a step less",
        "a row twice", "steps and columns exchanged", "a byte twice", "two rows twice",
        "two steps exchanged", "lanes and words exchanged", "a step of a row twice",
        "steps and columns of pieces exchanged", "steps twice", "a row of a sub-group twice",
    ],
)  # fmt: skip
def test_an_instruction_that_comes_out_wrong_is_not_listed(
    session: Session, monkeypatch: pytest.MonkeyPatch, name: str, right: str, planted: str
) -> None:
    entry = TABLE[name]
    text = entry.emulated.replace(right, planted)
    assert text != entry.emulated
    wrong = replace(entry, name="mma_wrong", emulated=text.replace(name, "mma_wrong"))
    monkeypatch.setattr(instruction_trial, "TABLE", {"mma_wrong": wrong})
    if "NVIDIA" in session.device.platform:
        pytest.skip("NVIDIA has the instruction itself: nothing is emulated")
    assert instructions_of(session.device) == ()


def test_rows_that_do_not_lie_in_local_memory_are_refused() -> None:
    p = parse(
        "f(rows : [[bfloat]256]3) = map(row -> mapLocal(0)(vectorized x -> x, "
        "ldmatrix_x4_bf16(asVector(8, row))), rows)"
    )
    with pytest.raises(Unsupported, match="expected rows that lie together in local memory"):
        generate(p)

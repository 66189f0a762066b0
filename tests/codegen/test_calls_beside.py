"""Tests of one call that stands for several of an instruction: it is printed for neighbours alone,
read as what it stands for, and faults in it are refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Plan
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.text_reader.c_syntax import Assign, Braces, Call, CStatement, statements_in
from codegen.text_reader.read_kernel import read_kernel
from explore.space.lowering import bound
from ir import Program
from ir.instructions.side_by_side import several
from ir.instructions.table import MATRIX
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix_both_staged import product

FORM = "wgmma-{} patch two-ahead both in-flight"


def plan_of(p: Program, t: str, **point: int) -> Plan:
    low = lower(p, form_named(p, "matrix", FORM.format(t)))
    return generate(bound(low.program, point), max_work_group=1024).plan


@cache
def wide() -> Plan:
    """A product whose sub-groups make two tiles of rows and four of columns each."""
    p = product("bfloat", 128, 64, 128, turned="b")
    return plan_of(p, "bf16", tr=2, sr=1, sc=1, tx=128, k=1)


def calls_in(text: str) -> list[str]:
    """The instructions that a kernel's text calls in the order of the text."""

    def called(s: CStatement) -> list[str]:
        found = [s.value] if isinstance(s, Assign) else []
        return [e.function for e in found if isinstance(e, Call)]

    return [name for s in statements_in(read_kernel(text).body) for name in called(s)]


def test_one_call_stands_for_the_neighbours_of_each_tile_of_rows() -> None:
    (launch,) = wide().kernels
    assert launch.text.count("wgmma_bf16_4(") == 2
    assert " = wgmma_bf16(" not in launch.text
    assert calls_in(launch.source).count("wgmma_bf16") == 8


def test_only_texts_that_are_called_stand_before_a_kernel() -> None:
    (launch,) = wide().kernels
    used = [name for name, _, _ in several(MATRIX["wgmma_bf16"].instruction)]
    assert [name for name in used if f"define {name}(" in launch.source] == ["wgmma_bf16_4"]


def test_columns_that_lie_apart_have_calls_of_their_own() -> None:
    """Two groups of lanes along columns take every other tile."""
    p = product("bfloat", 64, 64, 128)
    plan = plan_of(p, "bf16-across", tr=1, sr=1, sc=2, tx=128, k=1)
    assert plan.kernels[0].text.count(" = wgmma_bf16_across(") == 2


@pytest.mark.parametrize("t", ["float", "bfloat", "half"])
@pytest.mark.parametrize("columns", [64, 96, 128])
def test_results_are_right(session: Session, t: str, columns: int) -> None:
    p = product(t, 72, 64, 128, turned="b")
    kind = {"float": "tf32", "bfloat": "bf16", "half": "f16"}[t]
    plan = plan_of(p, kind, tr=1, sr=1, sc=1, tx=columns, k=1)
    assert f"wgmma_{kind}_{columns // 32}(" in plan.kernels[0].text
    assert all(proof.ok for proof in prove_texts(plan))
    inputs = random_inputs(p, 1, integers=True)
    out = session.build(plan, checking=True)(inputs)
    assert np.array_equal(np.asarray(out), np.asarray(evaluate(p, inputs)))


FAULTS = {
    "a sum twice": ("acc_1_0, acc_2_0", "acc_1_0, acc_1_0"),
    "a sum missing": (", acc_3_0)", ")"),
    "a number for a sum": (", acc_3_0)", ", 1.0f)"),
    "another number of calls": ("wgmma_bf16_4(", "wgmma_bf16_3("),
    "a distance that is no number": (", 1, 32, 4, acc_0_0", ", 1, lid0, 4, acc_0_0"),
    "pieces out of bounds": (", 1, 32, 4, acc_0_0", ", 1, 320, 4, acc_0_0"),
    "another instruction's text": ("m64n128k16", "m64n64k16"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_refused(fault: str) -> None:
    old, new = FAULTS[fault]
    (launch,) = wide().kernels
    assert all(proof.ok for proof in prove_texts(wide()))
    needs = tuple(need.replace(old, new) for need in launch.needs)
    wrong = replace(launch, text=launch.text.replace(old, new), needs=needs)
    assert wrong != launch
    assert not all(proof.ok for proof in prove_texts(replace(wide(), kernels=(wrong,))))


def test_what_a_call_stands_for_is_read_in_braces() -> None:
    (launch,) = wide().kernels
    found = [s for s in statements_in(read_kernel(launch.source).body) if isinstance(s, Braces)]
    assert any(len(s.statements) == 4 for s in found)

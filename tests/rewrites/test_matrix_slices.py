"""Tests of the family `matrix` with slices: sub-groups of a group make parts of sums, and the parts
are added by way of local memory."""

import re
from dataclasses import replace

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.memory.local_buffers import local_bytes
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.statements import calls
from explore.building.bank_conflicts import bank_conflicts
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named
from rewrites.number_laws.instructions import lanes_open
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import H200, program

PRODUCT = ("matmul.lift", {"M": 16, "N": 13, "K": 64}, "mma-tf32 patch sliced")
POINT = {"tx": 8, "tr": 1, "sr": 1, "p": 4, "k": 4}
CONV = ("vgg.lift", {"C": 64, "W": 6, "M": 32})
OF_CONV = {"tx": 4, "ty": 4, "tr": 2, "sr": 1, "p": 2, "k": 2, "rp": 2}


def made(file: str, sizes: dict[str, int], form: str, point: dict[str, int]) -> Generated:
    p = program(file, sizes)
    return generate(bound(lower(p, form_named(p, "matrix", form)).program, point))


def refused(plan: Plan) -> set[Kind]:
    """The kinds of obligations that the text of a plan's kernels fails."""
    return {failure.obligation.kind for proof in prove_texts(plan) for failure in proof.failures}


def test_parts_of_a_sum_are_added_in_the_lanes_that_keep_them(session: Session) -> None:
    """A matrix product with four slices is right: its one kernel has four sub-groups, each of which
    makes a quarter of a chunk's products by one instruction."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    generated = made(*PRODUCT, POINT)
    (kernel,) = generated.kernels
    assert kernel.local_size == (32, 1, 4)
    assert len(list(calls(kernel))) == 1
    p = program(*PRODUCT[:2])
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)), integers=True)
    out = np.asarray(session.build(generated.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def test_slices_go_over_steps_and_taps_and_share_the_patch_of_a_chunk() -> None:
    """A work-group with two slices for each of three lines of taps stages as large a patch as with
    one slice: two steps of 16 channels, in high and low parts, twice because of `ahead`. Beside the
    patch, its local memory holds the sums of six slices for one tile of columns."""
    form = "mma-bf16 patch relaid ahead spelled sliced by-taps parts"
    p = program(*CONV)
    low = lower(p, form_named(p, "matrix", form))
    assert low.derivation.replay() == low.derivation.end
    assert [step.rule for step in low.derivation.steps].count(lanes_open) == 1
    generated = generate(bound(low.program, OF_CONV))
    kernel = generated.kernels[-1]
    assert kernel.local_size == (32, 1, 6)
    halves = 2 * 2 * (4 + 2) * (4 + 2 + 2) * 16
    assert local_bytes(kernel) == 2 * 2 * halves + 4 * 6 * 2 * 128
    assert bank_conflicts(generated) == 0
    assert all(prove(k).ok for k in generated.kernels)


def test_the_room_of_lines_is_counted_on_the_patch_and_not_on_the_parts() -> None:
    p = program(*CONV)
    low = lower(p, form_named(p, "matrix", "mma-bf16 patch relaid sliced"))
    (room,) = [c for c in low.choices if c.parameter == "rp" and len(c.values) == 1]
    assert room.values == (2,)


def test_parts_that_are_added_before_all_are_there_are_refused() -> None:
    plan = made(*PRODUCT, POINT).plan
    kernel = plan.kernels[0]
    assert all(proof.ok for proof in prove_texts(plan))
    before, after = kernel.text.rsplit("barrier(CLK_LOCAL_MEM_FENCE);", 1)
    assert refused(replace(plan, kernels=(replace(kernel, text=before + after),))) == {Kind.RACE}


def test_slices_that_put_their_parts_in_one_place_are_refused() -> None:
    plan = made(*PRODUCT, POINT).plan
    kernel = plan.kernels[0]
    (line,) = [line for line in kernel.text.splitlines() if line.endswith("= acc_;")]
    place = re.search(r"patch_ \+ (\w+)", line)
    assert place is not None
    one = line.replace(place[1], "(lid0 * 4)")
    wrong = replace(kernel, text=kernel.text.replace(line, one))
    assert refused(replace(plan, kernels=(wrong,))) == {Kind.RACE}


def test_a_sum_beside_no_other_has_no_slices_by_taps() -> None:
    p = program(*PRODUCT[:2])
    with pytest.raises(Refused, match="a sum beside the longest, for slices to share; found one"):
        lower(p, form_named(p, "matrix", "mma-tf32 patch sliced by-taps"))


def test_slices_divide_the_steps_of_a_chunk() -> None:
    p = program(*CONV)
    low = lower(p, form_named(p, "matrix", "mma-bf16 patch relaid sliced parts"))
    found = points(low, H200, 40, 0)[1]
    assert all(point["k"] % point["p"] == 0 for point in found)
    assert {point["p"] for point in found} == {2, 4}

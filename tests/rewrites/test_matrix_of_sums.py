"""Tests of the family `matrix` on sums over images, such as gradients of weights: tiles of an image
are the channels of a convolution, and operands may be laid out in every run."""

from functools import cache
from math import prod

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.memory.local_buffers import local_bytes
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from explore.space.lowering import bound
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.transforms.sums_over_tiles import by_parts_of_tiles
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.rewrites.test_matrix import program

GRADIENT = ("gradients/vgg_weights.lift", {"C": 8, "W": 13, "M": 16})  # 4 × 4 tiles, some beyond it
POINT = {"tx": 3, "ty": 3, "tp": 8, "tr": 1, "sr": 1, "sc": 1, "k": 1, "rp": 0, "s": 8}


@cache
def lowered(stored: str) -> Lowering:
    p = program(*GRADIENT)
    return lower(p, form_named(p, "matrix", f"mma-tf32 patch sums-of-4 {stored}split"))


def made(stored: str) -> Generated:
    return generate(bound(lowered(stored).program, POINT))


@pytest.mark.parametrize("stored", ["", "laid ", "tiled laid "])
def test_a_weight_gradient_is_right_to_the_number(stored: str, session: Session) -> None:
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    generated = made(stored)
    assert all(proof.ok for proof in prove_texts(generated.plan))
    p = program(*GRADIENT)
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)), integers=True)
    out = np.asarray(session.build(generated.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def test_a_group_stages_what_nine_taps_of_eight_planes_read_and_no_more() -> None:
    """There are four kernels: two copies, one that makes the sums of two parts of the tiles, and
    one that adds these. A work-group that makes sums has local memory for 6 × 6 places of each of
    eight planes, for eight tiles at a time."""
    generated = made("tiled laid ")
    *copies, sums, added = generated.plan.kernels
    assert len(copies) == 2
    assert local_bytes(generated.kernels[-2]) == 6 * 6 * 8 * 8 * 4
    assert prod(sums.global_size) == 2 * 32
    assert prod(added.global_size) == 16 * 3 * 3 * 8 // 4  # vectors of four


def test_operands_that_are_not_laid_out_are_not_copied() -> None:
    """Where lanes load what they multiply from the operands themselves, there are two kernels, and
    all that is stored are the parts of sums."""
    generated = made("")
    sums, _ = generated.plan.kernels
    assert prod(sums.global_size) == 2 * 32
    assert generated.plan.workspace_bytes == 2 * 16 * 3 * 3 * 8 * 4


def test_the_derivation_uses_the_law_of_tiles_once_and_replays() -> None:
    derivation = lowered("").derivation
    assert [step.rule for step in derivation.steps].count(by_parts_of_tiles) == 1
    assert derivation.replay() == derivation.end


def test_tiles_of_one_part_are_not_split() -> None:
    """Four by four tiles of the image are two parts for an instruction of eight steps, and one part
    for an instruction of sixteen, which has nothing to add up."""
    p = program(*GRADIENT)
    with pytest.raises(Refused, match="two parts, 32 at least, found 16"):
        lower(p, form_named(p, "matrix", "mma-bf16 patch sums-of-4 split"))


def test_only_sums_over_images_of_what_varies_have_such_forms() -> None:
    def words(file: str, **sizes: int) -> set[str]:
        return {word for form in forms(program(file, sizes), "matrix") for word in form.words}

    assert {"tiled", "laid", "sums-of-4", "sums-of-7"} <= words(*GRADIENT[:1], C=8, W=13, M=16)
    assert "laid" in words("attention.lift")
    assert "sums-of-4" not in words("attention.lift")
    assert "laid" not in words("vgg.lift")

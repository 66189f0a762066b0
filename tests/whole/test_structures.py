"""Tests that kernels give the interpreter's results for random programs of every structure, in
floats or with mixed types, by random families and forms, at random points.

Each run draws other programs. A failure prints its seed; `SEED=… pytest
tests/whole/test_structures.py` draws the same programs again.
"""

import os
import secrets
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from codegen.compile import generate
from codegen.demand_proofs import proofs
from codegen.runtime.session import Session
from constraints.devices import PROFILES
from explore.space.derive_form import points
from explore.space.lowering import bound
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.engine.meaning_check import means_the_same
from rewrites.engine.refused import Refused
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.support.agreement import Case, disagreement
from tests.support.families import BILINEAR, LOWERING
from tests.support.mixed_types import mixed
from tests.support.structures import STRUCTURES, drawn

SEED = os.environ.get("SEED") or secrets.token_hex(4)
FAMILIES = (*LOWERING, *BILINEAR)  # the others are made of these, or take long to derive
UNSHARED = ("depthwise", "pooling", "stencil")  # results need not share an operand
CASES, DRAWS = 2, 40  # of each structure: kernels that are run, and programs drawn for them


def cases(structure: str, seed: str) -> Iterator[Case]:
    """Random programs of a structure, each lowered by a random form at a random point, drawn with
    `seed`."""
    for draw in range(DRAWS):
        print(f"SEED={seed}, draw {draw}")  # pytest shows it with a failure
        case = made(structure, Random(f"{seed} {structure} {draw}"))
        if case is not None:
            yield case


def made(structure: str, r: Random) -> Case | None:
    """A random program of a structure, lowered by a random form of a family at a random point; None
    if the form does not apply."""
    program, family = drawn(structure, r), r.choice(FAMILIES)
    program = mixed(program, r) if r.random() < 0.5 else program
    form, target = r.choice(forms(program, family)), PROFILES[r.choice(("cpu", "mali-g72"))]
    try:
        low = lower(program, form)
    except Refused:
        return None
    _, found = points(low, target, 1, r.randrange(1 << 16))
    if not found:
        return None
    kernels = generate(bound(low.program, found[0]), max_work_group=target.group_items)
    name = f"{family} {form.name} at {found[0]}"
    return Case(name, program, kernels, low.derivation.rounding)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_random_way_to_lower_it_is_proved_and_right(session: Session, structure: str) -> None:
    tried = 0
    for case in islice(cases(structure, SEED), CASES):
        unproved = [proof.summary() for proof in proofs(case.made) if not proof.ok]
        wrong = disagreement(session, case, integers=True)
        assert not unproved, f"SEED={SEED}: {case.name}: {unproved}"
        assert wrong is None, f"SEED={SEED}: {wrong}"
        tried += 1
    assert tried == CASES, f"SEED={SEED}: hardly any family applies"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_however_it_is_written_it_reaches(structure: str) -> None:
    """A program of a structure, written in a random way (order of loops and channels, windows
    flattened or not, places of biases), is lowered by `registers` and keeps its meaning. If its
    results share operands, the same holds for `blocked` and `lift`."""
    reached = ("registers",) if structure in UNSHARED else ("registers", "blocked", "lift")
    for family in reached:
        print(f"SEED={SEED}, {family}")
        r = Random(f"{SEED} {structure} {family}")
        program = drawn(structure, r)
        way = family if has_reduction(program.body) else "naive"
        end = lower(program, forms(program, way)[0]).program.body
        values = small_values([end], r)
        assert values is not None
        assert means_the_same(program, end, values, 1)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_seed_draws_the_same_again(structure: str) -> None:
    assert drawn(structure, Random(1)) == drawn(structure, Random(1))
    assert len({drawn(structure, Random(seed)).body for seed in range(10)}) > 5

"""Tests that no unsafe text is proved: faults are planted in printed kernels, and a simulator says
which of these are unsafe."""

from collections.abc import Iterator
from random import Random

import pytest

from codegen.compile import Generated
from codegen.plan import Plan
from codegen.tree.memories import Space
from tests.support.agreement import FAMILIES, by_hand, written
from tests.support.kernel_simulator import items
from tests.support.text_mutants import Mutant, Outcome, mutants, outcome
from tests.support.text_simulator import faults, simulated

pytestmark = pytest.mark.no_cover  # test_text_proof runs the same proofs, and is quick

Cell = tuple[str, int, bool]  # a buffer, a number, and whether it is written


def cells_of_trees(made: Generated) -> Iterator[set[Cell]]:
    for kernel in made.kernels:
        touched = (each for item in items(kernel, set()) for each in item.touched)
        yield {(m.name, cell, w) for m, _, cell, w, _ in touched if m.space is Space.GLOBAL}


def cells_of_texts(made: Generated) -> Iterator[set[Cell]]:
    for launch in made.plan.kernels:
        ran = simulated(launch, made.plan)
        found: set[Cell] = set()
        for name, touched in ran.touched.items():
            if ran.arrays[name].space is Space.GLOBAL:
                cells, _, _, writes = touched.columns()
                found |= {(name, int(c), bool(w)) for c, w in zip(cells, writes, strict=True)}
        yield found


def test_text_touches_the_cells_that_its_tree_does() -> None:
    """The text of each kernel reads and writes the cells that its tree does. Where a kernel has a
    choice `?:`, the text may read fewer cells: only the operand that is chosen, not both."""
    for case in by_hand():
        texts, trees = list(cells_of_texts(case.made)), list(cells_of_trees(case.made))
        if "?" in case.made.plan.source:
            pairs = zip(texts, trees, strict=True)
            texts = [tree if text <= tree else text for text, tree in pairs]
        assert texts == trees, case.name


def sample(plan: Plan, random: Random, most: int) -> list[Mutant]:
    """Up to `most` mutants of a plan, of as many kinds as possible."""
    found = list(mutants(plan))
    random.shuffle(found)
    return list({mutant.kind: mutant for mutant in found}.values())[:most]


def refuse_missed(plan: Plan, random: Random, most: int) -> None:
    assert not faults(plan)
    for mutant in sample(plan, random, most):
        assert outcome(mutant) is not Outcome.MISSED, f"{mutant.kind}\n{mutant.plan.source}"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_unsafe_text_of_a_family_is_never_proved(family: str) -> None:
    random = Random(family)
    for case in written(family):
        refuse_missed(case.made.plan, random, 3)


def test_an_unsafe_text_of_a_program_written_by_hand_is_never_proved() -> None:
    random = Random(3)
    for case in by_hand():
        refuse_missed(case.made.plan, random, 2)


def test_most_kinds_of_faults_are_unsafe_somewhere() -> None:
    """At least ten kinds of planted faults make some kernel unsafe, and are refused there;
    otherwise the other tests of this file would show nothing."""
    random, unsafe = Random(5), set()
    for case in written("blocked"):
        for mutant in sample(case.made.plan, random, 99):
            if outcome(mutant) is Outcome.REFUSED:
                unsafe.add(mutant.kind)
    assert len(unsafe) >= 10, unsafe

"""Tests that the bank conflicts counted (turns that lanes of a sub-group wait) are as many as a
plain simulation of banks finds."""

from collections import defaultdict

import numpy as np
import pytest

from codegen.compile import generate
from explore.building.bank_conflicts import bank_conflicts
from ir import parse
from ir.instructions.banks import conflicts

STAGED = """
f(xs : [float]{n}) =
  join(mapWorkgroup(0)(row ->
      let t = toLocal(mapLocal(0)(x -> x, row))
      mapLocal(0)(x -> x, {view}),
    split(64, xs)))
where N = {n}
"""


def simulated(words: np.ndarray) -> int:
    """The number of turns, beyond the first, that accesses take at the 32 banks of local memory;
    lanes that ask for 32 words go together. `words` has the words that each lane touches at each
    access."""
    waited = 0
    for access in words.tolist():
        together = 32 // len(access[0])
        for start in range(0, len(access), together):
            banks = defaultdict(set)
            for lane in access[start : start + together]:
                for word in lane:
                    banks[word % 32].add(word)
            waited += max(map(len, banks.values())) - 1
    return waited


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_turns_are_those_of_a_simulation(width: int) -> None:
    random = np.random.default_rng()
    for _ in range(20):
        first = random.integers(0, 200, (3, 32, 1)) * width
        words = first + np.arange(width)
        assert int(conflicts(words).sum()) == simulated(words)


def test_one_word_for_all_lanes_takes_one_turn() -> None:
    assert int(conflicts(np.full((1, 32, 1), 7)).sum()) == 0


@pytest.mark.parametrize(
    ("view", "lost"),
    [
        ("t", 0),  # neighbours
        ("reorder(i -> 63 - i, t)", 0),
        ("reorder(stride(32), t)", 2 * 2 * 1),  # each of two sub-groups: pairs in one bank
        ("join(transpose(split(32, t)))", 2 * 2 * 1),
        ("join(transpose(split(8, t)))", 2 * 2 * 1),
        ("join(transpose(split(16, t)))", 2 * 2 * 1),  # every other lane 32 words on
    ],
)
def test_conflicts_are_counted_on_the_index_terms(view: str, lost: int) -> None:
    made = generate(parse(STAGED.format(n=128, view=view)))
    assert bank_conflicts(made) == lost


def test_what_uses_no_local_memory_has_no_count() -> None:
    made = generate(parse("f(xs : [float]64) = mapGlobal(0)(x -> x, xs)"))
    assert bank_conflicts(made) is None

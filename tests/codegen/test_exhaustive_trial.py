"""Tests of the numbers by which cells and work-items are told apart when every value is tried."""

from collections.abc import Sequence

import numpy as np
import pytest

from codegen.proof.exhaustive_trial import numbered


@pytest.mark.parametrize("most", [(5,), (3, 1, 4), (1 << 40, 3), (1 << 40, 1 << 40, 2)])
def test_numbers_are_equal_for_equal_columns_alone(most: Sequence[int]) -> None:
    """The last have more digits than a number of 64 bits."""
    random = np.random.default_rng()
    columns = np.stack([n // 2 - random.integers(0, 3, 200) * n for n in most])
    found = numbered(columns)
    same = (columns[:, :, None] == columns[:, None, :]).all(axis=0)
    assert np.array_equal(found[:, None] == found[None, :], same)


def test_no_columns_have_no_numbers() -> None:
    assert numbered(np.zeros((2, 0), np.int64)).shape == (0,)

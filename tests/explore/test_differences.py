"""Tests of arrays that are compared chunk by chunk."""

import numpy as np
import pytest

from explore.measure.differences import CHUNK, largest_difference, norm, norm_of_differences
from explore.measure.reference import Expected

SIZES = [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 3]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8])
def test_chunks_give_what_whole_arrays_give(size: int, kind: type) -> None:
    dice = np.random.default_rng(size)
    out: np.ndarray = dice.integers(-9, 9, size).astype(kind)
    right = 9 * dice.normal(size=size)
    off = out.astype(np.float64) - right
    assert largest_difference(out, right) == np.abs(off).max(initial=0)
    assert norm_of_differences(out, right) == pytest.approx(np.linalg.norm(off))
    assert norm(out) == pytest.approx(np.linalg.norm(out.astype(np.float64)))


def test_no_array_is_changed_and_any_shape_and_order_is_compared() -> None:
    out = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    right = out.astype(np.float64)
    right[2, 3] += 2.0
    assert largest_difference(out.T.copy().T, right) == 2.0
    assert right[2, 3] == 13.0
    with pytest.raises(ValueError, match="expected 12 numbers, found 4"):
        largest_difference(out[0], right)


@pytest.mark.parametrize("place", [0, CHUNK, 2 * CHUNK])
def test_what_is_not_a_number_is_seen_in_every_chunk(place: int) -> None:
    out = np.zeros(2 * CHUNK + 1, np.float32)
    out[place] = np.nan
    right = np.zeros(out.shape)
    assert largest_difference(out, right) == np.inf
    assert norm_of_differences(out, right) == np.inf
    assert not Expected(right, 1.0).agrees(out, 1e9)

"""Tests of the shares of a network's programs in the time of a search."""

import numpy as np
import pytest

from explore.network_graph.network_layers import layers_of
from explore.networks.shares_of_time import FIRST, LEAST, next_turn, weights, within
from explore.onnx_model.read_model import read_model
from explore.options.options import Options
from tests.support.onnx_models import classifier


def shares(w: list[float], limit: float) -> list[float]:
    """The seconds of the first turns of programs of these weights, each of which takes just its
    share of the time `limit`."""
    left, found = limit, list[float]()
    for n, own in enumerate(w):
        seconds = within(Options(time_limit=limit), left, own, w[n + 1 :]).time_limit
        assert seconds is not None
        found.append(seconds)
        left -= seconds
    return found


def test_first_turns_take_a_part_of_the_time() -> None:
    assert sum(shares([8.0, 3.0, 1.0, 0.0], 300.0)) == pytest.approx(FIRST * 300.0)


def test_half_of_that_is_divided_equally_and_half_by_weight() -> None:
    first, *rest = shares([3.0, 0.5, 0.5], 120.0 / FIRST)
    assert first == pytest.approx(60.0 / 3 + 60.0 * 3 / 4)
    assert rest == pytest.approx([(120.0 - first) / 2] * 2)
    assert shares([0.0, 0.0], 20.0 / FIRST) == pytest.approx([10.0, 10.0])


def test_a_program_that_is_searched_at_all_gets_some_seconds() -> None:
    assert shares([1.0, 0.0], 1.0) == [LEAST, LEAST]


def test_without_a_limit_nothing_is_changed() -> None:
    assert within(Options(variants=7), None, 1.0, [2.0]) == Options(variants=7)


def test_concatenations_of_parts_that_nobody_else_reads_weigh_nothing() -> None:
    layers = layers_of(read_model(classifier(np.random.default_rng(0))))
    found = dict(zip((p.name for p in layers.programs), weights(layers, {}), strict=True))
    assert [name for name, w in found.items() if w == 0] == [
        name for name in found if name.startswith("concat")
    ]


def test_further_turns_are_divided_by_the_time_that_layers_take() -> None:
    had = dict.fromkeys(range(3), 5.0)
    for _ in range(90):
        had[next_turn({0: 4.0, 1: 2.0, 2: 0.1}, had)] += 10.0
    assert had[0] / had[1] == pytest.approx(2.0, rel=0.1)
    assert 5.0 < had[2] < had[1] / 10

"""Tests of the choice under a budget against every choice and every packing: the fastest, the least
and the sweep of random small networks, and what is told where a search ends early."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from codegen.plan import Plan, Role
from explore.network_choice import choose_options, tight_packing
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_choice.layer_options import Option
from explore.network_graph.network_layers import Layers
from explore.networks.network_tables import memory_lines
from ir.errors import UserError
from tests.support.drawn_networks import drawn_network, every_choice, front_of, loose_network
from tests.support.quick_builds import quick_builds as quick_builds

Drawn = Callable[[np.random.Generator], tuple[Layers, list[list[Option]]]]


def small(random: np.random.Generator) -> tuple[Layers, list[list[Option]]]:
    return drawn_network(random, count=5, several=3)


def drawn(draw: Drawn, cases: int) -> list[tuple[Layers, list[list[Option]], int]]:
    """Random networks, each with the seed that it is drawn from; the same in each run, as some of
    what is asked of them is true of most."""
    return [(*draw(np.random.default_rng(seed)), seed) for seed in range(cases)]


def within(chooser: Chooser, budget: int) -> Choice | str:
    """The choice under a budget, or what is told if none is found."""
    try:
        return chooser.within(budget)
    except UserError as error:
        return error.message


@pytest.mark.parametrize(("draw", "cases"), [(small, 60), (drawn_network, 15), (loose_network, 8)])
def test_the_choice_is_the_best_of_every_choice(draw: Drawn, cases: int) -> None:
    """Of nearly all networks the least is proved; of the others, what is told is true."""
    unsettled = 0
    for layers, options, seed in drawn(draw, cases):
        every = list(every_choice(layers, options))
        front = front_of(every)
        chooser = Chooser.of(layers, options)
        told = chooser.least_proved()
        if told.proved < told.choice.memory_bytes:
            assert told.proved <= front[-1][1] <= told.choice.memory_bytes, seed
            unsettled += 1
            continue
        swept = [(c.time_ns, c.memory_bytes) for c in chooser.sweep()]
        assert swept == front, seed
        for budget in sorted({size for _, size in every})[::7]:
            choice = chooser.within(budget)
            assert choice.memory_bytes <= budget, seed
            assert choice.time_ns == min(t for t, size in every if size <= budget), seed
            assert choice.gap == pytest.approx(0.0, abs=1e-9), seed
        least = front[-1][1]
        with pytest.raises(UserError, match=rf"the least is .*\({least:,} bytes\)"):
            chooser.within(least - 1)
    assert unsettled <= max(1, cases // 20)


def test_a_layer_that_writes_over_what_it_reads_is_among_the_networks_that_are_drawn() -> None:
    found = (Chooser.of(layers, options).least() for layers, options, _ in drawn(small, 1000))
    assert any(len({*c.plan.tensors.values()}) < len(c.plan.tensors) for c in found)


@pytest.mark.parametrize("steps", [0, 20])
def test_what_is_told_is_true_where_packings_are_not_settled(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tight_packing, "STEPS", steps)
    monkeypatch.setattr(tight_packing, "PROMOTED", 1)
    monkeypatch.setattr(choose_options, "TRIES", 5)
    unsettled = 0
    for layers, options, seed in [*drawn(loose_network, 4), *drawn(small, 15)]:
        every = list(every_choice(layers, options))
        least = min(size for _, size in every)
        chooser = Chooser.of(layers, options)
        found = chooser.least_proved()
        assert found.proved <= least <= found.choice.memory_bytes, seed
        unsettled += found.proved < found.choice.memory_bytes
        for budget in sorted({size for _, size in every})[::5]:
            fastest = min(t for t, size in every if size <= budget)
            choice = within(chooser, budget)
            if isinstance(choice, str):
                assert budget < found.choice.memory_bytes, seed
                assert f"every choice takes at least {found.proved:,} bytes" in choice, seed
                assert choice.startswith("no choice was found that takes at most"), seed
                continue
            assert choice.memory_bytes <= budget, seed
            assert choice.time_ns * (1 - choice.gap) <= fastest * (1 + 1e-9), seed
    assert unsettled


def test_a_budget_below_what_is_proved_is_told_as_too_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tight_packing, "STEPS", 0)
    for layers, options, _ in drawn(loose_network, 6):
        chooser = Chooser.of(layers, options)
        with pytest.raises(UserError, match=r"^no choice takes at most"):
            chooser.within(chooser.least_proved().proved - 1)


def test_how_far_an_arena_is_from_the_least_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    (layers, options, _), *_ = drawn(loose_network, 1)
    plain = [[replace(each[0], plan=without_temporaries(each[0].plan))] for each in options]
    line = memory_lines(Chooser.of(layers, plain).fastest())[1]
    assert re.search(r"as small as it can be, \d+ bytes over what lives at once$", line)
    monkeypatch.setattr(tight_packing, "STEPS", 0)
    line = memory_lines(Chooser.of(layers, plain).fastest())[1]
    assert re.search(r"at most [\d,]+ bytes over the least that it can be$", line)


def without_temporaries(plan: Plan) -> Plan:
    left = tuple(b for b in plan.buffers if b.role is not Role.TEMPORARY)
    names = {b.name for b in left}
    kernels = tuple(
        replace(k, arguments=tuple(a for a in k.arguments if a in names)) for k in plan.kernels
    )
    return replace(plan, kernels=kernels, buffers=left)

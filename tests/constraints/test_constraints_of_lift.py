"""Tests of the LIFT paper's parameters on VGG-16 layers 2 and 7, as a set of constraints.

Mogers et al., "Automatic generation of specialized direct convolutions for mobile GPUs" (GPGPU
2020), §4: θ is the side of a tile, ρ the extra padding, κ and σ the kernels and windows of a
work-item, ω the chunk of a reduction, v the width of vectors.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from constraints.count.points import space, stratified
from constraints.devices import MALI_G72
from constraints.relations.relations import AtMost, Constraint, OneOf, System, divides, holds
from constraints.solve.solver import Answer, Solver
from explore.space.derive_form import constraints
from explore.space.lowering import lowering
from ir.core.size import exact, named
from ir.parse import parse_file
from tests.support.pace import in_yardsticks

EXAMPLES = Path(__file__).parents[2] / "examples"

RHO, THETA, KAPPA, SIGMA, OMEGA, V = map(named, ("ρ", "θ", "κ", "σ", "ω", "v"))
NAMES = ("ρ", "θ", "κ", "σ", "ω", "v")


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution layer with square images, 3×3 kernels and padding 1."""

    size: int
    channels: int
    kernels: int


LAYERS = {2: Layer(224, 64, 64), 7: Layer(112, 128, 128)}


def lift(layer: Layer) -> System:
    """The system of what the family `lift` demands of its parameters on a Mali GPU."""
    windows = (THETA - 2) * (THETA - 2)
    depth = 9 * layer.channels
    groups_of_windows, chunks = exact(windows, SIGMA), exact(depth, OMEGA)
    threads = groups_of_windows * chunks
    partial_sums = 4 * KAPPA * windows * chunks
    padded = layer.size + 2 + RHO
    relations = [
        (AtMost(RHO, layer.size), "at most one more image of padding"),
        (AtMost(3, THETA), "a window fits in a tile"),
        (divides(THETA - 2, layer.size + RHO), "tiles fill the padded image"),
        (divides(KAPPA, layer.kernels), "kernels a work-item"),
        (divides(SIGMA, windows), "windows a work-item"),
        (divides(OMEGA, depth), "chunks of the reduction"),
        (OneOf(V, MALI_G72.vector_widths), "vector widths"),
        (divides(V, OMEGA), "vectors fill a chunk"),
        (AtMost(threads, MALI_G72.group_items), "work-group"),
        (AtMost(partial_sums, MALI_G72.local_bytes), "local memory"),
        (AtMost(4 * KAPPA * SIGMA + 4 * V, 4 * MALI_G72.private_words), "private memory"),
        (AtMost(4 * layer.channels * padded * padded, MALI_G72.buffer_bytes), "the padded copy"),
    ]
    return System(NAMES, tuple(Constraint(r, why, "lift") for r, why in relations))


@pytest.mark.parametrize("number", LAYERS)
def test_a_thousand_points_over_three_hundred_tilings(number: int) -> None:
    system = lift(LAYERS[number])
    with in_yardsticks(400):
        points = space(system).sample(1000, seed=1)
    assert len({tuple(p.values()) for p in points}) == 1000
    assert len({(p["ρ"], p["θ"]) for p in points}) >= 300
    assert all(holds(c.relation, p) for c in system.constraints for p in points)


def test_stratified_points_cover_the_tilings_there_are() -> None:
    system = lift(LAYERS[7])
    tilings = space(system, ("ρ", "θ")).strata(2)
    points = stratified(system, ("ρ", "θ"), 1000, seed=1)
    assert len({tuple(p.values()) for p in points}) == 1000
    assert len({(p["ρ"], p["θ"]) for p in points}) == min(1000, len(tilings))


def test_the_papers_best_point_of_layer_7_is_valid() -> None:
    """The point of the paper's Table 4 (24 work-items a group, 41×41 tiles, 32 groups of kernels)
    satisfies all constraints."""
    system = lift(LAYERS[7])
    point = {"ρ": 11, "θ": 5, "κ": 4, "σ": 3, "ω": 144, "v": 4}
    assert all(holds(c.relation, point) for c in system.constraints)
    assert (112 + 11) // (5 - 2) == 41
    assert (5 - 2) ** 2 // 3 * (9 * 128 // 144) == 24
    assert Solver(system).certify(point) is Answer.YES


@pytest.mark.no_cover
def test_both_engines_name_the_same_domains() -> None:
    system = lift(Layer(14, 8, 8))
    points, solver = space(system), Solver(system, seconds=20)
    for p in NAMES:
        domain = solver.domain(p, points.domain(p))
        assert domain.exact
        assert domain.values == points.domain(p)


def test_the_least_local_memory_is_found_and_proved() -> None:
    system = lift(Layer(14, 8, 8))
    local = next(c.relation for c in system.constraints if c.why == "local memory")
    assert isinstance(local, AtMost)
    best = Solver(system, seconds=20).minimise([local.a])
    assert best is not None
    assert best.proved
    assert best.value == 4  # one kernel, one window, one chunk


def test_an_exhausted_time_limit_is_unknown_and_not_a_guess() -> None:
    solver = Solver(lift(LAYERS[2]), seconds=0.0)
    assert solver.feasible().answer is Answer.UNKNOWN
    assert not solver.domain("κ", [1, 2]).exact
    assert solver.minimise([KAPPA]) is None
    assert solver.necessary() == solver.system.constraints


def derived(**sizes: int) -> System:
    """The system that inference finds by walking the lowered program of the family `lift`, for a
    convolution of these sizes."""
    return constraints(lowering(parse_file(EXAMPLES / "vgg.lift", sizes), "lift"), MALI_G72)


@pytest.mark.parametrize("number", LAYERS)
def test_the_derived_familys_points_cover_three_hundred_tilings(number: int) -> None:
    layer = LAYERS[number]
    system = derived(C=layer.channels, W=layer.size, H=layer.size, M=layer.kernels)
    with in_yardsticks(400):
        points = space(system).sample(1000, seed=1)
    assert len({tuple(p.values()) for p in points}) == 1000
    assert len({(p["rho"], p["theta"]) for p in points}) >= 300
    assert all(holds(c.relation, p) for c in system.constraints for p in points)


@pytest.mark.no_cover
def test_the_derived_familys_samples_are_uniform() -> None:
    found = space(derived(C=4, W=6, H=6, M=4))
    rank = {tuple(p.values()): i for i, p in enumerate(found.all())}
    assert 200 < found.count == len(rank) < 5000
    tally = [0] * found.count
    for seed in range(found.count // 10):
        for p in found.sample(100, seed):
            tally[rank[tuple(p.values())]] += 1
    from scipy.stats import chisquare  # takes long to import

    assert chisquare(tally).pvalue > 0.001

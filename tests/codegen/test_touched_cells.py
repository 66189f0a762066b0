"""Tests of the cells that the work-items of a group touch, which pictures of a tiling show."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Kernel, Plan
from codegen.text_proof.touched_cells import Touched, touched_cells
from codegen.text_reader.read_kernel import read_kernel
from constraints.devices import PROFILES
from explore.pages.tiling import tiling
from explore.space.legal_point import lowered_at
from ir.core.nodes import Program
from ir.parse import parse

CONV = """
conv(const weights : [[[[float]3]3]2]5, image : [[[float]3]9]7) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d((2, 3), 1, pad2d(1, 0.0, image)))
"""
STENCIL = "p(xs : [float]10) = map(window -> sum(window), slide(3, 1, xs))"
FAMILIES = ("blocked", "lift", "registers", "winograd")


def plan_of(program: Program, family: str) -> Plan:
    limits = PROFILES["h200"]
    concrete, _ = lowered_at(program, family, None, {}, limits)
    return generate(concrete, max_work_group=limits.group_items).plan


def touched(plan: Plan, kernel: Kernel) -> list[list[Touched]]:
    """The cells that a kernel touches, in a list for each of its work-groups."""
    text = read_kernel(kernel.source)
    sizes = {b.name: b.bytes // 4 for b in plan.buffers}
    given = dict(zip((p.name for p in text.parameters), kernel.arguments, strict=True))
    elements = {name: sizes[buffer] for name, buffer in given.items()}
    x, y, z = (n // m for n, m in zip(kernel.global_size, kernel.local_size, strict=True))
    every = product(range(x), range(y), range(z))
    return [[*touched_cells(text, elements, (x, y, z), group)] for group in every]


@pytest.mark.parametrize("family", FAMILIES)
def test_groups_together_make_each_result_once(family: str) -> None:
    plan = plan_of(parse(CONV), family)
    last = plan.kernels[-1]
    (out,) = (b for b in plan.buffers if b.name == last.arguments[-1])
    made = [t.cells for g in touched(plan, last) for t in g if t.writes and "out" in t.memory.name]
    assert sorted(np.concatenate(made)) == [*range(out.bytes // 4)]
    (told,) = [m for k in tiling(plan) if k["kernel"] == last.name for m in k["made"]]
    assert told["buffer"] == out.name
    drawn = np.array(told["picture"])
    (around,) = [k["around"] for k in tiling(plan) if k["kernel"] == last.name]
    assert 0 < drawn.max() < np.prod(last.local_size) * around


def test_neighbours_in_a_stencil_load_the_same_elements() -> None:
    plan = plan_of(parse(STENCIL), "naive")
    (told,) = tiling(plan)
    (read,), (made,) = told["read"], told["made"]
    assert read["picture"] == [[1, 2, 3, 3, 3, 3, 3, 3, 2, 1]]
    assert (read["cells"], read["loads"], read["by"]) == (10, 24, [1, 3])
    assert made["picture"] == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert made["block"] == [1]


def test_a_kernel_that_would_write_outside_of_its_buffers_is_left_out() -> None:
    plan = plan_of(parse(STENCIL), "naive")
    (kernel,) = plan.kernels
    x, y, z = kernel.global_size
    assert tiling(replace(plan, kernels=(replace(kernel, global_size=(4 * x, y, z)),))) == []

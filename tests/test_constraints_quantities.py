"""Are the amounts that are limited the ones that generated code has?"""

from pathlib import Path

import pytest
from constraints_programs import register_block, tiled_blur, tiled_map, two_kernels

from codegen.compile import Generated, generate
from codegen.tree import Declare, Space, statements
from constraints.devices import CPU, H200, MALI_G72, Profile
from constraints.enumerate import space
from constraints.infer import infer
from constraints.quantities import Dims, Quantities, peak_at, quantities
from constraints.terms import AtMost, Constraint
from explore.lowering import bound, lowering
from ir.nat import named
from ir.nodes import Program
from ir.parse import parse_file
from ir.types import BYTES

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = {"C": 8, "M": 8, "H": 10, "W": 10}


def variants(
    family: str, file: str, device: Profile
) -> list[tuple[Program, Program, dict[str, int]]]:
    """Some concrete variants, with the parametric program and the values they come from."""
    lowered = lowering(parse_file(EXAMPLES / file, SMALL), family)
    required = [Constraint(AtMost(r.a, r.b), r.why, family) for r in lowered.requirements]
    program = lowered.program
    points = space(infer(program, device, required)).sample(6, seed=2)
    return [(program, bound(program, p), p) for p in points]


def check(program: Program, concrete: Program, point: dict[str, int], device: Profile) -> None:
    """The symbolic amounts at a point are those of the concrete program and of its code."""
    made = generate(concrete, max_work_group=device.group_items)
    symbolic = quantities(program)
    assert _facts(symbolic, point) == _facts(quantities(concrete), {})
    assert made.plan.memory_bytes == peak_at(symbolic.memory_bytes, point)
    assert made.plan.workspace_bytes == peak_at(symbolic.workspace_bytes, point)
    for kernel, k, launch in zip(made.kernels, symbolic.kernels, made.plan.kernels, strict=True):
        assert launch.prepack == k.prepack
        assert _declared(kernel.body, Space.LOCAL) == peak_at(k.local_bytes, point)
        if not any(k.global_items):
            assert kernel.local_size == _items(k.items, point)
            assert kernel.groups == _items(k.groups, point)


def _facts(q: Quantities, point: dict[str, int]) -> list[tuple[object, ...]]:
    return [
        (
            _items(k.items, point),
            _items(k.groups, point),
            peak_at(k.local_bytes, point),
            peak_at(k.private_bytes, point),
            peak_at((k.code,), point),
        )
        for k in q.kernels
    ]


def _items(dims: Dims, point: dict[str, int]) -> tuple[int, int, int]:
    x, y, z = (max(1, peak_at(peak, point)) for peak in dims)
    return x, y, z


def _declared(body: object, space_: Space) -> int:
    found = [s.memory for s in statements(body) if isinstance(s, Declare)]  # type: ignore[arg-type]
    return sum(m.elements * m.halves * BYTES[m.scalar] for m in found if m.space is space_)


@pytest.mark.parametrize("device", [MALI_G72, H200, CPU], ids=lambda d: d.name)
@pytest.mark.parametrize("family", ["naive", "registers", "blocked"])
def test_amounts_of_a_convolution_are_those_of_its_code(family: str, device: Profile) -> None:
    found = variants(family, "quickstart.lift", device)
    assert found
    for program, concrete, point in found:
        check(program, concrete, point, device)


@pytest.mark.parametrize(
    "program", [tiled_map(24), tiled_blur(24), register_block(12), two_kernels(12)]
)
def test_amounts_of_small_programs_are_those_of_their_code(program: Program) -> None:
    few = [Constraint(AtMost(named(p), 12), "small", "test") for p in program.free]
    for point in space(infer(program, MALI_G72, few)).sample(8, seed=4):
        check(program, bound(program, point), point, MALI_G72)


def test_private_memory_of_a_register_block_is_that_of_its_code() -> None:
    program = register_block(12)
    point = {"S": 2, "T": 3}
    made: Generated = generate(bound(program, point))
    [kernel] = made.kernels
    [k] = quantities(program).kernels
    assert _declared(kernel.body, Space.PRIVATE) == peak_at(k.private_bytes, point) == 12

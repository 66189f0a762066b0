"""Tests of the packing of constants: in what order it goes, and plans without it."""

from codegen.memory.packed_constants import PackingStep, packed_ahead, packing_steps
from codegen.plan import Buffer, Kernel, Plan, Role


def buffer(name: str, size: int, role: Role) -> Buffer:
    return Buffer(name, "float", (size // 4,), size, role)


def kernel(*arguments: str, prepack: bool = False) -> Kernel:
    return Kernel("_".join(arguments), (1, 1, 1), (1, 1, 1), arguments, prepack, "")


PLAN = Plan(
    (
        kernel("v", "v_half", prepack=True),
        kernel("w", "w_packed", prepack=True),
        kernel("v_half", "v_packed", prepack=True),
        kernel("x", "w_packed", "v_packed", "b", "y"),
    ),
    (
        buffer("x", 4, Role.INPUT),
        buffer("v", 40, Role.CONST),
        buffer("v_half", 20, Role.PACKED),
        buffer("v_packed", 60, Role.PACKED),
        buffer("w", 80, Role.CONST),
        buffer("w_packed", 80, Role.PACKED),
        buffer("b", 8, Role.CONST),
        buffer("y", 4, Role.OUTPUT),
    ),
    memory_bytes=156,
    workspace_bytes=0,
)


def test_large_constants_are_packed_first_and_freed_at_once() -> None:
    assert packing_steps(PLAN) == [
        PackingStep(("w",), (1,), ("w",)),
        PackingStep(("v",), (0, 2), ("v", "v_half")),
        PackingStep(("b",), (), ()),
    ]


def test_a_plan_packed_ahead_reads_what_was_packed_as_constants() -> None:
    made = packed_ahead(PLAN)
    assert made.kernels == PLAN.kernels[3:]
    roles = {b.name: b.role.value for b in made.buffers}
    kept = {"v_packed": "const", "w_packed": "const", "b": "const"}
    assert roles == {"x": "input", **kept, "y": "output"}
    assert made.memory_bytes == PLAN.memory_bytes

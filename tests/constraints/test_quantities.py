"""Tests that the amounts which constraints limit (memory, work-items, groups) are those of the
generated code."""

import pickle
from math import prod
from pathlib import Path
from typing import TypeGuard

import pytest

from codegen.compile import Generated, generate
from codegen.tree.memories import Space
from codegen.tree.statements import Declare, Statement, statements
from constraints.count.points import space
from constraints.devices import CPU, H200, MALI_G72, Profile
from constraints.infer.infer import infer
from constraints.quantities.quantities import Quantities, local_at, peak_at, quantities
from constraints.relations.relations import AtMost, Constraint, show_relation
from explore.building.build_tasks import Task
from explore.building.build_variant import make
from explore.building.build_worker import setup_for
from explore.building.promise_check import disagreements, lengths
from explore.space.derive_form import Derived, constraints, derive, points
from explore.space.forms_to_derive import Derive
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.core.size import named
from ir.core.types import BYTES
from ir.parse import parse_file
from rewrites.families.all_families import form_named
from tests.support.constraints_programs import register_block, tiled_blur, tiled_map, two_kernels

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {"C": 8, "M": 8, "H": 10, "W": 10}


def check(program: Program, point: dict[str, int], device: Profile) -> Generated:
    """The code of a program at a point, after asserting that the symbolic amounts at the point are
    those of the program with its values, and those of the code."""
    concrete = bound(program, point)
    made = generate(concrete, max_work_group=device.group_items)
    symbolic = quantities(program)
    assert _facts(symbolic, point) == _facts(quantities(concrete), {})
    assert list(disagreements(symbolic, point, made)) == []
    return made


def _facts(q: Quantities, point: dict[str, int]) -> list[tuple[object, ...]]:
    return [
        (
            lengths(k.items, point),
            lengths(k.groups, point),
            local_at(k, point),
            peak_at(k.private_bytes, point),
            peak_at((k.code,), point),
        )
        for k in q.kernels
    ]


def _declared(body: object, space_: Space) -> int:
    found = [s.memory for s in statements(body) if isinstance(s, Declare)]  # type: ignore[arg-type]
    return sum(m.elements * m.halves * BYTES[m.scalar] for m in found if m.space is space_)


FORMS = {
    "naive": ("",),
    "registers": ("", "padded relaid", "items tall", "im2win taps"),
    "blocked": (
        "",
        "relaid ahead flipped",
        "padded split ahead",
        "im2col split flipped along",
        "relaid sliced ahead",
        "padded sliced flipped along",
    ),
    "lift": ("vectors unrolled", "padded relaid vectors", "stored-sums", "im2win relaid unrolled"),
}


@pytest.mark.parametrize("device", [MALI_G72, H200, CPU], ids=lambda d: d.name)
@pytest.mark.parametrize(("family", "form"), [(f, n) for f, names in FORMS.items() for n in names])
def test_amounts_of_a_convolution_are_those_of_its_code(
    family: str, form: str, device: Profile
) -> None:
    lowered = lowering(parse_file(EXAMPLES / "quickstart.lift", SMALL), family, form)
    _, found = points(lowered, device, 3, seed=2)
    assert found
    for point in found:
        made = check(lowered.program, point, device)
        if "ahead" in form:
            memories = [s.memory for k in made.kernels for s in k.body.statements if _local(s)]
            assert {m.halves for m in memories} == ({1, 2} if "sliced" in form else {2})


def _local(s: Statement) -> TypeGuard[Declare]:
    return isinstance(s, Declare) and s.memory.space is Space.LOCAL


def test_a_wrong_amount_is_told() -> None:
    program = tiled_map(24)
    made = generate(bound(program, {"T": 4, "S": 2}))
    told = list(disagreements(quantities(program), {"T": 6, "S": 2}, made))
    assert told[-1] == "tiled_: groups: inferred (4, 1, 1), the code has (6, 1, 1)"


def test_loading_ahead_takes_a_second_turn() -> None:
    lowered = lowering(parse_file(EXAMPLES / "quickstart.lift", SMALL), "blocked", "ahead")
    asked = [c for c in constraints(lowered, CPU).constraints if "next turn" in c.why]
    assert [show_relation(c.relation) for c in asked] == ["2 <= 8 / k"]


@pytest.mark.parametrize(
    "program", [tiled_map(24), tiled_blur(24), register_block(12), two_kernels(12)]
)
def test_amounts_of_small_programs_are_those_of_their_code(program: Program) -> None:
    few = [Constraint(AtMost(named(p), 12), "small", "test") for p in program.free]
    for point in space(infer(program, MALI_G72, few)).sample(8, seed=4):
        check(program, point, MALI_G72)


def test_private_memory_of_a_register_block_is_that_of_its_code() -> None:
    program = register_block(12)
    point = {"S": 2, "T": 3}
    made: Generated = generate(bound(program, point))
    [kernel] = made.kernels
    [k] = quantities(program).kernels
    assert _declared(kernel.body, Space.PRIVATE) == peak_at(k.private_bytes, point) == 12


@pytest.mark.no_cover
def test_what_is_built_has_the_groups_that_were_inferred() -> None:
    program = parse_file(EXAMPLES / "vgg.lift", {"C": 16, "W": 28, "H": 28, "M": 16})
    found = derive(Derive(program, form_named(program, "lift", "padded"), H200, 24, seed=0))
    assert isinstance(found, Derived)
    pickled, largest = pickle.dumps(found.lowered.program), 0.0
    for number, variant in enumerate(found.variants):
        made = make(setup_for(None, H200)(), Task(number, pickled, variant.parameters))
        assert made.plan is not None
        assert made.failed is None
        items = dict(variant.features[-1])["group items"]
        assert items == prod(made.plan.kernels[-1].local_size)
        largest = max(largest, items)
    assert largest > 256


@pytest.mark.parametrize(
    "form", ["ahead flipped", "mec relaid ahead flipped", "planes ahead along"]
)
def test_what_waits_in_registers_to_be_loaded_ahead_is_counted(form: str) -> None:
    program = parse_file(EXAMPLES / "quickstart.lift", SMALL)
    ahead, plain = (lowering(program, "blocked", n) for n in (form, form.replace("ahead ", "")))
    for point in points(ahead, H200, 4, seed=3)[1]:
        made = generate(bound(ahead.program, point), max_work_group=1024)
        held = [s for s in statements(made.kernels[-1].body) if isinstance(s, Declare)]
        waiting = [s.memory for s in held if s.memory.name.startswith("next_")]
        with_, without = (
            peak_at(quantities(low.program).kernels[-1].private_bytes, point)
            for low in (ahead, plain)
        )
        assert waiting
        assert with_ - without == sum(4 * m.elements for m in waiting)

"""Tests of instructions that read an operand from local memory themselves, such as wgmma_bf16: each
lane reads all of it, where its pieces lie is found, and faults in that are refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from codegen.compile import generate
from codegen.index.condition import less
from codegen.index.index import Index, constant, var
from codegen.index.pieces import at_distances, exchanged, places_of_pieces
from codegen.index.substitute import evaluate
from codegen.instruction_trial import trial
from codegen.plan import Plan
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Call, Load, Repack, Whole
from codegen.tree.memories import Space
from codegen.tree.statements import Barrier, Block, For, If, Kernel, Statement, Store, calls
from ir import Unsupported, parse
from ir.instructions.table import MATRIX

LANE = var("lid0", 0, 127)
PIECES = (4, 4, 8)


def kernel() -> Kernel:
    return generate(trial(MATRIX["wgmma_bf16"])).kernels[0]


def changed(found: Kernel, change: Callable[[Statement], Statement]) -> Kernel:
    def over(s: Statement) -> Statement:
        match s:
            case Block(parts):
                return Block(tuple(map(over, parts)))
            case For(_, _, body):
                inner = over(body)
                assert isinstance(inner, Block)
                return replace(s, body=inner)
        return change(s)

    body = over(found.body)
    assert isinstance(body, Block)
    return replace(found, body=body)


def with_arguments(change: Callable[[list[object]], None]) -> Kernel:
    """The kernel whose call of the instruction has its arguments changed."""

    def in_call(s: Statement) -> Statement:
        if not isinstance(s, Store) or not isinstance(s.value, Call):
            return s
        arguments: list[object] = [*s.value.arguments]
        change(arguments)
        return replace(s, value=replace(s.value, arguments=tuple(arguments)))  # type: ignore[arg-type]

    return changed(kernel(), in_call)


def refused(found: Kernel, kind: About) -> None:
    proof = prove(found)
    assert kind in {v.obligation.kind for v in proof.failures}, proof.summary()


@pytest.mark.parametrize(
    ("index", "apart"),
    [
        (LANE * 8, (32, 8, 1)),
        (LANE // 32 * 64 + LANE // 8 % 4 * 256 + LANE % 8 * 8, (8, 32, 1)),
        (LANE // 32 * 264 + LANE % 32 * 8 + var("i", 0, 9) * 16, (33, 8, 1)),
        (exchanged(LANE // 32 * 8 + LANE % 32 * 32 + var("i", 0, 9) * 1024, 4, 8), (1, 32, 4)),
        (exchanged(LANE // 32 * 512 + LANE // 8 % 4 * 8 + LANE % 8 * 64, 8, 8), (64, 1, 8)),
        (exchanged(LANE // 32 * 8 + LANE % 32 * 32 + 128, 4, 8), None),
        (exchanged(LANE // 32 * 8 + LANE % 32 * 32, 2, 8), None),
        (LANE // 32 * 264 + LANE % 32 * 16, None),
        (LANE // 16 * 264 + LANE % 16 * 8, None),
        (LANE // 32 * 260 + LANE % 32 * 8, None),
        (constant(1024) - LANE * 8, None),
    ],
)
def test_where_pieces_lie_is_found(index: Index, apart: tuple[int, ...] | None) -> None:
    found = places_of_pieces(index, LANE, PIECES, 8)
    assert (None if found is None else found[1]) == apart
    if found is not None:
        first, told = found
        for lane in range(128):
            again = at_distances(first, lane, PIECES, told, 8)
            place = {"lid0": lane, "i": 3}
            assert evaluate(again, place) == evaluate(index, place)


def test_the_call_has_one_place_and_distances() -> None:
    (call,) = calls(kernel())
    _, place, *distances, _ = call.arguments
    assert isinstance(place, Repack)
    assert isinstance(place.e, Load)
    assert place.e.index == constant(0)
    assert distances == [Whole(constant(32)), Whole(constant(8)), Whole(constant(1))]


def test_a_missing_barrier_is_refused() -> None:
    """Each lane reads the pieces of all others, so no lane may have its own alone."""
    found = changed(kernel(), lambda s: Block(()) if isinstance(s, Barrier) else s)
    refused(found, About.RACE)


def test_lanes_that_do_not_all_come_are_refused() -> None:
    def some(s: Statement) -> Statement:
        called = isinstance(s, Store) and isinstance(s.value, Call)
        return If(less(LANE, 96), Block((s,))) if called else s

    refused(changed(kernel(), some), About.LANES)


def test_pieces_out_of_bounds_are_refused() -> None:
    def further(arguments: list[object]) -> None:
        arguments[2] = Whole(constant(40))

    refused(with_arguments(further), About.BOUNDS)


def test_a_place_of_its_own_for_each_lane_is_refused() -> None:
    def own(arguments: list[object]) -> None:
        place = arguments[1]
        assert isinstance(place, Repack)
        assert isinstance(place.e, Load)
        arguments[1] = replace(place, e=replace(place.e, index=LANE // 32 * 8))

    refused(with_arguments(own), About.LAUNCH)


def test_an_operand_in_registers_is_refused() -> None:
    def held(arguments: list[object]) -> None:
        place = arguments[1]
        assert isinstance(place, Repack)
        assert isinstance(place.e, Load)
        memory = replace(place.e.memory, space=Space.PRIVATE)
        arguments[1] = replace(place, e=replace(place.e, memory=memory))

    refused(with_arguments(held), About.LAUNCH)


def test_another_number_of_lanes_is_refused() -> None:
    refused(replace(kernel(), local_size=(32, 1, 1)), About.LAUNCH)


# ---- planted faults in the text


def text_of() -> tuple[Plan, str]:
    plan = generate(trial(MATRIX["wgmma_bf16"])).plan
    return plan, plan.kernels[0].text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  ORDERED_BARRIER(CLK_LOCAL_MEM_FENCE);\n", ""),
        ("ORDERED_BARRIER(", "barrier("),
        (", 32, 8, 1, c_0)", ", 40, 8, 1, c_0)"),
        (", 32, 8, 1, c_0)", ", 32, 8, c_0)"),
        (", 32, 8, 1, c_0)", ", lid0, 8, 1, c_0)"),
        ("(b_tile_ + 0)", "(b_tile_ + lid0 * 8)"),
        ("(b_tile_ + 0)", "(b_tile_ + 4)"),
        ("*(__local ushort8 *)(b_tile_ + 0)", "(ushort8)(1)"),
        ("SUB_GROUP_OF(32)", "SUB_GROUP_OF(128)"),
        ("float16 made_ = wgmma_bf16(", "if (lid0 < 96) made_ = wgmma_bf16("),
    ],
    ids=[
        "no barrier", "writes that are not ordered", "pieces out of bounds", "a distance missing",
        "a distance for each lane",
        "a place for each lane", "a place between pieces", "no place", "a larger sub-group",
        "a sub-group missing",
    ],
)  # fmt: skip
def test_a_planted_fault_in_the_text_is_refused(old: str, new: str) -> None:
    plan, text = text_of()
    assert old in text
    planted = text.replace(old, new, 1)
    if "if (" in new:
        planted = planted.replace(
            "  if (lid0 <", "  float16 made_ = (float16)(0.0f);\n  if (lid0 <"
        )
    faulty = replace(plan, kernels=(replace(plan.kernels[0], text=planted),))
    assert all(proof.ok for proof in prove_texts(plan))
    assert not all(proof.ok for proof in prove_texts(faulty))


def test_an_operand_elsewhere_is_refused_in_words() -> None:
    p = parse(
        "f(a : [[bfloat]64]32, b : [[bfloat]8]128, c : [[[float]16]128]1) = map(sums -> "
        "mapLocal(0)(vectorized x -> x, wgmma_bf16(asVector(16, generate(2048, i -> bfloat(1.0))), "
        "asVector(8, join(b)), asVector(16, join(sums)))), c)"
    )
    with pytest.raises(Unsupported, match="in local memory, in pieces whose distances"):
        generate(p)

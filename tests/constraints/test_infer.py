"""Tests that the constraints which inference finds in a program admit exactly its legal points."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from codegen.compile import generate
from constraints.count.points import space
from constraints.devices import MALI_G72, Profile
from constraints.infer.infer import infer
from constraints.quantities.quantities import quantities
from constraints.relations.relations import NEVER, AtMost, Constraint, Equal, System
from constraints.solve.explain import explain
from constraints.solve.solver import Answer, Solver
from explore.building.promise_check import disagreements
from explore.space.lowering import bound
from ir.core.nodes import (
    Binary,
    Expr,
    Level,
    Map,
    MapPar,
    MapSeq,
    Pad,
    Param,
    Program,
    ReduceSeq,
    Reorder,
    Split,
    Store,
    ToLocal,
    Var,
)
from ir.core.size import exact, named, round_up
from ir.core.terms import identity, lam2, let
from ir.core.type_rules import elem_of, type_of
from ir.core.types import FLOAT, Array
from ir.elaborate.bijection import stride
from tests.support.constraints_programs import (
    SMALL,
    ZERO,
    T,
    copied,
    cropped,
    double,
    group,
    legal,
    local,
    picked,
    picked_of_four,
    register_block,
    tiled_blur,
    tiled_map,
    total,
    two_kernels,
    vectors,
)

LARGE = 10**9
MOST = 30


def bounded(program: Program) -> list[Constraint]:
    """Upper bounds on all parameters of a program, as constraints, so that a test can try all
    values."""
    return [Constraint(AtMost(named(p), MOST), "small", "test") for p in program.free]


CASES: list[tuple[Callable[[int], Program], int, Profile, int]] = [
    (tiled_map, 24, MALI_G72, LARGE),
    (tiled_map, 48, SMALL, LARGE),
    (tiled_blur, 14, MALI_G72, LARGE),
    (tiled_blur, 24, SMALL, LARGE),
    (tiled_blur, 24, SMALL, 192),
    (vectors, 48, MALI_G72, LARGE),
    (vectors, 30, MALI_G72, LARGE),
    (register_block, 12, MALI_G72, LARGE),
    (register_block, 24, SMALL, LARGE),
    (two_kernels, 12, MALI_G72, LARGE),
    (two_kernels, 12, SMALL, 170),
    (picked, 24, MALI_G72, LARGE),
    (picked_of_four, 24, MALI_G72, LARGE),
    (cropped, 12, MALI_G72, LARGE),
]


@pytest.mark.parametrize(("make", "n", "device", "memory"), CASES)
def test_the_valid_set_is_that_of_brute_force(
    make: Callable[[int], Program], n: int, device: Profile, memory: int
) -> None:
    program = make(n)
    system = infer(program, device, bounded(program), memory)
    found = {tuple(p.values()) for p in space(system).all()}
    expected = {
        values
        for values in product(range(MOST + 1), repeat=len(program.free))
        if legal(program, dict(zip(program.free, values, strict=True)), device, memory)
    }
    assert found == expected
    assert found


@pytest.mark.parametrize(("make", "n", "device", "memory"), CASES)
def test_the_two_engines_agree(
    make: Callable[[int], Program], n: int, device: Profile, memory: int
) -> None:
    program = make(n)
    system = infer(program, device, bounded(program), memory)
    points, solver = space(system), Solver(system)
    for p in system.parameters:
        domain = solver.domain(p, range(MOST + 1))
        assert domain.exact
        assert domain.values == points.domain(p)
    for point in points.sample(5):
        assert solver.certify(point) is Answer.YES
        moved = {p: v + 1 for p, v in point.items()}
        inside = moved in list(points.all())
        assert solver.certify(moved) is (Answer.YES if inside else Answer.NO)


def test_implied_constraints_are_dropped_and_nothing_else() -> None:
    program = tiled_blur(24)
    system = infer(program, MALI_G72, bounded(program))
    kept = Solver(system).necessary()
    assert len(kept) < len(system.constraints)
    assert space(System(system.parameters, kept)).count == space(system).count


def test_each_constraint_names_the_node_it_comes_from() -> None:
    origins = {c.origin for c in infer(tiled_blur(24), MALI_G72).constraints}
    assert "slide_strict(T, T - 2, pad(1, R + 1, …, x))" in origins
    assert "toLocal(mapLocal(0)(…, g))" in origins


def test_padding_may_be_nothing_and_sizes_may_not() -> None:
    system = infer(tiled_blur(24), MALI_G72, bounded(tiled_blur(24)))
    points = space(system)
    assert min(points.domain("R")) == 0
    assert min(points.domain("T")) == 3


def test_a_factor_of_padding_is_a_size() -> None:
    """A pad that rounds up to a multiple of T makes T a size (1 or more), not an amount of padding
    (0 or more)."""
    x = Var("x", Array(FLOAT, 13))
    body = MapSeq(double(FLOAT), Pad(0, round_up(13, T) - 13, ZERO, x))
    program = Program("p", (Param(x),), body, ("T",))
    whys = {c.why for c in infer(program, MALI_G72).constraints}
    assert "T is a size" in whys
    assert "T is an amount, or an index" not in whys


def test_no_constraint_comes_from_a_bare_variable() -> None:
    """The origin of a constraint is the text of a term with a node, not a bare name, which could be
    a variable's or a parameter's."""
    for program in (tiled_blur(24), register_block(12), two_kernels(12)):
        for c in infer(program, MALI_G72).constraints:
            floor = c.why.endswith(("is a size", "is an amount, or an index"))
            assert floor or "(" in c.origin or " and " in c.origin, c


def test_a_strategy_may_require_more() -> None:
    program = tiled_map(24)
    extra = Constraint(AtMost(named("S"), 2), "a strategy says so", "strategy")
    assert space(infer(program, MALI_G72, [extra])).domain("S") == (1, 2)


def summed_ahead(n: int, ahead: bool) -> Program:
    """A program that sums n numbers in chunks of T, a parameter; each chunk is copied to local
    memory before it is summed, or, if `ahead`, while the chunk before it is summed."""
    x = Var("x", Array(FLOAT, n))

    def step(acc: Expr, chunk: Expr) -> Expr:
        kept = copied(chunk)
        assert isinstance(kept, ToLocal)
        tile = ToLocal(kept.e, ahead)
        return let("tile", tile, type_of(kept), lambda t: Binary("+", acc, total(t)))

    def sums(t: Expr) -> Expr:
        add = lam2(("acc", "chunk"), (FLOAT, Array(FLOAT, T)), step)
        return ReduceSeq(ZERO, add, Split(T, t))

    return Program("p", (Param(x),), group(0, sums, Split(n, x)), ("T",))


@pytest.mark.parametrize(("ahead", "most", "fitting"), [(False, 64, 32), (True, 32, 16)])
def test_what_a_loop_loads_ahead_takes_two_halves_and_a_second_turn(
    ahead: bool, most: int, fitting: int
) -> None:
    program = summed_ahead(64, ahead)
    assert max(space(infer(program, MALI_G72)).domain("T")) == most
    tight = replace(MALI_G72, local_bytes=2 * 4 * 16)
    assert max(space(infer(program, tight)).domain("T")) == fitting
    for t in space(infer(program, MALI_G72)).domain("T"):
        made = generate(bound(program, {"T": t}))
        assert list(disagreements(quantities(program), {"T": t}, made)) == []


def test_a_stride_must_divide() -> None:
    s = named("S")
    x = Var("x", Array(FLOAT, 20))
    body = MapPar(Level.GLOBAL, 0, identity(FLOAT), Reorder(stride(s, 20), x))
    system = infer(Program("p", (Param(x),), body, ("S",)), MALI_G72)
    assert space(system).domain("S") == (1, 2, 4, 5, 10, 20)


ROWS = Var("x", Array(Array(FLOAT, 4), 4))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (local(0, lambda r: MapSeq(double(FLOAT), r), ROWS), "mapLocal(0) stands outside"),
        (group(0, lambda r: group(0, lambda e: e, r), ROWS), "mapWorkgroup(0) stands inside"),
        (
            group(0, lambda r: MapPar(Level.GLOBAL, 0, identity(FLOAT), r), ROWS),
            "mapGlobal(0) stands inside mapWorkgroup(0)",
        ),
        (
            group(0, lambda r: local(0, lambda e: e, r), Store(ROWS)),
            None,
        ),
        (
            MapPar(Level.GLOBAL, 0, identity(Array(FLOAT, 4)), Map(identity(elem_of(ROWS)), ROWS)),
            None,
        ),
    ],
)
def test_parallel_maps_nest_as_a_device_does(body: Expr, words: str | None) -> None:
    system = infer(Program("p", (Param(ROWS),), body), MALI_G72)
    refused = [c.why for c in system.constraints if c.relation == NEVER]
    assert (refused == []) if words is None else any(words in why for why in refused)
    assert space(system).count == (1 if words is None else 0)


def test_an_impossible_tile_is_explained_in_bytes() -> None:
    program = tiled_blur(24)
    device = replace(MALI_G72, local_bytes=8)
    core = Solver(infer(program, device)).feasible().core
    text = explain(core, program.free)
    assert text.startswith("no variant: ")
    assert "local memory 8 B < 64 B needed by toLocal(mapLocal(0)(…, g))" in text


def test_an_impossible_choice_is_explained_by_what_it_does_not_divide() -> None:
    program = tiled_map(9)
    fixed = Constraint(Equal(named("T"), 4), "you fixed it", "--fix")
    verdict = Solver(infer(program, MALI_G72, [fixed])).feasible()
    assert verdict.answer is Answer.NO
    text = explain(verdict.core, program.free)
    assert text == "no variant: T = 4 (you fixed it); T = 4 does not divide 9 of split(T, x)"


def test_the_allowed_memory_is_explained() -> None:
    program = two_kernels(12)
    verdict = Solver(infer(program, MALI_G72, max_memory=100)).feasible()
    assert verdict.answer is Answer.NO
    text = explain(verdict.core, program.free)
    assert "the allowed global memory 100 B < " in text


def test_huge_programs_do_not_overflow() -> None:
    n, channels = 4096 * 4096, 10**5
    x = Var("x", Array(Array(FLOAT, channels), n))
    tile = named("T")
    body = group(0, lambda t: local(0, total, t), Split(tile, x))
    program = Program("p", (Param(x),), body, ("T",))
    vast = replace(MALI_G72, memory_bytes=10**15, buffer_bytes=10**15)
    system = infer(program, vast)
    assert space(system).domain("T") == tuple(2**i for i in range(9))
    assert Solver(system).feasible().answer is Answer.YES
    assert exact(n, 2) == n // 2

"""Tests of the proof on generated kernels: the kernels are proved; where a statement is removed or
moved so that a kernel is wrong, it is not proved."""

# key: s statement

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind, Proved
from codegen.tree.memories import Space
from codegen.tree.statements import Barrier, Block, For, If, Kernel, Statement, Store, statements
from explore.space.lowering import bound, lowering
from ir.parse import parse, parse_file
from tests.support.kernel_simulator import faults

EXAMPLES = Path(__file__).parents[2] / "examples"

BLUR = """
blur(xs : [float]N) =
  join(mapWorkgroup(0)(tile ->
      let near = toLocal(mapLocal(0)(x -> x, tile))
      mapLocal(0)(w -> reduceSeq(0.0, (acc, x) -> acc + x, w), slide(3, 1, near)),
    slide_strict(T + 2, T, xs)))
where N = 26, T = 8
"""

TOTAL = """
total(xs : [float]N) =
  let parts = store(join(mapWorkgroup(0)(chunk ->
      mapLocal(0)(part -> reduceSeq(0.0, (acc, x) -> acc + x, part), split(4, chunk)),
    split(16, xs))))
  reduceSeq(0.0, (acc, x) -> acc + x, parts)
where N = 64
"""

PRODUCT = """
panels(n, x) = transpose(map(r -> split(n, r), x))
product(at : [[float]M]K, b : [[float]N]K) =
  join(map(band -> map(r -> join(r), transpose(band)),
    mapWorkgroup(1)(a_panel ->
      mapWorkgroup(0)(b_panel ->
        join(map(rows -> map(r -> join(r), transpose(rows)),
          reduceSeq(
            mapLocal(1)(y -> mapLocal(0)(x -> generate(4, i -> generate(4, j -> 0.0)),
              generate(2, x -> x)), generate(2, y -> y)),
            (acc, (a_chunk, b_chunk)) ->
              let a_tile = COPY(split(8, asScalar(join(mapLocal(1)(row ->
                mapLocal(0)(v -> v, row), split(2, asVector(4, join(a_chunk))))))))
              let b_tile = COPY(split(8, asScalar(join(mapLocal(1)(row ->
                mapLocal(0)(v -> v, row), split(2, asVector(4, join(b_chunk))))))))
              mapLocal(1)((acc_y, a_y) ->
                mapLocal(0)((acc_x, b_x) ->
                  reduceSeq(acc_x, (r, (a_k, b_k)) ->
                      mapSeq((r_i, a_i) ->
                        mapSeq((r_ij, b_j) -> r_ij + a_i * b_j, zip(r_i, b_k)), zip(r, a_k)),
                    zip(a_y, b_x)),
                  zip(acc_y, panels(4, b_tile))),
                zip(acc, panels(4, a_tile))),
            zip(split(2, a_panel), split(2, b_panel))))),
        panels(8, b)),
      panels(8, at))))
where M = 16, N = 8, K = 8
"""

HALF_OF_PAIRS = """
halves(xs : [float]32) =
  join(mapWorkgroup(0)(tile ->
      let pairs = toLocal(mapLocal(0)(x -> (x, x * 2.0), tile))
      let more = toLocal(reorder(i -> 15 - i, mapLocal(0)(x -> x + 1.0, tile)))
      mapLocal(0)((pair, x) -> pair.1 + x, zip(reorder(i -> 15 - i, pairs), more)),
    split(16, xs)))
"""

ENDS = """
ends(xs : [float]2) =
  mapGlobal(0)(x -> x,
    pad(0, 1, 0.0, join(map(x -> generate(3, i -> x), reorder(i -> 2 - i,
      pad(0, -1, 0.0, join(map(x -> pad(0, 1, 0.0, generate(1, i -> x)), xs))))))))
"""

PROGRAMS = {
    "blur": BLUR,
    "total": TOTAL,
    "product": PRODUCT.replace("COPY", "toLocal"),
    "product ahead": PRODUCT.replace("COPY", "toLocalAhead"),
}


def kernels(name: str) -> tuple[Kernel, ...]:
    return generate(parse(PROGRAMS[name])).kernels


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.lift")), ids=lambda file: file.stem)
def test_plainest_lowering_of_every_example_is_proved(file: Path) -> None:
    for kernel in generate(lowering(parse_file(file), "naive").program).kernels:
        proof = prove(kernel)
        assert proof.ok, proof.summary()


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowered_programs_are_proved_and_the_simulator_agrees(name: str) -> None:
    for kernel in kernels(name):
        proof = prove(kernel)
        assert proof.ok, proof.summary()
        assert not faults(kernel)


def test_what_a_group_makes_and_never_reads_is_not_made() -> None:
    generated = generate(parse(HALF_OF_PAIRS))
    demand_proofs(generated)
    tiles = {"pairs_0_", "pairs_1_", "more_"}
    assert {name for name in tiles if name in generated.plan.source} == {"pairs_1_", "more_"}


def test_a_comparison_that_makes_assumptions_comes_after_those_that_ensure_them() -> None:
    generated = generate(parse(ENDS))
    demand_proofs(generated)
    assert "gid0 < 9 && (2 - part) % 2 < 1 ?" in generated.plan.source


VGG_7 = {"C": 128, "W": 112, "H": 112, "M": 128}

# Forms whose work-items take a tile's elements in turns: their races are about quotients of
# rounded-up splits, of sums of ids, of other quotients, and about guards on all of these.
TURNS = (
    (
        "lift",
        "stored-sums vectors unrolled",
        {"kappa": 12, "omega": 24, "rho": 28, "sigma": 4, "theta": 16, "v": 2},
    ),
    (
        "lift",
        "relaid stored-sums vectors",
        {"kappa": 14, "omega": 96, "rho": 32, "sigma": 3, "theta": 26, "v": 8},
    ),
    (
        "lift",
        "padded vectors unrolled",
        {"kappa": 3, "omega": 288, "rho": 56, "sigma": 1, "theta": 16, "v": 2},
    ),
    (
        "lift",
        "planes relaid vectors unrolled",
        {"kappa": 2, "omega": 144, "rho": 32, "sigma": 16, "theta": 14, "v": 2},
    ),
    (
        "blocked",
        "mec flipped along",
        {"k": 16, "lx": 64, "ly": 2, "tc": 8, "tr": 2, "u": 1, "v": 2},
    ),
)


@pytest.mark.parametrize(("family", "form", "point"), TURNS, ids=lambda x: str(x).split()[0])
def test_tiles_taken_in_turns_are_proved_free_of_races_without_the_solver(
    family: str, form: str, point: dict[str, int]
) -> None:
    found = lowering(parse_file(EXAMPLES / "vgg.lift", VGG_7), family, form)
    for kernel in generate(bound(found.program, point)).kernels:
        proof = prove(kernel)
        assert proof.ok, proof.summary()
        races = [v for v in proof.obligations if v.obligation.kind is Kind.RACE]
        assert "Z3" not in {v.by for v in races if isinstance(v, Proved)}


def edited(kernel: Kernel, change: Callable[[int, Statement], Statement]) -> Kernel:
    """The kernel with its n-th statement s replaced by change(n, s), for every n."""
    clock = iter(range(10**9))

    def block(body: Block) -> Block:
        new = walk(body)
        assert isinstance(new, Block)
        return new

    def walk(s: Statement) -> Statement:
        new = change(next(clock), s)
        match new:
            case Block(inner):
                return Block(tuple([walk(each) for each in inner]))
            case For() | If():
                return replace(new, body=block(new.body))
        return new

    return replace(kernel, body=block(kernel.body))


def without(kernel: Kernel, which: int) -> Kernel:
    """The kernel with statement number `which` replaced by an empty block."""
    return edited(kernel, lambda n, s: Block(()) if n == which else s)


def moved(kernel: Kernel, which: int, by: int) -> Kernel:
    """The kernel with `by` added to the index of statement number `which`, a store."""

    def change(n: int, s: Statement) -> Statement:
        return replace(s, index=s.index + by) if n == which and isinstance(s, Store) else s

    return edited(kernel, change)


def unguarded(kernel: Kernel, which: int) -> Kernel:
    """The kernel with statement number `which`, a branch, replaced by its body."""
    return edited(kernel, lambda n, s: s.body if n == which and isinstance(s, If) else s)


def places(kernel: Kernel, found: Callable[[Statement], bool]) -> list[int]:
    """The numbers of the kernel's statements for which `found` is true."""
    return [n for n, s in enumerate(statements(kernel.body)) if found(s)]


def is_shared_store(s: Statement) -> bool:
    """True for a store, at an index that varies, to memory that other work-items see."""
    return isinstance(s, Store) and s.memory.space is not Space.PRIVATE and len(s.index.names) > 0


@pytest.mark.parametrize("name", ["blur", "product", "product ahead"])
def test_barrier_of_a_generated_kernel_is_left_out_only_where_none_is_needed(name: str) -> None:
    (kernel,) = kernels(name)
    found = places(kernel, lambda s: isinstance(s, Barrier))
    assert found
    refused = 0
    for which in found:
        mutant = without(kernel, which)
        proof = prove(mutant)
        assert proof.ok == (not faults(mutant)), proof.summary()
        refused += not proof.ok
    assert refused


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutants_are_proved_only_if_the_simulator_finds_no_fault(name: str) -> None:
    count = 0
    for kernel in kernels(name):
        shared = places(kernel, is_shared_store)
        mutants = [moved(kernel, n, by) for n in shared for by in (1, -1)]
        mutants += [unguarded(kernel, n) for n in places(kernel, lambda s: isinstance(s, If))]
        for mutant in mutants:
            count += 1
            proof = prove(mutant)
            assert not (proof.ok and faults(mutant))
            assert not (proof.refuted and not faults(mutant))
    assert count

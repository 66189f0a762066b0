"""Tests that `prove` accepts right kernels, and never accepts a wrong one."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter

import pytest

from codegen.index.condition import ALWAYS, Condition, at_least, both, less, within
from codegen.index.index import Index, assume, constant, maximum, minimum, var
from codegen.proof.prove import prove
from codegen.proof.verdicts import Kind as About
from codegen.proof.verdicts import Proof, Proved, Refuted, Unproved, Verdict
from codegen.tree.kernel_values import Apply, Broadcast, Kind, Load, Number, Select, Value
from codegen.tree.memories import Memory, Space
from codegen.tree.statements import (
    Barrier,
    Block,
    Declare,
    For,
    Id,
    If,
    Kernel,
    Statement,
    Store,
    block,
)
from tests.support.kernel_simulator import faults
from tests.support.pace import in_yardsticks

Dims = tuple[int, int, int]

ZERO = Number(0.0, "float")
MEET = Barrier(frozenset([Space.LOCAL]))
EVERYWHERE = Barrier(frozenset([Space.LOCAL, Space.GLOBAL]))


def a_global(name: str, elements: int) -> Memory:
    return Memory(name, Space.GLOBAL, "float", elements)


def a_local(name: str, elements: int, halves: int = 1) -> Memory:
    return Memory(name, Space.LOCAL, "float", elements, halves)


def a_private(name: str, elements: int) -> Memory:
    return Memory(name, Space.PRIVATE, "float", elements)


def kernel(
    *statements: Statement, groups: Dims = (1, 1, 1), local: Dims = (1, 1, 1), whole: bool = False
) -> Kernel:
    """A kernel of these statements, launched with `groups` work-groups of `local` items. It has a
    global id for each dimension if `whole`, else an id of the group and one of the item in it; ids
    that can only be 0 are left out."""
    names = []
    for d, (g, n) in enumerate(zip(groups, local, strict=True)):
        if whole:
            names += [Id(f"gid{d}", "global", d, g * n)]
        else:
            names += [Id(f"grp{d}", "group", d, g), Id(f"lid{d}", "local", d, n)]
    ids = tuple(i for i in names if i.extent > 1)
    return Kernel("k", (), (), ids, local, groups, block(list(statements)))


def loop(name: str, count: int, body: Callable[[Index], list[Statement]]) -> For:
    return For(name, count, block(body(var(name, 0, count - 1))))


def when(condition: Condition, *body: Statement) -> Statement:
    return Block(tuple(body)) if condition == ALWAYS else If(condition, Block(tuple(body)))


def about(proof: Proof, kind: About) -> list[Verdict]:
    return [v for v in proof.obligations if v.obligation.kind is kind]


def ways(verdicts: Sequence[Verdict]) -> set[str]:
    """The names of the methods by which the proved ones of these verdicts were proved."""
    return {v.by for v in verdicts if isinstance(v, Proved)}


def failed_kinds(proof: Proof) -> set[About]:
    return {v.obligation.kind for v in proof.failures}


def assert_proved(tree: Kernel) -> Proof:
    proof = prove(tree)
    assert proof.ok, proof.summary()
    return proof


def assert_refuted(tree: Kernel, kind: About) -> Proof:
    proof = prove(tree)
    assert kind in {v.obligation.kind for v in proof.refuted}, proof.summary()
    return proof


# ---- the tiled matrix product


def matmul(
    m: int = 256,
    n: int = 256,
    k: int = 256,
    tile: tuple[int, int] = (128, 64),
    chunk: int = 16,
    block_of: tuple[int, int] = (8, 4),
    double: bool = False,
    spoil: str = "",
) -> Kernel:
    """The kernel of a tiled matrix product of m × k by k × n numbers, with tiles of `tile` results
    and `chunk` steps of the sum at a time; a work-item makes a block of `block_of` results.
    `double` gives it two local tiles of each matrix, and `spoil` names a fault to plant."""
    (bm, bn), (tm, tn) = tile, block_of
    gx, gy = bn // tn, bm // tm
    a, b, c = a_global("a", m * k), a_global("b", k * n), a_global("c", m * n)
    tile_a = a_local("tile_a", bm * chunk, 2 if double else 1)
    tile_b = a_local("tile_b", chunk * bn, 2 if double else 1)
    acc = a_private("acc", tm * tn)
    x, y = var("lid0", 0, gx - 1), var("lid1", 0, gy - 1)
    wx, wy = var("grp0", 0, n // bn - 1), var("grp1", 0, m // bm - 1)
    item = y * gx + x
    vector = Kind("float", 4)

    def copied(
        name: str,
        to: Memory,
        half: Index | None,
        source: Callable[[Index, Index], Value],
        columns: int,
    ) -> Statement:
        size = to.elements

        def turn(r: Index) -> Statement:
            i = (item + r * (gx * gy)) * 4
            guard = ALWAYS if spoil == "guard" else less(i, size)
            place = 0 if spoil == "write" else i
            return when(
                guard, Store(to, constant(0) + place, source(i // columns, i % columns), half)
            )

        turns = -(-size // (4 * gx * gy))
        return turn(constant(0)) if turns == 1 else loop(name, turns, lambda r: [turn(r)])

    def copies(name: str, s: Index, half: Index | None) -> list[Statement]:
        slip = 1 if spoil == "slide" else 0
        return [
            copied(
                "ra" + name,
                tile_a,
                half,
                lambda row, col: Load(a, (wy * bm + row) * k + s * chunk + col + slip, 4),
                chunk,
            ),
            copied(
                "rb" + name,
                tile_b,
                half,
                lambda row, col: Load(b, (s * chunk + row) * n + wx * bn + col, 4),
                bn,
            ),
        ]

    def multiply(half: Index | None) -> Statement:
        def one(q: Index, i: Index) -> Statement:
            left = Broadcast(Load(tile_a, (y * tm + i) * chunk + q, 1, half), vector)
            right = Load(tile_b, q * bn + x * tn, 4, half)
            return Store(acc, i * tn, Apply("fma", (left, right, Load(acc, i * tn, 4)), vector))

        return loop("q", chunk, lambda q: [loop("i", tm, lambda i: [one(q, i)])])

    def unless(name: str) -> list[Statement]:
        return [] if spoil == name else [MEET]

    def single(s: Index) -> list[Statement]:
        return [*copies("", s, None), *unless("after copy"), multiply(None), *unless("loop")]

    def ahead(s: Index) -> list[Statement]:
        half = s % 2 if spoil == "half" else (s + 1) % 2
        return [
            when(less(s + 1, k // chunk), *copies("", s + 1, half)),
            multiply(s % 2),
            *unless("loop"),
        ]

    def result(i: Index) -> Statement:
        return Store(c, (wy * bm + y * tm + i) * n + wx * bn + x * tn, Load(acc, i * tn, 4))

    first = [*copies("0", constant(0), constant(0)), *unless("after copy")] if double else []
    return kernel(
        Declare(tile_a),
        Declare(tile_b),
        Declare(acc),
        loop("z", tm * tn, lambda i: [Store(acc, i, ZERO)]),
        *first,
        loop("s", k // chunk, ahead if double else single),
        loop("w", tm, lambda i: [result(i)]),
        groups=(n // bn, m // bm, 1),
        local=(gx, gy, 1),
    )


@pytest.mark.parametrize("double", [False, True])
def test_tiled_matrix_product_is_proved_without_the_solver(double: bool) -> None:
    assert ways(assert_proved(matmul(double=double)).obligations) <= {"ranges", "guards"}


def test_chunk_that_does_not_divide_is_proved() -> None:
    assert_proved(matmul(chunk=12, k=252))


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("spoil", ["after copy", "loop"])
def test_dropped_barrier_is_a_race(spoil: str, double: bool) -> None:
    assert_refuted(matmul(double=double, spoil=spoil), About.RACE)


def test_wrong_half_of_a_double_buffer_is_a_race() -> None:
    assert_refuted(matmul(double=True, spoil="half"), About.RACE)


def test_write_that_is_not_injective_is_a_race() -> None:
    assert_refuted(matmul(spoil="write"), About.RACE)


def test_missing_guard_on_a_trip_count_that_does_not_divide_is_out_of_bounds() -> None:
    assert_refuted(matmul(chunk=12, k=252, spoil="guard"), About.BOUNDS)


def test_copy_that_starts_one_too_far_is_out_of_bounds() -> None:
    assert_refuted(matmul(spoil="slide"), About.BOUNDS)


def test_proof_of_the_register_blocked_product_takes_a_few_milliseconds() -> None:
    tree, times = matmul(double=True), []
    for _ in range(9):
        start = perf_counter()
        prove(tree)
        times.append(perf_counter() - start)
    assert median(times) < 0.1


# ---- bounds


def stencil(n: int, extent: int, slip: int = 0) -> Kernel:
    """The kernel that computes out[i] = in[i] + in[i + 1] + in[i + 2] for `extent` results, where
    `in` has n cells; `slip` is added to the indices that are read."""
    xs, out = a_global("xs", n), a_global("out", extent)
    i = var("gid0", 0, extent - 1)
    taps = tuple(Load(xs, i + k + slip) for k in range(3))
    total = Apply("+", (Apply("+", taps[:2], Kind("float")), taps[2]), Kind("float"))
    return kernel(Store(out, i, total), groups=(extent, 1, 1), whole=True)


def test_slide_is_in_bounds() -> None:
    assert_proved(stencil(66, 64))


@pytest.mark.parametrize("tree", [stencil(66, 65), stencil(66, 64, slip=1), stencil(66, 64, -1)])
def test_slide_off_by_one_is_out_of_bounds(tree: Kernel) -> None:
    proof = assert_refuted(tree, About.BOUNDS)
    assert "gid0 = " in proof.refuted[0].counterexample


def padded(
    height: int, width: int, channels: int, condition_of: Callable[[Index, Index], Condition]
) -> Kernel:
    xs = a_global("xs", height * width * channels)
    out = a_global("out", (height + 2) * (width + 2) * channels)
    i = var("gid0", 0, channels - 1)
    x, y = var("gid1", 0, width + 1), var("gid2", 0, height + 1)
    at = ((y - 1) * width + x - 1) * channels + i
    e = Select(condition_of(x, y), Load(xs, at), ZERO)
    to = (y * (width + 2) + x) * channels + i
    return kernel(Store(out, to, e), groups=(channels, width + 2, height + 2), whole=True)


def test_select_guards_its_load() -> None:
    def inside(x: Index, y: Index) -> Condition:
        return both(within(y - 1, 0, 9), within(x - 1, 0, 12))

    assert_proved(padded(9, 12, 5, inside))


def test_select_that_guards_one_side_only_is_refuted() -> None:
    assert_refuted(padded(9, 12, 5, lambda x, y: within(y - 1, 0, 9)), About.BOUNDS)


def test_other_branch_of_a_select_has_the_negation() -> None:
    i = var("gid0", 0, 9)
    a, b, out = a_global("a", 4), a_global("b", 6), a_global("out", 10)
    e = Select(less(i, 4), Load(a, i), Load(b, i - 4))
    assert_proved(kernel(Store(out, i, e), groups=(10, 1, 1), whole=True))


@pytest.mark.parametrize(("limit", "holds"), [(17, True), (18, False)])
def test_guard_on_a_sum_bounds_the_index(limit: int, holds: bool) -> None:
    r, i = var("r", 0, 2), var("gid0", 0, 7)
    out = a_global("out", 17)
    guarded = If(less(i + r * 8, limit), Block((Store(out, i + r * 8, ZERO),)))
    assert prove(kernel(For("r", 3, Block((guarded,))), groups=(8, 1, 1), whole=True)).ok == holds


def test_assumed_range_is_proved_where_it_is_used() -> None:
    i, out = var("gid0", 0, 9), a_global("out", 8)
    store = Store(out, assume(i, 0, 7), ZERO)
    assert_proved(kernel(when(less(i, 8), store), groups=(10, 1, 1), whole=True))
    assert_refuted(kernel(store, groups=(10, 1, 1), whole=True), About.CLAIM)


def test_an_assumption_does_not_rest_on_the_comparison_that_it_is_in() -> None:
    """An assumption of an index (here id ≤ 7) may not be proved by the comparison that contains the
    index, nor may two comparisons prove each other's assumptions. A comparison without assumptions
    may prove those of others."""
    i, out = var("gid0", 0, 15), a_global("out", 16)
    known = assume(i, 0, 7)
    under_five, over_none = at_least(5, known), at_least(known, 1)
    for condition in (under_five, both(under_five, over_none)):
        wrong = kernel(when(condition, Store(out, i, ZERO)), groups=(16, 1, 1), whole=True)
        assert "claim" in faults(wrong)
        assert_refuted(wrong, About.CLAIM)
    asked = both(less(i, 8), over_none)
    assert_proved(kernel(when(asked, Store(out, i, ZERO)), groups=(16, 1, 1), whole=True))


def test_the_least_value_that_is_assumed_is_proved_too() -> None:
    i, out = var("gid0", 0, 9), a_global("out", 8)

    def guarded(least: int) -> Kernel:
        store = Store(out, assume(i - 3, 0, 6), ZERO)
        return kernel(when(at_least(i, least), store), groups=(10, 1, 1), whole=True)

    assert_proved(guarded(3))
    assert_refuted(guarded(2), About.CLAIM)


def test_bounds_that_follow_from_parts_of_guards_are_left_to_the_solver() -> None:
    """Where i + 2·j < n and 2·i + j < n, i + j is less than 2·n / 3, which only the solver finds. A
    store to the cell i + j is proved for an array of just that length, and refuted for an array
    that is a cell shorter."""
    i, j = (var(name, 0, 2**16 - 1) for name in ("gid0", "gid1"))
    asked = both(less(i + 2 * j, 100_000), less(2 * i + j, 100_000))

    def kept(elements: int) -> Kernel:
        acc = a_private("acc", elements)
        store = when(asked, Store(acc, i + j, ZERO))
        return kernel(Declare(acc), store, groups=(2**16, 2**16, 1), whole=True)

    assert_proved(kept(66_667))
    assert_refuted(kept(66_666), About.BOUNDS)


def test_vector_reaches_as_far_as_it_is_wide() -> None:
    i, out = var("gid0", 0, 3), a_global("out", 16)
    four = Broadcast(ZERO, Kind("float", 4))
    assert_proved(kernel(Store(out, i * 4, four), groups=(4, 1, 1), whole=True))
    assert_refuted(kernel(Store(out, i * 4 + 1, four), groups=(4, 1, 1), whole=True), About.BOUNDS)
    assert_refuted(kernel(Store(out, i * 3, four), groups=(4, 1, 1), whole=True), About.RACE)


def test_private_memory_is_checked_for_bounds_only() -> None:
    acc = a_private("acc", 4)

    def cleared(count: int) -> Kernel:
        turns = loop("r", count, lambda r: [Store(acc, r, ZERO)])
        return kernel(Declare(acc), turns, local=(8, 1, 1))

    assert_proved(cleared(4))
    assert_refuted(cleared(5), About.BOUNDS)


# ---- barriers


def in_branch(
    condition: Callable[[Index], Condition], groups: Dims = (1, 1, 1), whole: bool = False
) -> Kernel:
    """A kernel whose work-groups of 8 items go through four turns t, in each of which a barrier
    stands under the condition condition(t); `whole` gives the kernel global ids."""
    turns = loop("t", 4, lambda t: [If(condition(t), Block((MEET,)))])
    return kernel(turns, local=(8, 1, 1), groups=groups, whole=whole)


def test_barrier_in_a_branch_on_loop_variable_or_group_is_met_by_all() -> None:
    assert_proved(in_branch(lambda t: less(t, 2)))
    group = var("grp0", 0, 3)
    assert_proved(in_branch(lambda t: less(t + group, 2), groups=(4, 1, 1)))


def test_barrier_in_a_branch_on_a_local_id_is_refuted() -> None:
    item = var("lid0", 0, 7)
    proof = assert_refuted(in_branch(lambda t: less(item + t, 9)), About.BARRIER)
    assert "but not at" in proof.refuted[0].counterexample


def test_barrier_in_a_branch_that_divides_groups_only_is_proved() -> None:
    item = var("gid0", 0, 31)

    def where(condition: Condition) -> Kernel:
        return in_branch(lambda t: condition, groups=(4, 1, 1), whole=True)

    assert_proved(where(less(item // 8, 2)))
    assert_proved(where(less(item, 16)))
    assert_refuted(where(less(item, 17)), About.BARRIER)


def exchange(barrier: Barrier, space: Space) -> Kernel:
    """A kernel in which every work-item writes a cell of a memory in `space`, passes the barrier
    `barrier`, and reads its neighbour's cell."""
    n = 8
    cell = Memory("cell", space, "float", n)
    out, item = a_global("out", n), var("lid0", 0, n - 1)
    read = Store(out, item, Load(cell, (item + 1) % n))
    return kernel(Store(cell, item, ZERO), barrier, read, local=(n, 1, 1))


def test_barrier_orders_the_memory_of_its_fence_only() -> None:
    assert_proved(exchange(MEET, Space.LOCAL))
    assert_proved(exchange(EVERYWHERE, Space.GLOBAL))
    assert_refuted(exchange(MEET, Space.GLOBAL), About.RACE)


def test_barrier_does_not_order_groups() -> None:
    n = 8
    cell, out = a_global("cell", 2 * n), a_global("out", 2 * n)
    i = var("grp0", 0, 1) * n + var("lid0", 0, n - 1)
    read = Store(out, i, Load(cell, (i + 1) % (2 * n)))
    tree = kernel(Store(cell, i, ZERO), EVERYWHERE, read, local=(n, 1, 1), groups=(2, 1, 1))
    assert_refuted(tree, About.RACE)


def test_barrier_that_may_be_skipped_orders_nothing() -> None:
    cell, item = a_local("cell", 8), var("lid0", 0, 7)
    out = a_global("out", 8)
    maybe = loop("t", 2, lambda t: [If(less(t, 1), Block((MEET,)))])
    read = Store(out, item, Load(cell, 7 - item))
    assert not prove(kernel(Store(cell, item, ZERO), maybe, read, local=(8, 1, 1))).ok


# ---- work-items


def test_dimension_without_an_id_is_many_work_items() -> None:
    out, i = a_global("out", 8), var("lid0", 0, 7)
    store = Store(out, i, ZERO)
    assert_proved(kernel(store, local=(8, 1, 1)))
    assert_refuted(replace(kernel(store, local=(8, 1, 1)), local_size=(8, 2, 1)), About.RACE)


def test_write_by_the_first_work_item_only() -> None:
    out, i, j = a_global("out", 8), var("lid0", 0, 7), var("lid1", 0, 3)
    assert_proved(kernel(when(less(j, 1), Store(out, i, ZERO)), local=(8, 4, 1)))
    assert_refuted(kernel(when(less(j, 2), Store(out, i, ZERO)), local=(8, 4, 1)), About.RACE)


def test_id_that_the_launch_does_not_bear_out_is_refuted() -> None:
    tree = kernel(Store(a_global("out", 8), var("lid0", 0, 7), ZERO), local=(8, 1, 1))
    assert_refuted(replace(tree, local_size=(16, 1, 1)), About.LAUNCH)


def test_variable_that_is_not_what_its_loop_says_is_not_proved() -> None:
    out = a_private("out", 4)
    tree = For("r", 8, Block((Store(out, var("r", 0, 3), ZERO),)))
    assert failed_kinds(prove(kernel(tree))) >= {About.LAUNCH}
    assert failed_kinds(prove(kernel(Store(out, var("r", 0, 3), ZERO)))) == {About.LAUNCH}


def test_skewed_local_rows_are_told_apart() -> None:
    """For a tile in rows of 16 that lie 17 apart, copied by 64 work-items in four turns, ranges
    prove that no two work-items write one cell."""
    tile, item = a_local("tile", 17 * 16), var("lid0", 0, 63)

    def turn(r: Index) -> list[Statement]:
        i = item + r * 64
        return [Store(tile, (i // 16) * 17 + i % 16, ZERO)]

    proof = assert_proved(kernel(loop("r", 4, turn), local=(64, 1, 1)))
    assert ways(about(proof, About.RACE)) == {"ranges"}


def test_rows_that_overlap_are_a_race() -> None:
    tile, item = a_local("tile", 17 * 16), var("lid0", 0, 63)
    store = Store(tile, (item // 16) * 15 + item % 16, ZERO)
    assert_refuted(kernel(store, local=(64, 1, 1)), About.RACE)


def panels(stride: int) -> Kernel:
    """A kernel that scatters vectors of 8 into a tile of 7 rows, which lie `stride` apart: element
    n goes to row n % 7, column n // 7."""
    tile, item = a_local("tile", 7 * 8 * 64), var("lid0", 0, 31)

    def turn(r: Index) -> list[Statement]:
        e = item + r * 32
        whole = [e * 8 + lane for lane in range(8)]
        return [Store(tile, (x % 7) * stride + x // 7, ZERO) for x in whole]

    return kernel(loop("r", 14, turn), local=(32, 1, 1))


def test_what_has_no_digits_is_tried() -> None:
    proof = assert_proved(panels(512))
    assert "trial" in ways(about(proof, About.RACE))
    assert_refuted(panels(500), About.RACE)


def panels_filled(first: int) -> Kernel:
    """A kernel that writes 6 planes of 128 rows of 128 columns, in panels of 48 columns. The last
    panel has 16 columns more than there are, which are filled: `first` is the first cell to fill,
    for row 0 of plane 0."""
    out = a_global("out", 3 * 36 * 128 * 48)
    row, column = var("gid0", 0, 127), var("gid1", 0, 127)

    def turn(plane: Index) -> list[Statement]:
        at = row * 48 + plane * 6144
        rest = If(less(column, constant(16)), block([Store(out, at + column + first, ZERO)]))
        return [Store(out, (column // 48) * 221136 + column + at, ZERO), rest]

    return kernel(loop("plane", 6, turn), groups=(128, 128, 1), whole=True)


def test_what_fills_up_the_last_panel_is_apart_from_its_columns() -> None:
    proof = assert_proved(panels_filled(442400))
    assert ways(about(proof, About.RACE)) == {"ranges"}
    assert_refuted(panels_filled(442399), About.RACE)


def rows_in_threes(most: int) -> Kernel:
    """A kernel in which each of 299 work-items writes three of 897 rows: row q goes to place q //
    14 of panel q % 14, if q < `most`."""
    out, item = a_global("out", 14 * 1024 + 64), var("gid0", 0, 298)

    def turn(r: Index) -> list[Statement]:
        q = item * 3 + r

        def lane(x: Index) -> list[Statement]:
            store = Store(out, (q % 14) * 1024 + x * 64 + q // 14, ZERO)
            return [If(less(q, constant(most)), block([store]))]

        return [loop("x", 16, lane)]

    return kernel(loop("r", 3, turn), groups=(299, 1, 1), whole=True)


def test_guard_on_a_dividend_bounds_its_quotient() -> None:
    proof = assert_proved(rows_in_threes(14 * 64))
    assert ways(about(proof, About.RACE)) == {"guards"}
    assert not prove(rows_in_threes(14 * 64 + 1)).ok


def test_unlimited_work_is_not_done() -> None:
    """With a limit of 0 ms, an obligation that ranges do not settle stays unproved, and the proof's
    summary names the time as the reason."""
    out, item = a_global("out", 1 << 20), var("gid0", 0, (1 << 20) - 1)
    tree = kernel(
        Store(out, item * 5 % (1 << 20), ZERO),
        groups=(1 << 16, 1, 1),
        local=(16, 1, 1),
        whole=True,
    )
    proof = prove(tree, limit_ms=0)
    assert [type(v) for v in proof.failures] == [Unproved]
    assert "time" in proof.summary()


def test_summary_counts_and_names_what_failed() -> None:
    proof = prove(stencil(66, 64))
    assert proof.summary() == "k: 6 of 6 obligations proved (6 by ranges)"
    text = prove(stencil(66, 65)).summary()
    assert "xs[gid0+2] in out[gid0] = …: wrong: of 66, the index is 66 at gid0 = 64" in text


# ---- random kernels against the simulator


class Maker:
    """A maker of random small kernels, most of which are right; equal seeds make equal kernels."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        r = self.random
        whole = r.random() < 0.3
        self.local = (r.choice([2, 3, 4]), r.choice([1, 1, 2]), 1)
        self.groups = (r.choice([1, 2]), 1, 1)
        self.whole = whole
        kinds: list[tuple[str, Sequence[int]]]
        kinds = [("gid", [g * n for g, n in zip(self.groups, self.local, strict=True)])]
        if not whole:
            kinds = [("lid", self.local), ("grp", self.groups)]
        self.ids = [
            var(f"{kind}{d}", 0, n - 1)
            for kind, extents in kinds
            for d, n in enumerate(extents)
            if n > 1
        ]
        self.loops: list[Index] = []
        self.made = 0
        spaces = (Space.GLOBAL, Space.LOCAL, Space.PRIVATE)
        self.memories = [
            Memory(f"m{k}", space, "float", r.choice([4, 8, 16, 24]), r.choice([1, 1, 2]))
            for k, space in enumerate((*spaces, Space.LOCAL))
        ]

    def kernel(self) -> Kernel:
        body = self.body(3)
        return kernel(*body, groups=self.groups, local=self.local, whole=self.whole)

    def body(self, depth: int) -> list[Statement]:
        return [self.statement(depth) for _ in range(self.random.choice([1, 2, 2, 3]))]

    def statement(self, depth: int) -> Statement:
        kind = self.random.random()
        if depth and kind < 0.25:
            self.made += 1
            name, count = f"r{self.made}", self.random.choice([2, 3])
            self.loops.append(var(name, 0, count - 1))
            inner = self.body(depth - 1)
            self.loops.pop()
            return For(name, count, Block(tuple(inner)))
        if depth and kind < 0.4:
            return when(self.condition(), *self.body(depth - 1))
        if kind < 0.6:
            return self.random.choice([MEET, MEET, EVERYWHERE])
        memory = self.random.choice(self.memories)
        width = self.random.choice([1, 1, 1, 2])
        index, half, value = self.index(memory), self.half(memory), self.value(width)
        if kind < 0.65:
            step = self.random.choice([-1, 1, 2, 4])
            return Block(tuple([Store(memory, index + step * k, value, half) for k in range(3)]))
        return Store(memory, index, value, half)

    def value(self, width: int) -> Value:
        if self.random.random() < 0.4:
            return Broadcast(ZERO, Kind("float", width)) if width > 1 else ZERO
        memory = self.random.choice(self.memories)
        load = Load(memory, self.index(memory), width, self.half(memory))
        if self.random.random() < 0.3:
            other = Broadcast(ZERO, Kind("float", width)) if width > 1 else ZERO
            both = (load, other) if self.random.random() < 0.5 else (other, load)
            return Select(self.condition(), *both)
        return load

    def half(self, memory: Memory) -> Index | None:
        if memory.halves == 1:
            return None
        some = self.random.choice([*self.loops, constant(0)])
        return (some + self.random.choice([0, 1])) % 2

    def condition(self) -> Condition:
        i = self.term()
        n = self.random.choice([1, 2, 3, 5])
        rests_on = both(less(i, n), less(assume(i, None, n - 1) + self.term(), n))
        choices = [less(i, n), at_least(i, n), within(i + self.term(), 1, n + 2), rests_on]
        return self.random.choice(choices)

    def term(self) -> Index:
        return self.random.choice([*self.ids, *self.loops, constant(1)])

    def index(self, memory: Memory) -> Index:
        """A random index into `memory` that gives each variable a digit of its own; in half of the
        cases it is then changed, so that it may be wrong."""
        parts = self.random.sample(self.ids, len(self.ids))
        parts += [v for v in self.loops if self.random.random() < 0.6]
        self.random.shuffle(parts)
        total, unit = constant(0), 1
        for part in parts:
            if self.random.random() < 0.9:
                total += part * unit
                unit *= (part.hi or 0) + 1
        spoil = self.random.random()
        if spoil < 0.1:
            total += self.random.choice([-1, 1, 2])
        elif spoil < 0.2:
            d = self.random.choice([2, 3, 4])
            total = (total // d) * self.random.choice([d, d + 1]) + total % d
        elif spoil < 0.3:
            total = total * self.random.choice([2, 3]) % memory.elements
        elif spoil < 0.4:
            total = total + self.term() * self.random.choice([-1, 1, 2])
        elif spoil < 0.45:
            total = assume(total, 0, self.random.choice([3, memory.elements - 1]))
        elif spoil < 0.5:
            total = minimum(maximum(total - 1, 0), memory.elements - 1)
        elif spoil < 0.53:
            total = total * self.term()
        return total % memory.elements if self.random.random() < 0.2 else total


KINDS_OF_FAULT = {
    "bounds": About.BOUNDS,
    "race": About.RACE,
    "barrier": About.BARRIER,
    "claim": About.CLAIM,
}


@pytest.mark.no_cover
def test_random_kernels_are_never_proved_if_the_simulator_finds_fault() -> None:
    count = Counter[str]()
    for seed in range(150):
        tree = Maker(seed).kernel()
        wrong, proof = faults(tree), prove(tree)
        assert not (wrong and proof.ok), f"seed {seed}: {wrong}"
        told = {v.obligation.kind for v in proof.refuted}
        real = {KINDS_OF_FAULT[fault] for fault in wrong}
        assert told <= real, f"seed {seed}: {wrong}, yet {proof.summary()}"
        count["wrong" if wrong else "proved" if proof.ok else "open"] += 1
    assert count["proved"] > 8 * count["open"], count
    assert min(count["wrong"], count["proved"]) > 30, count


def test_every_verdict_says_what_it_is_about() -> None:
    proof = prove(matmul(spoil="loop"))
    for v in proof.obligations:
        assert v.obligation.text
        assert isinstance(v, Proved | Refuted)


def scattered(n: int, lanes: int, apart: int) -> Kernel:
    """A kernel of n work-items, each of which writes `lanes` cells that lie `apart` from each
    other, by a statement for each cell."""
    out, i = a_global("out", n * lanes), var("gid0", 0, n - 1)
    base = (i // apart) * (apart * lanes) + i % apart
    stores = [Store(out, base + apart * l, ZERO) for l in range(lanes)]
    return kernel(*stores, groups=(n, 1, 1), whole=True)


def test_many_writes_that_differ_by_a_constant_are_one_series() -> None:
    tree = scattered(64, 256, 16)
    with in_yardsticks(120):
        proof = assert_proved(tree)
    assert len(about(proof, About.RACE)) == 1
    assert not faults(scattered(16, 8, 4))
    assert_refuted(clashing(), About.RACE)


def clashing() -> Kernel:
    """A kernel of 8 work-items with four stores each, where the last store of an item writes the
    cell that the first store of the next item writes."""
    out, i = a_global("out", 100), var("gid0", 0, 7)
    stores = [Store(out, i * 9 + 3 * l, ZERO) for l in range(4)]
    return kernel(*stores, groups=(8, 1, 1), whole=True)

"""Tests that the kernels of lowered programs compute what the interpreter computes, and that the
kernels' text has the expected form."""

# key: program a lowered program's text

import re

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.kernel_facts import TooLarge
from codegen.plan import Role
from codegen.runtime.session import Session
from codegen.tree.statements import Barrier, statements
from ir.arena import ALIGNMENT
from ir.errors import Unsupported
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from tests.support.agreement import Case, disagreement
from tests.support.lowered_programs import PROGRAMS
from tests.support.pace import in_yardsticks
from tests.support.quick_builds import quick_builds as quick_builds
from tests.support.random_programs import program as random_program


def compiled(text: str, max_work_group: int = 256) -> Generated:
    return generate(parse(text), max_work_group=max_work_group)


def source(text: str) -> str:
    return compiled(text).plan.source


def agrees(session: Session, text: str, max_work_group: int = 256) -> None:
    """Assert that the kernels of a program, given as text, compute what the interpreter does: on
    whole numbers exactly, on real numbers to 1e-5. Groups have at most `max_work_group` items."""
    program = parse(text)
    case = Case(program.name, program, generate(program, max_work_group=max_work_group))
    for integers in (True, False):
        assert disagreement(session, case, integers) is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_lowered_program_agrees_with_the_interpreter(session: Session, name: str) -> None:
    agrees(session, PROGRAMS[name])


def test_a_guard_that_a_loop_has_in_common_is_tested_before_it() -> None:
    text = source(PROGRAMS["guard of whole loops"])
    everywhere, inside, outside = re.findall(r"for \(int i_x .*?\}", text, re.DOTALL)
    assert "if (grp0 >= 1 && grp0 < 19) {\n    for (int i_row " in text
    assert "if (grp0 + i_row >= 1 && grp0 + i_row < 21) {\n        for (int i_x " in text
    assert "rows_0 = rows_[" in everywhere
    assert "rows_0 = rows_[" in inside
    assert "rows_0 = 0.0f" in outside


def test_a_guard_that_varies_in_a_loop_is_tested_for_all_turns_before_it() -> None:
    inside, outside = source(PROGRAMS["guard that varies in the loop"]).split("else")
    assert "if (grp0 >= 5 && grp0 < 6) {" in inside
    assert "?" not in inside
    assert "(grp0 + i_x >= 5 && grp0 + i_x < 25 ? xs_[" in outside


def test_a_guard_stays_in_its_loop_where_work_items_differ() -> None:
    text = source(PROGRAMS["guard of whole loops, by items"])
    assert "?" in text
    assert "if (" not in text


@pytest.mark.parametrize("name", ["barrier in guard", "ahead strided", "tiles", "shared lets"])
@pytest.mark.parametrize("group", [1, 7, 64])
def test_the_limit_on_work_groups_changes_no_result(
    session: Session, name: str, group: int
) -> None:
    agrees(session, PROGRAMS[name], max_work_group=group)


@pytest.mark.parametrize("seed", range(60))
def test_a_random_lowered_program_agrees_or_is_refused(session: Session, seed: int) -> None:
    program = random_program(seed)
    try:
        made = generate(program, max_work_group=256 if seed % 2 else 3)
    except Unsupported:
        return
    inputs = random_inputs(program, seed)
    out = session.build(made.plan, checking=True)({"xs": np.asarray(inputs["xs"])})
    assert np.array_equal(out, np.asarray(evaluate(program, inputs)))


def test_the_same_program_gives_the_same_text() -> None:
    assert all(source(text) == source(text) for text in PROGRAMS.values())


# ---- limits


def test_a_store_under_a_map_of_its_variables_is_refused() -> None:
    with pytest.raises(Unsupported, match="depends on r"):
        compiled("""
            f(xs : [[float]4]5) = mapGlobal(0)(r -> reduceSeq(0.0, (a, x) -> a + x,
              store(mapSeq(x -> x + 1, r))), xs)""")


def test_another_work_items_private_element_is_refused() -> None:
    with pytest.raises(Unsupported, match="toLocal"):
        compiled("""
            f(xs : [[float]8]5) = mapWorkgroup(0)(r ->
              let t = mapLocal(0)(x -> x + 1, r)
              mapLocal(0)(x -> x, reorder(i -> 7 - i, t)), xs)""")


def test_a_share_read_sequentially_into_private_memory_is_refused() -> None:
    with pytest.raises(Unsupported, match="toLocal"):
        compiled("""
            f(xs : [[float]8]5) = mapWorkgroup(0)(r ->
              let t = mapLocal(0)(x -> x + 1, r)
              let p = toPrivate(mapSeq(x -> x * 2, t))
              mapSeq(x -> x, reorder(i -> 7 - i, p)), xs)""")


def test_local_memory_inside_map_global_is_refused() -> None:
    with pytest.raises(Unsupported, match="mapGlobal"):
        compiled("f(xs : [[float]8]5) = mapGlobal(0)(r -> mapSeq(x -> x, toLocal(r)), xs)")


AHEAD = """
    f(xs : [[[float]N]K]M) =
      mapWorkgroup(0)(p -> reduceSeq(generate(N, i -> 0.0), (acc, r) -> BODY, p), xs)
    where N = 12, M = 4, K = 5"""
LOAD = "toLocalAhead(mapLocal(0)(x -> x * 2, r))"


@pytest.mark.parametrize(
    "body",
    [
        f"mapLocal(0)((a, x) -> a + x, zip(acc, {LOAD}))",
        f"mapLocal(0)((a, w) -> let t = {LOAD} a + at(1, t) + w, zip(acc, r))",
        "let t = toLocalAhead(mapLocal(0)(a -> a * 2, acc)) "
        "mapLocal(0)((a, x) -> a + x, zip(acc, t))",
        "let s = toLocal(mapLocal(0)(x -> x * 2, r)) let t = toLocalAhead(mapLocal(0)(x -> x, s)) "
        "mapLocal(0)((a, x) -> a + x, zip(acc, t))",
    ],
    ids=["no let", "inside a map", "of the accumulator", "of an earlier let"],
)
def test_a_copy_ahead_that_cannot_be_loaded_ahead_is_refused(body: str) -> None:
    with pytest.raises(
        Unsupported, match=r"toLocalAhead\(mapLocal\(0\).* is not known an iteration"
    ):
        compiled(AHEAD.replace("BODY", body))


def test_a_copy_ahead_outside_a_reduction_is_refused() -> None:
    with pytest.raises(Unsupported, match="is not known an iteration ahead"):
        compiled("""
            f(xs : [[float]8]5) = mapWorkgroup(0)(r ->
              let t = toLocalAhead(mapLocal(0)(x -> x, r)) mapLocal(0)(x -> x, t), xs)""")


@pytest.mark.parametrize("sizes", ["N = 12, M = 4, K = 5", "N = 12, M = 4, K = 1"])
def test_a_copy_ahead_may_stand_after_other_lets(session: Session, sizes: str) -> None:
    body = (
        f"let s = toLocal(mapLocal(0)(x -> x + 1, r)) let t = {LOAD} mapLocal(0)((a, (x, y)) -> "
        "a + x * y, zip(acc, zip(reorder(i -> N - 1 - i, s), reorder(i -> N - 1 - i, t))))"
    )
    text = AHEAD.replace("BODY", body).replace("N = 12, M = 4, K = 5", sizes)
    assert ("% 2" in source(text) or "& 1" in source(text)) == ("K = 5" in sizes)
    agrees(session, text)


def test_groups_fill_their_own_local_memory(session: Session) -> None:
    agrees(
        session,
        """
        f(xs : [[float]N]M, w : [float]N) =
          let t = toLocal(mapLocal(0)(x -> x * 2, w))
          mapWorkgroup(0)(r -> mapLocal(0)((x, y) -> x + y, zip(r, reorder(i -> N - 1 - i, t))), xs)
        where N = 16, M = 5""",
    )


def test_what_groups_make_cannot_lie_in_local_memory() -> None:
    with pytest.raises(Unsupported, match="no local memory in common"):
        compiled("f(xs : [float]8) = mapSeq(x -> x, toLocal(mapWorkgroup(0)(x -> x + 1, xs)))")


def test_names_that_opencl_keeps_for_itself_can_be_used(session: Session) -> None:
    agrees(
        session,
        """
        half2(kernel : [float]N, gid0 : [float]N, out : [float]N, global : [float]N) =
          let float4 = store(mapGlobal(0)((x, min) -> x * min, zip(kernel, gid0)))
          mapGlobal(0)((for, int, lid0) -> for + int * lid0, zip(float4, out, global))
        where N = 16""",
    )


def test_a_text_that_would_be_too_long_is_refused_before_it_is_printed() -> None:
    text = """
        f(xs : [[float]N]N) = unrolled mapSeq(r -> unrolled mapSeq(x -> x + 1, r), xs)
        where N = 30000"""
    with in_yardsticks(120), pytest.raises(TooLarge, match="900,000,000 statements"):
        compiled(text)


def doubled(times: int, text: str) -> str:
    for _ in range(times):
        text = f"map(x -> x + x * x, {text})"
    return text


@pytest.mark.parametrize(
    "body",
    [
        f"mapGlobal(0)(x -> x, {doubled(40, 'xs')})",
        f"asScalar(mapGlobal(0)(x -> x, asVector(4, {doubled(40, 'xs')})))",
        f"mapGlobal(0)(x -> x, pad(1, 1, 0.0, {doubled(40, 'xs')}))",
    ],
)
def test_what_is_used_twice_forty_times_over_stays_small(body: str) -> None:
    assert len(source(f"f(xs : [float]64) = {body}")) < 100_000


def test_rows_used_twice_twenty_times_over_stay_small() -> None:
    rows = "xs"
    for _ in range(20):
        rows = f"map(r -> map((x, y) -> x + y, zip(r, r)), {rows})"
    assert (
        len(source(f"f(xs : [[float]8]8) = mapGlobal(0)(r -> mapSeq(x -> x, r), {rows})")) < 100_000
    )


def test_vectors_of_five_are_refused() -> None:
    with pytest.raises(Unsupported, match="vectors of 5"):
        compiled("f(xs : [float]20) = asScalar(mapGlobal(0)(x -> x, asVector(5, xs)))")


# ---- kernels, buffers and bytes


def roles(made: Generated) -> dict[str, Role]:
    return {b.name: b.role for b in made.plan.buffers}


def test_a_closed_store_is_a_kernel_and_a_buffer_of_its_own() -> None:
    made = compiled(PROGRAMS["split sum"])
    assert [k.name for k in made.plan.kernels] == ["f_partial_", "f_"]
    assert roles(made)["partial"] is Role.TEMPORARY
    assert made.plan.workspace_bytes == 4 * 4
    assert made.plan.memory_bytes == 4 * (32 + 4 + 1)


def test_a_store_under_a_map_that_it_does_not_depend_on_is_hoisted() -> None:
    made = compiled("""
        f(xs : [float]8, ys : [float]6) = mapGlobal(0)(x ->
          reduceSeq(x, (a, y) -> a + y, store(mapGlobal(0)(y -> y * 2, ys))), xs)""")
    assert len(made.kernels) == 2


def test_equal_stores_are_made_once() -> None:
    made = compiled("""
        f(xs : [float]8) = mapGlobal(0)((x, y) -> x + y,
          zip(store(mapGlobal(0)(x -> x + 1, xs)), store(mapGlobal(0)(x -> x + 1, xs))))""")
    assert len(made.kernels) == 2


def test_programs_share_the_kernels_that_are_the_same_in_both() -> None:
    def twice(scale: int, n: int) -> Generated:
        return compiled(f"""
            f(xs : [float]{n}) = mapGlobal(0)(y -> y * {scale},
              let ys = store(mapGlobal(0)(x -> x + 1, xs)) ys)""")

    by_two, by_three, longer = twice(2, 8), twice(3, 8), twice(2, 16)
    assert by_two.kernels[0] is by_three.kernels[0] is not longer.kernels[0]
    assert by_two.kernels[1] is not by_three.kernels[1]
    assert "* 3.0f" in by_three.plan.source
    assert "* 3.0f" not in by_two.plan.source
    assert longer.plan.kernels[0].global_size != by_two.plan.kernels[0].global_size


def test_what_constants_alone_decide_is_packed_once_and_kept_instead() -> None:
    made = compiled(PROGRAMS["prepack"])
    assert [k.prepack for k in made.plan.kernels] == [True, False]
    packed = next(name for name, role in roles(made).items() if role is Role.PACKED)
    assert packed in made.plan.kernels[1].arguments
    assert "w" not in made.plan.kernels[1].arguments
    assert made.plan.workspace_bytes == 0
    assert made.plan.memory_bytes == 4 * (12 * 8 + 12 + 8)


def test_temporaries_that_are_not_live_together_share_bytes() -> None:
    made = compiled(PROGRAMS["three kernels share"])
    offsets = {b.name: b.offset for b in made.plan.buffers if b.offset is not None}
    assert offsets == {"a": 0, "b": ALIGNMENT, "c": 0}
    assert made.plan.workspace_bytes == ALIGNMENT + 32 * 4
    assert made.plan.memory_bytes == 2 * 32 * 4 + made.plan.workspace_bytes


def test_local_buffers_whose_lives_do_not_overlap_share_storage() -> None:
    (facts,) = compiled(PROGRAMS["local reuse"]).facts
    assert facts.local_bytes == 2 * 16 * 4


# ---- work-items, barriers, loops


def barriers(text: str) -> int:
    return sum(isinstance(s, Barrier) for k in compiled(text).kernels for s in statements(k.body))


def test_a_copy_to_local_memory_needs_one_barrier() -> None:
    assert barriers(PROGRAMS["stencil tiled"]) == 1


def test_a_tile_in_a_loop_needs_a_barrier_before_and_after_it_is_filled() -> None:
    assert barriers(PROGRAMS["barrier in loop"]) == 2


def test_a_tile_that_is_loaded_ahead_needs_one_barrier_an_iteration() -> None:
    assert barriers(PROGRAMS["ahead"]) == barriers(PROGRAMS["ahead guarded"]) == 1


def test_what_each_work_item_keeps_to_itself_needs_no_barrier() -> None:
    assert barriers(PROGRAMS["private share"]) == 0
    own = "mapWorkgroup(0)(r -> mapLocal(0)(x -> x + 1, toLocal(mapLocal(0)(x -> x * 2, r))), xs)"
    assert barriers(f"f(xs : [[float]8]4) = {own}") == 0


def test_stores_that_a_guard_leaves_to_one_work_item_need_no_barrier_between_them() -> None:
    program = """
        f(xs : [[[float]2]4]6) = mapWorkgroup(0)(t ->
          let kept = toLocal(mapLocal(1)(row ->
              mapLocal(0)(x -> unrolled mapSeq(y -> y * 2, x), split(2, row)), t))
          mapLocal(1)(row -> mapLocal(0)(x -> x + 1, join(row)), kept), xs)"""
    assert barriers(program) == 1


def test_a_group_of_one_needs_no_barrier() -> None:
    assert barriers(PROGRAMS["group alone"]) == 0


def test_a_guard_is_split_around_a_barrier() -> None:
    text = source(PROGRAMS["barrier in guard"])
    assert text.count("if (i_r * 18 + lid1 < 70)") == 2
    assert re.search(r"\n    barrier\(CLK_LOCAL_MEM_FENCE\);\n", text)


def test_the_work_group_is_as_long_as_the_longest_local_map() -> None:
    assert compiled(PROGRAMS["guarded local"]).kernels[0].local_size == (21, 1, 1)


def test_a_local_map_longer_than_the_limit_loops() -> None:
    assert compiled(PROGRAMS["strided local"]).kernels[0].local_size[0] == 201


def test_a_loop_of_one_trip_vanishes() -> None:
    assert "for" not in source("f(xs : [[float]1]8) = mapGlobal(0)(r -> mapSeq(x -> x, r), xs)")


def test_an_accumulator_updated_element_by_element_needs_no_second_buffer() -> None:
    assert "next" not in source(PROGRAMS["epilogue"])
    assert "next_acc_0 = fma(acc_3, xs_0, acc_0)" in source(PROGRAMS["second buffer unrolled"])


# ---- values


def test_sums_of_products_are_fused() -> None:
    assert "a_ = fma(" in source(PROGRAMS["im2col"])


def test_indices_are_64_bit_where_32_do_not_suffice() -> None:
    text = source(
        "f(xs : [[float]N]N) = mapGlobal(1)(r -> mapGlobal(0)(x -> x, r), xs) where N = 60000"
    )
    assert "(long)gid1 * 60000L" in text


def test_ids_and_loops_are_64_bit_where_they_count_beyond_32() -> None:
    text = source("f(xs : [float]N) = mapGlobal(0)(x -> x * 2, xs) where N = 3000000000")
    assert "const long gid0 = get_global_id(0);" in text
    text = source("f(xs : [float]N) = reduceSeq(0.0, (a, x) -> a + x, xs) where N = 3000000000")
    assert "for (long i_x = 0; i_x < 3000000000; ++i_x)" in text


def test_small_indices_are_32_bit() -> None:
    assert not any("long" in source(text) for text in PROGRAMS.values() if "long" not in text)


def test_halves_are_spelled_as_such() -> None:
    program = parse("f(xs : [half]8) = mapGlobal(0)(x -> x * 2h + 1h, xs)")
    native = generate(program, half_arithmetic=True).plan
    assert "#pragma OPENCL EXTENSION cl_khr_fp16 : enable" in native.source
    assert "fma(xs_[gid0], 2.0h, 1.0h)" in native.source
    stored = generate(program).plan
    assert not stored.uses_half
    line = "vstore_half_rte(fma(vload_half(0, xs_ + gid0), 2.0f, 1.0f), 0, out_ + gid0);"
    assert line in stored.source


def test_ints_divide_towards_minus_infinity(session: Session) -> None:
    program = parse("f(xs : [int]7) = mapGlobal(0)(x -> (x / 3) * 100 + x % 3, xs)")
    built = session.build(generate(program).plan, checking=True)
    xs = np.arange(-3, 4, dtype=np.int32)
    assert np.array_equal(built({"xs": xs}), xs // 3 * 100 + xs % 3)


# ---- arrays written out

TABLES = {
    "a table": """
p(xs : [[float]3]5) = mapGlobal(0)(x ->
    mapSeq(row -> reduceSeq(0.0, (acc, (a, b)) -> acc + a * b, zip(row, x)),
      [[1.0, -2.0, 0.5], [0.0, 3.0, 4.0]]), xs)""",
    "a table in vectors": """
p(xs : [float]8) = asScalar(mapGlobal(0)(vectorized (a, x) -> a * x,
    zip(asVector(4, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), asVector(4, xs))))""",
    "elements computed": """
p(xs : [[float]2]6) = mapGlobal(0)(x -> [at(0, x) + at(1, x), at(0, x) - at(1, x), 1.0], xs)""",
    "rows chosen by a loop": """
p(xs : [[float]3]4) = mapGlobal(0)(x -> mapSeq(row -> sum(row), [x, map(y -> y * 2.0, x)]), xs)""",
    "elements made once": """
p(xs : [[float]2]6) = mapGlobal(0)(x ->
    let ys = [at(0, x) + at(1, x), at(0, x) * at(1, x)]
    mapSeq(y -> y * y + at(0, ys), ys), xs)""",
}


@pytest.mark.parametrize("name", TABLES)
def test_an_array_written_out_agrees_with_the_interpreter(session: Session, name: str) -> None:
    agrees(session, TABLES[name])


def test_a_table_that_a_loop_reads_is_constant_memory() -> None:
    text = source(TABLES["a table"])
    assert "__constant float table_[6] = {1.0f, -2.0f, 0.5f, 0.0f, 3.0f, 4.0f};" in text


def test_entries_of_a_table_are_numbers_once_loops_are_spelled_out() -> None:
    text = source(
        TABLES["a table"]
        .replace("mapSeq", "unrolled mapSeq")
        .replace("reduceSeq", "unrolled reduceSeq")
    )
    assert "table" not in text
    assert "fma(-2.0f, " in text


SHADOWED = """f(r : float, xs : [float]4, t : [float]3) =
  mapGlobal(0)(x -> x, map(r -> store(reduceSeq(0.0, (acc, y) -> acc + y * r, t)), xs))
"""


def test_a_store_of_what_a_map_binds_is_refused_though_a_parameter_has_its_name() -> None:
    with pytest.raises(Unsupported, match="depends on r, which a map or let around it binds"):
        generate(parse(SHADOWED))


HIDDEN = """f(xs : [float]4) =
  let! ys = store(mapGlobal(0)(x -> x * 2.0, xs))
  mapGlobal(0)(stored2 ->
    reduceSeq(stored2, (ys, y) -> ys + y, store(mapGlobal(0)(x -> x * 3.0, xs))), ys)
"""


def test_a_stage_is_not_named_as_something_that_is_bound_where_it_is_read(session: Session) -> None:
    agrees(session, HIDDEN)


def test_copies_of_a_store_stand_under_one_guard() -> None:
    text = source(
        """
        f(xs : [[float]4]6) = mapWorkgroup(0)(rows ->
          let t = toLocal(mapLocal(0)(row -> mapSeq(x -> x, row), rows))
          mapLocal(0)(row -> let! p = toPrivate(unrolled mapSeq(x -> x + 1.0, row))
            unrolled mapSeq(x -> x * 2.0, p), at(0, split(1, t))), split(3, xs))
        """
    )
    assert text.count("out_[") == 4
    assert text.count("if (lid0 < 1) {") == 1


FRAMED = """f(r : [(float, float)]2, xs : [[(float, float)]2]3) =
  pad(1, 2, r, mapGlobal(0)(row -> mapSeq((x, y) -> (x * 2.0, y), row), xs))
"""


def test_rows_are_padded_with_a_row_where_they_are_written(session: Session) -> None:
    agrees(session, FRAMED)

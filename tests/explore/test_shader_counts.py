"""Tests of what is read in a compiler's listing of a kernel: how often its blocks are carried out,
what instructions they have, and how much time that makes."""

import random
from collections import Counter

import numpy as np
import pytest

from codegen.plan import Kernel
from explore.offline.device_rates import RATES
from explore.offline.time_of_code import code_time
from explore.results.kernel_code import KernelCode
from explore.toolchain.adreno_code import adreno_code
from explore.toolchain.block_weights import UnknownTurns, weights
from explore.toolchain.machine_blocks import machine_blocks
from explore.toolchain.offline_devices import DEVICES
from explore.toolchain.read_statistics import Statistics
from explore.toolchain.sampled_values import LAWS, Values, items_of
from explore.toolchain.shader_ir import Made, Operand, shader
from explore.toolchain.work_done import work_done

# A loop of `turns` turns; inside, a branch that items below `bound` take.
TEXT = """impl __wrapped_k_ {{
    block b0:    // preds:
    32x3    %6 = @load_global_invocation_id
    32      %0 = load_const (0x00000000 = 0.000000)
    32      %1 = load_const ({turns:#010x})
    32      %2 = load_const ({bound:#010x})
                 // succs: b1
    loop {{
        block b1:    // preds: b0 b6
        32     %11 = phi b0: %0 (0x0), b6: %69
        32     %15 = {end}
        if %15 {{
            block b2:// preds: b1
            break
        }} else {{
            block b3:  // preds: b1, succs: b4
        }}
        block b4:    // preds: b3
        32     %20 = ilt32 %6.x, %2
        if %20 {{
            block b5:// preds: b4
            32x4   %30 = ffma %7, %8, %9
        }} else {{
            block b6:// preds: b4
            32     %31 = ffma %7, %8, %9
        }}
        block b7:    // preds: b5 b6
        32     %68 = load_const (0x00000001)
        32     %69 = iadd.nsw %11, %68 (0x1)
    }}
    block b8:    // preds: b2
    @store_global (%161, %89) (wrmask=xyzw)
}}

block0 {{
   r0 = LSHIFT_OR.i32 r61, u256, u261.b2
}} -> block1

block5 {{
   r5 = FMA.f32 r12, r51, ^r5
   r6 = FMA.v2f16 r12, r51, ^r6
   r12 = LOAD.i128 ^r48, ^r49, byte_offset:0
}} -> block7
"""
TOP, NEXT = "ige32 %11, %1", "ige32 %69, %1"


@pytest.mark.parametrize("end", [TOP, NEXT, "uge32 %11, %1"])
def test_a_loops_blocks_are_carried_out_as_often_as_it_turns(end: str) -> None:
    turns, bound = random.randint(1, 500), random.randint(0, 64)
    kernel = shader(TEXT.format(turns=turns, bound=bound, end=end))
    assert kernel is not None
    found = weights(kernel, items_of((64, 1, 1), (8, 1, 1)))
    assert found[0] == found[8] == 1
    assert found[4] == turns
    assert found[5] == pytest.approx(turns * bound / 64)
    assert found[6] == pytest.approx(turns * (64 - bound) / 64)


@pytest.mark.parametrize("end", ["ige32 %11.y, %1", "ige32 %69.y, %1"])
def test_a_counter_may_be_a_lane_of_a_vector(end: str) -> None:
    """Mesa's compiler for Adreno counts in a vector with an address that walks."""
    text = TEXT.format(turns=7, bound=5, end=end).replace("ilt32 %6.x", "ilt32 %11.y")
    text = text.replace(
        "%0 = load_const (0x00000000 =", "%0 = load_const (0x00000040, 0x00000000 ="
    )
    text = text.replace(
        "%68 = load_const (0x00000001)", "%68 = load_const (0x00000004, 0x00000001)"
    )
    kernel = shader(text)
    assert kernel is not None
    found = weights(kernel, items_of((64, 1, 1), (8, 1, 1)))
    assert found[4] == 7
    assert found[5] == pytest.approx(5, rel=0.01)
    other = shader(text.replace(".y, %1", ".x, %1"))
    assert other is not None
    with pytest.raises(UnknownTurns):
        weights(other, items_of((64, 1, 1), (8, 1, 1)))


@pytest.mark.parametrize("lane", "xyz")
def test_a_branch_on_an_id_is_taken_by_the_ids_of_its_dimension(lane: str) -> None:
    sizes = dict(zip("xyz", random.sample(range(2, 20), 3), strict=True))
    bound = random.randint(1, sizes[lane] - 1)
    text = TEXT.format(turns=3, bound=bound, end=TOP).replace("%6.x", f"%6.{lane}")
    kernel = shader(text)
    assert kernel is not None
    found = weights(kernel, items_of((sizes["x"], sizes["y"], sizes["z"]), (1, 1, 1)))
    assert found[5] == pytest.approx(3 * bound / sizes[lane])


@pytest.mark.parametrize("end", ["flt32 %11, %1", "ige32 %6, %1", "ige32 %11, %6"])
def test_a_loop_whose_end_is_not_a_counters_is_unknown(end: str) -> None:
    kernel = shader(TEXT.format(turns=4, bound=4, end=end))
    assert kernel is not None
    with pytest.raises(UnknownTurns):
        weights(kernel, items_of((64, 1, 1), (8, 1, 1)))


def test_a_work_item_does_what_its_blocks_hold_as_often_as_they_are_carried_out() -> None:
    text = TEXT.format(turns=10, bound=16, end=TOP)
    done = dict(work_done(Statistics((), 0, 0, text), (64, 1, 1), (8, 1, 1)))
    assert done["products"] == pytest.approx(10 * (4 * 16 + 48) / 64)
    assert done["multiply_adds"] == pytest.approx(3 * 10 * 16 / 64)
    assert done["words"] == pytest.approx(4 * 10 * 16 / 64)
    assert done["sfu"] == 1


WHOLE = """impl __wrapped_k_ {{
    block b0:    // preds:
    32x3    %1 = @load_global_invocation_id
    32      %2 = load_const (0x00000003)
    32      %3 = imul %1.x, %2 (0x3)
    32x4    %4 = @load_global (%3) (access=none)
    32      %5 = load_const (0x00000000 = 0.000000)
    32      %6 = load_const (0x0000000a)
                 // succs: b1
    loop {{
        block b1:    // preds: b0 b4
        32     %11 = phi b0: %5 (0x0), b4: %69
        32     %12 = phi b0: %5 (0x0), b4: %33
        32     %15 = ige32 %11, %6
        if %15 {{
            block b2:// preds: b1
            break
        }} else {{
            block b3:  // preds: b1, succs: b4
        }}
        block b4:    // preds: b3
        32     %30 = imul %11, %2 (0x3)
        32x4   %31 = @load_{space} (%30) (access=none)
        32x4   %32 = {product}
        32     %33 = iadd %32.x, %12
        32     %68 = load_const (0x00000001)
        32     %69 = iadd.nsw %11, %68 (0x1)
    }}
    block b8:    // preds: b2
    32     %70 = imul %33, %2
    @store_global (%70, %3) (wrmask=x)
}}
"""


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    ("product", "each"),
    [
        ("imul %31, %4", 4),
        ("umul_low %31, %4", 4),
        ("iadd %31, %4", 0),
        ("sdot_4x8_iadd %31, %4, %5", 16),
        ("udot_4x8_uadd_sat %31, %4, %5", 16),
        ("sdot_2x16_iadd %31, %4, %5", 8),
    ],
)
def test_products_of_whole_numbers_are_those_of_what_is_in_memory(
    space: str, product: str, each: int
) -> None:
    """Products of ids and counters, which make addresses, do not count; one of the sum, after the
    loop, does."""
    text = WHOLE.format(space=space, product=product)
    done = dict(work_done(Statistics((), 0, 0, text), (64, 1, 1), (8, 1, 1)))
    assert done["products"] == 0
    assert done["whole_products"] == 10 * each + 1


def test_products_of_addresses_alone_are_no_products() -> None:
    text = WHOLE.format(space="ubo", product="imul %31, %30")
    text = text.replace("@load_global (", "@load_ubo (")
    done = dict(work_done(Statistics((), 0, 0, text), (64, 1, 1), (8, 1, 1)))
    assert "whole_products" not in done


ADRENO = """Native code for unnamed CL shader (null):
stp.u32 p[r1.x], r2.x, 2
{before}l4:
stp.u32 p[r1.x+8], r0.x, 1
{label}br p0.x, #l9
jump #l4
l9:
(sy)ldp.u32 r2.x, p[r1.x], 4
end
"""


def test_accesses_to_private_memory_on_adreno_are_as_frequent_as_their_loop_turns() -> None:
    text = TEXT.format(turns=10, bound=16, end=TOP).split("\nblock0")[0]
    alone = dict(work_done(Statistics((), 0, 0, text), (64, 1, 1), (8, 1, 1)))["messages"]
    for before, label, loops in (("", "", 1), ("", "br p0.x, #l4\n", 1)):
        printed = text + ADRENO.format(before=before, label=label)
        code = adreno_code(printed)
        assert (code.spills, code.fills, code.loops) == (3, 4, loops)
        assert [a.loop for a in code.accesses] == [None, 0, None]
        done = dict(work_done(Statistics((), 0, 0, printed), (64, 1, 1), (8, 1, 1)))
        assert done["messages"] == alone + 1 + 10 + 1


def test_an_access_in_a_loop_in_a_loop_on_adreno_belongs_to_the_inner_one() -> None:
    inner = "l1:\nstp.u32 p[r1.x], r2.x, 1\nl2:\nldp.u32 r2.x, p[r1.x], 1\nbr p0.x, #l2\n"
    code = adreno_code(ADRENO.format(before=inner, label="br p0.x, #l1\n"))
    assert [a.loop for a in code.accesses] == [None, 0, 1, 2, None]
    assert code.loops == 3


def test_of_a_kernel_that_was_not_printed_nothing_is_known() -> None:
    assert work_done(Statistics((), 0, 0, "no kernel"), (64, 1, 1), (8, 1, 1)) == ()
    assert machine_blocks("block0 {") == {}


def test_tuples_of_bifrost_are_counted_by_their_first_slots() -> None:
    text = "\nblock0 {\nid(0) nbb\n\t* NOP\n\t+    r1 = IADD.s32 r2, r3\n"
    text += "\t*    r4 = FMA.f32 r1, r2, r4\n\t+    LOAD.i32 r15, t1, byte_offset:0\n1f00 \n}\n"
    assert machine_blocks(text) == {
        0: {"tuples": 2, "instructions": 3, "multiply_adds": 1, "messages": 1, "words": 1}
    }


@pytest.mark.parametrize(
    ("operands", "products"),
    [
        ("r11.h00, r9.h00, r7.h00", 1),
        ("r11.h11, r9.h00, t.neg", 1),
        ("^r11.h11, ^r9.h00, u256.neg", 1),
        ("r14.h00, r12, t.neg", 2),
        ("r14.h00, r12.h00, t0", 2),
        ("^r9.h00, r11.h10, ^r14", 2),
        ("r9.h00.neg, r11.h00, ^r14.neg", 2),
    ],
)
def test_an_instruction_on_halves_makes_two_products_if_their_operands_differ(
    operands: str, products: int
) -> None:
    """In a loop Mesa's compiler for Mali makes sums of halves one by one, each in both lanes of an
    instruction."""
    for line in (f"\t*    r6 = FMA.v2f16 {operands}", f"   r6 = FMA.v2f16.wait2 {operands}"):
        found = machine_blocks(f"\nblock0 {{\n{line}\n}}\n")
        assert found[0]["multiply_adds"] == products


@pytest.mark.parametrize("name", sorted(LAWS))
def test_laws_of_values_keep_to_32_bits(name: str) -> None:
    """For random operands of 32 bits, each law's result fits into 32 bits, and equals the law's
    exact result modulo 2^32."""
    dice = np.random.default_rng()
    items = items_of((64, 1, 1), (8, 1, 1))
    count, law = LAWS[name]
    made = {n: Made("phi", ()) for n in range(count)}
    made[9] = Made(name, tuple(Operand(n) for n in range(count)))
    given = {n: dice.integers(-(2**31), 2**31, items.count) for n in range(count)}
    found = Values(made, items, counters=dict(given)).of(Operand(9))
    assert found is not None
    assert (np.abs(found + 0.5) < 2**31).all()
    wide = law(*given.values())
    assert ((found - wide) % 2**32 == 0).all()


def test_a_product_of_32_bits_is_put_together_from_those_of_16() -> None:
    """Mesa's compiler for Adreno multiplies ids by a product of their lower halves and two sums
    with products of a higher and a lower one."""
    items = items_of((64, 1, 1), (8, 1, 1))
    made = {
        **{n: Made("phi", ()) for n in (1, 2)},
        3: Made("umul_low", (Operand(1), Operand(2))),
        4: Made("imadsh_mix16", (Operand(1), Operand(2), Operand(3))),
        5: Made("imadsh_mix16", (Operand(2), Operand(1), Operand(4))),
    }
    a, b = np.random.default_rng().integers(-(2**31), 2**31, (2, items.count))
    found = Values(made, items, counters={1: a, 2: b}).of(Operand(5))
    assert found is not None
    assert (found % 2**32 == [int(x) * int(y) % 2**32 for x, y in zip(a, b, strict=True)]).all()


def test_what_is_done_once_for_a_launch_is_left_out() -> None:
    """Adreno's compilers print a branch in which the first wave does what is the same for all."""
    items = items_of((64, 1, 1), (8, 1, 1))
    found = Values({1: Made("@preamble_start_ir3", ())}, items).of(Operand(1))
    assert found is not None
    assert not found.any()


def test_lanes_of_vectors_are_taken_one_by_one() -> None:
    items = items_of((64, 2, 1), (8, 1, 1))
    made = {
        1: Made("@load_global_invocation_id", ()),
        2: Made("load_const", (), (3, 1)),
        3: Made("@load_const_ir3", ()),
        4: Made("iadd", (Operand(1, "xy"), Operand(3, "xx"))),
        5: Made("ilt", (Operand(4, "yx"), Operand(2, "yx"))),
    }
    x, y, _ = items.global_ids()
    values = Values(made, items)
    assert (values.of(Operand(5, "x")) == -(y < 1).astype(int)).all()  # type: ignore[union-attr]
    assert (values.of(Operand(5, "y")) == -(x < 3).astype(int)).all()  # type: ignore[union-attr]


def test_ids_are_those_of_the_launch() -> None:
    items = items_of((6, 4, 1), (3, 2, 1))
    x, y, _ = items.global_ids()
    often = Counter(zip(x.tolist(), y.tolist(), strict=True))
    assert often.keys() == {(a, b) for a in range(6) for b in range(4)}
    assert len({*often.values()}) == 1


MERGED = """impl __wrapped_k_ {{
    block b0:    // preds:
    32x3    %6 = @load_global_invocation_id
    32      %2 = load_const ({bound:#010x})
    32      %3 = load_const ({below:#010x})
    32     %20 = ilt32 %6.x, %2
    if %20 {{
        block b1:// preds: b0
        32     %21 = ilt32 %6.x, %3
    }} else {{
        block b2:// preds: b0
        1      %22 = load_const (true)
    }}
    block b3:    // preds: b1 b2
    32     %30 = phi {sides}
    if %30 {{
        block b4:// preds: b3
    }} else {{
        block b5:// preds: b3
    }}
}}
"""


@pytest.mark.parametrize("sides", ["b1: %21, b2: %22", "b2: %22, b1: %21"])
def test_a_condition_that_branches_make_is_known(sides: str) -> None:
    """It is counted right how often `x >= bound || x < below` holds, where a compiler makes two
    branches of it; `sides` lists the values of the merged condition, in either order."""
    below, bound = sorted(random.sample(range(65), 2))
    kernel = shader(MERGED.format(bound=bound, below=below, sides=sides))
    assert kernel is not None
    found = weights(kernel, items_of((64, 1, 1), (8, 1, 1)))
    assert found[4] == pytest.approx((64 - bound + below) / 64)
    assert found[5] == pytest.approx((bound - below) / 64)


def test_counters_of_loops_with_as_many_turns_are_apart() -> None:
    """Two loops have equally many turns. The inner one stands in a branch on the outer loop's
    counter, and contains a branch on its own counter: it is counted right how often this branch is
    taken."""
    inner = """loop {{
        block b{0}:
        32     %{0}1 = phi b0: %0 (0x0), b6: %{0}69
        32     %{0}15 = ige32 %{0}1, %1
        if %{0}15 {{
            block b{0}2:
            break
        }} else {{
            block b{0}3:
        }}
        block b{0}4:
        32     %{0}20 = ilt32 %{0}1, %2
        if %{0}20 {{
            block b{0}5:
            {1}
        }} else {{
            block b{0}6:
        }}
        block b{0}7:
        32     %{0}68 = load_const (0x00000001)
        32     %{0}69 = iadd %{0}1, %{0}68 (0x1)
    }}"""
    head = """impl __wrapped_k_ {
    block b0:    // preds:
    32      %0 = load_const (0x00000000)
    32      %1 = load_const (0x00000004)
    32      %2 = load_const (0x00000001)
    """
    kernel = shader(head + inner.format(7, inner.format(8, "")) + "\n}\n")
    assert kernel is not None
    found = weights(kernel, items_of((2, 1, 1), (1, 1, 1)))
    assert found[75] == 1  # of four turns, the first
    assert found[84] == 4
    assert found[85] == pytest.approx(1.0, rel=0.1)  # of four of four


def code(**done: float) -> KernelCode:
    return KernelCode(
        *("k_", "a compiler", (), tuple(done.items()), 16, 0, 0, 0, 0, 1.0, 256),
    )


LAUNCH = Kernel("k_", (1024, 4, 1), (8, 1, 1), (), False, "")


def test_each_device_that_is_compiled_for_has_rates() -> None:
    assert RATES.keys() == DEVICES.keys()


def test_a_kernel_that_does_more_takes_longer_and_the_prediction_lies_in_its_range() -> None:
    rates = RATES["mali-g72"]
    few = code_time(code(instructions=90.0, tuples=80.0, messages=9.0), LAUNCH, {}, rates, 12)
    many = code_time(code(instructions=900.0, tuples=800.0, messages=9.0), LAUNCH, {}, rates, 12)
    assert few is not None
    assert many is not None
    assert few.time_ns < many.time_ns
    for found in (few, many):
        assert found.least_ns <= found.time_ns <= found.most_ns
    assert code_time(code(), LAUNCH, {}, rates, 12) is None


def test_offsets_of_ids_are_0() -> None:
    """If a kernel adds to its ids a number that the listing calls the launch's offset, the kernel
    is counted as if the number were 0. If the listing does not call it that, it is not known how
    often a branch on the ids is taken."""
    text = TEXT.format(turns=3, bound=16, end=TOP)
    moved = text.replace("ilt32 %6.x, %2", "ilt32 %91, %2").replace(
        "                 // succs: b1\n",
        "    32 %7 = load_const (0x00000020 = 32)\n    32x3 %90 = @load_ubo (%0 (0x0), %7 (0x20))\n"
        "    32 %91 = iadd %6.x, %90.x\n",
        1,
    )
    head = "decl_var uniform INTERP_MODE_NONE none u64vec4x0a32B base_workgroup_id (4, 32, 0)\n"
    for kernel, expected in ((shader(head + moved), 3 * 16 / 64), (shader(moved), 3.0)):
        assert kernel is not None
        assert weights(kernel, items_of((64, 1, 1), (8, 1, 1)))[5] == pytest.approx(expected)

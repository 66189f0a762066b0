"""Tests of the work that kernels do (loads, operations, traffic), counted on terms: compared with
counts by hand, and with counts on kernel texts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import generate
from constraints.devices import CPU, H200, MALI_G72, Profile
from constraints.quantities.quantities import quantities
from constraints.quantities.work import total_at
from explore.building.operations import flops
from explore.building.traffic import traffic_bytes
from explore.space.derive_form import points
from explore.space.kernel_features import Done, done_at, features_at
from explore.space.lowering import bound
from explore.space.lowering import lowering as lowered
from explore.space.occupancy import use_at
from explore.space.rough_cost import ESTIMATE, IN_PAIRS, MOBILE, estimate
from ir.core.nodes import Program
from ir.parse import parse, parse_file

ROOT = Path(__file__).resolve().parents[2]
LAYER = parse_file(ROOT / "examples/vgg.lift", {"C": 8, "W": 14, "H": 14, "M": 16})


def done(text: str, **point: int) -> Done:
    """The totals of the work that the last kernel of a program (a text) does, where `point` gives
    its parameters values by name."""
    return done_at(quantities(parse(text)).kernels[-1], point)


def test_a_map_loads_and_writes_each_element_once() -> None:
    made = done("f(xs : [float]64) = mapGlobal(0)(x -> x * x + 1.0, xs)")
    assert (made.operations, made.instructions, made.multiplied) == (128, 128, 0)
    assert (made.words, made.loads, made.moved, made.staged) == (64, 64, 512, 0)


@pytest.mark.parametrize(("unrolled", "of_x"), [("unrolled ", 8), ("", 32)])
def test_what_an_unrolled_loop_does_not_choose_is_loaded_once(unrolled: str, of_x: int) -> None:
    text = f"""f(xs : [float]8, ys : [float]4) =
      mapGlobal(0)(x -> {unrolled}mapSeq(y -> x * y, ys), xs)"""
    made = done(text)
    assert (made.operations, made.loads) == (32, of_x + 32)


def test_what_the_items_of_a_group_share_is_moved_once_a_group() -> None:
    made = done("""f(xs : [float]16, ws : [float]3) =
      join(mapWorkgroup(0)(tile ->
          mapLocal(0)(x -> reduceSeq(0.0, (acc, w) -> acc + x * w, ws), tile),
        split(4, xs)))""")
    assert made.operations == 2 * 16 * 3
    assert made.words == 2 * 16 * 3
    assert made.moved == 4 * (16 * 3 + 4 * 3 + 16)


def test_a_group_that_is_left_open_has_64_items_of_the_first_dimensions() -> None:
    """Where a term leaves the size of work-groups open, 8 by 32 work-items are taken to be in four
    groups of 8 by 8. So each of the 8 numbers of `xs`, which all groups read, is moved four times,
    and each of the 32 numbers of `ys` once."""
    made = done("""f(xs : [float]8, ys : [float]32) =
      mapGlobal(1)(y -> mapGlobal(0)(x -> x * y, xs), ys)""")
    assert made.words == 2 * 8 * 32
    assert made.moved == 4 * (8 * 4 + 32 + 8 * 32)


def test_what_is_in_local_memory_is_loaded_and_not_moved() -> None:
    made = done("""f(xs : [float]16) =
      join(mapWorkgroup(0)(tile ->
          let copy = toLocal(mapLocal(0)(x -> x, tile))
          mapLocal(0)(y -> reduceSeq(y, (acc, x) -> acc + x, copy), copy),
        split(4, xs)))""")
    assert made.staged == 4
    assert made.moved == 4 * (16 + 16)
    assert made.words == 16 + 16 + 16 * 4


def test_a_vector_is_one_instruction_and_as_many_operations_as_lanes() -> None:
    made = done("""f(xs : [float]64) =
      asScalar(mapGlobal(0)(vectorized x -> x * x, asVector(4, xs)))""")
    assert (made.operations, made.instructions) == (64, 16)
    assert (made.words, made.loads) == (64, 16)


def test_a_map_that_is_not_lowered_is_computed_where_it_is_read() -> None:
    twice = done("""f(xs : [float]8) =
      mapGlobal(0)(y -> reduceSeq(0.0, (acc, z) -> acc + z * y, map(x -> x * x, xs)), xs)""")
    assert twice.operations == 8 * 8 * 3
    unread = done("""f(xs : [float]8) =
      mapGlobal(0)((x, y) -> x + 1.0, zip(xs, map(x -> x * x, xs)))""")
    assert unread.operations == 8


def test_maps_of_maps_are_counted_in_a_moment_however_often_each_is_read() -> None:
    """For forty nested maps, each of whose elements is read twice, 8 loads are counted, and at
    once: not by going through 2^40 reads."""
    text = "xs"
    for _ in range(40):
        text = f"map(x -> x * x, {text})"
    assert done(f"f(xs : [float]8) = mapGlobal(0)(x -> x, {text})").loads == 8


FORMS = [
    ("naive", ""),
    ("registers", "padded relaid tall"),
    ("registers", "im2win"),
    ("blocked", "relaid ahead"),
    ("blocked", "padded split"),
    ("winograd", "F2 blocked"),
    ("winograd", "F4 fused"),
    ("strassen", "once registers"),
]


@pytest.mark.parametrize(("family", "form"), FORMS)
def test_counts_on_terms_are_near_those_on_text(family: str, form: str) -> None:
    low = lowered(LAYER, family, form)
    known, ratios = quantities(low.program), []
    for point in points(low, CPU, 4, 0)[1]:
        made = generate(bound(low.program, point), max_work_group=CPU.group_items)
        run = [done_at(k, point) for k in known.kernels if not k.prepack]
        every = [done_at(k, point) for k in known.kernels]
        assert sum(d.operations for d in every) <= 1.3 * flops(made.kernels)
        assert sum(d.operations for d in every) >= 0.75 * flops(made.kernels)
        ratios.append(sum(d.moved for d in run) / traffic_bytes(made))
    assert 0.8 <= np.median(ratios) <= 1.5, ratios
    assert 0.5 <= min(ratios) <= max(ratios) <= 2, ratios


def test_a_total_is_of_the_parameters() -> None:
    low = lowered(LAYER, "registers", "")
    kernel = quantities(low.program).kernels[-1]
    few, many = ({**p, "tx": tx} for tx in (1, 7) for p in points(low, CPU, 1, 0)[1])
    loads = [total_at(kernel.work.loads, p, {}) for p in (few, many)]
    assert loads[1] < loads[0]


@pytest.mark.no_cover
def test_products_by_an_instruction_count_by_the_bytes_of_a_factor() -> None:
    """Each product by an instruction is counted with a weight: the bytes of a factor. That is 2 for
    bfloats, 4 for tf32, and 6 where numbers have two parts, which takes three products of bfloats.
    Products for results that tiles have beyond the array are counted, too."""
    p = parse_file(ROOT / "examples/matmul.lift", {"M": 48, "N": 32, "K": 64})
    for form, each in (("mma-bf16 patch", 2), ("mma-bf16 patch parts", 6), ("mma-tf32 patch", 4)):
        low = lowered(p, "matrix", form)
        for point in points(low, H200, 3, 0)[1]:
            made = done_at(quantities(low.program).kernels[-1], point)
            tiles = -(-48 // (16 * point["tr"] * point["sr"])) * point["tr"] * point["sr"]
            columns = -(-32 // point["tx"]) * point["tx"]
            assert made.multiplied == tiles * 16 * columns * 64 * each
            assert made.words > 0


@pytest.mark.no_cover
def test_numbers_that_lanes_gather_for_an_instruction_are_loaded_one_by_one_and_once() -> None:
    """Each sub-group along the pixels loads all 32 × 32 × 32 numbers of the cotangent by itself,
    once for all products with their high and low parts."""
    p = parse_file(ROOT / "examples/gradients/vgg_weights.lift", {"C": 8, "W": 32, "M": 32})
    low = lowered(p, "matrix", "mma-bf16 patch sums-of-4 split parts")
    kernel = quantities(low.program).kernels[0]
    point = {"tx": 3, "ty": 3, "tp": 8, "tr": 2, "sr": 1, "k": 1, "rp": 0, "s": 16}
    alone, shared = (done_at(kernel, {**point, "sc": sc}).loads for sc in (1, 3))
    assert shared - alone == 2 * 32 * 32 * 32


HALVES = parse_file(ROOT / "examples/half_conv.lift")
IN_TURNS = {"tr": 2, "tx": 4, "ty": 1, "v": 4, "k": 4, "terms": 4}
PRODUCTS = 28 * 28 * 32 * 9 * 32  # of `half_conv`


@pytest.mark.parametrize(
    ("family", "form", "paired"),
    [
        ("registers", "relaid items tall vector-loads", 0),
        ("registers", "relaid items tall vector-loads in-chunks", 2 * PRODUCTS),
        ("registers", "relaid items tall vector-loads in-turns", 2 * PRODUCTS),
        ("registers", "relaid items tall vector-loads in-float", PRODUCTS),
        ("naive", "in-chunks", 0),
    ],
)
def test_neighbouring_halves_that_no_loop_carries_may_be_made_in_pairs(
    family: str, form: str, paired: int
) -> None:
    """A product and the sum that it is a term of are made by one instruction, so neither is made in
    pairs where a loop carries the sum. Sums of one number are no neighbours."""
    kernel = quantities(lowered(HALVES, family, form).program).kernels[-1]
    point = {p: n for p, n in IN_TURNS.items() if p in kernel.parameters}
    assert total_at(kernel.work.paired, point, {}) == paired


def test_what_is_made_in_pairs_takes_half_the_time_where_a_device_makes_pairs() -> None:
    low = lowered(HALVES, "registers", "relaid items tall vector-loads in-chunks")
    point, known = {**IN_TURNS, "tr": 1}, quantities(low.program)
    alone = replace(MALI_G72, pairs_halves=False, array_words=(1 << 16, 1 << 16))
    found, other = (
        dict(features_at(known, point, device, {})[-1])
        for device in (replace(alone, pairs_halves=True), alone)
    )
    assert found.pop(IN_PAIRS) == 2 * PRODUCTS
    assert IN_PAIRS not in other
    saved = MOBILE.arithmetic * PRODUCTS / (MALI_G72.cores * found["tail"])
    assert other.pop(ESTIMATE) - found.pop(ESTIMATE) == pytest.approx(saved, rel=0.01)
    assert found == other


@pytest.mark.parametrize(
    ("form", "carried"), [("in-turns", 32), ("in-chunks", 0), ("in-float", 0), ("", 32)]
)
def test_halves_that_loops_carry_take_a_register_each(form: str, carried: int) -> None:
    """Of 32 results, each in one half of a register's bytes otherwise."""
    low = lowered(HALVES, "registers", f"padded relaid items vector-loads {form}".strip())
    point, known = {"k": 4, "tr": 1, "tx": 4, "v": 8}, quantities(low.program)
    held, packed = (
        dict(features_at(known, point, device, {})[-1])["private bytes"]
        for device in (MALI_G72, replace(MALI_G72, pairs_halves=False))
    )
    assert held - packed == 2 * carried
    assert held <= 4 * MALI_G72.array_words[1]


# ---- what features make of it

BLOCK = """f(xs : [float]4096) =
  join(mapWorkgroup(0)(tile ->
      let copy = toLocal(mapLocal(0)(x -> x, tile))
      mapLocal(0)(x -> x + 1.0, copy),
    split(256, xs)))"""


@pytest.mark.parametrize(("device", "resident"), [(CPU, 1), (MALI_G72, 1), (H200, 8)])
def test_groups_are_resident_as_items_registers_and_local_memory_allow(
    device: Profile, resident: int
) -> None:
    kernel = quantities(parse(BLOCK)).kernels[-1]
    use = use_at(kernel, {}, device)
    assert (use.items, use.groups, use.local_bytes) == (256, 16, 1024)
    assert use.resident == resident


def features(program: Program, family: str, form: str, device: Profile) -> list[dict[str, float]]:
    """The features, by name, of each kernel of a form of a family at a legal point on a device,
    without those that are the form's parameters."""
    low = lowered(program, family, form)
    found = features_at(quantities(low.program), points(low, CPU, 1, 0)[1][0], device, {})
    return [{n: v for n, v in kernel if not n.startswith("parameter")} for kernel in found]


@pytest.mark.parametrize("device", [CPU, MALI_G72, H200], ids=lambda d: d.name)
def test_every_family_has_every_feature(device: Profile) -> None:
    found = [k for family, form in FORMS for k in features(LAYER, family, form, device)]
    assert all(f.keys() == found[0].keys() for f in found)
    assert all(np.isfinite(value) and value >= 0 for f in found for value in f.values())
    assert all(0 < f["occupancy"] <= 1 and 0 < f["tail"] <= 1 for f in found)
    copied = parse("f(xs : [float]64) = mapGlobal(0)(x -> x, xs)")
    assert dict(features_at(quantities(copied), {}, device, {})[0])["estimate"] > 0


def test_a_kernel_has_the_parameters_that_it_depends_on() -> None:
    low = lowered(LAYER, "winograd", "F2 registers")
    point = points(low, CPU, 1, 0)[1][0]
    kernels = features_at(quantities(low.program), point, CPU, {})
    own = [{n.split()[1] for n, _ in k if n.startswith("parameter")} for k in kernels]
    made = generate(bound(low.program, point), max_work_group=4096).plan
    assert len(own) == sum(not kernel.prepack for kernel in made.kernels) == 3
    assert set().union(*own) == set(point)
    assert all(some < set(point) for some in own)


@pytest.mark.parametrize("device", [CPU, H200], ids=lambda d: d.name)
def test_reuse_is_what_a_block_of_registers_has(device: Profile) -> None:
    low = lowered(LAYER, "registers", "relaid")  # so that a vector of weights is one load
    known, point = quantities(low.program), points(low, CPU, 1, 0)[1][0]
    few, many = (
        dict(features_at(known, {**point, "tx": tx, "tr": 1}, device, {})[-1]) for tx in (1, 14)
    )
    assert few["reuse of loads"] == pytest.approx(1, rel=0.1)  # two loads, two operations
    assert many["reuse of loads"] == pytest.approx(28 / 15, rel=0.1)
    assert many["bytes moved"] < few["bytes moved"]
    # 14 work-items keep both cores of a CPU busy, and leave a GPU idle.
    assert (estimate(many, device) < estimate(few, device)) == (device is CPU)


def test_arrays_leave_less_room_where_padding_is_tested() -> None:
    low = lowered(LAYER, "registers", "items")
    stored = lowered(LAYER, "registers", "padded items")
    point = {"tr": 2, "tx": 4, "v": 4, "k": 1}  # 44 words in arrays
    device = replace(MALI_G72, array_words=(1 << 16, 1 << 16))
    for form, sides, factor in ((low, 4, 4), (stored, 0, 1)):
        known = quantities(form.program)
        found = dict(features_at(known, point, MALI_G72, {})[-1])
        assert found["padded sides"] == sides
        assert found["private bytes"] == 4 * 44
        roomy = dict(features_at(known, point, device, {})[-1])
        rest = MOBILE.launch
        assert found[ESTIMATE] - rest == pytest.approx(factor * (roomy[ESTIMATE] - rest))


def test_arrays_that_no_cache_holds_cost_what_reading_memory_does_on_a_cpu() -> None:
    """Each of N results is computed from its own row of weights: with 4 KiB a row, 1024 rows fit in
    caches and 65,536 do not."""

    def rough(rows: int, device: Profile) -> float:
        text = f"""rows(const weights : [[float]1024]N, x : [float]1024) =
          mapGlobal(0)(row -> reduceSeq(0.0, (s, (a, b)) -> s + a * b, zip(row, x)), weights)
        where N = {rows}"""
        (kernel,) = features_at(quantities(parse(text)), {}, device, {})
        found = dict(kernel)
        assert found["bytes of arrays"] == 4 * (1024 * rows + 1024 + rows)
        assert found["estimate"] == estimate(found, device)
        without = estimate({**found, "bytes of arrays": 0.0}, device)
        return found["estimate"] - without

    assert rough(1024, CPU) == 0
    assert rough(65536, CPU) > 5e6
    assert rough(65536, H200) == 0

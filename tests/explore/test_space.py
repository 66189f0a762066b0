"""Tests that the legal points that are chosen are those worth trying."""

from dataclasses import replace
from math import inf, prod
from pathlib import Path

import pytest

from constraints.devices import CPU, H200, MALI_G72, Profile
from constraints.quantities.quantities import peak_at, quantities
from explore.options.options import Options
from explore.record_book.recalled import Hint
from explore.run.candidates import candidates, hinted_tasks
from explore.space.derivations import Here
from explore.space.derive_form import Derived, derive, points
from explore.space.forms_to_derive import Derive, others, tasks
from explore.space.lowering import lowering
from ir.parse import parse, parse_file
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.family import Form

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COUNT = 60


def blocks(profile: Profile, form: str, **sizes: int) -> list[tuple[int, int]]:
    """The pairs (number of results that a work-item keeps, width of a vector) at sampled points of
    a form of `registers`, for a VGG layer of these sizes on a device."""
    low = lowering(parse_file(EXAMPLES / "vgg.lift", sizes), "registers", form)
    _, found = points(low, profile, COUNT, seed=0)
    kept = [prod(v for p, v in point.items() if p in ("tr", "tx", "ty", "v")) for point in found]
    return [(block, point["v"]) for block, point in zip(kept, found, strict=True)]


@pytest.mark.parametrize("form", ["relaid", "relaid tall"])
def test_on_a_cpu_a_work_item_keeps_results_enough_and_no_more_than_fit(form: str) -> None:
    found = blocks(CPU, form)
    assert len(found) == COUNT
    assert all(8 * 16 <= results <= 28 * 16 for results, _ in found)
    assert all(v == 16 for _, v in found)


def test_where_no_vector_fills_a_register_one_fills_half() -> None:
    assert {v for _, v in blocks(CPU, "relaid", M=8)} == {8}


def test_most_forms_that_are_tried_keep_constants_in_the_order_in_which_they_are_read() -> None:
    program = parse_file(EXAMPLES / "vgg.lift")
    todo = tasks(program, CPU, families=["registers"], budget=2000, seed=0)
    chosen = [task.form.words for task in todo]
    assert () in chosen  # the plain form is always there
    assert len(chosen) < len(forms(program, "registers"))
    assert 2 * sum("relaid" in words for words in chosen) > len(chosen)
    assert any("relaid" not in words for words in chosen if words)


def test_forms_of_instructions_that_a_device_lacks_are_tried_if_asked_for() -> None:
    program = parse_file(EXAMPLES / "vgg.lift")

    def tried(profile: Profile, *families: str) -> set[str]:
        todo = tasks(program, profile, families=families, budget=6000, seed=0)
        every = (task.form for task in [*todo, *others(todo)])
        return set().union(*(form.instructions for form in every if form.family == "matrix"))

    # halves are not tried: larger numbers than they hold may come
    assert tried(H200) == {"mma_tf32", "mma_bf16", "wgmma_tf32", "wgmma_bf16"}
    assert tried(replace(H200, instructions=("mma_bf16",))) == {"mma_bf16"}
    assert tried(CPU) == set()
    emulated = {"mma_tf32", "mma_bf16", "arm_matrix", "intel_bf16", "wgmma_bf16", "wgmma_tf32"}
    assert tried(CPU, "matrix") == emulated


def test_forms_that_overflow_are_tried_if_no_input_is_so_large() -> None:
    program = parse_file(EXAMPLES / "vgg.lift")
    for largest, halves in ((inf, False), (1e5, False), (65504.0, True), (10.0, True)):
        todo = tasks(program, H200, budget=6000, seed=0, largest=largest)
        every = [task.form for task in [*todo, *others(todo)] if task.form.family == "matrix"]
        assert any("mma-f16" in form.words for form in every) is halves
        hinted = [Hint("matrix", "mma-f16 patch relaid parts", (("tr", 1),))]
        asked = Options(largest=None if largest == inf else largest)
        assert bool(hinted_tasks(program, H200, asked, hinted)) is halves


def test_forms_whose_products_lose_more_than_is_allowed_are_not_tried() -> None:
    program = parse_file(EXAMPLES / "vgg.lift")

    def tried(max_error: float) -> list[Form]:
        todo = tasks(program, H200, families=("matrix",), budget=6000, seed=0, max_error=max_error)
        return [task.form for task in [*todo, *others(todo)]]

    def in_parts(form: Form) -> bool:
        return bool({"parts", "three-parts"} & {*form.words})

    assert {in_parts(form) for form in tried(1e-4)} == {True}
    assert {in_parts(form) for form in tried(1e-2)} == {True, False}
    assert {"three-parts" in form.words for form in tried(1e-6)} == {True}


def test_forms_that_copy_tiles_are_tried_less_where_local_memory_is_ordinary_memory() -> None:
    program = parse_file(EXAMPLES / "vgg.lift")

    def staged(profile: Profile) -> int:
        names = ["im2col"]
        seeds = (tasks(program, profile, families=names, budget=300, seed=n) for n in range(100))
        return sum("blocked" in task.form.words for todo in seeds for task in todo[2:])

    assert 2 * staged(CPU) < staged(H200)


@pytest.mark.parametrize("device", [H200, MALI_G72], ids=lambda d: d.name)
def test_on_a_gpu_groups_of_one_work_item_are_tried_less(device: Profile) -> None:
    program = parse_file(EXAMPLES / "vgg.lift")

    def alone(profile: Profile) -> int:
        names = ["registers"]
        found = (tasks(program, profile, families=names, budget=9, seed=n) for n in range(20))
        return sum("items" not in task.form.words for todo in found for task in todo[2:])

    assert 2 * alone(device) < alone(CPU)


def test_sums_of_halves_that_begin_anew_in_each_turn_are_tried_more_where_that_pairs_them() -> None:
    """Bfloats are floats there, and are never paired."""
    text = (EXAMPLES / "half_conv.lift").read_text(encoding="utf-8")

    def afresh(profile: Profile, t: str = "half") -> int:
        program = parse(text.replace("half]", f"{t}]"))
        names = ["registers"]
        found = (tasks(program, profile, families=names, budget=9, seed=n) for n in range(20))
        return sum(
            bool({"in-chunks", "in-turns"} & {*task.form.words})
            for todo in found
            for task in todo[1:]
        )

    alone = replace(MALI_G72, pairs_halves=False)
    assert 2 * afresh(alone) <= afresh(MALI_G72)
    assert afresh(alone, "bfloat") == afresh(MALI_G72, "bfloat")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heavy_forms_come_early(seed: int) -> None:
    """After the plain form come some of those whose products matrix instructions make, which are
    derived soon. Where there are none the heaviest of all comes before the plain one."""
    gradient = parse_file(EXAMPLES / "gradients" / "vgg_weights.lift")
    for family, heavy in (
        (
            "matrix",
            [f"mma-bf16 patch sums-of-7 {more}parts" for more in ("", "split ", "spelled ")],
        ),
        ("winograd", ["F4 mma-bf16 parts", "F4 mma-bf16 ahead parts"]),
    ):
        todo = tasks(gradient, H200, families=[family], budget=2000, seed=seed, max_error=1e-5)
        assert [task.form.name for task in todo[1 : 1 + len(heavy)]] == heavy
        assert [task.soon for task in todo[: 1 + len(heavy)]] == [False, *(True for _ in heavy)]
    todo = tasks(gradient, H200, families=["registers"], budget=2000, seed=seed)
    assert [task.form.name for task in todo[:2]] == ["items vector-loads", ""]
    assert not any(task.soon for task in todo)


def test_where_the_heaviest_form_does_not_apply_a_lighter_one_stands_in() -> None:
    """No form of a matrix product loads vectors of what rows share, or sweeps over lines."""
    product = parse_file(EXAMPLES / "matmul.lift")
    first, plain, *_ = tasks(product, CPU, families=["registers"], budget=2000, seed=0)
    assert first.form.name == "swept vector-loads"
    assert (plain.form.name, plain.instead) == ("", ())
    options = Options(variants=100, families=("registers",))
    found = candidates(product, CPU, options, Here())
    assert [form.lowered.form.name for form in found.forms] == ["laid flipped"]
    assert ("registers", "laid flipped") not in found.others
    every = candidates(product, CPU, options, Here(), soon=False)
    names = [form.lowered.form.name for form in every.forms]
    assert len(names) == len(set(names))


def test_on_a_gpu_other_work_items_hide_latencies() -> None:
    assert min(blocks(H200, "relaid"))[0] < 8


def test_a_layer_too_small_to_keep_a_cpu_busy_still_has_points() -> None:
    found = blocks(CPU, "relaid", C=3, W=4, H=4, M=4)
    assert found
    assert all(results < 8 * 16 for results, _ in found)


def test_a_form_that_is_long_however_unrolled_still_has_points() -> None:
    program = parse_file(EXAMPLES / "vgg.lift", {"C": 5, "W": 13, "H": 13, "M": 24})
    low = lowering(program, "winograd", "F6 registers")
    hurried = replace(CPU, quick_code=512)
    assert points(low, hurried, COUNT, seed=0)[1]
    assert not points(low, replace(hurried, code=512), COUNT, seed=0)[1]


def test_where_short_kernels_do_long_ones_are_not_tried() -> None:
    low = lowering(parse_file(EXAMPLES / "vgg.lift"), "registers", "relaid")
    quantity = quantities(low.program).kernels[-1].code
    _, found = points(low, replace(CPU, quick_code=512), COUNT, seed=0)
    assert max(peak_at((quantity,), point) for point in found) <= 512
    _, found = points(low, CPU, COUNT, seed=0)
    assert max(peak_at((quantity,), point) for point in found) > 512


def test_few_points_are_drawn_of_a_form_that_takes_long_to_compile() -> None:
    program = parse_file(EXAMPLES / "vgg.lift", {"C": 5, "W": 13, "H": 13, "M": 24})
    asked = Derive(program, form_named(program, "winograd", "F6 registers"), CPU, COUNT, seed=0)
    drawn = derive(asked)
    hurried = derive(replace(asked, profile=replace(CPU, quick_code=512)))
    assert isinstance(drawn, Derived)
    assert isinstance(hurried, Derived)
    assert 0 < len(hurried.variants) < len(drawn.variants) == COUNT


@pytest.mark.parametrize(("device", "some"), [(CPU, True), (MALI_G72, False)])
def test_matrix_forms_are_none_where_no_sub_group_can_emulate_them(
    device: Profile, some: bool
) -> None:
    program = parse_file(EXAMPLES / "vgg.lift", {"C": 16, "M": 16, "W": 14, "H": 14})
    found = tasks(program, device, families=("matrix",), budget=10, seed=0)
    assert bool(found) is some

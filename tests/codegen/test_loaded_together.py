"""Tests of numbers that are gathered in runs of neighbours, which are loaded as vectors: rows of
tiles that a lane holds, two by two or four by four, and pixels of a chunk, each whole."""

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Load, loads
from codegen.tree.statements import Store, statements
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import program

SIZES = {"C": 8, "W": 16, "M": 192}
POINT = {"tx": 3, "ty": 3, "tp": 8, "sr": 1, "sc": 1, "k": 1, "rp": 0}


def gradient(words: str, tiles: int = 2) -> Generated:
    """A weight gradient by the instruction for bfloats, in a form with these words, whose
    sub-groups make so many tiles of rows."""
    p = program("gradients/vgg_weights.lift", SIZES)
    low = lower(p, form_named(p, "matrix", f"mma-bf16 patch sums-of-4 {words}"))
    generated = generate(bound(low.program, {**POINT, "tr": tiles}))
    demand_proofs(generated)
    return generated


def gathered(generated: Generated) -> list[Load]:
    """The loads from the cotangent in the last kernel."""
    stores = (s for s in statements(generated.kernels[-1].body) if isinstance(s, Store))
    every = [load for s in stores for load in loads(s.value)]
    return [load for load in every if load.memory.name == "cotangent_"]


def test_two_rows_that_a_lane_holds_are_loaded_together() -> None:
    """A lane of the instruction holds two rows of a tile at four steps. Rows are neighbours in the
    cotangent: in place of eight loads there are four."""
    found = {(load.index.key, load.width) for load in gathered(gradient("parts", tiles=1))}
    assert [width for _, width in found] == [2, 2, 2, 2]


@pytest.mark.parametrize("tiles", [2, 4])
def test_rows_of_two_tiles_that_a_lane_holds_are_loaded_together(tiles: int) -> None:
    found = {(load.index.key, load.width) for load in gathered(gradient("parts", tiles))}
    assert [width for _, width in found] == [4, 4, 4, 4]


def test_of_three_tiles_each_is_loaded_by_itself() -> None:
    found = {(load.index.key, load.width) for load in gathered(gradient("parts", tiles=3))}
    assert [width for _, width in found] == [2, 2, 2, 2]


def test_where_lanes_have_rows_laid_out_for_them_they_load_these_as_they_lie() -> None:
    (laid, *_, sums) = gradient("laid parts").kernels
    assert laid.name != sums.name
    assert not gathered(gradient("laid parts"))


@pytest.mark.parametrize(("words", "tiles"), [("parts", 1), ("parts", 2), ("laid parts", 2)])
def test_results_are_right_to_the_number(words: str, tiles: int, session: Session) -> None:
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    p = program("gradients/vgg_weights.lift", SIZES)
    inputs = random_inputs(p, int(np.random.default_rng().integers(1 << 30)), integers=True)
    out = np.asarray(session.build(gradient(words, tiles).plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def test_products_between_transforms_have_rows_in_the_order_of_tiles() -> None:
    """Winograd's transformed weights are stored as lanes hold them: a lane loads its eight numbers
    of a tile as one vector."""
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 32})
    form = form_named(p, "winograd", "F2 mma-bf16 parts")
    point = {"k": 1, "sc": 1, "sr": 1, "tr": 2, "tx": 8, "vi": 2, "vo": 2}
    kernels = generate(bound(lower(p, form).program, point)).kernels
    stores = (s for kernel in kernels for s in statements(kernel.body) if isinstance(s, Store))
    every = [load for s in stores for load in loads(s.value)]
    fragments = [load for load in every if load.memory.name.startswith("weights_transformed")]
    assert {load.width for load in fragments if load.memory.scalar == "bfloat"} == {8}


PIXELS = """
mixed(const weights : [[{t}]8]8, image : [[[{t}]8]W]3) =
  map2d(pixel -> map(kernel ->
    char_sat_rte(reduce(0.0, (acc, (x, w)) -> acc + float(x) * float(w), zip(pixel, kernel))),
    weights), image)
where W = 11
"""


def in_chunks(t: str, words: str) -> tuple[Program, Generated]:
    """Pixels of eight numbers of type t, multiplied by a matrix in a form that copies chunks of 16
    pixels into local memory; of the last chunk, pixels that do not exist are read as the last
    one."""
    p = parse(PIXELS.format(t=t))
    low = lower(p, form_named(p, "registers", words))
    point = {"k": 8, "tr": 1, "ts": 4, "tx": 4, "v": 8}
    made = generate(bound(low.program, point), half_arithmetic=True)
    demand_proofs(made)
    return p, made


CHUNKS = [("char", "relaid swept pairs wide-chunks in-ints"), ("half", "relaid swept wide-chunks")]


@pytest.mark.parametrize(("t", "words"), CHUNKS)
def test_two_pixels_whose_places_are_bounded_each_by_itself_are_two_loads(
    t: str, words: str
) -> None:
    _, made = in_chunks(t, words)
    stores = (s for s in statements(made.kernels[-1].body) if isinstance(s, Store))
    every = [load for s in stores for load in loads(s.value) if load.memory.name == "image_"]
    assert [load.width for load in every] == [8, 8]
    assert all(proof.ok for proof in prove_texts(made.plan))


@pytest.mark.parametrize(("t", "words"), CHUNKS)
def test_pixels_that_are_loaded_whole_give_right_results(
    t: str, words: str, session: Session
) -> None:
    p, made = in_chunks(t, words)
    if made.plan.uses_half and not session.device.half:
        pytest.skip(f"{session.device.name} has no halves")
    inputs = random_inputs(p, 5, integers=True)
    out = np.asarray(session.build(made.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))

"""Tests of the family `matrix`, in which one strategy serves matrix products and convolutions, for
each instruction of the table."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.plan import Role
from codegen.runtime.session import Session
from codegen.text_proof.prove_text import prove_texts
from codegen.tree.kernel_values import Call, Load
from codegen.tree.statements import Store, calls, statements
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir import Instruct, Program
from ir.core.terms import subterms
from ir.core.types import RANGES
from ir.meaning.inputs import STORED, random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse, parse_file
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.number_laws.instructions import instruct
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering

EXAMPLES = Path(__file__).parents[2] / "examples"
H200 = profile("h200")
ATTENTION = """
scores(queries : [[float]D]N, keys : [[float]D]N) =
  map(q -> map(k -> 0.125 * dot(q, k), keys), queries)
where N = 32, D = 16
"""
PROGRAMS = {
    "product": ("matmul.lift", {"M": 40, "N": 24, "K": 16}, "mma-tf32"),
    "convolution": ("vgg.lift", {"C": 16, "W": 8, "M": 16}, "mma-tf32 padded"),
    "with a stride": ("conv2d.lift", {"C": 8, "W": 17, "H": 16, "M": 32}, "mma-tf32 planes"),
    "dilated": ("dilated.lift", {"C": 8, "W": 7, "H": 6, "M": 16}, "mma-tf32 padded"),
    "in groups": ("grouped.lift", {"C": 32, "W": 8, "H": 4, "M": 32, "G": 2}, "mma-tf32 padded"),
    "of volumes": ("conv3d.lift", {"C": 8, "W": 8, "H": 4, "D": 4, "M": 16}, "mma-tf32 padded"),
    "packed for lanes": ("vgg.lift", {"C": 16, "W": 8, "M": 32}, "mma-tf32 padded relaid"),
    "pixel by pixel": ("conv1x1.lift", {"C": 8, "W": 6, "H": 5, "M": 16}, "arm-matrix"),
    "a patch, by Arm's": ("vgg.lift", {"C": 8, "W": 9, "M": 12}, "arm-matrix patch relaid ahead"),
    "four channels": ("vgg.lift", {"C": 4, "W": 8, "M": 16}, "mma-tf32-4 patch relaid"),
}  # fmt: skip


def program(file: str, sizes: dict[str, int]) -> Program:
    return parse_file(EXAMPLES / file, sizes)


def agrees(session: Session, p: Program, low: Lowering, seed: int) -> None:
    """Assert that the kernels at a point of a lowering are proved, and give the interpreter's
    results on whole numbers of at most ten bits."""
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    made = _smallest(low, seed)
    assert any(calls(kernel) for kernel in made.kernels)
    assert all(proof.ok for proof in prove_texts(made.plan))
    inputs = random_inputs(p, seed, integers=True)
    out = np.asarray(session.build(made.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def _smallest(low: Lowering, seed: int) -> Generated:
    """The code at one of four random legal points: the one with the fewest operations, since
    compilers take long for emulated instructions."""
    found = points(low, H200, 4, seed)[1]
    made = [generate(bound(low.program, point), max_work_group=1024) for point in found]
    return min(made, key=lambda each: sum(f.operations for f in each.facts))


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_entry_and_one_strategy_serve(session: Session, name: str) -> None:
    file, sizes, form = PROGRAMS[name]
    p = program(file, sizes)
    agrees(session, p, lower(p, form_named(p, "matrix", form)), seed=len(name))


def test_the_first_half_of_attention_is_served_too(session: Session) -> None:
    p = parse(ATTENTION)
    agrees(session, p, lower(p, form_named(p, "matrix", "mma-tf32")), seed=2)


OF_BYTES = """
conv(const weights : [[[[char]C]3]3]M, image : [[[{t}]C]5]6) =
  map2d(window -> map(kernel -> char_sat{way}(reduce({zero}, (acc, (x, w)) -> acc + {product},
      zip(flatten(window), flatten(kernel)))), weights), slide2d(3, 1, pad2d(1, 0, image)))
where C = {channels}, M = 16
"""
INTS = {"zero": "0", "way": "", "product": "x * w"}
FLOATS = {"zero": "0.0", "way": "_rte", "product": "float(x) * float(w)"}


@pytest.mark.parametrize(
    ("t", "made", "channels", "form"),
    [
        ("char", INTS, 32, "mma-ss-32 padded relaid"),
        ("char", INTS, 16, "arm-matrix-ss patch relaid"),
        ("uchar", FLOATS, 16, "mma-su-16 patch relaid in-ints"),
    ],
)
def test_bytes_of_all_values_are_multiplied_exactly(
    session: Session, t: str, made: dict[str, str], channels: int, form: str
) -> None:
    p = parse(OF_BYTES.format(t=t, channels=channels, **made))
    if "cl_khr_subgroup_shuffle" not in session.handle.extensions:
        pytest.skip(f"{session.device.name} has neither the instruction nor shuffles")
    code = _smallest(lower(p, form_named(p, "matrix", form)), seed=1)
    assert any(calls(kernel) for kernel in code.kernels)
    assert all(proof.ok for proof in prove_texts(code.plan))
    random = np.random.default_rng()
    inputs = {
        b.name: random.integers(*RANGES[b.scalar], b.shape, endpoint=True).astype(STORED[b.scalar])
        for b in code.plan.buffers
        if b.role in (Role.INPUT, Role.CONST)
    }
    out = np.asarray(session.build(code.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs)))


def test_the_derivation_uses_the_law_of_instructions_once_and_replays() -> None:
    p = program("matmul.lift", {"M": 64, "N": 64, "K": 64})
    low = lower(p, form_named(p, "matrix", "mma-tf32"))
    assert [step.rule for step in low.derivation.steps].count(instruct) == 1
    assert low.derivation.replay() == low.derivation.end
    assert sum(isinstance(e, Instruct) for e in subterms(low.program.body)) == 1


def test_accumulators_stay_in_lanes_through_all_sums() -> None:
    """The instructions add to one private array alone, with four sums in each lane for each tile of
    the block."""
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-tf32 padded"))
    _, (point,) = points(low, H200, 1, 0)
    kernel = generate(bound(low.program, point)).kernels[-1]
    made = [
        s for s in statements(kernel.body) if isinstance(s, Store) and isinstance(s.value, Call)
    ]
    kept = {s.memory for s in made}
    assert [memory.elements for memory in kept] == [4 * point["tr"] * point["tc"]]


def test_a_lane_loads_its_part_of_packed_constants_and_of_a_pixel_at_once() -> None:
    p = program("vgg.lift", {"C": 16, "W": 8, "M": 16})
    low = lower(p, form_named(p, "matrix", "mma-tf32 padded relaid"))
    _, (point,) = points(low, H200, 1, 0)
    for call in calls(generate(bound(low.program, point)).kernels[-1]):
        weights, pixel, _ = call.arguments
        assert isinstance(weights, Load)
        assert isinstance(pixel, Load)
        assert (weights.width, pixel.width) == (4, 2)


def test_what_a_derivation_may_lose_is_what_the_instruction_loses() -> None:
    p = program("matmul.lift", {"M": 64, "N": 64, "K": 64})
    assert lower(p, form_named(p, "matrix", "mma-tf32")).derivation.rounding == 2.0**13


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("stencil5.lift", "nothing is summed up"),
        ("fully_connected.lift", "two operands, each shared by results"),
        ("vgg.lift", "expected padding that is stored"),
    ],
)
def test_what_has_no_tiles_of_products_is_refused_in_words(file: str, reason: str) -> None:
    p = program(file, {})
    with pytest.raises(Refused, match=reason):
        lower(p, forms(p, "matrix")[0])


def test_forms_go_to_other_processes() -> None:
    product = parse(
        "p(a : [[float]64]64, b : [[float]64]64) = map(x -> map(y -> dot(x, y), transpose(b)), a)"
    )
    image = parse(
        "c(const w : [[[[float]16]3]3]16, x : [[[float]16]18]18) ="
        " map2d(p -> map(k -> dot(flatten(p), flatten(k)), w), slide2d(3, 1, x))"
    )
    for program in (product, image):
        for form in forms(program, "matrix"):
            assert pickle.loads(pickle.dumps(form)).name == form.name

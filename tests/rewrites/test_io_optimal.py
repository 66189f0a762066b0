"""Tests that kernels of the family `io-optimal` move at most twice the bytes that its dataflow
does, and are right."""

from dataclasses import replace
from math import isclose, prod, sqrt

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import H200
from constraints.relations.relations import holds
from explore.bounds.products_of_program import products
from explore.building.traffic import traffic_bytes
from explore.space.derive_form import constraints, points
from explore.space.lowering import bound
from ir.core.bind_parameters import bind_sizes
from ir.core.nodes import Program, ToLocal
from ir.core.size import bind
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.meaning.inputs import cells_of, random_inputs
from ir.meaning.inputs import known as known_size
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower

CONV = """
conv(const weights : [[[[float]C]R]R]M, images : [[[[float]C]W]W]N) =
  map(image -> map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(R, S, pad2d(P, 0.0, image))), images)
where N = {n}, W = {w}, P = {p}, R = {r}, S = {s}, C = {c}, M = {m}
"""
WIDE = CONV.format(n=1, w=28, p=1, r=3, s=1, c=16, m=64)
STRIDED = CONV.format(n=1, w=28, p=2, r=5, s=2, c=8, m=32)
ODD = CONV.format(n=2, w=13, p=3, r=5, s=2, c=3, m=6)
MATMUL = """
matmul(a : [[float]K]M, b : [[float]N]K) =
  map(row -> map(column -> dot(row, column), transpose(b)), a)
where M = 32, N = 48, K = 16
"""


def made(p: Program, form: str = "", **point: int) -> Generated:
    """The code of the form `form` of the family for p, at a point."""
    chosen = next(f for f in forms(p, "io-optimal") if f.name == form)
    return generate(bound(lower(p, chosen).program, point))


@pytest.mark.parametrize(
    ("text", "form", "point"),
    [
        (WIDE, "", {"tx": 14, "ty": 14, "lx": 2, "ly": 14, "tr": 2, "v": 4}),
        (WIDE, "ahead", {"tx": 14, "ty": 7, "lx": 4, "ly": 14, "tr": 1, "v": 4}),
        (WIDE, "padded", {"tx": 8, "ty": 8, "lx": 2, "ly": 16, "tr": 1, "v": 4}),
        (STRIDED, "", {"tx": 7, "ty": 7, "lx": 4, "ly": 7, "tr": 1, "v": 2}),
    ],
)
def test_a_variant_moves_at_most_twice_what_the_dataflow_does(
    text: str, form: str, point: dict[str, int]
) -> None:
    """The bytes moved are between the bound and twice the volume of the dataflow, where a block has
    about R times as many pixels (x y) as channels (z). R is the number of windows that an element
    of the image is in."""
    p = parse(text)
    known = products(p)
    assert known is not None
    xy, z = point["tx"] * point["ty"], point["lx"] * point["tr"] * point["v"]
    assert 0.5 <= xy / (known.reuse * z) <= 2
    copied = 0 if form != "padded" else 4 * 2 * 30 * 30 * 16
    moved = traffic_bytes(made(p, form, **point)) - copied
    assert 4 * known.direct(xy * z) <= moved <= 2 * 4 * known.volume(xy * z)


SHAPES = (  # images, their side, padding, kernel's side, step, channels in and out
    (1, 28, 1, 3, 1, 16, 64),
    (1, 27, 2, 5, 1, 48, 32),
    (1, 55, 2, 11, 4, 3, 64),
    (1, 56, 3, 7, 2, 3, 64),
    (1, 24, 0, 5, 1, 96, 64),
    (5, 13, 0, 1, 1, 16, 6),
    (1, 13, 0, 1, 4, 16, 6),
    (1, 13, 1, 2, 4, 5, 6),
    (1, 13, 1, 2, 1, 5, 6),
    (5, 27, 2, 11, 4, 3, 6),
    (1, 27, 0, 3, 4, 64, 64),
    (5, 1, 0, 1, 1, 64, 6),
    (1, 1, 1, 3, 1, 64, 6),
    (1, 7, 0, 3, 1, 64, 64),
    (5, 13, 3, 11, 1, 1, 6),
)


@pytest.mark.parametrize("form", ["", "padded relaid"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_it_offers_moves_at_most_twice_the_volume(shape: tuple[int, ...], form: str) -> None:
    """Variants at legal points move at most twice the volume of the dataflow, even counting stored
    copies, tiles that reach beyond the image, and gaps between windows."""
    p = parse(CONV.format(**dict(zip("nwprscm", shape, strict=True))))
    known, chosen = products(p), next(f for f in forms(p, "io-optimal") if f.name == form)
    assert known is not None
    try:
        low = lower(p, chosen)
    except Refused:
        assert (bool(form), shape[2]) == (True, 0)
        return
    space, drawn = points(low, H200, 3, 0)
    assert space.count or form  # copies may take too much
    for point in drawn:
        block = bind(prod(low.block or (), start=1), point)
        moved = traffic_bytes(generate(bound(low.program, point)))
        assert moved <= 2 * 4 * known.volume(known_size(block)), point


LAYER = """
layer(const weights : [[[[float]C]R]R]M, const biases : [float]M, const scales : [float]M,
      skips : [[[float]M]W]W, image : [[[float]C]W]W) =
  map2d((window, skip) ->
      map((kernel, bias, scale, old) ->
          {result},
        zip(weights, biases, scales, skip)),
    zip2d(slide2d(R, 1, pad2d(P, 0.0, image)), skips))
where W = {w}, R = {r}, P = (R - 1) / 2, C = {c}, M = {m}
"""
SUM = "reduce({}, (acc, (x, w)) -> acc + x * w, zip(flatten(window), flatten(kernel)))"
BESIDE = {  # what a result needs besides its sum
    "relu({sum})": (SUM.format("bias"), 0, 1),
    "{sum} * scale + bias": (SUM.format("0.0"), 0, 2),
    "old + {sum}": (SUM.format("0.0"), 1, 0),
    "relu(old + {sum} * scale + bias)": (SUM.format("0.0"), 1, 2),
}
LAYERS = ((13, 1, 16, 6), (14, 1, 4, 16), (13, 3, 5, 6), (16, 3, 1, 32))


@pytest.mark.parametrize("shape", LAYERS, ids=str)
@pytest.mark.parametrize("result", BESIDE)
def test_what_results_need_besides_their_sums_is_in_the_volume(
    result: str, shape: tuple[int, ...]
) -> None:
    """The volume counts each element of biases, scales and skip connections once; variants move at
    most twice the volume, though a group may read an element again."""
    text, skips, vectors = BESIDE[result]
    w, r, c, m = shape
    p = parse(LAYER.format(result=result.format(sum=text), w=w, r=r, c=c, m=m))
    known, low = products(p), lower(p, forms(p, "io-optimal")[0])
    assert known is not None
    assert known.others == skips * w * w * m + vectors * m
    assert isclose(
        known.volume(64), 2 * known.count / sqrt(known.reuse * 64) + w * w * m + known.others
    )
    for point in points(low, H200, 8, 0)[1]:
        block = bind(prod(low.block or (), start=1), point)
        moved = traffic_bytes(generate(bound(low.program, point)))
        assert moved <= 2 * 4 * known.volume(known_size(block)), point


BALANCED = "x y within 4 times R z, R = {}"
SUMS = "the results of a block in {} B: 2 groups share the local memory of a core"
STAGED = "local memory {} B: 2 groups share the local memory of a core"


@pytest.mark.parametrize(
    ("text", "local_bytes", "point", "broken"),
    [
        (WIDE, 49152, (8, 8, 4, 4, 1, 4), []),
        (WIDE, 49152, (7, 4, 4, 4, 1, 4), [BALANCED.format(9)]),
        (WIDE, 49152, (14, 14, 1, 4, 1, 4), [BALANCED.format(9)]),
        (WIDE, 8192, (8, 8, 4, 4, 1, 4), []),
        (WIDE, 8190, (8, 8, 4, 4, 1, 4), [SUMS.format(4095)]),
        (STRIDED, 49152, (4, 4, 4, 8, 1, 2), []),  # x y would not be within 4 times 25 z
        (STRIDED, 49152, (14, 14, 1, 4, 1, 4), [BALANCED.format("25/4")]),
        (STRIDED, 2688, (4, 4, 2, 8, 1, 4), []),
        (STRIDED, 2686, (4, 4, 2, 8, 1, 4), [STAGED.format(1343)]),
    ],
)
def test_a_block_is_balanced_and_two_fit_on_a_core(
    text: str, local_bytes: int, point: tuple[int, ...], broken: list[str]
) -> None:
    """At each point, the constraints that fail are those with the reasons `broken`. The family's
    reasons are that x y is near R z with R = Kh Kw / μ², that x y z ≤ S_b, and that S_b ≤ S_sm / 2,
    where S_b is the results of a block and S_sm what local memory holds (Zhang et al. 2021)."""
    p = parse(text)
    low = lower(p, forms(p, "io-optimal")[0])
    system = constraints(low, replace(H200, local_bytes=local_bytes))
    at = dict(zip(("tx", "ty", "lx", "ly", "tr", "v"), point, strict=True))
    assert [c.why for c in system.constraints if not holds(c.relation, at)] == broken


def test_no_work_group_reads_what_lies_between_windows() -> None:
    """With windows of 2 × 2 at a step of 4 in planes of 13 × 13, the traffic counts 6 × 6 elements
    of each plane: those that are in a window."""
    p = parse(CONV.format(n=1, w=13, p=0, r=2, s=4, c=5, m=4))
    whole = made(p, tx=3, ty=3, lx=1, ly=3, tr=1, v=4)
    assert traffic_bytes(whole) == 4 * (5 * 6 * 6 + 4 * 5 * 4 + 3 * 3 * 4)


def test_what_is_staged_is_one_channel_of_a_patch_and_its_weights() -> None:
    p = parse(WIDE)
    low = lower(p, forms(p, "io-optimal")[0]).program
    body = bind_sizes(low.body, {"tx": 8, "ty": 4, "lx": 4, "ly": 8, "tr": 1, "v": 4})
    staged = [e for e in subterms(body) if isinstance(e, ToLocal)]
    cells = sorted(cells_of(type_of(e)) for e in staged)
    assert cells == [(8 + 2) * (4 + 2), 4 * 4 * 9]


@pytest.mark.parametrize(
    ("text", "point"),
    [
        (WIDE, {"tx": 14, "ty": 7, "lx": 4, "ly": 14, "tr": 1, "v": 4}),
        (ODD, {"tx": 4, "ty": 3, "lx": 1, "ly": 4, "tr": 2, "v": 2}),
        (MATMUL, {"tx": 8, "lx": 4, "ly": 4, "tr": 1, "v": 2}),
    ],
    ids=["wide", "odd", "matmul"],
)
@pytest.mark.parametrize("form", ["", "ahead"])
def test_it_is_proved_and_computes_the_program(
    text: str, form: str, point: dict[str, int], session: Session
) -> None:
    p = parse(text)
    found = made(p, form, **point)
    assert all(prove(kernel).ok for kernel in found.kernels)
    inputs = random_inputs(p, 1)
    result = session.build(found.plan)({name: np.asarray(x) for name, x in inputs.items()})
    assert np.array_equal(result, np.asarray(evaluate(p, inputs)))


@pytest.mark.parametrize("r", [1, 2, 3, 7])
def test_one_output_channel_is_refused(r: int) -> None:
    p = parse(CONV.format(n=1, w=13, p=0, r=r, s=1, c=5, m=1))
    with pytest.raises(Refused, match="several output channels, found one"):
        lower(p, forms(p, "io-optimal")[0])
    two = parse(CONV.format(n=1, w=13, p=0, r=2, s=1, c=5, m=2))
    assert points(lower(two, forms(two, "io-optimal")[0]), H200, 1, 0)[0].count


def test_sums_whose_operands_are_not_shared_are_refused() -> None:
    p = parse("p(xs : [[float]8]4) = map(row -> reduce(0.0, (a, x) -> a + x, row), xs)")
    with pytest.raises(Refused, match="nothing to keep on chip"):
        lower(p, forms(p, "io-optimal")[0])

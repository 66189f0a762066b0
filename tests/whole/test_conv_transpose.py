"""Tests of transposed convolutions, by the prelude and as adjoints of convolutions: they give what
`onnx.reference` does, in the cases of the onnx package and in random geometries, also on
devices."""

# key: d dimensions, x image, w weights

import os
import secrets
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.demand_proofs import proofs
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.adjoint.program import adjoint
from rewrites.families.all_families import forms
from rewrites.tuning.lower import lower
from tests.support.agreement import Case, disagreement

pytest.importorskip("onnx", reason="onnx is not installed: pip install '.[test]'")

from onnx import TensorProto, helper
from onnx.backend.test.case.node import _NodeTestCases as ONNX_CASES
from onnx.backend.test.case.node import convtranspose  # noqa: F401  (it adds its cases)
from onnx.reference import ReferenceEvaluator

SEED = os.environ.get("SEED") or secrets.token_hex(4)
CASES = {c.name: c for c in ONNX_CASES if c.name.startswith("test_convtranspose")}


@dataclass(frozen=True)
class Geometry:
    """The strides (`steps`), pads, output padding (`more`), dilations (`apart`) and groups of a
    transposed convolution in two dimensions."""

    steps: tuple[int, ...]
    pads: tuple[int, ...]  # top, bottom, left, right
    more: tuple[int, ...]
    apart: tuple[int, ...]
    groups: int

    def program(self, x: np.ndarray, w: np.ndarray) -> Program:
        """The program, by the prelude's function, of the transposed convolution of an image x by
        kernels w in the layout of `kernels`; channels come last."""
        (h, wide, c), (g, m, high, k, own) = x.shape, w.shape
        return parse(
            f"""up(const weights : [[[[[float]{own}]{k}]{high}]{m}]{g},
   image : [[[float]{c}]{wide}]{h}) =
  grouped2d((kernels, part) ->
      conv_transpose2d({self.steps}, {self.pads}, {self.more}, {self.apart}, kernels, part),
    weights, image)"""
        )

    def kernels(self, w: np.ndarray) -> np.ndarray:
        """The weights w as ONNX lays them out, [C][M/G][high][wide], laid out anew by group and
        kernel, with channels last."""
        by_group = w.reshape(self.groups, -1, *w.shape[1:])
        return np.ascontiguousarray(by_group.transpose(0, 2, 3, 4, 1))

    def found(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The interpreter's result for an image x and weights w as ONNX lays them out; its channels
        come first."""
        image, kernels = np.ascontiguousarray(x.transpose(1, 2, 0)), self.kernels(w)
        made = evaluate(self.program(image, kernels), {"image": image, "weights": kernels})
        assert isinstance(made, np.ndarray)
        return np.asarray(made.transpose(2, 0, 1))


def of_case(name: str) -> tuple[Geometry, np.ndarray, np.ndarray, np.ndarray]:
    """A case of the onnx package, with one dimension or two: its geometry, image, weights and
    result."""
    case = CASES[name]
    assert case.model is not None
    (node,) = case.model.graph.node
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert case.data_sets is not None
    ((x, w), (y,)) = case.data_sets[0]
    if x.ndim == 3:
        x, w, y = x[:, :, None], w[:, :, None], y[:, :, None]
    steps, apart, more = (
        (2 - len(found)) * [least] + list(found)
        for least, key in ((1, "strides"), (1, "dilations"), (0, "output_padding"))
        for found in [given.get(key, [least] * 2)]
    )
    sides = [
        (n - 1) * s + a * (k - 1) + 1 + m
        for n, s, a, k, m in zip(x.shape[2:], steps, apart, w.shape[2:], more, strict=True)
    ]
    lost = [n - out for n, out in zip(sides, y.shape[2:], strict=True)]  # what pads take away
    upper = given.get("auto_pad") == b"SAME_UPPER"
    first = [n // 2 if upper else n - n // 2 for n in lost]
    if "pads" in given:
        first = given["pads"][: len(given["pads"]) // 2]
    pads = [p for f, n in zip(first, lost, strict=True) for p in (f, n - f)]
    g = Geometry(tuple(steps), tuple(pads), tuple(more), tuple(apart), given.get("group", 1))
    return g, x, w, y


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"test_convtranspose_3d"}))
def test_the_case_of_onnx(name: str) -> None:
    g, x, w, y = of_case(name)
    for image, expected in zip(x, y, strict=True):
        assert np.allclose(g.found(image, w), expected, rtol=1e-6, atol=1e-6)


def test_the_case_of_onnx_in_three_dimensions_is_an_adjoint() -> None:
    case = CASES["test_convtranspose_3d"]
    assert case.data_sets is not None
    ((x, w), (y,)) = case.data_sets[0]
    _, c, *_ = x.shape
    _, m, *k = w.shape
    p = parse(
        f"""conv(weights : [[[[[float]{m}]{k[2]}]{k[1]}]{k[0]}]{c}, volume : [[[[float]{m}]a]b]d) =
  map3d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide3d(({k[0]}, {k[1]}, {k[2]}), 1, volume))
where a = {y.shape[4]}, b = {y.shape[3]}, d = {y.shape[2]}"""
    )
    back = adjoint(p, "volume")
    made = evaluate(
        back, {"weights": w.transpose(0, 2, 3, 4, 1), "cotangent": x[0].transpose(1, 2, 3, 0)}
    )
    assert isinstance(made, np.ndarray)
    assert np.allclose(made.transpose(3, 0, 1, 2), y[0], rtol=1e-6, atol=1e-6)


def drawn(r: Random) -> tuple[Geometry, np.ndarray, np.ndarray]:
    """A random geometry, with an image and weights of whole numbers as ONNX lays them out."""
    groups, k = r.choice((1, 1, 2)), (r.randint(1, 4), r.randint(1, 4))
    steps, apart = (r.randint(1, 3), r.randint(1, 3)), (r.choice((1, 1, 2)), r.choice((1, 1, 3)))
    more = tuple(map(r.randrange, steps))  # what onnx.reference allows
    sides = (r.randint(1, 5), r.randint(1, 5))
    pads = [0, 0, 0, 0]
    for d in (0, 1):
        room = (sides[d] - 1) * steps[d] + apart[d] * (k[d] - 1)
        pads[2 * d] = r.randint(0, min(2, room))
        pads[2 * d + 1] = r.randint(0, min(2, room - pads[2 * d]))
    rng = np.random.default_rng(r.randrange(1 << 16))
    x = rng.integers(-4, 5, (groups * r.randint(1, 2), *sides)).astype(np.float32)
    w = rng.integers(-4, 5, (len(x), r.randint(1, 2), *k)).astype(np.float32)
    return Geometry(steps, tuple(pads), more, apart, groups), x, w


def by_onnx(g: Geometry, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The result of `onnx.reference` for an image x and weights w, computed group by group."""
    parts = zip(np.split(x, g.groups), np.split(w, g.groups), strict=True)
    return np.asarray(np.concatenate([_by_onnx(g, *part) for part in parts]))


def _by_onnx(g: Geometry, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    top, bottom, left, right = g.pads
    node = helper.make_node(
        "ConvTranspose",
        ["x", "w"],
        ["y"],
        strides=g.steps,
        pads=[top, left, bottom, right],
        output_padding=g.more,
        dilations=g.apart,
    )
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "xw"]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "up", inputs, [out]))
    y: np.ndarray = ReferenceEvaluator(model).run(None, {"x": x[None], "w": w})[0][0]
    return y


def test_random_geometries_are_onnxs() -> None:
    for draw in range(25):
        g, x, w = drawn(Random(f"{SEED} {draw}"))
        assert np.array_equal(g.found(x, w), by_onnx(g, x, w)), f"SEED={SEED}, draw {draw}: {g}"


@pytest.mark.parametrize("family", ["naive", "registers", "blocked"])
def test_a_device_agrees(session: Session, family: str) -> None:
    g, x, w = drawn(Random(f"{SEED} {family}"))
    p = g.program(np.zeros((*x.shape[1:], len(x))), g.kernels(w))
    low = lower(p, forms(p, family)[0])
    _, (point,) = points(low, profile("cpu"), 1, 0)
    made = generate(bound(low.program, point), max_work_group=64)
    assert all(proof.ok for proof in proofs(made)), f"SEED={SEED}: {g}"
    assert disagreement(session, Case(family, p, made, low.derivation.rounding), True) is None

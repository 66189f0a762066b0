"""Tests of constants that ONNX's reference computes only in another form, or not right: they are
what a few lines of NumPy say; and what cannot be bounded before it is computed is refused."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from explore.onnx_model.fold_constants import Constants
from explore.onnx_model.read_model import read_model
from ir.errors import Unsupported, UserError
from tests.support.onnx_models import Array, model, whole

RANDOM = np.random.default_rng()
make = helper.make_node


def computed(node: Any, weights: dict[str, Array], opset: int = 18) -> Array:
    """What a node that makes the tensor `c` computes of these weights."""
    graph = read_model(model([node], {}, ["c"], weights, opset))
    constants = Constants.of(graph)
    assert constants.take(graph.nodes[0])
    return constants.arrays["c"]


def places(*ns: int) -> Array:
    return np.array(ns, np.int64)


def test_negative_amounts_of_padding_cut_off() -> None:
    x = whole(RANDOM, 4, 5)
    right = np.pad(x[1:, :3], ((0, 2), (1, 0)), constant_values=7)
    weights = {"x": x, "v": np.array(7, np.float32), "n": places(-1, 1, 2, -2)}
    np.testing.assert_array_equal(computed(make("Pad", ["x", "n", "v"], ["c"]), weights), right)
    turned = weights | {"n": places(1, -1, -2, 2), "axes": places(-1, 0)}
    node = make("Pad", ["x", "n", "v", "axes"], ["c"])
    np.testing.assert_array_equal(computed(node, turned), right)
    older = make("Pad", ["x"], ["c"], pads=[-1, 1, 2, -2], value=7.0)
    np.testing.assert_array_equal(computed(older, {"x": x}, 10), right)
    edge = make("Pad", ["x", "n"], ["c"], mode="edge")
    right = np.pad(x[1:, :3], ((0, 2), (1, 0)), mode="edge")
    np.testing.assert_array_equal(computed(edge, weights), right)
    np.testing.assert_array_equal(
        computed(make("Pad", ["n", "n"], ["c"]), {"n": places(-1, 1)}), places(1, 0)
    )


def test_the_depth_of_one_hot_may_be_an_array_of_one_number() -> None:
    weights = {"i": places(2, 0, -1), "n": places(4), "v": np.array([3, 5], np.float32)}
    found = computed(make("OneHot", ["i", "n", "v"], ["c"]), weights)
    np.testing.assert_array_equal(found, np.where(np.eye(4)[[2, 0, 3]], 5, 3))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_gathered_along_long_axes(axis: int) -> None:
    x, shape = whole(RANDOM, 40, 35), (7, 9)
    at = RANDOM.integers(-35, 35, shape)
    found = computed(make("GatherElements", ["x", "at"], ["c"], axis=axis), {"x": x, "at": at})
    right = [[x[at[i, j], j] if axis == 0 else x[i, at[i, j]] for j in range(9)] for i in range(7)]
    np.testing.assert_array_equal(found, right)


def test_an_einsum_of_several_factors_is_computed() -> None:
    a, b, v = whole(RANDOM, 3, 4), whole(RANDOM, 4, 5), whole(RANDOM, 3)
    weights = {"a": a, "b": b, "v": v}
    found = computed(make("Einsum", ["a", "b", "v"], ["c"], equation="ij , jk, i -> k"), weights)
    np.testing.assert_array_equal(found, v @ a @ b)
    found = computed(make("Einsum", ["b", "a"], ["c"], equation="jk,ij"), weights)
    np.testing.assert_array_equal(found, a @ b)  # letters of the result are in order: ik
    found = computed(
        make("Einsum", ["s", "b"], ["c"], equation="...ij,jk"), weights | {"s": a[None]}
    )
    np.testing.assert_array_equal(found, (a @ b)[None])


def test_a_layer_normalisation_of_constants_is_computed() -> None:
    x, s, b = whole(RANDOM, 3, 4, 5), whole(RANDOM, 5), whole(RANDOM, 4, 5)
    node = make("LayerNormalization", ["x", "s", "b"], ["c"], axis=1, epsilon=0.5)
    found = computed(node, {"x": x, "s": s, "b": b})
    mean, variance = (f(x, axis=(1, 2), keepdims=True) for f in (np.mean, np.var))
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(variance + 0.5) * s + b, 1e-5, 1e-5)


LONG = {n: np.ones((1 << 13, 4), np.float32) for n in "xy"}
REFUSED: dict[str, tuple[Any, dict[str, Array], str]] = {
    "a large sum of products": (
        make("Einsum", ["x", "y"], ["c"], equation="ia,jb->ia"),
        {n: np.ones((1 << 15, 4), np.float32) for n in "xy"},
        "s to compute constants",
    ),
    "a large product": (
        make("Einsum", ["x", "y"], ["c"], equation="ia,jb->iajb"), LONG, "bytes of constants"
    ),
    "many factors": (
        make("Einsum", ["x"] * 5, ["c"], equation="ab,ab,ab,ab,ab->"), LONG, "at most 4 factors"
    ),
    "no equation": (make("Einsum", ["x"], ["c"], equation="a.b->a"), LONG, "an equation of"),
    "a factor too few": (make("Einsum", ["x", "y"], ["c"], equation="ab"), LONG, "for 2"),
    "an ellipsis of a large product": (
        make("Einsum", ["x", "y"], ["c"], equation="a...,b...->ab..."), LONG, "bytes of constants"
    ),
    "an equation of other axes": (
        make("Einsum", ["x"], ["c"], equation="abc->a"), LONG, "a letter for each axis"
    ),
    "a letter from nowhere": (
        make("Einsum", ["x"], ["c"], equation="ab->z"), LONG, "letters of its factors"
    ),
    "a scale of many rows": (
        make("LayerNormalization", ["x", "s"], ["c"]),
        {"x": np.ones((1, 1 << 16), np.float32), "s": np.ones((1 << 16, 1), np.float32)},
        "can be repeated",
    ),
    "halves": (
        make("LayerNormalization", ["x", "s"], ["c"]),
        {n: np.ones(3, np.float16) for n in "xs"},
        "floats of 32 or 64",
    ),
    "places beyond": (
        make("GatherElements", ["x", "at"], ["c"]), {**LONG, "at": places(1 << 20)[:, None]},
        "cannot be computed",
    ),
    "places of more columns": (
        make("GatherElements", ["x", "at"], ["c"]), {**LONG, "at": np.zeros((1, 5), np.int64)},
        "for a part of",
    ),
    "batches that differ": (
        make("GatherND", ["x", "at"], ["c"], batch_dims=1),
        {**LONG, "at": np.zeros((1 << 12, 2), np.int64)},
        "agree in their first 1 sizes",
    ),
    "many places": (
        make("GatherND", ["x", "at"], ["c"]), {**LONG, "at": np.zeros((1 << 21, 1), np.int64)},
        "s to compute constants",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_large_or_does_not_fit_is_refused_before_it_is_computed(case: str) -> None:
    node, weights, words = REFUSED[case]
    node.name = "bad"
    with pytest.raises((UserError, Unsupported), match=f"{node.op_type} 'bad'.*{words}"):
        computed(node, weights)

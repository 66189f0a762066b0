"""Tests of programs unlike the examples, lowered by `naive` and run on a device: they give NumPy's
results."""

# key: x a b inputs, w weights

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.meaning.inputs import random_inputs
from ir.parse import parse
from tests.support.agreement import arrays

Array = np.ndarray


def windows(x: Array, size: int, step: int = 1) -> Array:
    return sliding_window_view(x, size, axis=0)[::step]


PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "slide drop": (
        """
        f(xs : [float]10) = slide(3, 4, xs)
        """,
        lambda xs: windows(xs, 3, 4),
    ),
    "join slide": (
        """
        f(xs : [float]9) = map(x -> x * 2, join(slide(3, 2, xs)))
        """,
        lambda xs: 2 * windows(xs, 3, 2).ravel(),
    ),
    "3d permute": (
        """
        f(xs : [[[float]2]3]4) = transpose(map(transpose, xs))
        """,
        lambda xs: xs.transpose(2, 0, 1),
    ),
    "pad of pad": (
        """
        f(xs : [float]5) = pad(1, 2, 1.0, pad(2, 1, 3.0, xs))
        """,
        lambda xs: np.pad(np.pad(xs, (2, 1), constant_values=3), (1, 2), constant_values=1),
    ),
    "crop pad": (
        """
        f(xs : [float]8) = pad(-1, -1, 0.0, pad(2, 2, 5.0, xs))
        """,
        lambda xs: np.pad(xs, 2, constant_values=5)[1:-1],
    ),
    "pad clamp slide": (
        """
        f(xs : [float]8) = map(w -> maximum(w), slide(3, 2, pad_clamp(1, 1, xs)))
        """,
        lambda xs: windows(np.pad(xs, 1, mode="edge"), 3, 2).max(1),
    ),
    "pad wrap 2d": (
        """
        f(xs : [[float]5]4) = pad_wrap(1, 2, map(r -> pad_wrap(2, 1, r), xs))
        """,
        lambda xs: np.pad(xs, ((1, 2), (2, 1)), mode="wrap"),
    ),
    "pad rows": (
        """
        f(xs : [[float]3]4, r : [float]3) = pad(1, 1, r, xs)
        """,
        lambda xs, r: np.vstack([r, xs, r]),
    ),
    "pad computed": (
        """
        f(xs : [float]6, c : float) = map(x -> x + 1, pad(1, 1, c * 2, xs))
        """,
        lambda xs, c: np.pad(xs, 1, constant_values=2 * c) + 1,
    ),
    "concat 2d": (
        """
        f(a : [[float]3]2, b : [[float]2]2) = map((x, y) -> concat(x, y), zip(a, b))
        """,
        lambda a, b: np.hstack([a, b]),
    ),
    "affine perm": (
        """
        f(xs : [float]7) = map(x -> x + 1, reorder(i -> (3 * i + 2) % 7, xs))
        """,
        lambda xs: xs[(3 * np.arange(7) + 2) % 7] + 1,
    ),
    "butterfly": (
        """
        f(xs : [float]8) = map(p -> at(0, p) - at(1, p), split(2, reorder(i -> i / 2 + i % 2 *
          4, xs)))
        """,
        lambda xs: xs[:4] - xs[4:],
    ),
    "slide zip": (
        """
        f(a : [float]8, b : [float]8) = map(w -> sum(map((x, y) -> x * y, w)), slide(3, 2,
          zip(a, b)))
        """,
        lambda a, b: windows(a * b, 3, 2).sum(1),
    ),
    "minmax": (
        """
        f(xs : [[float]6]3) = map(r -> reduce((0.0, 0.0), ((lo, hi), x) -> (min(lo, x), max(hi,
          x)), r), xs)
        """,
        lambda xs: (np.minimum(xs.min(1), 0), np.maximum(xs.max(1), 0)),
    ),
    "mean var": (
        """
        f(xs : [[float]4]3) = map(r -> let (s, q) = reduce((0.0, 0.0), ((s, q), x) -> (s + x, q
          + x * x), r) q / 4 - (s / 4) * (s / 4), xs)
        """,
        lambda xs: (xs**2).mean(1) - xs.mean(1) ** 2,
    ),
    "reduce array": (
        """
        f(xs : [[float]4]5) = reduce(generate(4, i -> 0.0), (acc, r) -> map((a, x) -> a + x,
          zip(acc, r)), xs)
        """,
        lambda xs: xs.sum(0),
    ),
    "matvec power": (
        """
        f(a : [[float]3]3, x : [float]3) = reduce(x, (v, i) -> map(r -> dot(r, v), a),
          generate(3, i -> i))
        """,
        lambda a, x: a @ a @ a @ x,
    ),
    "mat chain": (
        """
        f(a : [[float]4]3, b : [[float]2]4, c : [[float]5]2) = let ab = map(r -> map(k -> dot(r,
          k), transpose(b)), a) map(r -> map(k -> dot(r, k), transpose(c)), ab)
        """,
        lambda a, b, c: a @ b @ c,
    ),
    "batched mm": (
        """
        f(a : [[[float]4]3]2, b : [[[float]5]4]2) = map((x, y) -> map(r -> map(c -> dot(r, c),
          transpose(y)), x), zip(a, b))
        """,
        lambda a, b: a @ b,
    ),
    "diag by reorder": (
        """
        f(a : [[float]4]4) = map(r -> at(0, r), split(5, pad(0, 4, 0.0, join(a))))
        """,
        lambda a: np.diag(a),
    ),
    "prefix sum by mask": (
        """
        f(xs : [float]6) = map(i -> sum(map((x, j) -> x * max(0, min(1, i - j + 1)), zip(xs,
          generate(6, j -> j)))), generate(6, i -> i))
        """,
        np.cumsum,
    ),
    "histogram": (
        """
        f(xs : [int]20) = map(b -> reduce(0, (s, x) -> s + (1 - min(1, abs(x - b + 3))), xs),
          generate(7, b -> b))
        """,
        lambda xs: np.array([(xs == b - 3).sum() for b in range(7)]),
    ),
    "grouped 1x1": (
        """
        f(w : [[[float]2]3]2, x : [[float]4]5) = map(px -> join(map((k, c) -> map(r -> dot(r,
          c), k), zip(w, split(2, px)))), x)
        """,
        lambda w, x: np.einsum("gok,pgk->pgo", w, x.reshape(5, 2, 2)).reshape(5, 6),
    ),
    "depthwise": (
        """
        f(w : [[[float]3]3]2, x : [[[float]6]5]2) = map((k, plane) -> map2d(win ->
          dot(flatten(win), flatten(k)), slide2d(3, 1, pad2d(1, 0.0, plane))), zip(w, x))
        """,
        lambda w, x: np.stack(
            [
                np.einsum("ijkl,kl->ij", sliding_window_view(np.pad(x[c], 1), (3, 3)), w[c])
                for c in range(2)
            ]
        ),
    ),
    "dilated 1d": (
        """
        f(w : [float]3, x : [float]12) = map(win -> dot(join(slide(1, 2, win)), w), slide(5, 1,
          x))
        """,
        lambda w, x: np.stack([x[i : i + 5 : 2] @ w for i in range(8)]),
    ),
    "upsample zeros": (
        """
        f(w : [float]3, x : [float]4) = map(win -> dot(win, w), slide(3, 1, pad(2, 1, 0.0,
          join(map(v -> pad(0, 1, 0.0, v), split(1, x))))))
        """,
        lambda w, x: np.correlate(np.pad(np.kron(x, [1, 0]), (2, 1)), w, "valid"),
    ),
    "windows of upsampled rows": (
        """
        f(xs : [[float]6]3) = transpose(map(x -> slide(3, 1, pad(2, 1, 0.0, join(map(v -> pad(0, 1,
          0.0, v), split(1, x))))), xs))
        """,
        lambda xs: sliding_window_view(
            np.pad(np.kron(xs, [1, 0]), ((0, 0), (2, 1))), 3, axis=1
        ).transpose(1, 0, 2),
    ),
    "upsample 2d": (
        """
        f(x : [[float]3]2) = join(map(r -> pad_clamp(0, 1, r), split(1, map(r -> join(map(v ->
          pad_clamp(0, 1, v), split(1, r))), x))))
        """,
        lambda x: x.repeat(2, 0).repeat(2, 1),
    ),
    "softmax": (
        """
        f(xs : [[float]5]3) = map(r -> let m = maximum(r) let es = map(x -> exp(x - m), r) let s
          = sum(es) map(e -> e / s, es), xs)
        """,
        lambda xs: (
            np.exp(xs - xs.max(1, keepdims=True))
            / np.exp(xs - xs.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    ),
    "layernorm": (
        """
        f(xs : [[float]4]3) = map(r -> let m = sum(r) / 4 let v = sum(map(x -> (x - m) * (x -
          m), r)) / 4 map(x -> (x - m) / sqrt(v + 1), r), xs)
        """,
        lambda xs: (xs - xs.mean(1, keepdims=True)) / np.sqrt(xs.var(1, keepdims=True) + 1),
    ),
    "attention": (
        """
        f(q : [[float]4]3, k : [[float]4]5, v : [[float]2]5) = map(row -> let s = map(c ->
          dot(row, c), k) map(col -> dot(s, col), transpose(v)), q)
        """,
        lambda q, k, v: (q @ k.T) @ v,
    ),
    "jacobi stored": (
        """
        step(x) = map(w -> sum(w), slide(3, 1, pad(1, 1, 0.0, x)))
        f(xs : [float]8) = step(store(step(store(step(xs)))))
        """,
        lambda xs: (lambda s: s(s(s(xs))))(lambda y: windows(np.pad(y, 1), 3).sum(1)),
    ),
    "store pairs": (
        """
        f(xs : [float]8) = let t = store(map(x -> (x, x * 2), xs)) map((a, b) -> a - b,
          reorder(i -> 7 - i, t))
        """,
        lambda xs: -xs[::-1],
    ),
    "store of structs of rows": (
        """
        f(xs : [[float]4]3) = let t = store(map(r -> (r, sum(r)), xs)) map((r, s) -> map(v -> v
          * s, r), t)
        """,
        lambda xs: xs * xs.sum(1, keepdims=True),
    ),
    "wavelet": (
        """
        f(xs : [float]8) = let ps = split(2, xs) concat(map(p -> at(0, p) + at(1, p), ps), map(p
          -> at(0, p) - at(1, p), ps))
        """,
        lambda xs: np.concatenate([xs[::2] + xs[1::2], xs[::2] - xs[1::2]]),
    ),
    "median3": (
        """
        f(xs : [float]8) = map(w -> max(min(at(0, w), at(1, w)), min(max(at(0, w), at(1, w)),
          at(2, w))), slide(3, 1, xs))
        """,
        lambda xs: np.median(windows(xs, 3), 1),
    ),
    "game of life ish": (
        """
        f(x : [[int]6]5) = map2d(w -> sum(flatten(w)) - at(1, at(1, w)) * 2, slide2d(3, 1,
          pad2d_wrap(1, x)))
        """,
        lambda x: sliding_window_view(np.pad(x, 1, mode="wrap"), (3, 3)).sum((-1, -2)) - 2 * x,
    ),
    "conv3d tiny": (
        """
        f(w : [[[float]2]2]2, x : [[[float]4]4]3) = map3d(win -> dot(flatten(win), flatten(w)),
          slide3d(2, 1, x))
        """,
        lambda w, x: np.einsum("abcijk,ijk->abc", sliding_window_view(x, (2, 2, 2)), w),
    ),
    "winograd 1d": (
        """
        f(x : [float]8, g : [float]3) = join(map(d -> let m1 = (at(0, d) - at(2, d)) * at(0, g)
          let m2 = (at(1, d) + at(2, d)) * (at(0, g) + at(1, g) + at(2, g)) / 2 let m3 = (at(2,
          d) - at(1, d)) * (at(0, g) - at(1, g) + at(2, g)) / 2 let m4 = (at(1, d) - at(3, d)) *
          at(2, g) concat(generate(1, i -> m1 + m2 + m3), generate(1, i -> m2 - m3 - m4)),
          slide(4, 2, x)))
        """,
        lambda x, g: windows(x, 3) @ g,
    ),
    "im2col mm": (
        """
        f(w : [[float]9]2, x : [[float]5]5) = let cols = store(join(map(r -> map(win ->
          flatten(win), r), slide2d(3, 1, x)))) map(k -> map(c -> dot(k, c), cols), w)
        """,
        lambda w, x: w @ sliding_window_view(x, (3, 3)).reshape(9, 9).T,
    ),
    "two outputs conv": (
        """
        f(w : [float]3, x : [float]8) =
         let s = slide(3, 1, x)
         (map(a -> dot(a, w), s), map(a -> maximum(a), s))
        """,
        lambda w, x: (windows(x, 3) @ w, windows(x, 3).max(1)),
    ),
    "reduce pairs of arrays": (
        """
        f(xs : [[float]3]4) = reduce((generate(3, i -> 0.0), generate(3, i -> 1.0)), ((s, p), r)
          -> (map((a, x) -> a + x, zip(s, r)), map((a, x) -> a * x, zip(p, r))), xs)
        """,
        lambda xs: (xs.sum(0), xs.prod(0)),
    ),
    "fibonacci": (
        """
        f(x : float) = (reduce((0.0, 1.0), ((a, b), i) -> (b, a + b), generate(10, i -> i))).0 +
          x
        """,
        lambda x: 55 + x,
    ),
    "split of slide": (
        """
        f(xs : [float]14) = map(ws -> sum(map(w -> maximum(w), ws)), split(4, slide(3, 1, xs)))
        """,
        lambda xs: windows(xs, 3).max(1).reshape(3, 4).sum(1),
    ),
    "slide rows and columns": (
        """
        f(x : [[float]7]6) = map(rows -> map(cols -> sum(flatten(transpose(cols))), slide(3, 2,
          transpose(rows))), slide(2, 1, x))
        """,
        lambda x: sliding_window_view(x, (2, 3))[:, ::2].sum((-1, -2)),
    ),
    "conv bn relu": (
        """
        f(w : [[[[float]2]3]3]2, g : [float]2, b : [float]2, x : [[[float]2]5]4) = map2d(win ->
          map((k, s, t) -> relu(dot(flatten(win), flatten(k)) * s + t), zip(w, g, b)),
          slide2d(3, 1, pad2d(1, 0.0, x)))
        """,
        lambda w, g, b, x: np.maximum(
            0,
            np.einsum(
                "hwcij,oijc->hwo",
                sliding_window_view(np.pad(x, ((1, 1), (1, 1), (0, 0))), (3, 3), axis=(0, 1)),
                w,
            )
            * g
            + b,
        ),
    ),
    "conv then pool": (
        """
        f(w : [[float]3]3, x : [[float]8]8) = map2d(q -> maximum(flatten(q)), slide2d(2, 2,
          map2d(win -> dot(flatten(win), flatten(w)), slide2d(3, 1, x))))
        """,
        lambda w, x: (
            np.einsum("hwij,ij->hw", sliding_window_view(x, (3, 3)), w)
            .reshape(3, 2, 3, 2)
            .max((1, 3))
        ),
    ),
    "separable": (
        """
        f(a : [float]3, b : [float]3, x : [[float]6]5) = map(r -> map(w -> dot(w, b), slide(3,
          1, r)), store(transpose(map(c -> map(w -> dot(w, a), slide(3, 1, c)), transpose(x)))))
        """,
        lambda a, b, x: np.einsum("hwij,i,j->hw", sliding_window_view(x, (3, 3)), a, b),
    ),
    "shuffle channels": (
        """
        f(x : [[float]6]4) = map(px -> join(transpose(split(3, px))), x)
        """,
        lambda x: x.reshape(4, 2, 3).transpose(0, 2, 1).reshape(4, 6),
    ),
    "uneven strides": (
        """
        f(x : [[float]9]8) = map2d(w -> sum(flatten(w)), slide2d((3, 2), (2, 3), x))
        """,
        lambda x: sliding_window_view(x, (3, 2))[::2, ::3].sum((-1, -2)),
    ),
    "const table 2d": (
        """
        f(x : [float]2) = map(r -> dot(r, x), [[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]])
        """,
        lambda x: np.array([[1, 2], [3, 4], [0.5, 0.25]]) @ x,
    ),
    "acc of rows": (
        """
        f(xs : [[float]3]4) = reduce(generate(2, i -> generate(3, j -> 0.0)), (acc, r) ->
          transpose(map((c, x) -> map(v -> v + x, c), zip(transpose(acc), r))), xs)
        """,
        lambda xs: np.tile(xs.sum(0), (2, 1)),
    ),
    "doubling lets": (
        """
        f(x : [float]3) = let x1 = map((v, u) -> v + u, zip(x, x))
        let x2 = map((v, u) -> v + u, zip(x1, x1))
        let x3 = map((v, u) -> v + u, zip(x2, x2))
        let x4 = map((v, u) -> v + u, zip(x3, x3))
        let x5 = map((v, u) -> v + u, zip(x4, x4))
        let x6 = map((v, u) -> v + u, zip(x5, x5))
        let x7 = map((v, u) -> v + u, zip(x6, x6))
        let x8 = map((v, u) -> v + u, zip(x7, x7))
        let x9 = map((v, u) -> v + u, zip(x8, x8))
        let x10 = map((v, u) -> v + u, zip(x9, x9))
        let x11 = map((v, u) -> v + u, zip(x10, x10))
        let x12 = map((v, u) -> v + u, zip(x11, x11))
        x12
        """,
        lambda x: x * 4096,
    ),
    "let in reduce": (
        """
        f(x : [[float]4]3) = reduce(0.0, (s, r) -> let m = maximum(r) let d = map(v -> v - m, r)
          s + sum(d), x)
        """,
        lambda x: (x - x.max(1, keepdims=True)).sum(),
    ),
    "mirror windows": (
        """
        f(xs : [float]9) = join(map(w -> pad_mirror(1, 1, w), split(3, xs)))
        """,
        lambda xs: np.pad(xs.reshape(3, 3), ((0, 0), (1, 1)), mode="symmetric").ravel(),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unusual_program_gives_what_numpy_gives(session: Session, name: str) -> None:
    text, numpy = PROGRAMS[name]
    program = parse(text)
    inputs = random_inputs(program, 3)
    made = generate(lowering(program, "naive").program)
    demand_proofs(made)
    found = arrays(session.build(made.plan, checking=True)(inputs))
    expected = arrays(numpy(*[np.asarray(x).astype(np.float64) for x in inputs.values()]))
    for out, meant in zip(found, expected, strict=True):
        assert out.shape == meant.shape
        if (meant == np.round(meant)).all():
            assert np.array_equal(out, meant)
        else:
            np.testing.assert_allclose(out, meant, rtol=1e-5, atol=1e-5)

"""Tests that the prelude's transposed convolutions in one, two and three dimensions, also with
groups, give what a few lines of NumPy do."""

import os
import secrets
from random import Random

import numpy as np
import pytest

from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from tests.support.structures import array

SEED = os.environ.get("SEED") or secrets.token_hex(4)
Sides = tuple[int, ...]


def scattered(
    x: np.ndarray, w: np.ndarray, steps: Sides, pads: Sides, more: Sides, apart: Sides
) -> np.ndarray:
    """The transposed convolution, in NumPy, of the image x [sides][c] by the kernels w
    [m][sides][c]: each pixel times each kernel is added where the pixel's window is. Per dimension:
    windows are `steps` apart and taps `apart`, `more` places are added at the end, and `pads`
    cropped at both ends."""
    d = len(steps)
    spans = [a * (k - 1) + 1 for a, k in zip(apart, w.shape[1:], strict=False)]
    whole = [
        (n - 1) * s + span + o for n, s, span, o in zip(x.shape, steps, spans, more, strict=False)
    ]
    out = np.zeros((*whole, len(w)))
    for place in np.ndindex(*x.shape[:d]):
        for tap in np.ndindex(*w.shape[1:-1]):
            at = tuple(p * s + t * a for p, s, t, a in zip(place, steps, tap, apart, strict=True))
            out[at] += w[(slice(None), *tap)] @ x[place]
    cut = [slice(pads[2 * i], whole[i] - pads[2 * i + 1]) for i in range(d)]
    return np.asarray(out[tuple(cut)])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_transposed_convolution_adds_up_kernels(d: int) -> None:
    for draw in range(6):
        r = Random(f"{SEED} {d} {draw}")
        steps, apart = (tuple(r.randint(1, most) for _ in range(d)) for most in (4, 3))
        more = tuple(map(r.randrange, steps))
        pads = tuple(r.randrange(2) for _ in range(2 * d))
        groups, m, c = r.randint(1, 2), r.randint(1, 2), r.randint(1, 2)
        at, k = (tuple(r.randint(low, 3) for _ in range(d)) for low in (2, 2))
        rng = np.random.default_rng(r.randrange(1 << 16))
        x = rng.integers(-4, 5, (*at, groups * c)).astype(float)
        w = rng.integers(-4, 5, (groups, m, *k, c)).astype(float)
        each = ", ".join(str(n[0]) if len(n) == 1 else str(n) for n in (steps, pads, more, apart))
        p = parse(
            f"up(w : {array('float', *w.shape)}, x : {array('float', *x.shape)}) =\n"
            f"  grouped{d}d((k, part) -> conv_transpose{d}d({each}, k, part), w, x)"
        )
        parts = np.split(x, groups, axis=-1)
        expected = [scattered(*own, steps, pads, more, apart) for own in zip(parts, w, strict=True)]
        found = evaluate(p, {"w": w, "x": x})
        assert np.array_equal(np.asarray(found), np.concatenate(expected, -1)), f"SEED={SEED} {p}"
        assert parse(show(p)) == p


def test_pixels_are_repeated_each_way() -> None:
    x = np.random.default_rng().normal(size=(3, 2, 4))
    p = parse("f(x : [[[float]4]2]3) = repeat2d((2, 3), x)")
    assert np.array_equal(np.asarray(evaluate(p, {"x": x})), x.repeat(2, 0).repeat(3, 1))

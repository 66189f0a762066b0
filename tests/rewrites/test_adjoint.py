"""Tests that adjoints satisfy ⟨A x, y⟩ = ⟨x, A* y⟩ in whole numbers: those of every operation, of
random terms, and of the examples; those of convolutions are compared with a few lines of NumPy.
Each run draws other terms. A failure prints its seed; `SEED=… pytest
tests/rewrites/test_adjoint.py` draws the same again."""

import os
import secrets
from random import Random

import numpy as np
import pytest

from ir.core.nodes import Program
from ir.core.types import Array
from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from rewrites.__main__ import main
from rewrites.adjoint.program import adjoint, gradient
from rewrites.engine.refused import Refused
from tests.support.agreement import EXAMPLES, SMALL, example
from tests.support.inner_products import apart, inner_product, less, taken
from tests.support.random_terms import Terms
from tests.support.structures import STRUCTURES, drawn

SEED = os.environ.get("SEED") or secrets.token_hex(4)
TERMS = 80

OPERATIONS = {
    "map": "map(x -> 3.0 * x, xs)",
    "slide": "slide(3, 2, xs)",
    "slides that leave gaps": "slide(2, 3, xs)",
    "windows of windows": "slide(2, 2, slide(3, 1, xs))",
    "split": "split(4, xs)",
    "join": "join(slide(3, 1, xs))",
    "transpose": "transpose(split(4, xs))",
    "reorder": "reorder(stride(3), xs)",
    "reversed": "reorder(i -> 11 - i, xs)",
    "shuffled": "reorder(i -> (5 * i + 2) % 12, xs)",
    "zip": "zip(xs, ys)",
    "tuples": "map((x, y) -> (y, x + y), zip(xs, ys))",
    "concat": "concat(xs, concat(ys, xs))",
    "a choice by place": "map((x, i) -> select(i < 5, x, 2.0 * x), zip(xs, generate(12, i -> i)))",
    "a choice by data": "map((x, y) -> select(y > 1.0, x, -x), zip(xs, ys))",
    "at": "(at(3, xs), at(0, xs))",
    "let": "let s = map(x -> x + x, xs)\n  zip(s, reorder(i -> 11 - i, s))",
    "a sum": "reduce(2.0, (acc, x) -> acc + x, xs)",
    "a sum of rows": "let rows = split(4, xs)\n  reduce(at(0, split(4, ys)),"
    " (acc, row) -> map((a, b) -> a + b, zip(acc, row)), rows)",
    "sums in a sum": "reduce(0.0, (acc, r) -> reduce(acc, (a, x) -> a + 2.0 * x, r), split(4, xs))",
    "one element for all": "generate(5, i -> at(2, xs))",
    "an index as a factor": "generate(5, i -> i * at(2, xs))",
    "halves": "map(x -> half(x), xs)",
    "pad": "pad(2, 1, 7.0, xs)",
    "crop": "pad(-2, -1, 0.0, xs)",
    "crop and pad": "pad(3, -5, 0.0, xs)",
    "pads of a pad": "slide(3, 1, pad(1, 2, 0.0, pad(2, 0, 0.0, map(x -> 2.0 * x, xs))))",
    "pad around windows": "pad(1, 1, 0.0, slide(3, 2, xs))",
    "pad_clamp": "pad_clamp(3, 2, xs)",
    "pad_mirror": "pad_mirror(3, 2, xs)",
    "pad_wrap": "pad_wrap(30, 2, xs)",
    "windows of a clamped edge": "slide(3, 2, pad_clamp(2, 1, xs))",
    "a diagonal": "map(i -> i, join(slide(1, 5, join(split(4, xs)))))",
    "products": "map((x, y) -> (x - 1.0) * (2.0 - y), zip(xs, map(y -> y * y, ys)))",
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_adjoint_of_an_operation(name: str) -> None:
    p = parse(f"f(xs : [float]12, ys : [float]12) =\n  {OPERATIONS[name]}", name)
    expect_adjoint(p, "xs", Random(SEED))


def expect_adjoint(p: Program, name: str, r: Random) -> None:
    """Assert that the adjoint A* of p in its parameter `name` satisfies ⟨A x, y⟩ = ⟨x, A* y⟩ for
    random x and y, and that its printed text is parsed as the same program."""
    made = adjoint(p, name)
    assert apart(p, name, made, r) == 0, f"SEED={SEED}\n{show(p)}\n{show(made)}"
    assert parse(show(made)) == made


def test_adjoints_of_random_terms() -> None:
    right = 0
    for draw in range(TERMS):
        g = Terms(Random(f"{SEED} {draw}"))
        p = g.program(g.array(Array(g.type(1), g.size()), depth=3))
        for param in p.params:
            right += is_adjoint(p, param.var.name)
    assert right > TERMS / 2


def is_adjoint(p: Program, name: str) -> bool:
    """True if the adjoint of p in its parameter `name` is right; False if the adjoint is refused
    because p is not linear in that parameter. A wrong adjoint, or a refusal for another reason,
    fails the test."""
    try:
        adjoint(p, name)
    except Refused as refused:
        if "expected a program that is linear" not in str(refused):
            raise
        return False
    expect_adjoint(p, name, Random(SEED))
    return True


@pytest.mark.parametrize("structure", STRUCTURES)
def test_adjoints_of_random_programs_of(structure: str) -> None:
    for draw in range(2):
        p = drawn(structure, Random(f"{SEED} {structure} {draw}"))
        for param in p.params:
            is_adjoint(p, param.var.name)


@pytest.mark.parametrize("name", sorted(SMALL.keys() - {"qlinear_conv", "tflite_conv"}))
def test_adjoints_of_the_example(name: str) -> None:
    p = example(name, SMALL[name])
    for param in p.params:
        is_adjoint(p, param.var.name)


# ---- against NumPy

LAYER = """
conv(weights : [[[[float](C / G)]K]L](M / G * G), image : [[[float]C]W]H) =
  let windows = slide2d(({dy} * (L - 1) + 1, {dx} * (K - 1) + 1), ({sy}, {sx}),
                        pad2d(({t}, {b}, {l}, {r}), 0.0, image))
  map2d(window ->
      join(map((part, kernels) ->
          map(kernel -> dot(flatten(part), flatten(kernel)), kernels),
        zip(transpose(map(p -> split(C / G, p), join(dilate2d(({dy}, {dx}), window)))),
            split(M / G, weights)))),
    windows)
where H = {h}, W = {w}, C = {c}, K = {k}, L = {L}, M = {m}, G = {g}
"""


def geometry(r: Random) -> dict[str, int]:
    """The sizes of a random convolution, by name: sides of the image and the kernel, and for each
    dimension a stride, a dilation and paddings."""
    g, found = r.choice((1, 1, 2, 3)), {name: r.randint(1, 3) for name in ("k", "L", "sy", "sx")}
    found |= {"dy": r.choice((1, 1, 2, 3)), "dx": r.choice((1, 1, 2)), "g": g}
    found |= {side: r.randint(0, 2) for side in "tblr"}
    found |= {"c": g * r.randint(1, 2), "m": g * r.randint(1, 2)}
    high = found["dy"] * (found["L"] - 1) + 1 + r.randint(0, 5)
    wide = found["dx"] * (found["k"] - 1) + 1 + r.randint(0, 5)
    return found | {"h": high, "w": wide}


def by_numpy(n: dict[str, int], w: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The cotangent of a convolution's image, in NumPy: each number of y, the cotangent of the
    results, is multiplied by its kernel of w and added to the pixels of its window; n has the
    sizes."""
    high, wide = n["h"] + n["t"] + n["b"], n["w"] + n["l"] + n["r"]
    x, own, made = np.zeros((high, wide, n["c"])), n["c"] // n["g"], n["m"] // n["g"]
    for i, j, m in np.ndindex(*y.shape):
        for a, b in np.ndindex(n["L"], n["k"]):
            at, first = (i * n["sy"] + a * n["dy"], j * n["sx"] + b * n["dx"]), m // made * own
            x[at][first : first + own] += y[i, j, m] * w[m, a, b]
    return x[n["t"] : high - n["b"], n["l"] : wide - n["r"]]


def test_data_gradients_of_random_convolutions_are_numpys() -> None:
    for draw in range(15):
        r = Random(f"{SEED} {draw}")
        n = geometry(r)
        p = parse(LAYER.format(**n))
        rng = np.random.default_rng(r.randrange(1 << 16))
        w = rng.integers(-4, 5, (n["m"], n["L"], n["k"], n["c"] // n["g"])).astype(float)
        x = rng.integers(-4, 5, (n["h"], n["w"], n["c"])).astype(float)
        made = evaluate(p, {"weights": w, "image": x})
        assert isinstance(made, np.ndarray)
        y = rng.integers(-4, 5, made.shape).astype(float)
        back = adjoint(p, "image")
        found = evaluate(back, taken(back, {"weights": w, "image": x}, y))
        assert np.array_equal(found, by_numpy(n, w, y)), f"SEED={SEED}, draw {draw}: {n}"
        expect_adjoint(p, "weights", r)


# ---- gradients


@pytest.mark.parametrize(
    "f",
    [
        "exp(x) * y",
        "tanh(x - y)",
        "sqrt(x * x + 1.0)",
        "log(x * x + 2.0) / (y * y + 1.0)",
        "max(x, y) - min(2.0 * x, y)",
        "abs(x) + relu(y - x)",
        "sinpi(x) * cospi(y)",
        "select(x > y, x * x * y, exp(y) - x)",
        "leaky_relu(0.25, x - y) * (1 + (y > 0.0))",
        "-x / (3.0 + y * y)",
    ],
)
def test_gradients_are_limits_of_differences(f: str) -> None:
    p = parse(f"f(xs : [float]6, ys : [float]6) = map((x, y) -> {f}, zip(xs, ys))")
    expect_gradient(p)


@pytest.mark.parametrize("name", ["quickstart", "softmax", "maxpool", "attention", "stencil5"])
def test_gradients_of_the_example(name: str) -> None:
    expect_gradient(example(name, SMALL[name]))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_gradients_of_a_random_program_of(structure: str) -> None:
    expect_gradient(drawn(structure, Random(f"{SEED} {structure}")))


def expect_gradient(p: Program) -> None:
    """Assert for each parameter of p that its gradient predicts how the result changes when the
    parameter moves in a random direction, as differences of p's values show."""
    rng = np.random.default_rng(int(SEED, 16) if SEED.isalnum() else 0)
    inputs = {q.var.name: rng.normal(size=shape(q.var.type)) for q in p.params}
    made = evaluate(p, inputs)
    assert isinstance(made, np.ndarray)
    y = rng.normal(size=made.shape)
    for name, x in inputs.items():
        d, back = rng.normal(size=x.shape) * 1e-5, gradient(p, name)
        more, fewer = (evaluate(p, {**inputs, name: x + s * d}) for s in (1, -1))
        slope = inner_product(less(more, fewer), y)
        found = evaluate(back, taken(back, dict(inputs), y))
        assert 2 * inner_product(found, d) == pytest.approx(slope, rel=1e-4, abs=1e-9), SEED


def shape(t: object) -> tuple[int, ...]:
    if not isinstance(t, Array):
        return ()
    assert isinstance(t.size, int)
    return (t.size, *shape(t.elem))


# ---- refusals and the command


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("map(x -> exp(x), xs)", "expected a program that is linear in xs, found exp of a value"),
        (
            "map((x, y) -> x * y, zip(xs, xs))",
            "expected a program that is linear in xs, found * of a value",
        ),
        ("map(x -> 1.0 / x, xs)", "expected a program that is linear in xs, found / of a value"),
        ("maximum(xs)", "expected a program that is linear in xs, found max of a value"),
        (
            "reduce(1.0, (acc, x) -> acc * x, xs)",
            "expected a program that is linear in xs, found * of a value",
        ),
        ("reduce(0.0, (acc, x) -> 0.5 * acc + x, xs)", "expected a sum"),
        ("map(x -> int(x), xs)", "found int"),
    ],
)
def test_what_has_no_adjoint_is_refused_at_its_node(body: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        adjoint(parse(f"f(xs : [float]5) = {body}"), "xs")
    assert words in str(refused.value)


def test_the_command_prints_an_adjoint(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLES / "conv1x1.lift")
    assert main([file, "--adjoint", "image", "--set", "C=6"]) == 0
    assert "cotangent" in capsys.readouterr().out
    assert main([file, "--gradient", "weights"]) == 0
    assert main([str(EXAMPLES / "quickstart.lift"), "--adjoint", "image"]) == 1
    assert "linear in image" in capsys.readouterr().err


def test_a_parameter_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="did you mean `image`"):
        adjoint(example("conv2d", SMALL["conv2d"]), "imag")

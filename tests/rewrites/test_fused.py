"""Tests of the family `fused`: a chain of kernels that becomes one kernel is right, and stores
nothing between its parts."""

from random import Random

import numpy as np
import pytest

from codegen.compile import Generated, generate
from codegen.runtime.session import Session, choose, open_device
from codegen.text_proof.prove_text import prove_texts
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import form_named, forms
from rewrites.tuning.lower import lower

CPU = profile("cpu")
PRELUDE = """
pointwise(weights, image) = map2d(p -> map(row -> relu(dot(p, row)), weights), image)
depthwise(kernels, s, image) =
  map2d(w -> map((c, k) -> dot(c, flatten(k)), zip(transpose(join(w)), kernels)),
    slide2d(3, s, image))
convolution(kernels, s, image) =
  map2d(w -> map(k -> dot(flatten(w), flatten(k)), kernels), slide2d(3, s, image))
pool(n, s, image) =
  map2d(w -> map(c -> maximum(c), transpose(join(w))), slide2d(n, s, image))
rim(p, image) = pad2d(p, 1.0, image)
"""
LAYERS = {  # what each does to `x`, an image of C channels; its constant's type; channels it gives
    "pointwise": ("pointwise({w}, x)", "[[float]{c}]{m}", True),
    "depthwise": ("depthwise({w}, {s}, rim({p}, x))", "[[[float]3]3]{c}", False),
    "convolution": ("convolution({w}, {s}, rim({p}, x))", "[[[[float]{c}]3]3]{m}", True),
    "pool": ("pool({n}, {s}, x)", None, False),
}


def chained(kinds: tuple[str, ...], seed: int) -> Program:
    """A program of layers of these kinds, one after the other, with sizes, steps and padding drawn
    with `seed`."""
    g = Random(f"{kinds} {seed}")
    c = g.randint(1, 5)
    h, w = g.randint(9, 13), g.randint(9, 13)
    constants, lines, image = [], [], f"image : [[[float]{c}]{w}]{h}"
    for i, kind in enumerate(kinds):
        call, t, widens = LAYERS[kind]
        m = g.randint(1, 6)
        given = {"c": c, "m": m, "w": f"w{i}", "s": g.choice((1, 1, 2)), "p": g.choice((0, 1))}
        lines.append("let x = " + call.format(**given, n=g.choice((2, 3))))
        constants += [f"const w{i} : {t.format(**given)}"] if t else []
        c = m if widens else c
    text = "\n  ".join(
        line.replace("x)", "image)" if i == 0 else "x)") for i, line in enumerate(lines)
    )
    body = text.rsplit("let x = ", 1)
    return parse(f"{PRELUDE}\nchain({', '.join((*constants, image))}) =\n  {body[0]}{body[1]}")


@pytest.fixture(scope="module")
def session() -> Session:
    return open_device(choose(None))


CHAINS = [
    ("depthwise", "pointwise"),
    ("pointwise", "depthwise"),
    ("convolution", "pool"),
    ("pool", "convolution"),
    ("convolution", "convolution"),
    ("depthwise", "depthwise"),
    ("pointwise", "depthwise", "pointwise"),
    ("convolution", "pool", "pointwise"),
    ("pointwise", "convolution", "depthwise", "pointwise"),
]  # fmt: skip
WORDS = ("", "relaid", "joined", "relaid joined")


def runs(session: Session, p: Program, words: str, seed: int) -> Generated:
    """The code of p by the form of `fused` that is named `words`, at a point drawn with `seed`,
    after asserting that it is proved and gives the interpreter's results on whole numbers."""
    low = lower(p, form_named(p, "fused", words))
    _, (point,) = points(low, CPU, 1, seed)
    made = generate(bound(low.program, point), max_work_group=1024)
    assert all(proof.ok for proof in prove_texts(made.plan)), point
    inputs = random_inputs(p, seed, integers=True)
    out = np.asarray(session.build(made.plan, checking=True)(inputs))
    assert np.array_equal(out, np.asarray(evaluate(p, inputs))), (words, point)
    return made


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("kinds", CHAINS, ids=" ".join)
def test_chains_are_right(session: Session, kinds: tuple[str, ...], words: str) -> None:
    p = chained(kinds, WORDS.index(words))
    if "joined" in words and kinds[-1] != "pointwise":
        with pytest.raises(Refused, match="windows of what another kernel makes overlap"):
            lower(p, form_named(p, "fused", words))
    elif "relaid" not in words or any(kind not in ("pool", "depthwise") for kind in kinds):
        runs(session, p, words, WORDS.index(words))


@pytest.mark.parametrize(
    ("kinds", "words"),
    [(CHAINS[0], ""), (CHAINS[0], "joined"), (CHAINS[2], ""), (CHAINS[6], "joined")],
)
def test_nothing_is_stored(session: Session, kinds: tuple[str, ...], words: str) -> None:
    """The plan has one kernel and no temporaries, and needs no bytes but those of inputs, constants
    and the result."""
    made = runs(session, chained(kinds, 7), words, 7)
    assert len(made.plan.kernels) == 1
    assert made.plan.workspace_bytes == 0
    assert made.plan.memory_bytes == sum(b.bytes for b in made.plan.buffers)


def test_one_kernel_alone_is_refused() -> None:
    p = chained(("convolution",), 0)
    with pytest.raises(Refused, match="no other kernel makes an operand"):
        lower(p, form_named(p, "fused", ""))


@pytest.mark.parametrize("family", ["fused", "lift"])
def test_what_is_compared_for_equality_is_not_made_twice(family: str) -> None:
    """Families that may make a convolution twice refuse a count of the elements that equal the
    largest: numbers made twice might be rounded in two ways, and be unequal."""
    p = parse("""
counted(const weights : [[[[float]3]3]3]4, image : [[[float]3]12]10) =
  let x = map2d(w -> map(k -> dot(flatten(w), flatten(k)), weights), slide2d(3, 1, image))
  map2d(w -> map(c -> (
      let best = maximum(c)
      reduce(0.0, (n, y) -> n + select(y == best, 1.0, 0.0), c)), transpose(join(w))),
    slide2d(2, 2, x))
""")
    for form in forms(p, family):
        with pytest.raises(Refused, match="compared for equality"):
            lower(p, form)


def test_what_every_tile_reads_whole_is_refused() -> None:
    p = parse("""
weighted(rows : [[float]6]8, xs : [[float]5]6) =
  let sums = map(x -> sum(x), xs)
  map(row -> dot(row, sums), rows)
""")
    with pytest.raises(Refused, match="found that each tile reads all of it"):
        lower(p, form_named(p, "fused", ""))

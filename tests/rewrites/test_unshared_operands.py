"""Tests of programs in which results share no operand: `blocked` and `lift` lower them too, and are
right."""

from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.proof.prove import prove
from codegen.runtime.session import Session, choose, open_device
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.meaning_check import means_the_same
from rewrites.engine.small_sizes import small_values
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.rewrites.test_strategies import PROGRAMS

MEANS = """
means(xs : [[[float]N]M]B) = map2d(row -> sum(row) / N, xs)
where N = 12, M = 5, B = 2"""
COLUMNS = """
largest(xs : [[float]N]M) = map(column -> reduce(-inf, max, column), transpose(xs))
where N = 7, M = 8"""
MOVING = """
averages(xs : [float]N) = map(window -> sum(window) / 4, slide(4, 1, xs))
where N = 35"""
PLANES = """
pool(image : [[[float]W]H]C) =
  map(plane -> map2d(window -> maximum(flatten(window)), slide2d(2, 2, plane)), image)
where C = 3, W = 8, H = 6"""
LOCAL = """
conv(const kernels : [[[[float]3]3]W]H, image : [[float](W + 2)](H + 2)) =
  map2d((window, kernel) -> dot(flatten(window), flatten(kernel)),
    zip2d(slide2d(3, 1, image), kernels))
where W = 6, H = 4"""
ONE_KERNEL = """
conv(const weights : [[[[float]4]3]3]1, image : [[[float]4]9]8) =
  map2d(window -> map(kernel -> dot(flatten(window), flatten(kernel)), weights),
    slide2d(3, 1, image))"""

UNSHARED = {
    "means of rows": MEANS,
    "largest of columns": COLUMNS,
    "moving averages": MOVING,
    "pooling of planes": PLANES,
    "a kernel for each window": LOCAL,
    "one kernel": ONE_KERNEL,
} | {name: PROGRAMS[name] for name in ("pooling", "depthwise", "blur", "fully connected")}


@pytest.fixture(scope="module")
def session() -> Session:
    return open_device(choose(None))


def tried(p: Program, family: str, word: str = "") -> list[Form]:
    """Two forms of a family for p whose names have `word`, without stored views: the plainest of
    them, and a random one."""
    apart = {"padded", "planes", "im2win", "mec", "im2col", "sliced", "along", "relaid"} - {word}
    every = [f for f in forms(p, family) if not apart & set(f.name.split()) and word in f.name]
    return [every[0], Random(f"{family} {p.name}").choice(every[1:])]


def right(session: Session, p: Program, made: Lowering) -> bool:
    """True if at a legal point of `made` the device gives exactly the interpreter's results;
    asserts that the kernels are proved."""
    _, (point, *_) = points(made, profile("cpu"), 1, 0)
    code = generate(bound(made.program, point))
    assert all(prove(kernel).ok for kernel in code.kernels), (made.form, point)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    found = session.build(code.plan, checking=True)(inputs)
    return bool(np.allclose(found, np.asarray(evaluate(p, inputs)), rtol=1e-6, atol=0))


@pytest.mark.parametrize("family", ["blocked", "lift"])
@pytest.mark.parametrize("name", UNSHARED)
def test_what_shares_nothing_is_made_in_groups(session: Session, name: str, family: str) -> None:
    p = parse(UNSHARED[name], name)
    for form in tried(p, family):
        made = lower(p, form)
        values = small_values([made.program.body], Random(1))
        assert values is not None
        assert means_the_same(p, made.program.body, values, 1), form.name
        assert right(session, p, made), form.name


@pytest.mark.parametrize(("family", "word"), [("blocked", "split"), ("lift", "stored-sums")])
def test_one_sum_is_made_of_parts_that_are_stored(session: Session, family: str, word: str) -> None:
    p = parse("product(xs : [float]N, ys : [float]N) = dot(xs, ys)\nwhere N = 96")
    for form in tried(p, family, word):
        assert right(session, p, lower(p, form)), form.name


def test_a_side_of_one_element_takes_no_parameters() -> None:
    def parameters(text: str, family: str, form: str = "") -> set[str]:
        p = parse(text)
        found = next(f for f in forms(p, family) if f.name == form)
        return set(lower(p, found).program.free)

    assert parameters(MEANS, "blocked") == {"lx", "tr", "v", "k", "ly", "tc"}  # M beside B
    assert parameters(COLUMNS, "blocked") == {"lx", "tr", "v", "k"}
    assert parameters(COLUMNS, "blocked", "flipped") == {"ly", "tc", "k"}
    assert parameters(MOVING, "lift") == {"theta", "rho", "sigma", "omega"}
    assert parameters(ONE_KERNEL, "blocked") == {"ly", "tc", "k"}

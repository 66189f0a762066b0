"""Tests that programs with several sums, or written in unusual ways, are lowered by `blocked` and
other families, and are right."""

# key: r c rows, w weights, xs ys inputs

from contextlib import suppress
from random import Random

import numpy as np
import pytest

from codegen.compile import generate
from codegen.plan import Role
from codegen.proof.prove import prove
from codegen.runtime.session import Session
from constraints.devices import profile
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower

SIZES = "where C = 4, M = 6, H = 7, W = 6, K = 3, N = 2"
HELPERS = """
conv(w, x) = map2d(win -> map(k -> dot(flatten(win), flatten(k)), w), slide2d(K, 1, x))
pool(x) = map2d(win -> map(c -> maximum(c), transpose(join(win))), slide2d(2, 2, x))
"""
WEIGHTS, IMAGE = "const w : [[[[float]C]K]K]M", "image : [[[float]C]W]H"
ROWS = "xs : [[float]8]6, const ys : [[float]8]5"

PROGRAMS = {
    "two convolutions added": f"""
f({WEIGHTS}, const v : [[float]C]M, {IMAGE}) =
  map2d((win, px) -> map((k, l) -> relu(dot(flatten(win), flatten(k)) + dot(px, l)), zip(w, v)),
    zip2d(slide2d(K, 1, pad2d(1, 0.0, image)), image))
{SIZES}""",
    "channels of two convolutions": f"""
f({WEIGHTS}, const v : [[float]C]M, {IMAGE}) =
  map2d((win, px) -> concat(map(k -> dot(flatten(win), flatten(k)), w),
      map(l -> dot(px, l), v), px),
    zip2d(slide2d(K, 1, pad2d(1, 0.0, image)), image))
{SIZES}""",
    "pooled before, in a batch": f"""
{HELPERS}
f({WEIGHTS}, images : [[[[float]C]W]H]N) = map(x -> conv(w, pool(pad2d(1, 0.0, x))), images)
{SIZES}""",
    "two layers, in a batch": f"""
{HELPERS}
f({WEIGHTS}, const v : [[[[float]M]K]K]C, images : [[[[float]C]W]H]N) =
  map(x -> let h = conv(w, x) conv(v, h), images)
{SIZES}""",
    "products of centred rows": f"""
f({ROWS}) = map(r -> map(c -> let m = sum(r) / 8.0 let n = sum(c) / 8.0
  reduce(0.0, (acc, (x, y)) -> acc + (x - m) * (y - n), zip(r, c)), ys), xs)""",
    "products by norms": f"""
f({ROWS}) = map(r -> map(c -> dot(r, c) / (1.0 + dot(r, r) + dot(c, c)), ys), xs)""",
    "attention without its exponentials": """
f(q : [[float]D]N, k : [[float]D]N, v : [[float]D]N) =
  map(r -> let s = map(c -> dot(r, c), k) map(c -> dot(s, c), transpose(v)), q)
where N = 6, D = 4""",
    "rows rectified under a name": f"""
f({ROWS}) = map(r -> let q = map(relu, r) map(c -> dot(q, c), ys), xs)""",
    "polynomials at points": """
f(xs : [[float]4]6, ys : [float]7) =
  map(r -> map(y -> reduce(0.0, (acc, c) -> acc * y + c, r), ys), xs)""",
    "a form for each pair": """
f(xs : [[float]4]6, ys : [[float]4]5, d : [[float]4]4) =
  map(r -> map(c -> reduce(0.0, (acc, (x, e)) -> acc + x * dot(e, c), zip(r, d)), ys), xs)""",
    "two products a step": """
f(a : [[float]8]6, b : [[float]8]6, c : [[float]8]5, d : [[float]8]5) =
  map((p, q) -> map((r, s) -> reduce(0.0, (acc, (x, y, z, u)) -> acc + x * y + z * u,
    zip(p, r, q, s)), zip(c, d)), zip(a, b))""",
    "whole numbers of halves' scale": """
f(a : [[int]8]6, const b : [[int]8]5, const scale : [float]5) =
  map(r -> map((c, s) -> s * dot(r, c), zip(b, scale)), a)""",
}
ALONE = {
    "a mean and a maximum": "f(xs : [[float]8]6) = map(r -> sum(r) / 8.0 + maximum(r), xs)",
    "deviations": """
f(xs : [[float]8]6) = map(r -> let m = sum(r) / 8.0 map(x -> x - m, r), xs)""",
    "variances": """
f(xs : [[float]8]6) = map(r -> let m = sum(r) / 8.0
  reduce(0.0, (acc, x) -> acc + (x - m) * (x - m), r), xs)""",
    "a sum that is the same for all": """
f(xs : [[float]8]6, ys : [float]5) = map(r -> map(y -> sum(r) + y, ys), xs)""",
}


def runs(session: Session, p: Program, family: str, form: Form) -> bool:
    """True if a form, at a legal point, gives on the device what the interpreter gives; asserts
    that its kernels are proved."""
    lowering = lower(p, form)
    _, (point, *_) = points(lowering, profile("cpu"), 1, 0)
    made = generate(bound(lowering.program, point))
    assert all(prove(kernel).ok for kernel in made.kernels), (form.name, point)
    inputs = {name: np.asarray(x) for name, x in random_inputs(p, 1).items()}
    found = session.build(made.plan, checking=True)(inputs)
    return bool(np.allclose(found, np.asarray(evaluate(p, inputs)), rtol=1e-5, atol=1e-5))


@pytest.mark.parametrize("family", ["blocked", "registers"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_make_it(session: Session, name: str, family: str) -> None:
    p = parse(PROGRAMS[name], name)
    first, *others = forms(p, family)
    assert runs(session, p, family, first)
    for form in Random(name + family).sample(others, 6):
        with suppress(Refused):
            assert runs(session, p, family, form), form.name
            break


@pytest.mark.parametrize("family", ["blocked", "lift", "registers"])
@pytest.mark.parametrize("name", ALONE)
def test_sums_that_share_nothing_are_made_too(session: Session, name: str, family: str) -> None:
    p = parse(ALONE[name], name)
    assert runs(session, p, family, forms(p, family)[0])


def test_a_sum_is_stored_over_the_dimensions_that_it_depends_on(session: Session) -> None:
    p = parse(PROGRAMS["products by norms"])
    made = lower(p, forms(p, "registers")[0])
    _, (point, *_) = points(made, profile("cpu"), 1, 0)
    plan = generate(bound(made.program, point)).plan
    stored = {b.role: b.bytes // 4 for b in plan.buffers if b.role in (Role.TEMPORARY, Role.PACKED)}
    assert stored == {Role.TEMPORARY: 6, Role.PACKED: 5}  # norms of rows, of constant columns


def test_windows_of_sums_are_stored_once_each() -> None:
    p = parse(PROGRAMS["pooled before, in a batch"])
    made = lower(p, forms(p, "registers")[0])
    _, (point, *_) = points(made, profile("cpu"), 1, 0)
    plan = generate(bound(made.program, point)).plan
    stored = [b.bytes // 4 for b in plan.buffers if b.role is Role.TEMPORARY]
    assert stored == [2 * 4 * 4 * 4]  # 2 images of 4 x 4 pixels of 4 channels

"""Tests of dependence analysis: the elements that are said to be read are those whose change
changes a result, and products are counted right."""

from random import Random

import numpy as np
import pytest

from ir.core.nodes import Program
from ir.dependence.masks import EVERY, NONE, Mask, anywhere, both, count, either, everywhere, line
from ir.dependence.needed_elements import dependence
from ir.meaning.inputs import cells_of, shape_of
from ir.meaning.interpret import evaluate
from ir.meaning.named_axes import Axis, Named
from ir.parse import parse
from tests.support.networks import network
from tests.support.structures import STRUCTURES, drawn

MOST = 200  # elements of inputs that are changed, one after the other


def changing(p: Program) -> dict[str, int]:
    """For each input of p, by name, the number of its elements that matter: p's result changes if
    that element alone becomes about 1000 times as large as the others.

    No input is negative, so that no change is hidden by a maximum with 0.
    """
    rng = np.random.default_rng(1)
    shapes = {x.var.name: shape_of(x.var.type) for x in p.params}
    given = {name: rng.uniform(0.5, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    before = np.asarray(evaluate(p, given))
    found = dict.fromkeys(given, 0)
    for name, data in given.items():
        for i in range(data.size):
            other = data.copy()
            other.reshape(-1)[i] = 1000.0
            after = np.asarray(evaluate(p, {**given, name: other}))
            found[name] += not np.array_equal(before, after)
    return found


def small(p: Program) -> bool:
    return sum(cells_of(x.var.type) for x in p.params) <= MOST


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_changes_a_result_is_read(structure: str) -> None:
    for seed in range(3):
        p = drawn(structure, Random(seed))
        if small(p):
            assert dependence(p).read == changing(p)


@pytest.mark.no_cover
def test_what_changes_a_result_of_layers_is_read() -> None:
    """For random networks, the number of elements of an input that are reported as read is the
    number of those that change a result when they are changed. For a constant, 0 may be reported
    instead."""
    exact = 0
    for seed in range(30):
        p = network(seed)
        if not small(p):
            continue
        found, wanted = dependence(p).read, changing(p)
        for x in p.params:
            name = x.var.name
            assert found[name] == wanted[name] or (x.const and found[name] == 0), (seed, name)
        exact += found == wanted
    assert exact > 15


CONV = """
f(const w : [[float]{k}]{k}, image : [[float]{n}]{n}) =
  map2d(window -> dot(flatten(window), flatten(w)), slide2d({k}, {s}, pad2d({p}, 0.0, image)))
"""


@pytest.mark.parametrize(
    ("n", "k", "s", "p"), [(1, 3, 1, 1), (5, 3, 2, 2), (4, 5, 1, 3), (6, 2, 4, 0)]
)
def test_products_are_those_of_ones_that_are_not_zero(n: int, k: int, s: int, p: int) -> None:
    program = parse(CONV.format(n=n, k=k, s=s, p=p))
    ones = {"w": np.ones((k, k)), "image": np.ones((n, n))}
    sums = np.asarray(evaluate(program, ones))
    found = dependence(program)
    assert found.products == sums.sum()
    assert found.whole_sums == (sums == k * k).sum()


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("map(x -> x * 0.0, xs)", 0),
        ("map((x, t) -> x * t, zip(xs, [1.0, 0.0, 2.0, 1.0 - 1.0]))", 2),
        ("map((x, i) -> x * i, zip(xs, generate(4, i -> i)))", 3),
        ("map(x -> 0.0 / x, xs)", 0),
        ("map((x, i) -> select(x > 0.0, i, 7), zip(xs, generate(4, i -> i)))", 4),
        ("map((x, i) -> select(i > 1, x, 0.0), zip(xs, generate(4, i -> i)))", 0),
        ("map((x, y) -> x, zip(xs, reorder(stride(2), xs)))", 4),
        ("map(x -> x + at(1, xs), pad(-2, 0, 0.0, xs))", 3),
        ("concat(pad(-1, 0, 0.0, xs), pad(-3, 2, 0.0, xs))", 3),
        ("pad_mirror(-3, 2, xs)", 2),
        ("map(w -> reduce(-inf, (a, x) -> max(a, x), w), slide(1, 3, xs))", 2),
        ("map(x -> reduce(1.0, (a, y) -> a * y, xs), xs)", 0),  # not understood
        ("map(x -> reduce(0.0, (a, y) -> y, xs), xs)", 0),  # nor this
        ("let ys = map(x -> x + 1.0, xs)\n map((y, z) -> y * z, zip(ys, pad(-2, 2, 0.0, ys)))", 4),
        ("map(r -> sum(r), reduce([[0.0]], (a, x) -> map(r -> map(c -> c + x, r), a), xs))", 4),
    ],
)
def test_zeros_and_views(body: str, read: int) -> None:
    assert dependence(parse(f"f(xs : [float]4) = {body}")).read == {"xs": read}


def test_what_may_be_prepared_from_constants_is_not_said_to_be_read() -> None:
    text = "f(const a : [float]4, {} b : [float]4, xs : [float]4) = {}"
    product = "map((x, y, z) -> x * (y * z), zip(xs, a, b))"
    assert dependence(parse(text.format("const", product))).read == {"a": 0, "b": 0, "xs": 4}
    assert dependence(parse(text.format("", product))).read == {"a": 4, "b": 4, "xs": 4}
    one = "map((x, c) -> x * c * dot(a, b), zip(xs, b))"
    assert dependence(parse(text.format("const", one))).read == {"a": 0, "b": 4, "xs": 4}
    assert dependence(parse(text.format("const", "map(x -> map(y -> x * y, b), a)"))).products == 0


def test_masks_are_as_many_as_their_elements() -> None:
    """Counts and operations of masks, which are stored as factors over some axes, agree with those
    of arrays over all axes."""
    rng = np.random.default_rng(2)
    axes = tuple(map(Axis, (2, 3, 4)))
    for _ in range(100):
        a, b = (Mask(tuple(_factor(rng, axes) for _ in range(rng.integers(3)))) for _ in range(2))
        x, y = whole(a, axes), whole(b, axes)
        assert count(a, axes) == x.sum()
        assert np.array_equal(whole(both(a, b), axes), x & y)
        assert np.array_equal(whole(either(a, b), axes), x | y)
        assert np.array_equal(whole(anywhere(a, axes[1:2]), axes)[:, 0], x.any(1))
        assert np.array_equal(whole(everywhere(a, axes[:1]), axes)[0], x.all(0))
    assert whole(EVERY, axes).all()
    assert not whole(NONE, axes).any()


def _factor(rng: np.random.Generator, axes: tuple[Axis, ...]) -> Named:
    some = tuple(axis for axis in axes if rng.random() < 0.6)
    return Named(rng.random([axis.size for axis in some]) < 0.7, some)


def whole(m: Mask, axes: tuple[Axis, ...]) -> np.ndarray:
    found = np.ones([axis.size for axis in axes], bool)
    for f in m.factors:
        places = [f.axes.index(axis) for axis in axes if axis in f.axes]
        kept = tuple(slice(None) if axis in f.axes else None for axis in axes)
        found &= np.asarray(f.data).transpose(places)[kept]
    return found


def test_masks_too_large_to_tell_apart_have_fewer_elements() -> None:
    axes = tuple(Axis(300) for _ in range(4))
    some = [line(np.arange(300) < 100 + 50 * i, axis) for i, axis in enumerate(axes)]
    found = either(both(*some[:2]), both(*some[2:]))
    assert count(found, axes) == count(both(*some[2:]), axes)

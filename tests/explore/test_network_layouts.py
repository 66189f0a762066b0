"""Tests of the layouts of tensors between layers: any of them mean the same, and the choice among
them is exact."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from onnx import helper

from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_graph.arranged_layers import arranged, copies_of
from explore.network_graph.interpret_network import interpreted
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layer, Layers, layers_of
from explore.networks.network import Network
from explore.onnx_model.read_model import read_model
from explore.run.target import target_of
from tests.support.onnx_models import Array, classifier, expected, model, whole

Found = tuple[object, Layers, Options]


@pytest.fixture(scope="module")
def small(device: Device, session: Session) -> Found:
    """A convolution whose result two pools read, and the concatenation of theirs."""
    random, make = np.random.default_rng(), helper.make_node
    nodes = [
        make("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        make("MaxPool", ["c"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        make("AveragePool", ["c"], ["b"], kernel_shape=[1, 1]),
        make("Concat", ["a", "b"], ["d"], axis=1),
        make("Relu", ["d"], ["y"]),
    ]
    weights = {"w": whole(random, 4, 2, 3, 3)}
    made = model(nodes, {"x": [1, 2, 8, 8]}, ["y"], weights)
    layers = layers_in_layouts(read_model(made))
    target = target_of(device, None, ())
    return made, layers, estimated(layers, target, session, lambda number, options: None)


def mismatched(ways: Sequence[Layer], layers: Layers) -> set[str] | None:
    """The tensors that some layer reads in another layout than that in which they are made; None if
    the makers of one tensor do not agree."""
    made = dict.fromkeys(layers.inputs, False)
    for way in ways:
        if made.setdefault(way.output, way.layouts.get(way.output, False)) != way.layouts.get(
            way.output, False
        ):
            return None
    read = [(t, last) for way in ways for t, last in way.layouts.items() if t != way.output]
    return {t for t, last in read if made[t] != last}


def test_layers_mean_the_same_in_any_layouts() -> None:
    random = np.random.default_rng()
    made, x = classifier(random), whole(random, 1, 3, 9, 7)
    layers = layers_in_layouts(read_model(made))
    (right,) = expected(made, {"x": x})
    met = set[bool]()
    for _ in range(6):
        ways = [layer.ways[random.integers(len(layer.ways))] for layer in layers.layers]
        copied = mismatched(ways, layers)
        assert copied is not None
        several = arranged(layers, ways, sorted(copied))
        assert len(copies_of(several)) == len(copied)
        np.testing.assert_array_equal(interpreted(several, {"x": x})["y"], right)
        met |= {t.last for t in several.tensors.values()}
    assert met == {False, True}


def test_the_usual_layouts_are_those_of_a_network_without_others() -> None:
    graph = read_model(classifier(np.random.default_rng()))
    both, usual = layers_in_layouts(graph), layers_of(graph)
    assert both.texts[: len(usual.texts)] == usual.texts
    assert [x.program for x in both.layers] == [x.program for x in usual.layers]
    again = arranged(both, both.layers, ())
    assert {n: t.last for n, t in again.tensors.items()} == {
        n: t.last for n, t in usual.tensors.items()
    }


def drawn(options: Options, random: np.random.Generator) -> Options:
    """The options, a single one of each program, with random times."""
    return [[replace(each[0], time_ns=float(random.integers(1, 20)))] for each in options]


def every_choice(chooser: Chooser) -> list[tuple[float, int]]:
    """The time and the bytes of each choice of offers, with the copies that it needs."""
    found = []
    for ways in product(*chooser.offers):
        copied = mismatched([x.way for x in ways], chooser.layers)
        if copied is None:
            continue
        numbers = [list(each).index(x) for each, x in zip(chooser.offers, ways, strict=True)]
        made = arranged(chooser.layers, [x.way for x in ways], sorted(copied))
        lasts = {name: made.tensors[name].last for name in copied}
        copies = {t: chooser.programme.changes[t, not last][0] for t, last in lasts.items()}
        choice = chooser._choice_of(numbers, copies)
        found.append((choice.time_ns, choice.memory_bytes))
    return found


def test_the_choice_of_layouts_is_the_best_of_all(small: Found) -> None:
    _, layers, options = small
    random = np.random.default_rng()
    chooser = Chooser.of(layers, drawn(options, random))
    every = every_choice(chooser)
    assert chooser.fastest().time_ns == min(time for time, _ in every)
    assert chooser.least().memory_bytes == min(size for _, size in every)
    for budget in sorted({size for _, size in every}):
        choice = chooser.within(budget)
        best = min(time for time, size in every if size <= budget)
        assert choice.memory_bytes <= budget
        assert best <= choice.time_ns
        assert choice.time_ns * (1 - choice.gap) <= best * (1 + 1e-9)
        assert choice.gap > 0 or choice.time_ns == pytest.approx(best)


def ran(choice: Choice, session: Session, x: Array) -> Array:
    net = Network.of(choice.layers, choice.options, session, checking=True)
    return np.asarray(net(x))


def test_a_layer_that_is_fastest_in_another_layout_gets_a_copy_and_runs(
    small: Found, session: Session
) -> None:
    made, layers, options = small
    x = whole(np.random.default_rng(), 1, 2, 8, 8)
    (right,) = expected(made, {"x": x})
    fast = {
        way.program
        for layer in layers.layers
        for way in layer.ways
        if "c" not in dict(way.tensors).values()
        or way.layouts == {"c": False, "a": True}
        or way.layouts == {"c": True, "b": True}
    }
    fast |= {*layers.changes.values()}
    slow = [
        [replace(o, time_ns=2.0 if n in fast else 1e3) for o in each[:1]]
        for n, each in enumerate(options)
    ]
    fastest = Chooser.of(layers, slow).fastest()
    assert len(copies_of(fastest.layers)) == 1
    np.testing.assert_array_equal(ran(fastest, session, x), right)
    least = Chooser.of(layers, slow).least()
    np.testing.assert_array_equal(ran(least, session, x), right)
    net = Network.of(least.layers, least.options, session)
    net(x)
    assert net.built.allocated_bytes == least.memory_bytes
    assert set(net.trace(x)) <= {"c", "a", "b", "d", "y"}

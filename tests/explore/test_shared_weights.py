"""Tests of weights that several layers read: a network keeps them once if the layers keep them in
the same form, and the choice counts them so."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import helper

from codegen.plan import Plan, Role
from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import assembled
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layers, layers_of
from explore.networks.network import Network
from explore.networks.network_tables import memory_lines
from explore.onnx_model.read_model import read_model
from explore.run.target import target_of
from tests.support.onnx_models import Array, expected, model, whole
from tests.support.packed_ahead import packed_ahead

RANDOM = np.random.default_rng()
make = helper.make_node
X = (1, 32, 4, 4)


def three() -> Any:
    """A model of three convolutions of one size, the first two of which read the same weights."""
    nodes = [make("Conv", [x, w], [y]) for x, w, y in ("xwa", "awb", "bvy")]
    weights = {name: whole(RANDOM, 32, 32, 1, 1) for name in "wv"}
    return model(nodes, {"x": X}, ["y"], weights)


@pytest.fixture(scope="module")
def found(device: Device, session: Session) -> tuple[Any, Layers, Options]:
    made = three()
    layers = layers_of(read_model(made))
    target = target_of(device, None, ())
    return made, layers, estimated(layers, target, session, lambda number, options: None)


def kept(plan: Plan) -> list[int]:
    """The bytes of each array that a plan keeps for good."""
    read = {name for k in plan.kernels if not k.prepack for name in k.arguments}
    return [
        b.bytes
        for b in plan.buffers
        if b.role is Role.PACKED or (b.role is Role.CONST and b.name in read)
    ]


def right(made: Any, x: Array) -> Array:
    return expected(made, {"x": x})[0]


def test_weights_that_layers_keep_in_the_same_form_are_kept_once(
    found: tuple[Any, Layers, Options], session: Session
) -> None:
    made, layers, options = found
    numbers = [set(layer.contents.values()) for layer in layers.layers]
    assert numbers[0] == numbers[1] != numbers[2]
    choice = Chooser.of(layers, options).least()
    saved = sum(o.kept_bytes for o in choice.options) - choice.kept_bytes
    assert saved > 0
    assert sum(kept(choice.plan.plan)) == choice.kept_bytes
    assert f"{saved:,} bytes of weights less" in "\n".join(memory_lines(choice))
    x = whole(RANDOM, *X)
    for checking in (True, False):
        net = Network.of(choice.layers, choice.options, session, checking=checking)
        np.testing.assert_array_equal(net(x), right(made, x))
        assert net.trace(x).keys() == {"a", "b", "y"}
    assert net.built.allocated_bytes == net.memory_bytes == choice.memory_bytes
    built = packed_ahead(choice, session)
    np.testing.assert_array_equal(built({choice.plan.tensors["x"]: x}), net(x))
    assert built.allocated_bytes == choice.memory_bytes


def test_packing_kernels_of_shared_weights_run_once(
    found: tuple[Any, Layers, Options], session: Session
) -> None:
    made, layers, options = found
    packs = [[o for o in each if any(k.prepack for k in o.plan.kernels)] for each in options]
    if not all(packs):
        pytest.skip("no option of this device packs the weights")
    chosen = [packs[layer.program][0] for layer in layers.layers]
    plan = assembled(layers, chosen).plan
    each = packs[0][0].plan
    assert sum(k.prepack for k in plan.kernels) == 2 * sum(k.prepack for k in each.kernels)
    packed, once = ([b for b in p.buffers if b.role is Role.PACKED] for p in (plan, each))
    assert len(packed) == 2 * len(once)
    x = whole(RANDOM, *X)
    net = Network.of(layers, chosen, session)
    np.testing.assert_array_equal(net(x), right(made, x))
    assert net.built.allocated_bytes == net.memory_bytes


def drawn(options: Options) -> list[list[Option]]:
    """The options of each program, and another one of each, with random times; the other differs in
    its text, so that it keeps another form."""
    found = []
    for each in options:
        plan = each[0].plan
        kernels = tuple(replace(k, text=f"// other\n{k.text}") for k in plan.kernels)
        others = [each[0], replace(each[0], plan=replace(plan, kernels=kernels))]
        found.append([replace(o, time_ns=float(RANDOM.integers(1, 50))) for o in others])
    return found


def test_a_pair_of_options_that_share_is_cheaper_together(
    found: tuple[Any, Layers, Options],
) -> None:
    _, layers, options = found
    chooser = Chooser.of(layers, drawn(options))
    every = list(product(*chooser.options))
    costs = [(sum(o.time_ns for o in c), chooser.bytes_of(c)) for c in every]
    assert chooser.least().memory_bytes == min(size for _, size in costs)
    for budget in sorted({size for _, size in costs}):
        choice = chooser.within(budget)
        assert choice.memory_bytes <= budget
        assert choice.gap == 0
        assert choice.time_ns == min(time for time, size in costs if size <= budget)


def test_constants_with_equal_bytes_have_one_number_and_one_array() -> None:
    a = whole(RANDOM, 3, 5, 1, 1)
    nodes = [make("Conv", [x, w], [y]) for x, w, y in ("xap", "xbq", "xcr", "xds")]
    nodes.append(make("Sum", [*"pqrs"], ["y"]))
    zeros = {"c": np.zeros_like(a), "d": np.zeros_like(a)}
    zeros["d"][-1] = -0.0
    made = model(nodes, {"x": [1, 5, 4, 4]}, ["y"], {"a": a, "b": a.copy(), **zeros})
    for layers in (layers_of(read_model(made)), layers_in_layouts(read_model(made))):
        ways = [way for layer in layers.layers for way in layer.ways if way.constants]
        arrays: dict[int, Array] = {}
        for way in ways:
            for name, number in way.contents.items():
                flat = way.constants[name].reshape(-1)
                assert np.shares_memory(arrays.setdefault(number, flat), flat)
        assert len({array.tobytes() for array in arrays.values()}) == len(arrays)

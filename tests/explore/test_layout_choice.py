"""Tests of the choice among the layouts of tensors between layers: it is exact."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from onnx import helper

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_choice.layer_options import Option
from explore.network_graph.arranged_layers import copies_of
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Change, Layer, Layers
from explore.networks.network import Network
from explore.networks.network_tables import memory_lines
from explore.onnx_model.read_model import read_model
from explore.operators.layouts import Layout
from explore.run.target import target_of
from ir.errors import UserError
from ir.parse import parse
from tests.support.drawn_layouts import needed
from tests.support.drawn_networks import loose_network
from tests.support.onnx_models import Array, expected, model, whole
from tests.support.quick_builds import quick_builds as quick_builds

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
    weights = {"w": whole(random, 32, 2, 3, 3)}
    made = model(nodes, {"x": [1, 2, 8, 8]}, ["y"], weights)
    layers = layers_in_layouts(read_model(made))
    target = target_of(device, None, ())
    return made, layers, estimated(layers, target, session, lambda number, options: None)


def drawn(options: Options, random: np.random.Generator) -> Options:
    """The options, a single one of each program, with random times, and half of them with a
    temporary of random size."""
    return [
        [replace(_more(each[0], random), time_ns=float(random.integers(1, 20)))] for each in options
    ]


def _more(option: Option, random: np.random.Generator) -> Option:
    plan, size = option.plan, 4 * int(random.choice((0, 0, 128, 200, 2048)))
    if not size:
        return option
    scratch = Buffer("scratch", "float", (size // 4,), size, Role.TEMPORARY, 0)
    last = replace(plan.kernels[-1], arguments=(*plan.kernels[-1].arguments, "scratch"))
    kernels = (*plan.kernels[:-1], last)
    return replace(option, plan=replace(plan, kernels=kernels, buffers=(*plan.buffers, scratch)))


def every_choice(chooser: Chooser) -> list[tuple[float, int]]:
    """The time and the bytes of each choice of offers, with the copies that it needs."""
    found = []
    for ways in product(*chooser.offers):
        copied = needed([x.way for x in ways], chooser.layers)
        if copied is None:
            continue
        numbers = [list(each).index(x) for each, x in zip(chooser.offers, ways, strict=True)]
        copies = {change: chooser.programme.changes[change][0] for change in copied}
        choice = chooser._choice_of(numbers, copies)
        found.append((choice.time_ns, choice.memory_bytes))
    return found


def test_the_choice_of_layouts_is_the_best_of_all(small: Found) -> None:
    _, layers, options = small
    random = np.random.default_rng()
    chooser = Chooser.of(layers, drawn(options, random))
    every = every_choice(chooser)
    assert chooser.fastest().time_ns == min(time for time, _ in every)
    least = min(size for _, size in every)
    assert chooser.least().memory_bytes == chooser.least_proved().proved == least
    for budget in sorted({size for _, size in every}):
        choice = chooser.within(budget)
        assert choice.memory_bytes <= budget
        assert choice.time_ns == min(time for time, size in every if size <= budget)
        assert choice.gap == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(UserError, match=rf"the least is .*\({least:,} bytes\)"):
        chooser.within(least - 1)


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
        or way.layouts == {"c": Layout.ONNX, "a": Layout.LAST}
        or way.layouts == {"c": Layout.LAST, "b": Layout.LAST}
    }
    fast |= {*layers.changes.values()}
    slow = [
        [replace(o, time_ns=2.0 if n in fast else 1e3) for o in each[:1]]
        for n, each in enumerate(options)
    ]
    fastest = Chooser.of(layers, slow).fastest()
    assert len(copies_of(fastest.layers)) == 1
    assert "; 1 layer to copy into another" in memory_lines(fastest)[-1]
    np.testing.assert_array_equal(ran(fastest, session, x), right)
    least = Chooser.of(layers, slow).least()
    np.testing.assert_array_equal(ran(least, session, x), right)
    net = Network.of(least.layers, least.options, session)
    net(x)
    assert net.built.allocated_bytes == least.memory_bytes
    assert set(net.trace(x)) <= {"c", "a", "b", "d", "y"}


def loose_in_layouts(random: np.random.Generator) -> tuple[Layers, list[list[Option]]]:
    """A network whose arena may be larger than what lives at once, in which two tensors may lie in
    two layouts, and the options of its programs."""
    layers, options = loose_network(random, filled=0.05)
    options = [each[: 1 + (l % 4 == 0)] for l, each in enumerate(options)]
    tensors = {
        n: replace(t, kind=replace(t.kind, shape=(1, t.kind.elements, 1)))
        for n, t in layers.tensors.items()
    }
    several = {f"t{n}" for n in random.choice(range(2, 10), 2, replace=False)}
    made = []
    for layer in layers.layers:
        mine = sorted(several & {layer.output, *(t for _, t in layer.tensors)})
        ways = list[Layer]()
        for lie in product((Layout.ONNX, Layout.LAST), repeat=len(mine)):
            first = not ways
            number = layer.program if first else len(options)
            if not first:
                other = options[layer.program][0]
                options.append([replace(other, time_ns=float(random.integers(1, 40)))])
            ways.append(replace(layer, program=number, layouts=dict(zip(mine, lie, strict=True))))
        made.append(replace(ways[0], others=tuple(ways[1:])))
    changes = {}
    for t in sorted(several):
        for lies, copied in permutations((Layout.ONNX, Layout.LAST)):
            changes[Change(t, lies, copied)] = len(options)
            size = tensors[t].kind.bytes
            x = Buffer("x", "float", (size // 4,), size, Role.INPUT)
            out = replace(x, name="out", role=Role.OUTPUT)
            kernel = Kernel("k", (1, 1, 1), (1, 1, 1), ("x", "out"), False, "")
            options.append([Option("copy", Plan((kernel,), (x, out), 0, 0), 1.0, measured=True)])
    program = parse("f(x : [float]4) = map(a -> a, x)", "<copy>")
    programs = [program] * len(options)
    return (
        replace(layers, layers=made, tensors=tensors, changes=changes, programs=programs),
        options,
    )


def test_what_is_told_of_layouts_is_true_where_arrays_cannot_lie_close() -> None:
    learned = 0
    first = int(np.random.default_rng().integers(1 << 30))
    for seed in range(first, first + 10):
        layers, options = loose_in_layouts(np.random.default_rng(seed))
        chooser = Chooser.of(layers, options)
        every = every_choice(chooser)
        least = min(size for _, size in every)
        found = chooser.least_proved()  # solutions may run out before the least is proved
        assert found.proved <= least <= found.choice.memory_bytes, seed
        for budget in sorted({size for _, size in every if size >= found.choice.memory_bytes})[::3]:
            choice = chooser.within(budget)
            best = min(time for time, size in every if size <= budget)
            assert choice.memory_bytes <= budget, seed
            assert choice.time_ns * (1 - choice.gap) <= best * (1 + 1e-9), seed
            assert choice.gap > 0 or choice.time_ns == best, seed
        learned += len(chooser.learned.demands)
    assert learned

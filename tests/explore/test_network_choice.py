"""Tests of the choice of a network's options: it is exact, and budgets that are too small are
explained."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from codegen.memory.packed_constants import preparation_bytes
from codegen.plan import Buffer, Plan, Role
from codegen.runtime.session import Device, Session
from explore.network_choice.choose_options import Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import assembled
from explore.network_choice.zero_one import LIMIT_REACHED, ZeroOne
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layers, layers_of
from explore.networks import search_in_turns
from explore.networks.beside_peers import Beside, beside_lines
from explore.networks.network import Network
from explore.networks.network_report import write_network_report
from explore.networks.network_run import NetworkRun, begun
from explore.networks.network_tables import ProgramTable, memory_lines
from explore.networks.open_network import read
from explore.networks.peer_engines import Grown, Growth
from explore.networks.search_in_turns import explored
from explore.networks.shares_of_time import made_by
from explore.onnx_model.read_model import read_model
from explore.options.options import Options as Settings
from explore.run.run import Run
from explore.run.run_clock import RunClock
from explore.run.source import Source
from explore.run.target import Target, target_of
from explore.toolchain.toolchain import VARIABLE, ToolchainFault
from ir.errors import UserError
from tests.support.onnx_models import classifier, expected, model, whole
from tests.support.packed_ahead import packed_ahead
from tests.support.played_toolchain import played_toolchain
from tests.support.quick_builds import quick_builds as quick_builds


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def found(device: Device, session: Session) -> tuple[object, Layers, Options]:
    model = classifier(np.random.default_rng())
    layers = layers_of(read_model(model))
    target = target_of(device, None, ())
    return model, layers, estimated(layers, target, session, lambda number, options: None)


def had(turns: Sequence[tuple[str, float]], program: str) -> float:
    """The seconds that a program had in these turns; a few if it had none."""
    return sum(seconds for name, seconds in turns if name == program) or 3.0


def drawn(option: Option, random: np.random.Generator) -> Option:
    """The option with a random time, a random amount of constants that are kept for good, and a
    temporary of random size that its first launch needs."""
    kept, needed = (512 * int(n) for n in random.integers(1, 9, 2))
    plan, runs = option.plan, [k for k in option.plan.kernels if not k.prepack]
    packed = Buffer("kept", "float", (kept // 4,), kept, Role.PACKED)
    scratch = Buffer("scratch", "float", (needed // 4,), needed, Role.TEMPORARY, 0)
    first = replace(runs[0], arguments=(*runs[0].arguments, "scratch"))
    kernels = tuple(first if k is runs[0] else k for k in plan.kernels)
    plan = replace(plan, kernels=kernels, buffers=(*plan.buffers, packed, scratch))
    return replace(option, plan=plan, time_ns=float(random.integers(1, 50)))


def test_the_choice_is_the_best_of_all(found: tuple[object, Layers, Options]) -> None:
    _, layers, options = found
    random = np.random.default_rng()
    few = [[drawn(each[0], random) for _ in range(3)] for each in options[:5]]
    several = Chooser.of(layers, [*few, *([each[0]] for each in options[5:])])
    every = list(product(*several.options))
    costs = [(sum(o.time_ns for o in c), several.bytes_of(c)) for c in every]
    least = several.least()
    smallest = every[
        min(range(len(every)), key=lambda n: costs[n][1])
    ]  # if arenas are their bounds
    assert least.memory_bytes <= assembled(several.layers, smallest).memory_bytes
    assert several.bytes_of(least.options) >= several.bytes_of(smallest)
    for budget in sorted({size for _, size in costs})[:: max(1, len(costs) // 12)]:
        fits = [c for c in costs if c[1] <= budget]
        try:
            choice = several.within(budget)
        except UserError:  # the arena is larger than its bound for all choices that are so small
            assert least.memory_bytes > budget
            continue
        assert choice.memory_bytes <= budget
        assert choice.time_ns >= min(fits)[0]
        assert choice.time_ns * (1 - choice.gap) <= min(fits)[0] * (1 + 1e-9)
        assert choice.gap > 0 or choice.time_ns == pytest.approx(min(fits)[0])


def test_moments_are_the_peak_of_the_plan(found: tuple[object, Layers, Options]) -> None:
    _, layers, options = found
    random = np.random.default_rng()
    chooser = Chooser.of(layers, [[drawn(o, random) for o in each] for each in options])
    chosen = chooser.fastest()
    kept = chosen.kept_bytes
    assert (
        chooser.bytes_of(chosen.options)
        == chooser.programme.live.outside + kept + chosen.plan.bound
    )


def test_a_budget_that_is_too_small_says_what_the_least_is(
    found: tuple[object, Layers, Options],
) -> None:
    _, layers, options = found
    chooser = Chooser.of(layers, options)
    least = chooser.least().memory_bytes
    with pytest.raises(
        UserError, match=rf"the least is .*\({least:,} bytes\).* at layer '"
    ) as told:
        chooser.within(least - 1)
    assert "weights stay for good" in told.value.message


def test_the_least_choice_runs_in_as_many_bytes_as_planned(
    found: tuple[object, Layers, Options], session: Session
) -> None:
    made, layers, options = found
    chooser = Chooser.of(layers, options)
    choice = chooser.within(chooser.least().memory_bytes)
    kept = choice.kept_bytes
    assert (
        chooser.bytes_of(choice.options)
        == chooser.programme.live.outside + kept + choice.plan.bound
    )
    net = Network.of(choice.layers, choice.options, session, checking=True)
    x = whole(np.random.default_rng(), 1, 3, 9, 7)
    np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])
    net = Network.of(choice.layers, choice.options, session)
    np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])
    assert net.built.allocated_bytes == net.memory_bytes == choice.memory_bytes
    needed = preparation_bytes(choice.plan.plan)
    assert net.built.peak_bytes == max(choice.memory_bytes, needed)
    one = session.build(choice.plan.plan, together=True)
    one.set_constants(choice.plan.constants)
    np.testing.assert_array_equal(one({choice.plan.tensors["x"]: x}), net(x))


def test_packing_constants_takes_as_many_bytes_as_are_told(
    device: Device, session: Session
) -> None:
    random = np.random.default_rng()
    wide = {"w": whole(random, 64, 64, 3, 3)}
    made = model([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 64, 3, 3]}, ["y"], wide)
    layers = layers_of(read_model(made))
    options = estimated(layers, target_of(device, None, ()), session, lambda number, options: None)
    packs = [o for o in options[0] if any(k.prepack for k in o.plan.kernels)]
    if not packs:
        pytest.skip("no option of this device packs the weights")
    choice = Chooser.of(layers, [packs]).fastest()
    needed = preparation_bytes(choice.plan.plan)
    assert f"{needed:,} bytes while its constants are packed" in "\n".join(memory_lines(choice))
    net = Network.of(choice.layers, choice.options, session)
    x = whole(random, 1, 64, 3, 3)
    np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])
    assert net.built.peak_bytes == needed > net.built.allocated_bytes == choice.memory_bytes
    built = packed_ahead(choice, session)
    np.testing.assert_array_equal(built({choice.plan.tensors["x"]: x}), net(x))
    assert built.peak_bytes == choice.memory_bytes


def test_a_network_that_has_run_holds_no_constant_on_the_host(
    found: tuple[object, Layers, Options], session: Session
) -> None:
    made, layers, options = found
    choice = Chooser.of(layers, options).fastest()
    x = whole(np.random.default_rng(), 1, 3, 9, 7)
    for checking in (False, True):
        net = Network.of(choice.layers, choice.options, session, checking=checking)
        for _ in range(2):
            np.testing.assert_array_equal(net(x), expected(made, {"x": x})[0])
        assert not net.plan.constants
        assert not any(layer.constants for layer in net.layers.layers)
        assert any(layer.constants for layer in choice.layers.layers)
        traced = net.trace(x)
        for name, right in zip(traced, expected(made, {"x": x}, list(traced)), strict=True):
            np.testing.assert_array_equal(traced[name], right)


def test_constants_packed_in_turn_are_those_packed_at_once(
    found: tuple[object, Layers, Options], session: Session
) -> None:
    _, layers, options = found
    plan = Chooser.of(layers, options).fastest().plan
    whole_plan, in_turn = session.build(plan.plan), session.build(plan.plan)
    whole_plan.set_constants(plan.constants)
    in_turn.set_constants(plan.constants, held=False)
    packed, turned = whole_plan.packed(), in_turn.packed_in_turn()
    assert list(packed) == list(turned)
    for name, array in packed.items():
        np.testing.assert_array_equal(array, turned[name])
    assert in_turn.allocated_bytes == 0
    assert in_turn.peak_bytes <= whole_plan.peak_bytes


def test_a_sweep_gets_slower_and_smaller(found: tuple[object, Layers, Options]) -> None:
    _, layers, options = found
    random = np.random.default_rng()
    chooser = Chooser.of(layers, [[drawn(each[0], random) for _ in range(3)] for each in options])
    front = chooser.sweep()
    if len(front) < 24:  # else some are left out
        for choice, after in pairwise(front):
            assert chooser.within(choice.memory_bytes - 1).time_ns >= after.time_ns * 0.999999
    assert front[0].time_ns == chooser.fastest().time_ns
    assert front[-1].memory_bytes == chooser.least().memory_bytes
    times, sizes = [c.time_ns for c in front], [c.memory_bytes for c in front]
    assert times == sorted(times)
    assert sizes == sorted(sizes, reverse=True)


def test_a_report_draws_the_graph_and_what_was_measured_beside(
    found: tuple[object, Layers, Options], tmp_path: Path
) -> None:
    _, layers, options = found
    chooser = Chooser.of(layers, options)
    growth = Growth(Grown(9 << 20, 8 << 20), Grown(4 << 20, 1 << 20))
    beside = [Beside("convlift", 2e6, 3e6, 1.0, growth, 123_456)]
    file = tmp_path / "report.html"
    write_network_report(file, chooser.least(), chooser.sweep(), "here", beside)
    text = file.read_text(encoding="utf-8")
    graph = text[text.index('aria-label="graph"') : text.index("<h2>Layers")]
    assert graph.count("<rect") == len(chooser.layers.layers)
    assert "<td>convlift</td><td>2" in text
    sizes = ("4.00 MiB", "1.00 MiB", "9.00 MiB", "8.00 MiB", "123,456 bytes")
    assert "".join(f"<td>{size}</td>" for size in sizes) in text
    assert "123,456 bytes, as planned" in beside_lines(beside)[-1]


def test_a_network_is_not_explored_with_a_compiler_that_does_not_work(
    found: tuple[object, Layers, Options], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "toolchain"))
    played_toolchain(tmp_path / "toolchain", "no start")
    run = NetworkRun(tmp_path, Path("model.onnx"), "", {}, Settings(variants=2), found[1])
    target = target_of(None, "mali-g72", ())
    with pytest.raises(ToolchainFault, match=r"expected the toolchain in .* but: "):
        explored(run, target, lambda number, options: None)
    assert len(run.unexplored()) == len(found[1].programs)
    compiling = replace(run, asked=Settings(compile=3))
    with pytest.raises(UserError, match="--compile: expected --profile with a device"):
        explored(compiling, target_of(None, "h200", ()), lambda number, options: None)


def test_time_that_is_left_goes_to_programs_whose_layers_take_most_of_it(
    found: tuple[object, Layers, Options],
    device: Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The searches are played: each takes its time by a played clock, and finds nothing."""
    layers, clock = found[1], Clock()
    turns = list[tuple[str, float]]()

    def searched(folder: Path, seconds: float) -> tuple[Run, bool]:
        clock.now += seconds
        turns.append((folder.name, seconds))
        return Run(folder), False

    def first(_: Source, asked: Settings, target: Target, folder: Path, **__: Any) -> Any:
        assert asked.time_limit is not None
        return searched(folder, asked.time_limit)

    monkeypatch.setattr(search_in_turns, "start", first)
    monkeypatch.setattr(
        search_in_turns, "resume", lambda folder, hands, seconds: searched(folder, seconds)
    )
    monkeypatch.setattr(
        search_in_turns, "RunClock", lambda limit, _: RunClock(limit, clock.now, clock=clock)
    )
    monkeypatch.setattr(search_in_turns, "searched_s", lambda run: had(turns, run.folder.name))
    run = NetworkRun(tmp_path, Path("model.onnx"), "", {}, Settings(time_limit=900.0), layers)
    begun_at = clock.now
    options = explored(run, target_of(device, None, ()), lambda number, options: None)
    every = [p.name for p in layers.programs]
    assert sorted(name for name, _ in turns[: len(every)]) == sorted(every)
    assert clock.now - begun_at == pytest.approx(900.0)
    uses = made_by(layers)
    times = {name: uses[n] * options[n][0].time_ns for n, name in enumerate(every)}
    assert len(turns) > len(every) + 5
    for n, (name, _) in enumerate(turns[len(every) :], len(every)):
        assert name == max(every, key=lambda each: times[each] / had(turns[:n], each))
    turns.clear()
    clock.now = time.monotonic()
    explored(run, target_of(device, None, ()), lambda number, options: None)
    assert 0 < len({name for name, _ in turns}) < len(every)


def test_a_run_in_which_nothing_was_explored_says_so(
    found: tuple[object, Layers, Options], tmp_path: Path
) -> None:
    run = NetworkRun(tmp_path, Path("model.onnx"), "", {}, Settings(), found[1])
    assert run.unexplored() == [p.name for p in found[1].programs]
    with pytest.raises(UserError, match="was explored yet: give more time with --time-limit"):
        _ = run.environment


def test_a_run_goes_on_with_another_limit_of_time_alone(tmp_path: Path) -> None:
    file, out = tmp_path / "model.onnx", tmp_path / "run"
    onnx.save(classifier(np.random.default_rng()), file)
    begun(read, file, {}, Settings(time_limit=60.0), out)
    assert begun(read, file, {}, Settings(time_limit=600.0), out).asked.time_limit == 600.0
    for other in ({"asked": Settings(seed=1)}, {"asked": Settings(), "layouts": True}):
        with pytest.raises(UserError, match="another model or with other options"):
            begun(read, file, {}, folder=out, **other)


def test_a_solver_without_time_is_not_taken_for_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    z = ZeroOne()
    z.unknown("x")
    z.row([("x", 1.0)], low=2.0)
    assert z.solved([("x", 1.0)]) is None  # proved
    late = SimpleNamespace(x=None, status=LIMIT_REACHED, mip_gap=None)
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: late)
    with pytest.raises(UserError, match="the solver found no choice within 60 s"):
        z.solved([("x", 1.0)])


def test_a_line_of_the_table_says_which_layers_it_stands_for() -> None:
    make, random = helper.make_node, np.random.default_rng()
    nodes = [make("Conv", [f"x{n}", "w"], [f"x{n + 1}"], f"block{n}") for n in range(4)]
    nodes.append(make("Softmax", ["x4"], ["y"], "last"))
    made = model(nodes, {"x0": [1, 4, 4, 4]}, ["y"], {"w": whole(random, 4, 4, 1, 1)})
    options = [Option("one", Plan((), (), 0, 0), 2000.0, measured=True)]
    layers = layers_of(read_model(made))
    table = ProgramTable(layers)
    lines = {p.name: table.line(n, options) for n, p in enumerate(layers.programs)}
    inner = layers.layers[1].program
    assert lines[layers.programs[inner].name].endswith("3: block1, block2, block3")
    assert "1×4×4×4" in lines[layers.programs[inner].name]
    again = table.line(inner, options)  # after a further turn: its time counts once
    assert again.index("3: block1") == table.heading.index("layers")
    assert "60.0%" in again
    table.layers.layers = [layers.layers[1]] * 5
    assert table.line(inner, options).endswith("5: block1, block1, block1 and 2 more")
    several = layers_in_layouts(read_model(made))
    table = ProgramTable(several)
    assert any("it may copy x" in table.line(n, options) for n in range(len(several.programs)))

"""The command `explore net`: a model's network is explored under a budget, and picked."""

import argparse
from collections.abc import Sequence

import numpy as np

from codegen.runtime.session import Session, open_device
from explore.arguments.argument_values import path
from explore.arguments.option_groups import add_options, add_target, options_of
from explore.network_choice.choose_options import Choice, Chooser
from explore.network_choice.find_options import Options, estimated
from explore.network_choice.layer_options import Option
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layers
from explore.networks.beside_peers import Beside, beside_lines, beside_peers
from explore.networks.export_network import export_network, inputs_for
from explore.networks.network_report import write_network_report
from explore.networks.network_run import NetworkRun, begun, stored
from explore.networks.network_tables import (
    ProgramTable,
    front_table,
    layer_table,
    memory_lines,
)
from explore.networks.open_network import quickly, read
from explore.networks.peer_engines import INSTALL, EngineName, demand_installed, engine_named
from explore.networks.search_in_turns import explored
from explore.options.option_values import whole_from
from explore.options.units import parse_bytes
from explore.results.run_environment import Environment
from explore.results.version import version
from explore.run.run import new_folder
from explore.run.target import Target, device_of, target_of
from ir.command import command_parser, usage
from ir.errors import UserError
from ir.text.counted import counted

USAGE = """\
explore net MODEL.onnx [options]
       explore net pick RUN [options]"""
WHAT = """Explore every layer of an ONNX model, and choose a variant for each within a budget of \
memory."""
PICK = """Choose anew from a run of a network, without measuring anything."""


def net(argv: list[str]) -> int:
    """Run `explore net …`; returns the exit status."""
    return _pick(argv[1:]) if argv[:1] == ["pick"] else _explore(argv)


def _explore(argv: list[str]) -> int:
    parser = command_parser("explore net", WHAT, USAGE, version)
    parser.add_argument("model", type=path, metavar="MODEL.onnx", help="the file of a model")
    _add_choice(parser, "--budget")
    parser.add_argument(
        "--shape",
        type=shape,
        action="append",
        default=[],
        metavar="INPUT=1,3,224,224",
        help="the shape of an input, where the model leaves sizes open",
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="measure nothing: take a few variants of each layer by rough estimates",
    )
    parser.add_argument(
        "--tried",
        type=usage(whole_from(1)),
        metavar="N",
        help="keep no run: measure N variants of each layer, one after the other",
    )
    parser.add_argument(
        "--layouts",
        action="store_true",
        help="try each layer with channels first, last and in blocks, and choose layouts, too",
    )
    parser.add_argument(
        "--out", type=path, metavar="RUN", help="the run's folder (default: runs/NAME)"
    )
    add_target(parser)
    add_options(parser)
    given = parser.parse_args(argv)
    asked, shapes = options_of(given), dict(given.shape)
    target = target_of(given.device, given.profile, asked.limits)
    if given.estimate or given.tried:
        for option, value in (("--out", given.out), ("--beside", given.beside)):
            if value:
                parser.error(f"{option} needs a run: expected no --tried or --estimate beside it")
        layers = layers_in_layouts(read(given.model, shapes), given.layouts)
        _chosen(layers, _quickly(layers, target, given), given)
        return 0
    demand_installed(given.beside)
    folder = given.out or new_folder(given.model.stem)
    run = begun(read, given.model, shapes, asked, folder, layouts=given.layouts)
    options = _explored(run, target)
    choice = _chosen(run.layers, options, given)
    _reported(run, choice, options, _beside(run, choice, given.beside))
    return 0


def _quickly(layers: Layers, target: Target, given: argparse.Namespace) -> Options:
    """The options of a network's layers, by estimates or by a few measurements, without a run's
    folder; a line is printed for each program."""

    table = ProgramTable(layers)

    def tell(number: int, options: Sequence[Option]) -> None:
        print(table.line(number, options), flush=True)

    print(table.heading)
    if given.estimate or target.device is None:
        return estimated(layers, target, None, tell)
    return quickly(layers, target, open_device(target.device), given.tried, tell)


def _engines(text: str) -> tuple[EngineName, ...]:
    return tuple(engine_named(name) for name in text.split(","))


def _beside(run: NetworkRun, choice: Choice, engines: Sequence[EngineName]) -> list[Beside]:
    """Measures a choice and other engines, such as onnxruntime, in turns on the run's device, and
    prints the table of their times. Returns its rows, none if `engines` is empty."""
    if not engines:
        return []
    device = device_of(run.environment)
    plan = run.trusted(choice).plan
    inputs = inputs_for(run.layers, np.random.default_rng(run.asked.seed))
    found = beside_peers(plan, run.model, inputs, device, engines)
    print("\n".join(beside_lines(found)))
    return found


def _reported(
    run: NetworkRun, choice: Choice, options: Options, beside: Sequence[Beside] = ()
) -> None:
    """Write the report of a network's run, with this choice and with the front of the `options`,
    and print where it is; `beside` are measurements of other engines."""
    file, where = run.folder / "report.html", run.environment.where
    front = Chooser.of(run.layers, options).sweep()
    write_network_report(file, choice, front, where, beside)
    print(f"report: {file}")


def _explored(run: NetworkRun, target: Target) -> Options:
    layers = run.layers
    print(f"{len(layers.layers)} layers, {len(layers.programs)} different programs")
    table = ProgramTable(layers)
    print(table.heading, flush=True)

    def tell(number: int, options: Sequence[Option]) -> None:
        print(table.line(number, options), flush=True)

    return explored(run, target, tell)


def _pick(argv: list[str]) -> int:
    parser = command_parser("explore net pick", PICK, version=version)
    parser.add_argument("run", type=path, metavar="RUN", help="the folder of a network's run")
    _add_choice(parser, "--max-memory")
    parser.add_argument(
        "--export", type=path, metavar="DIR", help="write it, with hosts that run it"
    )
    given = parser.parse_args(argv)
    demand_installed(given.beside)
    run = stored(read, given.run)
    options = run.options()
    if left := run.unexplored():
        print(
            f"{counted(len(left), 'program')} by estimates, such as {left[0]}: there was no time "
            f"for more; go on with `explore net {run.model} --out {run.folder}`"
        )
    choice = _chosen(run.layers, options, given)
    beside = _beside(run, choice, given.beside)
    if given.report or beside:
        _reported(run, choice, options, beside)
    if given.export is not None:
        environment = run.environment
        session = _session_on(environment)
        export_network(run.trusted(choice), environment.where, given.export, session)
        print(f"written to {given.export}: run host.py, or make")
    return 0


def _session_on(environment: Environment) -> Session | None:
    """A session on the device of a run; None, with a line that says so, if it is not here."""
    try:
        return open_device(device_of(environment))
    except UserError as error:
        print(f"the hosts will pack the weights, as they are not packed here: {error.message}")
        return None


def _add_choice(parser: argparse.ArgumentParser, budget: str) -> None:
    parser.add_argument(
        budget,
        dest="budget",
        type=usage(parse_bytes),
        metavar="32MiB",
        help="limit of all global memory that lives at once (default: none)",
    )
    parser.add_argument(
        "--beside",
        type=usage(_engines),
        default=(),
        metavar="A,B",
        help=f"measure it beside other engines, of {', '.join(INSTALL)} (default: none)",
    )
    parser.add_argument(
        "--sweep", action="store_true", help="print the network's own front of time and memory"
    )
    parser.add_argument(
        "--report", action="store_true", help="print where time and bytes go, layer by layer"
    )


def _chosen(layers: Layers, options: Options, given: argparse.Namespace) -> Choice:
    """The choice within the budget that the arguments name; prints the tables that they ask for."""
    chooser = Chooser.of(layers, options)
    if given.sweep:
        print("\n".join(front_table(chooser.sweep())))
    choice = chooser.fastest() if given.budget is None else chooser.within(given.budget)
    if given.report:
        print("\n".join(layer_table(choice)))
    print("\n".join(memory_lines(choice)))
    _told_of_greedy(chooser, choice, given.budget)
    return choice


def _told_of_greedy(chooser: Chooser, choice: Choice, budget: int | None) -> None:
    """Print how the choice that people make by hand under this budget compares with `choice`: its
    time, as a multiple. By hand, each layer in turn takes its fastest option that fits. Print
    nothing if there is no such choice."""
    greedy = None if budget is None else chooser.greedy(budget)
    if greedy is not None:
        print(f"each layer's fastest that fits: {greedy.time_ns / choice.time_ns:.3f} of its time")


@usage
def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """The name of an input and its sizes, from a text such as `x=1,3,224,224`."""
    name, _, sizes = text.rpartition("=")
    try:
        found = tuple(int(n) for n in sizes.split(","))
    except ValueError:
        found = ()
    if not name or not found:
        raise UserError(f"expected a shape such as x=1,3,224,224, found {text!r}")
    return name, found

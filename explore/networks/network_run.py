"""A run of a network: a folder with a run of each of its layers' programs, and a file that tells
which model it is a run of."""

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from explore.files.whole_files import write_whole
from explore.network_choice.choose_options import Choice
from explore.network_choice.find_options import Options
from explore.network_choice.joined_options import joined, with_parts
from explore.network_choice.layer_options import Option, best_of, estimated_options
from explore.network_choice.layers_in_parts import placed
from explore.network_choice.network_plan import assembled
from explore.network_graph.layer_layouts import layers_in_layouts
from explore.network_graph.network_layers import Layers
from explore.networks.shared_hands import SharedHands
from explore.networks.shares_of_time import (
    LEAST,
    LEAST_MORE,
    further,
    made_by,
    next_turn,
    weights,
    within,
)
from explore.offline.working_compiler import demand_compiled_for
from explore.onnx_model.onnx_graph import Graph
from explore.options import options as asked_options
from explore.options.stored_fields import Fields
from explore.results.front import usable
from explore.results.guarded_database import FILE as DATABASE
from explore.results.run_environment import Environment
from explore.run.run import Run, resume, start
from explore.run.run_clock import RunClock
from explore.run.source import Source
from explore.run.target import Target, target_of
from explore.run.trusted_plans import TrustedPlans
from explore.run.worker_pools import Here
from explore.toolchain.toolchain import ToolchainFault
from explore.workers.hands import Hands
from ir.errors import UserError

Tell = Callable[[int, Sequence[Option]], None]

FILE = "network.json"
MOST_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class NetworkRun:
    """A run of a network in a folder: the model's file and its hash, the shapes of its inputs, the
    options `asked` for, its layers, the options of layers `found` so far, by number of their
    program, and whether `layouts` are chosen, too."""

    folder: Path
    model: Path
    sha256: str
    shapes: Mapping[str, tuple[int, ...]]
    asked: asked_options.Options
    layers: Layers
    found: dict[int, list[Option]] = field(default_factory=dict)  # by program, once read
    layouts: bool = False

    def of_program(self, number: int) -> Run:
        """The run of one of the network's programs."""
        return Run(self.folder / "layers" / self.layers.programs[number].name)

    def explore(self, target: Target, tell: Tell) -> Options:
        """Explore the programs that had no turn in the folder yet, those first that take most of
        the time, and return the options of all programs; tell(number, options) is called after each
        program's turn.

        A limit of time is for the whole network. Each program gets a first turn, and then those get
        further turns whose layers take most of the time. A program for which no time is left has
        options by estimates.
        """
        demand_compiled_for(target.profile, self.asked)
        clock = RunClock(self.asked.time_limit, time.monotonic())
        with SharedHands(Here()) as hands:
            known = {} if target.device is None else hands.limits(target.device)
            w = weights(self.layers, known)
            self._first_turns(w, clock, target, hands, tell)
            if target.device is not None:
                self._further_turns(clock, target, hands, tell)
        return self._all_options(target)

    def _first_turns(
        self, w: Sequence[float], clock: RunClock, target: Target, hands: Hands, tell: Tell
    ) -> None:
        done = self._done()
        order = sorted(range(len(w)), key=lambda n: (-w[n], n))
        for place, number in enumerate(order):
            name = self.layers.programs[number].name
            if name not in done and not clock.over():
                rest = [w[n] for n in order[place + 1 :]]
                asked = within(self.asked, clock.left(), w[number], rest)
                self._turn(number, partial(self._first_turn, number, asked, target, hands))
                done.append(name)
                self._write(done)
            tell(number, self._options(number, target))

    def _first_turn(
        self, number: int, asked: asked_options.Options, target: Target, hands: Hands
    ) -> tuple[Run, bool]:
        folder = self.of_program(number).folder
        if (folder / DATABASE).exists():
            return resume(folder, hands=hands)
        source = Source(self.layers.texts[number], f"<{self.layers.programs[number].name}>")
        return start(source, asked, target, folder, hands=hands)

    def _further_turns(self, clock: RunClock, target: Target, hands: Hands, tell: Tell) -> None:
        """Give further turns to programs until the limited time of the clock is up, or no program
        has anything left to try."""
        uses = made_by(self.layers)
        had_s = {n: s for n in range(len(uses)) if (s := self._had_s(n)) is not None}
        while had_s and (left := clock.left()) is not None and left > LEAST_MORE:
            times = {n: uses[n] * self._options(n, target)[0].time_ns for n in had_s}
            chosen = next_turn(times, had_s)
            seconds = min(left, further(clock.limit_s or 0.0))
            folder = self.of_program(chosen).folder
            if self._turn(chosen, partial(resume, folder, hands=hands, seconds=seconds)):
                del had_s[chosen]
            else:
                had_s[chosen] = self._had_s(chosen) or LEAST
            self.found.pop(chosen, None)
            tell(chosen, self._options(chosen, target))

    def _had_s(self, number: int) -> float | None:
        """The seconds of search that program number `number` has had; None if it was not
        explored."""
        run = self.of_program(number)
        if not (run.folder / DATABASE).exists():
            return None
        return max((r.elapsed_s for r in run.records), default=0.0) or LEAST

    def _turn(self, number: int, search: Callable[[], tuple[Run, bool]]) -> bool:
        """Search for variants of program number `number`; returns True if nothing is left to search
        for. If no variant of it can be made, the reason is printed, and other programs are still
        explored; not with compilers that do not work."""
        try:
            return search()[1]
        except ToolchainFault:
            raise
        except UserError as error:
            name = self.layers.programs[number].name
            print(f"{name}: {error.message}", file=sys.stderr, flush=True)
            return True

    def options(self) -> Options:
        """The options of each program: those that were found, or estimates if the program was not
        explored."""
        return self._all_options(None)

    @property
    def environment(self) -> Environment:
        """The environment of the network's runs, taken from the first program whose run is stored;
        a UserError if no program was explored yet."""
        for number in range(len(self.layers.programs)):
            run = self.of_program(number)
            if (run.folder / DATABASE).exists():
                return run.environment
        raise UserError(
            f"nothing in {self.folder} was explored yet: give more time with --time-limit"
        )

    def unexplored(self) -> list[str]:
        """The names of the programs that were not explored because the time was over."""
        done = self._done()
        return [p.name for p in self.layers.programs if p.name not in done]

    def _all_options(self, target: Target | None) -> Options:
        every = range(len(self.layers.programs))
        return with_parts(self.layers, [self._options(n, target) for n in every])

    def _options(self, number: int, target: Target | None) -> list[Option]:
        if number not in self.found:
            self.found[number] = self._stored_options(number, target)
        return self.found[number]

    def _stored_options(self, number: int, target: Target | None) -> list[Option]:
        run = self.of_program(number)
        stored = (run.folder / DATABASE).exists()
        found = [Option.of(r) for r in usable(run.records)] if stored else []
        if found:
            return best_of(found)
        target = target or target_of(None, None, self.asked.limits)
        return estimated_options(self.layers.programs[number], target, None)

    def trusted(self, choice: Choice) -> Choice:
        """The choice with plans that were made again here and are equal to the stored ones."""
        found: dict[tuple[int, str], Option] = {}
        options: list[Option] = []
        for layer, option in zip(choice.layers.layers, choice.options, strict=True):
            key = layer.program, option.id
            if key not in found:
                found[key] = self._trusted(layer.program, option)
            again = found[key] if layer.into is None else placed(found[key], layer.into)
            assert again is not None, "the stored option was placed"
            options.append(again)
        return replace(choice, options=tuple(options), plan=assembled(choice.layers, options))

    def _trusted(self, program: int, option: Option) -> Option:
        if option.parts:
            numbers = self.layers.parts[program]
            made = [self._trusted(n, o) for n, o in zip(numbers, option.parts, strict=True)]
            return joined(made[0], made[1])
        if option.record is None:
            return next(o for o in self._options(program, None) if o.id == option.id)
        plans = TrustedPlans(self.of_program(program).environment)
        return replace(option, plan=plans.of(option.record))

    def _done(self) -> list[str]:
        file = self.folder / FILE
        return _names(_read(file)) if file.exists() else []

    def _write(self, done: Sequence[str]) -> None:
        said = {
            "model": str(self.model),
            "sha256": self.sha256,
            "shapes": {name: list(shape) for name, shape in self.shapes.items()},
            "options": self.asked.as_json(),
            "layouts": self.layouts,
            "done": list(done),
        }
        write_whole(self.folder / FILE, json.dumps(said, indent=1) + "\n")


Read = Callable[[Path, Mapping[str, Sequence[int]]], Graph]


def begun(
    read: Read,
    model: Path,
    shapes: Mapping[str, Sequence[int]],
    asked: asked_options.Options,
    folder: Path,
    *,
    layouts: bool = False,
) -> NetworkRun:
    """The run of a model in a folder, a new one or the one that is stored there, which may go on
    with another limit of time; a UserError if the stored one is of another model, or was begun with
    other options. `read` makes the graph of a model's file, with these shapes of its inputs; with
    `layouts`, these are chosen, too."""
    layers = layers_in_layouts(read(model, shapes), layouts)
    sizes = {name: tuple(shape) for name, shape in shapes.items()}
    sha256 = _sha256(model)
    run = NetworkRun(folder, model.resolve(), sha256, sizes, asked, layers, layouts=layouts)
    if (folder / FILE).exists():
        stored = _read(folder / FILE)
        known = asked_options.Options.from_json(stored.get("options", {}))
        same = stored.get("sha256") == run.sha256 and _untimed(known) == _untimed(asked)
        if not same or stored.get("layouts", False) != layouts:
            raise UserError(
                f"{folder} holds a run of another model or with other options: choose another "
                "folder with --out"
            )
    else:
        folder.mkdir(parents=True, exist_ok=True)
        run._write([])
    return run


def stored(read: Read, folder: Path) -> NetworkRun:
    """The run that is stored in a folder; its model must still be where it was, and the same.
    `read` makes the graph of a model's file, with given shapes of its inputs."""
    known = _read(folder / FILE)
    fields = Fields.of(known, FILE)
    model = Path(fields.text("model"))
    shapes = {
        str(name): tuple(int(n) for n in shape) for name, shape in known.get("shapes", {}).items()
    }
    if not model.is_file() or _sha256(model) != known.get("sha256"):
        found = "another" if model.is_file() else "none"
        raise UserError(
            f"expected the model that was explored in {folder} at {model}, found {found} there"
        )
    asked = asked_options.Options.from_json(known.get("options", {}))
    layouts = known.get("layouts") is True
    layers = layers_in_layouts(read(model, shapes), layouts)
    sha256 = str(known["sha256"])
    return NetworkRun(folder, model, sha256, shapes, asked, layers, layouts=layouts)


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > MOST_TEXT:
            raise UserError(
                f"{file} is damaged: expected at most {MOST_TEXT:,} bytes, as convlift writes it"
            )
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{file} is damaged: {error}") from error
    if not isinstance(found, dict):
        raise UserError(
            f"{file} is damaged: expected a JSON object, found a {type(found).__name__}"
        )
    return found


def _names(known: Mapping[str, Any]) -> list[str]:
    return [name for name in known.get("done", []) if isinstance(name, str)]


def _untimed(asked: asked_options.Options) -> asked_options.Options:
    return replace(asked, time_limit=None)


def _plain(asked: asked_options.Options) -> Any:
    return json.loads(json.dumps(asked.as_json()))


def _sha256(model: Path) -> str:
    """The sha256 of a model's file."""
    try:
        with model.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {model}: {error.strerror}") from error

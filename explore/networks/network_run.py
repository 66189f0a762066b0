"""A run of a network: a folder with a run of each of its layers' programs, and a file that tells
which model it is a run of."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
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
from explore.onnx_model.onnx_graph import Graph
from explore.options import options as asked_options
from explore.options.stored_fields import Fields
from explore.results.front import usable
from explore.results.run_environment import Environment
from explore.run.run import Run
from explore.run.target import Target, target_of
from explore.run.trusted_plans import TrustedPlans
from ir.core.frozen import frozen
from ir.errors import UserError

FILE = "network.json"
MOST_TEXT = 1 << 20


@frozen
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

    def options(self, target: Target | None = None) -> Options:
        """The options of each program: those that were found, or estimates for a target if the
        program was not explored."""
        every = range(len(self.layers.programs))
        return with_parts(self.layers, [self.of_options(n, target) for n in every])

    def of_options(self, number: int, target: Target | None = None) -> list[Option]:
        """The options of program number `number`: those that were found, or estimates for a
        target."""
        if number not in self.found:
            self.found[number] = self._stored_options(number, target)
        return self.found[number]

    def read_again(self, number: int) -> None:
        """Have the options of program number `number` read anew from its folder."""
        self.found.pop(number, None)

    @property
    def environment(self) -> Environment:
        """The environment of the network's runs, taken from the first program whose run is stored;
        a UserError if no program was explored yet."""
        for number in range(len(self.layers.programs)):
            run = self.of_program(number)
            if run.stored:
                return run.environment
        raise UserError(
            f"nothing in {self.folder} was explored yet: give more time with --time-limit"
        )

    def unexplored(self) -> list[str]:
        """The names of the programs that were not explored because the time was over."""
        done = self.done()
        return [p.name for p in self.layers.programs if p.name not in done]

    def _stored_options(self, number: int, target: Target | None) -> list[Option]:
        run = self.of_program(number)
        found = [Option.of(r) for r in usable(run.records)] if run.stored else []
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
            return next(o for o in self.of_options(program) if o.id == option.id)
        plans = TrustedPlans(self.of_program(program).environment)
        return replace(option, plan=plans.of(option.record))

    def done(self) -> list[str]:
        """The names of the programs that had a turn."""
        file = self.folder / FILE
        return _names(_read(file)) if file.exists() else []

    def write(self, done: Sequence[str]) -> None:
        """Write what the folder is a run of, and the names of the programs that had a turn."""
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
        run.write([])
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


def _sha256(model: Path) -> str:
    """The sha256 of a model's file."""
    try:
        with model.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {model}: {error.strerror}") from error

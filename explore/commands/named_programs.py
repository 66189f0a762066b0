"""Programs that are known by name: the examples, and layers of networks, which are examples with
sizes."""

import importlib.metadata
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from ir.errors import UserError
from ir.program_file import text_of
from ir.text.suggest import no_such

LAYERS = "layers.toml"


@dataclass(frozen=True, slots=True)
class Named:
    """A program in a file, with sizes that replace those that the file gives."""

    name: str
    file: Path
    sizes: tuple[tuple[str, int], ...] = ()


def meant(word: Path) -> Named:
    """The program that a user means by a word: the file of this path, or else the example or layer
    of this name."""
    known = {} if word.is_file() else named_programs()
    return known.get(str(word)) or Named(word.stem, word)


def named_programs() -> Mapping[str, Named]:
    """The examples, then the layers, by name; none where they are not installed."""
    folder = examples_folder()
    return {} if folder is None else {**_examples(folder), **_layers(folder)}


def _examples(folder: Path) -> dict[str, Named]:
    return {file.stem: Named(file.stem, file) for file in sorted(folder.glob("*.lift"))}


def _layers(folder: Path) -> dict[str, Named]:
    """The layers of the table in a folder: the file of each, and what to --set in it."""
    table = tomllib.loads((folder / LAYERS).read_text(encoding="utf-8"))
    return {name: _layer(name, folder, dict(entry)) for name, entry in table.items()}


def _layer(name: str, folder: Path, entry: dict[str, str | int]) -> Named:
    file = folder / str(entry.pop("file"))
    return Named(name, file, tuple((size, int(n)) for size, n in entry.items()))


@cache
def examples_folder() -> Path | None:
    """The folder of the examples: beside the packages, or where they were installed; else None."""
    beside = Path(__file__).parents[2] / "examples"
    if (beside / LAYERS).is_file():
        return beside
    try:
        installed = importlib.metadata.files("convlift") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next(
        (Path(str(f.locate())).resolve().parent for f in installed if f.name == LAYERS), None
    )


def example_text(name: str) -> str:
    """The text of the example of this name, to begin a program with."""
    known = _examples(_installed())
    if name not in known:
        raise no_such("example", name, known)
    return text_of(known[name].file)


def titles() -> list[str]:
    """A line for each example, with its name and what it is, and one with the names of the
    layers."""
    folder = _installed()
    found = [f"{name:18} {_title(text_of(e.file))}" for name, e in _examples(folder).items()]
    return [*found, "", f"layers: {' '.join(_layers(folder))}"]


def _installed() -> Path:
    folder = examples_folder()
    if folder is None:
        raise UserError("expected a folder `examples` beside the packages, found none")
    return folder


def _title(text: str) -> str:
    """The first sentence of the comment that a program begins with."""
    comment = takewhile(lambda line: line.startswith("--"), text.split("\n"))
    words = " ".join(line.removeprefix("--").strip() for line in comment)
    return f"{words.split('. ')[0].rstrip('.')}."

"""Programs that are known by name: the examples, and layers of networks, which are examples with
sizes."""

import importlib.metadata
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path

from ir.core.frozen import frozen
from ir.errors import UserError
from ir.program_file import text_of
from ir.text.suggest import no_such

LAYERS = "layers.toml"


@frozen
class Named:
    """A program in a file, with sizes that replace those that the file gives."""

    name: str
    file: Path
    sizes: tuple[tuple[str, int], ...] = ()


def meant(word: Path) -> Sequence[Named]:
    """The programs that a word of the user means: all layers of a table, if it is the path of one;
    the program in the file of this path; or the example or layer of this name."""
    if word.suffix == ".toml":
        return [*_layers(word).values()]
    known = {} if word.is_file() else named_programs()
    return [known.get(str(word)) or Named(word.stem, word)]


def named_programs() -> Mapping[str, Named]:
    """The programs that are known by name: the examples, then the layers of networks; empty if the
    examples are not installed."""
    folder = examples_folder()
    return {} if folder is None else {**_examples(folder), **_layers(folder / LAYERS)}


def _examples(folder: Path) -> dict[str, Named]:
    return {file.stem: Named(file.stem, file) for file in sorted(folder.glob("*.lift"))}


def _layers(file: Path) -> dict[str, Named]:
    """The layers that a table in a file lists: for each the file of its program, in the same
    folder, and its sizes. A UserError if the file is no such table."""
    try:
        table = tomllib.loads(text_of(file))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"cannot read {file}: {error}") from error
    return {name: _layer(name, file, entry) for name, entry in table.items()}


def _layer(name: str, table: Path, entry: object) -> Named:
    found = dict(entry) if isinstance(entry, dict) else {}
    program = found.pop("file", None)
    wrong = [size for size, n in found.items() if type(n) is not int]
    if not isinstance(program, str) or wrong:
        raise UserError(
            f'{table}: expected [{name}] with `file = "….lift"` and sizes, such as `C = 64`; '
            f"found {entry!r:.80}"
        )
    return Named(name, table.parent / program, tuple(found.items()))


@cache
def examples_folder() -> Path | None:
    """The folder of the examples, beside the packages or where they were installed; None if there
    is none."""
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
    """A line for each example, with its name and its title, and a line with the names of the
    layers."""
    found = [f"{name:18} {title}" for name, title in titles_by_name().items()]
    return [*found, "", f"layers: {' '.join(_layers(_installed() / LAYERS))}"]


def titles_by_name() -> dict[str, str]:
    """The title of each example, by its name."""
    return {name: _title(text_of(e.file)) for name, e in _examples(_installed()).items()}


def _installed() -> Path:
    folder = examples_folder()
    if folder is None:
        raise UserError(
            "expected the folder `examples` beside the installed packages, found none: name a "
            "program by its file"
        )
    return folder


def _title(text: str) -> str:
    """The title of a program's text: the first sentence of the comment at its beginning."""
    comment = takewhile(lambda line: line.startswith("--"), text.split("\n"))
    words = " ".join(line.removeprefix("--").strip() for line in comment)
    return f"{words.split('. ')[0].rstrip('.')}."

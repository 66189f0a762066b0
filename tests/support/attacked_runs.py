"""Attacks on runs: commands are given a corrupted folder; they must end with messages, and change
nothing outside of it."""

import io
import os
import random
import shutil
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from codegen.binaries.cache_folder import cache_folder
from explore.__main__ import main
from explore.run.run import Run
from explore.run_store.guarded_database import FILE
from ir.errors import Unsupported, UserError
from tests.support.corruptions import MARK, Corruption

READING = (
    *(("front",), ("front", "--json"), ("show", "--json"), ("show", "--lost-forms"), ("report",)),
    ("export", "--csv", "OUT/t.csv", "--t4", "OUT/t.json"),
)
WORKING = (("pick", "--export", "OUT/export"), ("show", "ID", "--source"), ("resume",))


@dataclass(frozen=True, slots=True)
class Attack:
    """The result of an attack: the corruption, the faults of the commands that read the corrupted
    folder (each fault as text), how many of these commands refused it, and how many there were."""

    corruption: Corruption
    faults: tuple[str, ...]
    refused: int  # commands that ended with status 1
    commands: int


def attack(corruption: Corruption, run: Path, place: Path) -> Attack:
    """The result of corrupting a copy of a run in the folder `place`, and giving the copy to every
    command that reads, and to one that builds."""
    folder, outside, out, begun = place / "run", place / "outside", place / "out", time.time()
    out.mkdir(parents=True)
    shutil.copytree(run, folder)
    _precious(outside, run)
    corruption.apply(folder, outside)
    before, ids = _tree(outside), _ids(folder)
    statuses: list[int | None] = []
    faults: list[str] = []
    for command in _commands(corruption, ids, folder, out):
        status, said = _ended(command)
        statuses.append(status)
        faults += [f"{command}: {fault}" for fault in _faults(status, said)]
    if corruption.seed % 4 == 0:
        faults += _called(folder)
    faults += [f"touched {name}" for name in _differences(before, _tree(outside))]
    faults += [f"beside it: {e.name}" for e in place.iterdir() if e not in (folder, outside, out)]
    faults += [f"exported {file}" for file in _marked(out, folder / "front")]
    faults += [f"built {file}" for file in builds_with_mark(begun)]
    shutil.rmtree(place)
    return Attack(corruption, tuple(faults), statuses.count(1), len(statuses))


def _precious(outside: Path, run: Path) -> None:
    """Make the folder `outside`, in which no command may change anything: it holds a file, and a
    copy of the file of the run in the folder `run`; corruptions make links to both."""
    outside.mkdir()
    (outside / "precious.cl").write_text("precious")
    shutil.copy(run / FILE, outside / "copy.sqlite")


def _ids(folder: Path) -> list[str]:
    try:
        return [record.variant.id for record in Run(folder).records]
    except Exception:  # the commands are asked next, and must say it in words
        return []


def _commands(
    corruption: Corruption, ids: list[str], folder: Path, out: Path
) -> Iterator[list[str]]:
    dice = random.Random(corruption.seed)
    working = dice.choices(WORKING, weights=(5, 3, 1))[0]
    for verb, *rest in (*READING, working):
        words = [dice.choice(ids or ["none"]) if word == "ID" else word for word in rest]
        yield [verb, str(folder), *(word.replace("OUT", str(out)) for word in words)]


def _ended(command: list[str]) -> tuple[int | None, str]:
    """The exit status of a command (None if it ended with an exception), and the text that it
    printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status: int | None = main(command)
        except BaseException:
            return None, traceback.format_exc()
    return status, out.getvalue() + err.getvalue()


def _faults(status: int | None, said: str) -> Iterator[str]:
    if status is None or "Traceback" in said:
        yield said
    elif status not in (0, 1):
        yield f"status {status}: {said}"
    elif status == 1 and not said.strip():
        yield "status 1 without a word"
    if "\x1b" in said:
        yield "an escape reaches the terminal"


def _called(folder: Path) -> list[str]:
    """The faults of Run(folder).pick(), which picks a variant in Python: the exception that it
    raised, unless that is a message to the user; empty if there is none. It needs a device."""
    try:
        Run(folder).pick()
    except (UserError, Unsupported):
        return []
    except Exception:
        return [f"Run.pick: {traceback.format_exc()}"]
    return []


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(file.relative_to(folder)): (os.lstat(file).st_mtime_ns, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _differences(
    before: dict[str, tuple[int, bytes]], after: dict[str, tuple[int, bytes]]
) -> list[str]:
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def _marked(*folders: Path) -> list[Path]:
    """The files in these folders which contain the mark of planted text."""
    files = [f for folder in folders if not folder.is_symlink() for f in folder.rglob("*")]
    return [f for f in files if f.is_file() and not f.is_symlink() and _has_mark(f.read_bytes())]


def builds_with_mark(since: float) -> list[Path]:
    """The cached binaries that contain the mark of planted text and were stored after the time
    `since`, or up to five seconds before it. Other tests may store some meanwhile, in files whose
    names begin with a dot until they are whole."""
    built = (cache_folder() / "programs").rglob("[!.]*")
    recent = [f for f in built if f.is_file() and f.stat().st_mtime > since - 5]
    return [f for f in recent if _has_mark(f.read_bytes())]


def _has_mark(data: bytes) -> bool:
    return MARK.encode() in data

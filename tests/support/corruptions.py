"""Corruptions of a run's folder such as another person or program might make: of many kinds, each
with a name, and random by a seed.

Each is a function of the run's folder and of a folder outside of it, which no command that is given
the run may change.
"""

import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explore.run_store.guarded_database import COLUMNS, FILE
from tests.support.changed_runs import change_details, change_environment

MARK = "a planted kernel was built"
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
Corrupt = Callable[[random.Random, Path, Path], None]


@dataclass(frozen=True, slots=True)
class Corruption:
    """A change of a run's folder: `name` says its kind, and equal seeds make equal changes."""

    name: str
    seed: int

    def apply(self, folder: Path, outside: Path) -> None:
        KINDS[self.name](random.Random(self.seed), folder, outside)


def corruptions(count: int, seed: int) -> Iterator[Corruption]:
    """`count` corruptions, equally many of each kind, one kind after the other, drawn with
    `seed`."""
    names = list(KINDS)
    for n in range(count):
        yield Corruption(names[n % len(names)], seed + n)


# ---- bytes


def flipped_bytes(dice: random.Random, folder: Path, outside: Path) -> None:
    data = bytearray((folder / FILE).read_bytes())
    for _ in range(dice.choice([1, 3, 30, 300])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    (folder / FILE).write_bytes(data)


def flipped_header(dice: random.Random, folder: Path, outside: Path) -> None:
    data = bytearray((folder / FILE).read_bytes())
    for _ in range(dice.choice([1, 2, 5])):
        data[dice.randrange(100)] = dice.randrange(256)
    (folder / FILE).write_bytes(data)


def cut_off(dice: random.Random, folder: Path, outside: Path) -> None:
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[: dice.randrange(len(data))])


def exchanged_pages(dice: random.Random, folder: Path, outside: Path) -> None:
    data = bytearray((folder / FILE).read_bytes())
    pages = len(data) // 4096
    a, b = (4096 * dice.randrange(1, pages) for _ in range(2))
    data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]
    (folder / FILE).write_bytes(data)


def other_files(dice: random.Random, folder: Path, outside: Path) -> None:
    """Add files beside the run's file that SQLite or a run might read."""
    names = [f"{FILE}-journal", f"{FILE}-wal", f"{FILE}-shm", "reference.npz", "lock", ".part-x"]
    (folder / dice.choice(names)).write_bytes(dice.randbytes(dice.choice([0, 28, 512, 5000])))


def super_journal(dice: random.Random, folder: Path, outside: Path) -> None:
    """Add the journal of a half-written transaction that names a file outside the run's folder;
    SQLite would delete that file."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("DELETE FROM outcome")
        connection.execute("INSERT INTO peer VALUES (?)", ["x" * 100_000])
        journal = (folder / f"{FILE}-journal").read_bytes()
        left = (folder / FILE).read_bytes()
    name = str(dice.choice(sorted(outside.rglob("*")))).encode()
    page = (0x40000000 // int.from_bytes(journal[24:28], "big") + 1).to_bytes(4, "big")
    lengths = len(name).to_bytes(4, "big") + (sum(name) & 0xFFFFFFFF).to_bytes(4, "big")
    (folder / FILE).write_bytes(left)
    end = name + lengths + JOURNAL_MAGIC
    (folder / f"{FILE}-journal").write_bytes(journal + page + end)


# ---- rows and types

VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 1, 2**31, 2**62, 2**63 - 1, 1e308, 9e999, -9e999, 0.5, "", "x", "NaN"),
    *(b"\0\xff", "../../evil", "/tmp/evil", "\x1b[2J", "<script>alert(1)</script>", "a\nb"),
    *("\u202e", "x" * 100_000, "registers-00000000", "{}", "[1]", "9" * 5000),
)


def other_column(dice: random.Random, folder: Path, outside: Path) -> None:
    column, value = dice.choice(COLUMNS), dice.choice(VALUES)
    _execute(folder, f"UPDATE OR IGNORE outcome SET {column} = ? WHERE {_some(dice)}", [value])


def exchanged_columns(dice: random.Random, folder: Path, outside: Path) -> None:
    a, b = dice.sample(COLUMNS, 2)
    _execute(folder, f"UPDATE OR IGNORE outcome SET {a} = {b}, {b} = {a} WHERE {_some(dice)}", [])


def other_rows(dice: random.Random, folder: Path, outside: Path) -> None:
    copied = ", ".join(c for c in COLUMNS if c != "round")
    statement = dice.choice(
        [
            f"DELETE FROM outcome WHERE {_some(dice)}",
            "DELETE FROM outcome",
            "DELETE FROM environment",
            "DELETE FROM derivation",
            "UPDATE derivation SET steps = x'00'",
            "UPDATE derivation SET number = number + 1",
            "INSERT INTO environment SELECT json FROM environment",
            "INSERT INTO environment VALUES ('{}')",
            "INSERT INTO peer VALUES (x'00')",
            "INSERT INTO lost_form VALUES (x'00')",
            'INSERT INTO lost_form VALUES (\'{"family": "\u001b[2J", "form": 3}\')',
            f"INSERT INTO outcome ({copied}, round, details) "
            f"SELECT {copied}, round + {dice.choice([1, 7, 10**6, 10**12])}, details FROM outcome",
        ]
    )
    _execute(folder, statement, [])


def other_schema(dice: random.Random, folder: Path, outside: Path) -> None:
    statement = dice.choice(
        [
            "CREATE TRIGGER t AFTER INSERT ON outcome BEGIN DELETE FROM environment; END",
            "CREATE VIEW v AS SELECT 1",
            "CREATE TABLE more (x)",
            "ALTER TABLE outcome RENAME TO was",
            "ALTER TABLE peer ADD COLUMN x AS (hex(zeroblob(1000000000)))",
            "CREATE INDEX i ON outcome (reason)",
            "PRAGMA user_version = 1",
            "PRAGMA journal_mode = WAL",
            "DROP TABLE peer",
            "DROP TABLE lost_form",
            "DROP TABLE derivation",
        ]
    )
    _execute(folder, statement, [])


LEAVES: tuple[Any, ...] = (
    *(None, True, -1, 0, 7, 2**70, 1e308, "", "x", "../../evil", "\x1b[2Jx", "<b>", "\ud800"),
    *([], {}, [[]], {"a": {}}, ["x"], "x" * 50_000, '"; rm -rf /; "'),
)


def other_details(dice: random.Random, folder: Path, outside: Path) -> None:
    """Change a value at a random place in the stored details of a variant."""

    def change(values: dict[str, Any]) -> None:
        for _ in range(dice.choice([1, 1, 1, 4])):
            _put_somewhere(dice, values, dice.choice(LEAVES))

    change_details(folder, change, _some(dice))


def other_environment(dice: random.Random, folder: Path, outside: Path) -> None:
    change_environment(folder, lambda values: _put_somewhere(dice, values, dice.choice(LEAVES)))


def other_program(dice: random.Random, folder: Path, outside: Path) -> None:
    """Change a few characters of the program's stored text, or replace all of it."""

    def change(values: dict[str, Any]) -> None:
        text = list(values["program"])
        for _ in range(dice.choice([1, 2, 5])):
            text[dice.randrange(len(text))] = dice.choice("[]{}()+*/%xk9\0\u2028=>,")
        endless = "p(a : [float]n) = a where n = 1" + "0" * dice.choice([9, 30, 5000])
        deep = "p(a : [float]4) = " + "(" * 5000 + "a" + ")" * 5000
        values["program"] = dice.choice(["".join(text), "".join(text), endless, deep, ""])

    change_environment(folder, change)


def other_blob(dice: random.Random, folder: Path, outside: Path) -> None:
    blobs = (
        *(b"", dice.randbytes(50), zlib.compress(b"[" * 100_000), zlib.compress(b"[1, 2]")),
        *(zlib.compress(b'"' + b"x" * 50_000_000), zlib.compress(b"{}"), zlib.compress(b"\xff")),
    )
    statement = f"UPDATE outcome SET details = ? WHERE {_some(dice)}"
    _execute(folder, statement, [dice.choice(blobs)])


# ---- links and names


def linked(dice: random.Random, folder: Path, outside: Path) -> None:
    """Replace a file or folder of the run by a symbolic link that leads to a file or folder in
    `outside`."""
    files = [FILE, f"{FILE}-journal", f"{FILE}-wal", "lock", "report.html", "reference.npz"]
    name = dice.choice([*files, ".part-report.html", ".part-reference.npz", "front"])
    place = folder / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    kept = outside / "copy.sqlite"
    place.symlink_to(outside if name == "front" else dice.choice([kept, outside / "precious.cl"]))


def hard_linked(dice: random.Random, folder: Path, outside: Path) -> None:
    """Replace a file of the run by a hard link to a file in `outside`."""
    files = [FILE, f"{FILE}-journal", "lock", "report.html", "reference.npz"]
    name = dice.choice([*files, ".part-report.html", ".part-reference.npz"])
    (folder / name).unlink(missing_ok=True)
    kept = outside / "copy.sqlite"
    (folder / name).hardlink_to(dice.choice([kept, outside / "precious.cl"]))


def linked_kernel(dice: random.Random, folder: Path, outside: Path) -> None:
    for file in list((folder / "front").glob("*.cl")):
        if dice.random() < 0.7:
            target = dice.choice([file.name, f".part-{file.name}"])
            (folder / "front" / target).unlink(missing_ok=True)
            (folder / "front" / target).symlink_to(outside / "precious.cl")


def other_id(dice: random.Random, folder: Path, outside: Path) -> None:
    ids = (
        *("../../evil", "../evil-00000000", "/tmp/evil", "..", ".", "", "a/b", "x\0y", "-rf"),
        *(f"{outside}/evil", "registers-zzzzzzzz", "x" * 300, "evil\n", "CON", "a b-00000000"),
    )
    _execute(folder, f"UPDATE OR IGNORE outcome SET id = ? WHERE {_some(dice)}", [dice.choice(ids)])


def other_names(dice: random.Random, folder: Path, outside: Path) -> None:
    """Change names of kernels and buffers in a variant's stored details to paths of files, or to
    pieces of C."""
    evil = dice.choice(["../../evil", "x; printf(1)", "a b", "", "x" * 1000, "caf\u00e9", "x\0"])

    def change(values: dict[str, Any]) -> None:
        for part in dice.choice([values["buffers"], values["kernels"]]):
            part["name"] = evil

    change_details(folder, change)


# ---- kernels


def planted(dice: random.Random, folder: Path, outside: Path) -> None:
    """Add a printf to every stored kernel; sometimes change the stored version of the generator,
    too."""

    def change(values: dict[str, Any]) -> None:
        for kernel in values["kernels"]:
            head, _, body = kernel["text"].partition("{\n")
            kernel["text"] = f'{head}{{\n  printf("{MARK}\\n");\n{body}'

    change_details(folder, change)
    if dice.random() < 0.5:
        change_environment(folder, lambda values: values.update(version="0.0.1+0"))


def planted_comment(dice: random.Random, folder: Path, outside: Path) -> None:
    """Add a piece of text that compiles wherever it stands (a comment, a helper function or an
    include) to stored kernels."""
    line = dice.choice([f"// {MARK}\n", f'#include "{MARK}"\n', f"int evil() {{ /* {MARK} */ }}\n"])

    def change(values: dict[str, Any]) -> None:
        for kernel in values["kernels"]:
            where = dice.choice(["text", "needs"])
            kernel[where] = [line] if where == "needs" else line + kernel["text"]

    change_details(folder, change)


def other_launch(dice: random.Random, folder: Path, outside: Path) -> None:
    """Change stored sizes of launches or buffers so that kernels would write outside of their
    buffers."""

    def change(values: dict[str, Any]) -> None:
        for kernel in values["kernels"]:
            kernel["global_size"][0] *= dice.choice([2, 1000])
        for buffer in values["buffers"]:
            buffer["bytes"] = max(4, buffer["bytes"] // dice.choice([1, 2]))

    change_details(folder, change)


def other_choice(dice: random.Random, folder: Path, outside: Path) -> None:
    """Change the stored family, form or parameters of a variant, so that they contradict its
    name."""
    wrong = dice.choice(['{"k": 0}', '{"k": 4611686018427387904}', "{}", '{"zz": 1}'])
    statement = dice.choice(["family = 'naive'", "family = 'occult'", f"parameters = '{wrong}'"])
    _execute(folder, f"UPDATE outcome SET {statement}", [])


def other_reference(dice: random.Random, folder: Path, outside: Path) -> None:
    """Replace the stored right results by another array, or by a pickled object, which may not be
    unpickled."""
    arrays = dice.choice([np.zeros(3), np.zeros((16, 24)), np.array([{"a": 1}], dtype=object)])
    save = dice.choice([np.savez, np.savez_compressed])
    named: dict[str, Any] = {"output.0": arrays}
    save(folder / "reference.npz", **named)


KINDS: dict[str, Corrupt] = {
    made.__name__: made
    for made in (
        *(flipped_bytes, flipped_header, cut_off, exchanged_pages, other_files, super_journal),
        *(other_column, exchanged_columns, other_rows, other_schema, other_details),
        *(other_environment, other_program, other_blob, linked, hard_linked, other_id),
        *(linked_kernel, other_names, planted, planted_comment, other_launch, other_choice),
        *(other_reference,),
    )
}


# ---- how


def _execute(folder: Path, statement: str, values: list[Any]) -> None:
    """Run an SQL statement with `values` on the file of the run in `folder`; if SQLite refuses it,
    the file stays as it is."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        try:
            with connection:
                connection.execute(statement, values)
        except (sqlite3.Error, UnicodeEncodeError):
            return


def _some(dice: random.Random) -> str:
    return dice.choice(["1", "seq = 1", "seq % 2 = 0", "status = 'measured'"])


def _put_somewhere(dice: random.Random, values: Any, leaf: Any) -> None:
    """Replace a random value inside `values` (nested lists and dictionaries) by `leaf`."""
    while True:
        keys = list(values) if isinstance(values, dict) else list(range(len(values)))
        if not keys:
            return
        key = dice.choice(keys)
        if not isinstance(values[key], dict | list) or not values[key] or dice.random() < 0.3:
            values[key] = leaf
            return
        values = values[key]

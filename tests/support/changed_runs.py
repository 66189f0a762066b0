"""Changes to a run's file such as somebody else might make; tests use them to see that such a file
is not trusted."""

import json
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from explore.run_store.guarded_database import FILE

PLANTED = "printed by a planted kernel"


def change_details(folder: Path, change: Callable[[dict[str, Any]], None], where: str = "1") -> int:
    """Apply `change` to the stored details of each variant of a run that satisfies the SQL
    condition `where`; returns how many variants there were."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        rows = connection.execute(f"SELECT seq, details FROM outcome WHERE {where}").fetchall()
        for seq, blob in rows:
            values = json.loads(zlib.decompress(blob))
            change(values)
            put = [zlib.compress(json.dumps(values).encode()), seq]
            connection.execute("UPDATE outcome SET details = ? WHERE seq = ?", put)
    return len(rows)


def change_environment(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply `change` to the environment (the program, the options, the device) that is stored in a
    run's file."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        ((text,),) = connection.execute("SELECT json FROM environment").fetchall()
        values = json.loads(text)
        change(values)
        connection.execute("UPDATE environment SET json = ?", [json.dumps(values)])


def plant_printf(values: dict[str, Any]) -> None:
    """Add a printf to every kernel in a variant's details `values`."""
    for kernel in values["kernels"]:
        head, _, body = kernel["text"].partition("{\n")
        kernel["text"] = f'{head}{{\n  printf("{PLANTED}\\n");\n{body}'


def sql(folder: Path, *statements: str) -> None:
    """Run SQL statements on the file of the run in `folder`."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)

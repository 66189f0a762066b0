"""The writing of files and folders that appear complete or not at all."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ir.errors import UserError


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file, which appears complete or not at all. A link of its name is replaced, not
    followed; a UserError if the name is, or leads to, no plain file, such as a device."""
    part = file.with_name(f".part-{file.name}")
    try:
        if file.exists() and not file.is_file():
            what = "it is a folder" if file.is_dir() else "it is no file"
            raise UserError(f"cannot write {file}: {what}")
        part.unlink(missing_ok=True)
        with part.open("xb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        os.replace(part, file)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise UserError(f"cannot write {file}: {error.strerror}") from error


def write_folder(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    """Write all files of a folder, or none: they are written beside it, then moved to their places
    together.

    In a folder that exists, they replace the files of their names.
    """
    there = folder.exists()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".part-", dir=folder if there else folder.parent) as part:
            made = Path(part) / "made"
            _write_all(made, contents)
            if there:
                _move_all(made, folder, contents)
            else:
                made.rename(folder)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from error


def _write_all(folder: Path, contents: Mapping[str, str | bytes]) -> None:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def _move_all(made: Path, folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(made / name, folder / name)

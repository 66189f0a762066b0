"""The version of convlift: its number, and a hash of its sources."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from ir.installed_version import installed_version

PACKAGES = ("ir", "rewrites", "constraints", "codegen", "explore")
SUFFIXES = frozenset({".py", ".lift", ".lark"})


@cache
def version() -> str:
    """The version, such as `0.1.0+3f9a1c2e`; a change of the sources changes it, since it may
    change kernels."""
    return f"{installed_version()}+{sources_hash([Path(str(files(p))) for p in PACKAGES])[:8]}"


def sources_hash(folders: Sequence[Path]) -> str:
    """The sha256 of the source files in these folders and of their names."""
    found = hashlib.sha256()
    for folder in folders:
        for name in sorted(_names(str(folder), "")):
            found.update(f"{folder.name}/{name}\0".encode())
            with open(f"{folder}/{name}", "rb") as file:
                found.update(file.read())
    return found.hexdigest()


def _names(folder: str, before: str) -> Iterator[str]:
    """The names of the source files in a folder and in those inside it, each after `before` and the
    folders that lead to it."""
    with os.scandir(f"{folder}/{before}") as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _names(folder, f"{before}{entry.name}/")
            elif os.path.splitext(entry.name)[1] in SUFFIXES:
                yield before + entry.name

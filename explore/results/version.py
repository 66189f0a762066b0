"""The version of convlift: its number, and a hash of its sources."""

import hashlib
from collections.abc import Sequence
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
        for file in sorted(folder.rglob("*")):
            if file.suffix in SUFFIXES:
                found.update(f"{folder.name}/{file.relative_to(folder).as_posix()}\0".encode())
                found.update(file.read_bytes())
    return found.hexdigest()

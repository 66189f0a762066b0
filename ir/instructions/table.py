"""The table of all instructions that programs can name: `ENTRIES` of every module in the folder
`entries`. A module that is put there is in the table; no other file lists it."""

from collections.abc import Iterator
from importlib import import_module  # noqa: TID251  (modules of this folder alone)
from pkgutil import iter_modules

from ir.instructions import entries
from ir.instructions.entry import Across, Alone, Called, Copying, Entry, Listed, Loading


def listed() -> Iterator[Listed]:
    """The instructions in `ENTRIES` of every module in the folder `entries`, in the order of the
    modules' names."""
    for name in sorted(module.name for module in iter_modules(entries.__path__)):
        yield from import_module(f"{entries.__name__}.{name}").ENTRIES


TABLE: dict[str, Listed] = {entry.name: entry for entry in listed()}
CALLED: dict[str, Called] = {n: e for n, e in TABLE.items() if not isinstance(e, Copying)}
MATRIX: dict[str, Entry] = {n: entry for n, entry in TABLE.items() if isinstance(entry, Entry)}
DOTS: dict[str, Alone] = {n: entry for n, entry in TABLE.items() if isinstance(entry, Alone)}
LOADING: dict[str, Loading] = {n: e for n, e in TABLE.items() if isinstance(e, Loading)}
ACROSS: dict[str, Across] = {n: entry for n, entry in TABLE.items() if isinstance(entry, Across)}

"""The parser, from text to a program."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ir.core.nodes import Program
from ir.elaborate.elaborator import Elaborator
from ir.elaborate.environment import PRELUDE, Helper
from ir.elaborate.primitives import PRIMITIVES
from ir.errors import UserError
from ir.program_file import text_of
from ir.text.check_names import check_names
from ir.text.read_tree import read
from ir.text.suggest import no_such
from ir.text.surface import Definition, File, type_sizes
from ir.text.written_sizes import size_names, where_sizes

NONE: Mapping[str, int] = {}


def parse(text: str, name: str = "<program>", set: Mapping[str, int] = NONE) -> Program:
    """The program that a text defines; `set` gives sizes that replace those after `where`, `name`
    stands for the text in messages."""
    try:
        return elaborated(read(text, name), set)
    except RecursionError:
        raise UserError(
            f"{name}: expected fewer levels of terms, found a program that is nested too deep"
        ) from None


def parse_file(path: Path | str, set: Mapping[str, int] = NONE) -> Program:
    """The program in a file; `set` gives sizes that replace those after `where`."""
    return parse(text_of(path), str(path), set)


def elaborated(file: File, set: Mapping[str, int]) -> Program:
    """The program that a parsed file means; `set` gives sizes that replace those after `where`."""
    _check_set(file, set)
    sizes = where_sizes(file.where, set)
    check_names(file, prelude().keys() | PRIMITIVES.keys(), sizes.keys())
    known = _known(file.definitions[:-1], prelude())
    unknown = tuple(b.name.text for b in file.where if b.size is None and b.name.text not in set)
    return Elaborator(sizes).program(file.definitions[-1], known, unknown)


@cache
def prelude() -> Mapping[str, Helper]:
    """The definitions that every program can use."""
    text = (Path(__file__).parent / "prelude.lift").read_text()
    return _known(read(text, PRELUDE).definitions, {})


def _known(definitions: tuple[Definition, ...], before: Mapping[str, Helper]) -> dict[str, Helper]:
    known = dict(before)
    for d in definitions:
        known[d.name.text] = Helper(d, dict(known))
    return known


def names_of_sizes(file: File) -> frozenset[str]:
    """The names of sizes in a file to which `set` may give a value."""
    main = file.definitions[-1]
    written = {n.text for p in main.params for e in type_sizes(p.type) for n in size_names(e)}
    return frozenset(written | {b.name.text for b in file.where})


def _check_set(file: File, set: Mapping[str, int]) -> None:
    known = names_of_sizes(file)
    for name in set:
        if name not in known:
            raise no_such("size", name, sorted(known), of="the program")

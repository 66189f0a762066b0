"""Programs with which something went wrong, kept as files in `tests/found`; the first line of a
file says what went wrong."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from ir.core.nodes import Program
from ir.parse import parse
from ir.text.show import show
from tests.fuzz.verdicts import Verdict
from tests.fuzz.ways import Way

FOLDER = Path(__file__).parents[1] / "found"
HEAD = re.compile(
    r"-- (?P<kind>.*?); family (?P<family>.*?), form '(?P<form>.*?)', for (?P<target>\S+), "
    r"point (?P<point>.*?); seed (?P<seed>\S+)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A program that was kept, the way of lowering by which something went wrong with it, and the
    seed that it was drawn with."""

    program: Program
    way: Way
    seed: str


def keep(program: Program, verdict: Verdict, seed: str, folder: Path = FOLDER) -> Path:
    """Write a program with the verdict on it to a file in `folder`, whose name is made from its
    text; returns the path."""
    text = show(program)
    name = f"{verdict.kind.name.lower()}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.lift"
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"-- {verdict.kind.value}; {verdict.way}; seed {seed}\n{text}", "utf-8")
    return file


def read(file: Path) -> Found:
    text = file.read_text("utf-8")
    head = HEAD.match(text)
    assert head, f"{file} does not say what was wrong"
    pairs = (pair.split("=") for pair in head["point"].split())
    point = tuple((name, int(n)) for name, n in pairs)
    way = Way(head["family"], head["form"], head["target"], point or None)
    return Found(parse(text, file.name), way, head["seed"])

"""The work of the fuzzer's worker processes: they try the programs of seeds, and shrink a program
with which something goes wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.runtime.devices import Device, choose, devices
from codegen.runtime.session import Session, open_device
from ir.core.nodes import Program
from ir.errors import IllTyped, Unsupported, UserError
from ir.parse import parse
from ir.text.show import show
from tests.fuzz.draw import draw
from tests.fuzz.found import keep
from tests.fuzz.judge import try_program, try_seed
from tests.fuzz.shrink import shrunk
from tests.fuzz.verdicts import Tried, Verdict
from tests.fuzz.ways import Way


@dataclass(frozen=True, slots=True)
class Seed:
    """A task to try the program of a seed by the plain way and `more` others; findings are kept in
    `folder`."""

    seed: str
    more: int
    folder: Path


def sessions(device: str | None) -> tuple[Session, ...]:
    """A session on the device of this name or number; if it is None, one on each device that
    works."""
    found = (d for d in devices() if isinstance(d, Device))
    return tuple(map(open_device, found if device is None else [choose(device)]))


def work(opened: Sequence[Session], task: Seed) -> Tried:
    """The verdicts on the program of a task's seed; the program is shrunk and kept if one of them
    is a finding."""
    tried = try_seed(opened, task.seed, task.more)
    if tried.findings:
        keep_smaller(opened, task, tried.findings[0])
    return tried


def keep_smaller(opened: Sequence[Session], task: Seed, finding: Verdict) -> None:
    """Keep the smallest program found with which the same goes wrong as in `finding`. If no smaller
    one is found, that is the program of the task's seed itself."""

    def same(program: Program) -> Verdict | None:
        return again(opened, program, finding, task.seed)

    small = shrunk(draw(task.seed).program, lambda program: same(program) is not None)
    keep(small, same(small) or finding, task.seed, task.folder)


def again(
    opened: Sequence[Session], program: Program, finding: Verdict, seed: str
) -> Verdict | None:
    """The verdict on another program by the family and form of `finding`, if it is of the same
    kind; else None."""
    way = Way(finding.way.family, finding.way.form, finding.way.target)
    try:
        parse(show(program))  # what is kept is text
        found = list(try_program(opened, program, [way], seed))
    except (UserError, Unsupported, IllTyped):
        return None
    same = (v for v in found if v.kind is finding.kind and v.way.family == way.family)
    return next(same, None)

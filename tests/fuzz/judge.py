"""The trial of one program: its text is parsed again, its meaning computed, and its kernels run on
all devices by several ways of lowering."""

import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from random import Random

from codegen.compile import Generated, generate
from codegen.demand_proofs import proofs
from codegen.runtime.results import (
    BuildFailed,
    GroupTooLarge,
    GuardViolated,
    PoisonFound,
    RunFailed,
)
from codegen.runtime.session import Session
from constraints.devices import PROFILES
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError
from ir.parse import parse
from ir.text.show import show
from rewrites.engine.refused import Refused
from tests.fuzz.compare import Wanted, disagreement, wanted
from tests.fuzz.draw import draw
from tests.fuzz.simulator import single
from tests.fuzz.verdicts import Kind, Tried, Verdict
from tests.fuzz.ways import AS_WRITTEN, Lowered, Way, lowered, others, plain
from tests.support.random_terms import nameless

HARM: dict[type[Exception], Kind] = {
    Refused: Kind.REFUSED,
    Unsupported: Kind.REFUSED,
    UserError: Kind.REFUSED,
    GroupTooLarge: Kind.REFUSED,  # by this device
    BuildFailed: Kind.BUILD,
    GuardViolated: Kind.ESCAPE,
    PoisonFound: Kind.WRONG,
    RunFailed: Kind.LOST,
}
TEXT = Way("none: its text")
POINTS = 2  # of each form
DRAWS = 8  # of ways, for each that is to apply


def try_seed(sessions: Sequence[Session], seed: str, more: int = 1) -> Tried:
    """The program of a seed with the verdicts on it, by the plain way and by `more` others that
    apply to it."""
    found = draw(seed)
    program = found.program
    verdicts: list[Verdict] = []
    if found.lowered:
        verdicts += try_program(sessions, program, [Way(AS_WRITTEN)], seed)
    else:
        verdicts += try_program(sessions, program, [plain(program)], seed)
        verdicts += try_others(sessions, program, Random(f"ways {seed}"), more, seed)
    return Tried(seed, show(program), tuple(verdicts), found.kind)


def try_others(
    sessions: Sequence[Session], program: Program, r: Random, more: int, seed: str
) -> Iterator[Verdict]:
    """The verdicts on a program by random ways, drawn until `more` of them apply to it, or DRAWS ·
    `more` are drawn."""
    for way in islice(others(program, r), DRAWS * more):
        found = list(guarded(way, partial(by_way, sessions, program, way, seed)))
        yield from found
        more -= any(v.kind is not Kind.REFUSED for v in found)
        if not more:
            return


def try_program(
    sessions: Sequence[Session], program: Program, chosen: Sequence[Way], seed: str
) -> Iterator[Verdict]:
    """The verdicts on whether a program's text is read as the same program, and on the program by
    each of the ways `chosen`."""
    yield from guarded(TEXT, partial(same_text, program))
    for way in chosen:
        yield from guarded(way, partial(by_way, sessions, program, way, seed))


def guarded(way: Way, trial: Callable[[], Iterator[Verdict]]) -> Iterator[Verdict]:
    """The verdicts that `trial` gives on the way `way`; if it raises an exception, the last verdict
    is one on the exception."""
    try:
        yield from trial()
    except Exception as error:
        yield of_error(way, error)


def of_error(way: Way, error: Exception, kernels: int = 0) -> Verdict:
    kind = HARM.get(type(error), Kind.TRACEBACK)
    words = traceback.format_exception(error) if kind is Kind.TRACEBACK else [str(error)]
    return Verdict(kind, way, "".join(words), kernels)


def same_text(program: Program) -> Iterator[Verdict]:
    again = parse(show(program))
    same = again.params == program.params and nameless(again.body) == nameless(program.body)
    if not same:
        yield Verdict(Kind.TEXT, TEXT, show(again))


def by_way(sessions: Sequence[Session], program: Program, way: Way, seed: str) -> Iterator[Verdict]:
    """The verdicts on a program lowered by a way at the way's own point, or at some legal points if
    it has none."""
    meant = wanted(program, 1)
    if meant is None:
        yield Verdict(Kind.UNDEFINED, way)
        return
    points = list(lowered(program, way, POINTS, Random(f"points {seed}").randrange(1 << 16)))
    if not points:
        yield Verdict(Kind.REFUSED, way, "no point is legal")
    for low in points:
        yield from guarded(low.way, partial(at_point, sessions, meant, low))


def at_point(sessions: Sequence[Session], meant: Wanted, low: Lowered) -> Iterator[Verdict]:
    made = generate(low.program, max_work_group=PROFILES[low.way.target].group_items)
    yield from same_text(low.program)
    unproved = [proof.summary() for proof in proofs(made) if not proof.ok]
    if unproved:
        written = low.way.family == AS_WRITTEN  # it may be wrong indeed
        kind = Kind.REFUSED if written else Kind.UNPROVED
        yield Verdict(kind, low.way, "\n".join(unproved), len(made.kernels))
        return
    if single() and len(made.kernels) > 1:
        return
    for session in sessions:
        yield on_device(session, made, meant, low)


def on_device(session: Session, made: Generated, meant: Wanted, low: Lowered) -> Verdict:
    kernels = len(made.kernels)
    try:
        found = session.build(made.plan, checking=True)(meant.inputs)
    except Exception as error:
        return of_error(low.way, error, kernels)
    wrong = disagreement(found, meant, low.rounding)
    if wrong is None:
        return Verdict(Kind.RIGHT, low.way, "", kernels)
    return Verdict(Kind.WRONG, low.way, f"{wrong} on {session.device.name}", kernels)

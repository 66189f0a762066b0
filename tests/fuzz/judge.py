"""One program tried: its text, its meaning, and its kernels by several ways on all devices."""

import traceback
from collections.abc import Callable, Iterator, Sequence
from random import Random

from codegen.compile import Generated, generate
from codegen.proof.prove import prove
from codegen.runtime.results import BuildFailed, GuardViolated, PoisonFound, RunFailed
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
from tests.fuzz.ways import AS_WRITTEN, Lowered, Way, lowered, ways
from tests.support.random_terms import nameless

HARM: dict[type[Exception], Kind] = {
    Refused: Kind.REFUSED,
    Unsupported: Kind.REFUSED,
    UserError: Kind.REFUSED,
    BuildFailed: Kind.BUILD,
    GuardViolated: Kind.ESCAPE,
    PoisonFound: Kind.WRONG,
    RunFailed: Kind.LOST,
}
TEXT, MEANING = Way("none: its text"), Way("none: its meaning")
POINTS = 2  # of each form


def try_seed(sessions: Sequence[Session], seed: str, more: int = 2) -> Tried:
    """The program of a seed by the plain way and some others."""
    found = draw(seed)
    program = found.program
    chosen = [Way(AS_WRITTEN)] if found.lowered else ways(program, Random(f"ways {seed}"), more)
    return Tried(seed, show(program), tuple(try_program(sessions, program, chosen, seed)))


def try_program(
    sessions: Sequence[Session], program: Program, chosen: Iterator[Way] | list[Way], seed: str
) -> Iterator[Verdict]:
    """What becomes of a program by each of the ways."""
    yield from guarded(TEXT, lambda: same_text(program))
    meant: list[Wanted] = []
    yield from guarded(MEANING, lambda: meaning(program, meant))
    if meant:
        for way in chosen:
            yield from guarded(way, lambda way=way: by_way(sessions, program, meant[0], way, seed))


def guarded(way: Way, trial: Callable[[], Iterator[Verdict]]) -> Iterator[Verdict]:
    """The verdicts of a trial; what it raises is one too."""
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
    if nameless(again.body) != nameless(program.body):
        yield Verdict(Kind.TEXT, TEXT, show(again))


def meaning(program: Program, meant: list[Wanted]) -> Iterator[Verdict]:
    """What is expected is noted; a verdict where nothing can be."""
    found = wanted(program, 1)
    if found is None:
        yield Verdict(Kind.UNDEFINED, MEANING)
    else:
        meant.append(found)


def by_way(
    sessions: Sequence[Session], program: Program, meant: Wanted, way: Way, seed: str
) -> Iterator[Verdict]:
    points = list(lowered(program, way, POINTS, Random(f"points {seed}").randrange(1 << 16)))
    if not points:
        yield Verdict(Kind.REFUSED, way, "no point is legal")
    for low in points:
        yield from guarded(low.way, lambda low=low: at_point(sessions, meant, low))


def at_point(sessions: Sequence[Session], meant: Wanted, low: Lowered) -> Iterator[Verdict]:
    made = generate(low.program, max_work_group=PROFILES[low.way.target].group_items)
    yield from same_text(low.program)
    unproved = [proof.summary() for k in made.kernels if not (proof := prove(k)).ok]
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

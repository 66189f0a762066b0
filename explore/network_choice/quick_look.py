"""A quick look at the programs of a network: a few variants of each are measured here, without a
run's folder. Programs that take most of the network's time get most of the tries."""

# key: n number of a candidate

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from codegen.runtime.series import Clock
from codegen.runtime.session import Session
from explore.building.build_tasks import Made
from explore.network_choice.find_options import Options as Found
from explore.network_choice.joined_options import with_parts
from explore.network_choice.layer_options import Option, best_of, device_kind, estimated_options
from explore.network_choice.time_variants import Timed, VariantTimes
from explore.network_graph.network_layers import Layers
from explore.options.options import Options
from explore.record_book.recalled import Recalled
from explore.results.records import Failed
from explore.run.book_keeping import BookKeeping
from explore.run.candidates import Candidates, begun, gathered, hinted_tasks, tasks_for
from explore.run.target import Target
from explore.search.rounds import Rounds
from explore.space.derivations import LIMIT, Derivation
from explore.space.derive_form import Derived
from explore.workers.wait_any import each_done
from explore.workers.workers import Workers
from ir.core.frozen import frozen
from ir.core.nodes import Program

FAMILIES = {
    "cpu": ("registers", "winograd", "naive"),
    "gpu": ("matrix", "lift", "blocked", "registers", "naive"),
}
"""Those that were the fastest on a kind of device, and one that lowers everything."""
TURNS = 2  # of each half of the tries

Tell = Callable[[int, Sequence[Option]], None]


@dataclass(slots=True)
class _Tried:
    """A program whose variants are tried: the search among its candidates, how they are timed, and
    the variants that were measured so far."""

    program: Program
    drawn: Candidates
    rounds: Rounds
    times: VariantTimes
    found: dict[int, Timed] = field(default_factory=dict)

    def next(self, room: int) -> list[int]:
        """The numbers of the candidates to try next, at most `room` of them."""
        chosen: list[int] = []
        while len(chosen) < room and self.rounds.ask() and self.rounds.asked:
            chosen += self.rounds.take(room - len(chosen))
        return chosen

    def took(self, made: Mapping[int, Made | Failed]) -> None:
        """Measure variants as they were built, by number, and tell the search their times."""
        plans = {
            n: m.plan
            for n, m in made.items()
            if isinstance(m, Made) and m.failed is None and m.plan is not None
        }
        timed = self.times.of(plans)
        self.found |= timed
        for n in made:
            self.rounds.search.tell(n, timed[n].time_ns if n in timed else None)

    def options(self) -> list[Option]:
        """The options found so far: the variants that no other beats."""
        named = self.drawn.variants
        return best_of(
            [Option(named[n].id, t.plan, t.time_ns, True) for n, t in self.found.items()]
        )


def looked_at(
    layers: Layers,
    target: Target,
    session: Session,
    builders: Workers,
    tried: int,
    tell: Tell,
    clock: Clock = time.perf_counter_ns,
) -> Found:
    """The options of each program: on average `tried` of its variants are built by `builders`, and
    measured by the `clock`.

    Half of the tries are as many for each program: those variants that the record book knows, and
    those with the best estimates. The others go to programs by their shares of the network's time,
    as far as it is known then. `tell` is called for each program with its number and options.
    """
    look = _Look(target, session, builders, tried, clock)
    states = look.begun(layers.programs)
    first = -(-tried // 2)
    for _ in range(TURNS):
        look.turn(states, dict.fromkeys(states, -(-first // TURNS)))
    for _ in range(TURNS):
        look.turn(states, shares(_times(layers, states), len(states) * (tried - first) // TURNS))
    found = []
    for number, program in enumerate(layers.programs):
        options = states[number].options() if number in states else []
        found.append(options or estimated_options(program, target, session))
        tell(number, found[-1])
    return with_parts(layers, found)


def _times(layers: Layers, states: Mapping[int, _Tried]) -> dict[int, float]:
    """The times that the network's layers take in the fastest variants so far, by program; those of
    which no variant ran are left out."""
    best = {number: state.options() for number, state in states.items()}
    return {n: len(layers.uses(n)) * found[0].time_ns for n, found in best.items() if found}


@frozen
class _Look:
    """The means of a quick look: the device and a session on it, the workers that derive and build,
    how many variants of a program are tried on average, and the clock."""

    target: Target
    session: Session
    builders: Workers
    tried: int
    clock: Clock

    def begun(self, programs: Sequence[Program]) -> dict[int, _Tried]:
        """The programs by number, each with its candidates; a program that no form lowers is left
        out. The forms of all programs are derived at once."""
        asked = Options(variants=self.tried, families=FAMILIES[device_kind(self.target)])
        known = [self._known(program, asked) for program in programs]
        profile = self.target.profile
        todo: list[tuple[Sequence[Derivation], ...]] = [
            (
                hinted_tasks(program, profile, asked, hints.first),
                hinted_tasks(program, profile, asked, hints.likely[: self.tried]),
                tasks_for(program, profile, asked),
            )
            for program, hints in zip(programs, known, strict=True)
        ]
        forms = [task for tasks in todo for task in chain(*tasks)]
        done = each_done(self.builders, forms, LIMIT)
        derived = {id(d.task): d.result for d in done if isinstance(d.result, Derived)}
        states = {}
        for number, program in enumerate(programs):
            first, likely, rest = (
                [derived[id(task)] for task in tasks if id(task) in derived]
                for tasks in todo[number]
            )
            drawn = gathered(rest, first=begun(first, likely, known[number]))
            if drawn.variants:
                times = VariantTimes(program, self.session, self.clock)
                rounds = Rounds(drawn.search(asked, lag=0))
                states[number] = _Tried(program, drawn, rounds, times)
        return states

    def _known(self, program: Program, asked: Options) -> Recalled:
        with BookKeeping.begun(None, program, self.target) as books:
            return books.recall(asked, time.time())

    def turn(self, states: Mapping[int, _Tried], room: Mapping[int, int]) -> None:
        """Try variants of each program, at most as many as it has `room` for. All are built before
        any is measured."""
        chosen = {number: state.next(room.get(number, 0)) for number, state in states.items()}
        todo = {
            number: [states[number].drawn.task(n) for n in several]
            for number, several in chosen.items()
            if several
        }
        built = each_done(self.builders, [task for several in todo.values() for task in several])
        made = {id(done.task): done.result for done in built}
        for number, several in todo.items():
            states[number].took({task.number: made[id(task)] for task in several})


def shares(times: Mapping[int, float], tries: int) -> dict[int, int]:
    """The tries of each program, by its number: `tries` in all, divided as the programs' `times`
    are. The largest remainders are rounded up."""
    total = sum(times.values())
    if not total or tries < 1:
        return {}
    exact = {number: tries * t / total for number, t in times.items()}
    found = {number: int(share) for number, share in exact.items()}
    rest = sorted(exact, key=lambda number: (found[number] - exact[number], number))
    for number in rest[: tries - sum(found.values())]:
        found[number] += 1
    return found

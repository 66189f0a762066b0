"""The search of a network's programs, one program at a time: each gets a first turn, and then those
get further turns whose layers take most of the time."""

# key: w weights of programs

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from explore.network_choice.find_options import Options
from explore.network_choice.layer_options import Option
from explore.network_choice.quick_look import Tell
from explore.networks.network_run import NetworkRun
from explore.networks.shared_hands import SharedHands
from explore.networks.shares_of_time import (
    LEAST,
    LEAST_MORE,
    further,
    made_by,
    next_turn,
    weights,
    within,
)
from explore.offline.working_compiler import demand_compiled_for
from explore.options import options as asked_options
from explore.run.run import Run, resume, start
from explore.run.run_clock import RunClock
from explore.run.source import Source
from explore.run.target import Target
from explore.run.worker_pools import Here
from explore.toolchain.toolchain import ToolchainFault
from explore.workers.hands import Hands
from ir.core.frozen import frozen
from ir.errors import UserError


def explored(network: NetworkRun, target: Target, tell: Tell) -> Options:
    """The options of all programs of a network, after a search for variants of those that had no
    turn in its folder yet, those first that take most of the time; tell(number, options) is called
    after each program's turn.

    A limit of time is for the whole network. A program for which no time is left has options by
    estimates.
    """
    demand_compiled_for(target.profile, network.asked)
    clock = RunClock(network.asked.time_limit, time.monotonic())
    with SharedHands(Here()) as hands:
        search = _Search(network, target, hands, clock, tell)
        known = {} if target.device is None else hands.limits(target.device)
        search.first_turns(weights(network.layers, known))
        if target.device is not None:
            search.further_turns()
    return network.options(target)


@frozen
class _Search:
    """The search of a network's programs for a target: by these hands, in the time of the clock."""

    network: NetworkRun
    target: Target
    hands: Hands
    clock: RunClock
    tell: Tell

    def first_turns(self, w: Sequence[float]) -> None:
        """Give a turn to each program that had none, the one with the largest weight first."""
        done = self.network.done()
        order = sorted(range(len(w)), key=lambda n: (-w[n], n))
        for place, number in enumerate(order):
            name = self.network.layers.programs[number].name
            if name not in done and not self.clock.over():
                rest = [w[n] for n in order[place + 1 :]]
                asked = within(self.network.asked, self.clock.left(), w[number], rest)
                self._turn(number, partial(self._begun, number, asked))
                done.append(name)
                self.network.write(done)
            self.tell(number, self._options(number))

    def further_turns(self) -> None:
        """Give further turns to programs until the limited time of the clock is up, or no program
        has anything left to try."""
        uses = made_by(self.network.layers)
        runs = [self.network.of_program(n) for n in range(len(uses))]
        had_s = {n: s for n, run in enumerate(runs) if (s := searched_s(run)) is not None}
        while had_s and (left := self.clock.left()) is not None and left > LEAST_MORE:
            times = {n: uses[n] * self._options(n)[0].time_ns for n in had_s}
            chosen = next_turn(times, had_s)
            seconds = min(left, further(self.clock.limit_s or 0.0))
            folder = runs[chosen].folder
            if self._turn(chosen, partial(resume, folder, hands=self.hands, seconds=seconds)):
                del had_s[chosen]
            else:
                had_s[chosen] = searched_s(runs[chosen]) or LEAST
            self.network.read_again(chosen)
            self.tell(chosen, self._options(chosen))

    def _begun(self, number: int, asked: asked_options.Options) -> tuple[Run, bool]:
        """The run of program number `number`, begun with the options `asked`, or gone on with."""
        run, program = self.network.of_program(number), self.network.layers.programs[number]
        if run.stored:
            return resume(run.folder, hands=self.hands)
        source = Source(self.network.layers.texts[number], f"<{program.name}>")
        return start(source, asked, self.target, run.folder, hands=self.hands)

    def _turn(self, number: int, search: Callable[[], tuple[Run, bool]]) -> bool:
        """Search for variants of program number `number`; returns True if nothing is left to search
        for. If no variant of it can be made, the reason is printed, and other programs are still
        explored; not with compilers that do not work."""
        try:
            return search()[1]
        except ToolchainFault:
            raise
        except UserError as error:
            name = self.network.layers.programs[number].name
            print(f"{name}: {error.message}", file=sys.stderr, flush=True)
            return True

    def _options(self, number: int) -> Sequence[Option]:
        return self.network.of_options(number, self.target)


def searched_s(run: Run) -> float | None:
    """The seconds of search that a run has had; None if it was not begun."""
    if not run.stored:
        return None
    return max((r.elapsed_s for r in run.records), default=0.0) or LEAST

"""The order in which candidates are evaluated: a few strata first, then where a learned model sees
promise.

A round is chosen from the outcomes of the rounds that lie more than `lag` before it, in whatever
order those arrived: for one seed and the same times the order is the same however many workers
there are, and while one round is measured the next can be built. To resume, go through the rounds
again and tell what is stored instead of measuring it.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from explore.options.options import Strategy
from explore.search.cost_model import expected_improvement
from explore.search.forecast import Expected, Learned, Outlook, coarse_log, learned, outlook
from explore.search.kernel_table import Floats, KernelTable
from explore.search.turns import Place, Turns, family_turns
from ir.core.frozen import frozen

NEAR = 12  # of the fastest, so many are looked around
AT_ONCE = 6  # in one round
ENOUGH = 8  # variants that ran: from fewer nothing is learned
SOON = 4  # in the very first round, so that a first result is there soon
KNOWN_SOON = 1  # in it, if some are known to be good
_GOOD = math.log(2.0)  # slower than the fastest: what is like this may be faster
_FAR = math.log(16.0)  # by rough estimates, which may be off by a factor for a whole family
FEW = 4  # of a form, in one round, while fewer of it are known
_HOPE = 2.0  # standard deviations
LOST = 4  # of a family that failed, while none ran: it is not seen to any more for its own sake


@frozen
class Shares:
    """The shares of a guided round: for the best of each family in turn, for the overall best, for
    the front, and for what is unexplored."""

    families: float = 0.0
    best: float = 0.5
    front: float = 0.3
    explore: float = 0.2


# Where times are rough estimates, which may be off by a factor for a whole family, few families
# would have all turns.
ESTIMATED = Shares(families=0.5, best=0.2, front=0.2, explore=0.1)


@frozen
class Grown:
    """The candidates that a search was given on its way: their `table`; the `strata` of all
    candidates that have any, by number, if new ones are among them (None: there are none); and
    `more`, True if a further call will give others."""

    table: KernelTable
    strata: Mapping[int, Place] | None = None
    more: bool = False


Grow = Callable[[Sequence[int], Sequence[int]], Grown]  # near some, and like the good ones


@dataclass(slots=True)
class Prior:
    """The knowledge from other runs with which a search begins: a table of their variants, the
    times of each variant's kernels, and the families of which they tell enough to forecast times
    (`familiar`). The model of these times is fitted once, when it is first asked."""

    table: KernelTable
    kernels: Sequence[Sequence[float]]
    familiar: Set[Hashable] = frozenset()
    _learned: Learned | None = None

    def expected(self, table: KernelTable) -> Expected:
        """The times that other runs lead to expect of the kernels of a table."""
        if self._learned is None:
            self._learned = learned(self.table, dict(enumerate(self.kernels)))
        return self._learned.expected(table)


class Search:
    """A search that hands out the candidates 0 … n-1 in rounds, each once.

    After the first round it also asks `grow` for further candidates: near the best ones, and of
    forms that were derived meanwhile. They get the numbers from n on.
    """

    def __init__(
        self,
        table: KernelTable,
        strata: Sequence[Place],
        *,
        strategy: Strategy = "guided",
        seed: int = 0,
        first: int = 16,
        spread: int = 64,
        batch: int = 16,
        lag: int = 1,
        shares: Shares | None = None,
        grow: Grow | None = None,
        begin: Sequence[int] = (),
        prior: Prior | None = None,
    ) -> None:
        self._table = table
        self._strategy, self._batch, self._lag = strategy, batch, lag
        self._shares = shares or Shares()
        self._random = np.random.default_rng(seed)
        self._turns = Turns(begin, spread, self._random)
        self._turns.put(dict(enumerate(strata)), table.total(table.estimates))
        if strategy == "random":
            self._turns.order = [int(i) for i in self._random.permutation(len(table))]
        self._prior = prior if prior is not None and prior.kernels else None
        self._learned = 0 if self._prior is None else len(self._prior.kernels)
        self._first = max(first if self._learned < ENOUGH else 0, len(begin))
        self._rounds: list[list[int]] = []
        self._taken: set[int] = set()
        self._times: dict[int, float | None] = {}
        self._kernels: dict[int, Sequence[float]] = {}  # the kernels of those that ran
        self._grow = grow
        self._looked: set[int] = set()  # around these

    @property
    def left(self) -> int:
        """The number of candidates that are not handed out yet."""
        return len(self._table) - len(self._taken)

    def tell(self, candidate: int, time: float | None, each: Sequence[float] = ()) -> None:
        """Take in a candidate's time, in any unit (None: it failed), and `each`, the times of its
        kernels (empty: not known).

        If the table does not have as many kernels for it, the time is divided among those of the
        table.
        """
        self._times[candidate] = time
        if time is not None:
            fits = len(each) == len(self._table.kernels_of(candidate))
            self._kernels[candidate] = each if fits else self._table.divided(candidate, time)

    def forecast(self) -> list[float]:
        """The time to expect of each candidate, by all that was told; none if that is too little to
        learn from."""
        good = sorted(i for i, time in self._times.items() if time is not None)
        if len(good) + self._learned < ENOUGH:
            return []
        failed = sorted(self._times.keys() - set(good))
        return [float(np.exp(mean)) for mean in self._outlook(good, failed, 0).mean]

    def next_round(self) -> list[int] | None:
        """The candidates of the next round; None while outcomes that it depends on are missing; []
        at the end."""
        if self._strategy == "random":
            chosen = self._from_order(self._batch)
        elif self.left and len(self._taken) < self._first:
            rest = self._first - len(self._taken)
            count = self._soon(min(self._batch, rest) if self._learned else self._batch)
            self._add_more(count, (), ())
            chosen = self._from_order(count)
        elif (known := self._known()) is None:
            return None
        else:
            chosen = self._guided(known)
        self._rounds.append(chosen)
        self._taken.update(chosen)
        return chosen

    def _known(self) -> list[int] | None:
        """The candidates that may be learned from, in a fixed order; None if the outcomes of some
        are missing."""
        settled = self._rounds[: max(0, len(self._rounds) - self._lag)]
        if any(i not in self._times for chosen in settled for i in chosen):
            return None
        recent = {i for chosen in self._rounds[len(settled) :] for i in chosen}
        return sorted(i for i in self._times if i not in recent)

    def _soon(self, count: int) -> int:
        """The number of candidates of this round, if later ones have `count`."""
        return count if self._rounds else min(count, KNOWN_SOON if self._turns.begin else SOON)

    def _from_order(self, count: int) -> list[int]:
        every = dict.fromkeys([*self._turns.order, *range(len(self._table))])
        return list(islice((i for i in every if i not in self._taken), count))

    def _add_more(self, count: int, parents: Sequence[int], good: Sequence[int]) -> None:
        """Add candidates near `parents` and like `good`; if fewer than `count` are left to be
        tried, also all others that can be had, until there are enough. The first round does with
        what there is."""
        if self._grow is None or not self._rounds:
            return
        more = self._added(self._grow(parents, good))
        while more and self.left < count:
            more = self._added(self._grow((), ()))

    def _added(self, found: Grown) -> bool:
        """Add the candidates found; returns True if a further call would find others."""
        self._table = self._table.followed_by(found.table)
        if found.strata is not None:
            self._turns.put(found.strata, self._table.total(self._table.estimates))
        return found.more

    def _guided(self, known: list[int]) -> list[int]:
        """The candidates of a guided round. A round grows with the number of outcomes known, so
        that the model is not fitted too often."""
        count = self._soon(max(self._batch, len(known) // 12))
        good = [i for i in known if self._times[i] is not None]
        self._look_around(good, count)
        fresh = np.array(sorted(set(range(len(self._table))) - self._taken), dtype=np.intp)
        if len(good) + self._learned < ENOUGH or len(fresh) <= count:
            return self._from_order(count)
        logs = np.array([coarse_log(self._times[i] or math.inf) for i in good])
        failed = [i for i in known if self._times[i] is None]
        seed, memory = int(self._random.integers(2**31)), self._table.memory
        seen = self._outlook(good, failed, seed)
        mean, spread, success = seen.mean[fresh], seen.spread[fresh], seen.chance[fresh]
        best = np.full(len(fresh), logs.min() if good else mean.min())
        every = front_at(memory, memory[good], logs) if good else np.full(len(memory), mean.min())
        here = every[fresh]
        hopeful = seen.mean < every + _GOOD
        chosen = self._unseen(round(self._shares.explore * count), known, hopeful)
        wishes = (
            (self._shares.best, success * expected_improvement(best, mean, spread)),
            (self._shares.front, success * expected_improvement(here, mean, spread)),
            (1.0, np.log(success) + _HOPE * spread - mean),  # what may be quick for all we know
        )
        kinds = self._table.kinds()
        room = _Room(Counter(kinds[i] for i in known), FEW if known or self._prior is None else 1)
        for i in chosen:
            room.take(kinds[i])
        wanted = round(self._shares.families * count)
        turns = self._of_each_family(fresh, np.log(success) - mean) if wanted else ()
        chosen += islice((i for i in turns if i not in chosen and room.take(kinds[i])), wanted)
        for share, score in wishes:
            wanted = min(count - len(chosen), max(1, round(share * count)))
            chosen += _top(fresh, score, chosen, wanted, lambda i: room.take(kinds[i]))
        return chosen

    def _outlook(self, good: Sequence[int], failed: Sequence[int], seed: int) -> Outlook:
        """The forecast of all candidates, from those that ran (`good`) or failed in this run, and
        from the variants of other runs."""
        taken = {i: self._kernels[i] for i in good}
        known = None if self._prior is None else self._prior.expected(self._table)
        return outlook(self._table, taken, failed, seed, known)

    def _unseen(self, count: int, known: Sequence[int], hopeful: NDArray[np.bool_]) -> list[int]:
        """The first `count` candidates that were not tried yet, in an order that takes from all
        strata in turn. Families that failed are left out and, of familiar families, the candidates
        that are not `hopeful`; of others, those that are estimated to be far slower than the
        quickest."""
        lost, familiar = self._lost(known), self._familiar(known)
        rough = self._table.total(self._table.estimates)
        likely = rough < rough.min() + _FAR
        fresh = ((i, self._turns.family(i)) for i in self._turns.spread if i not in self._taken)
        worth = (i for i, f in fresh if f not in lost and (hopeful if f in familiar else likely)[i])
        return list(islice(worth, count))

    def _familiar(self, known: Sequence[int]) -> Set[Hashable]:
        """The families of which enough was drawn and ran to forecast times, here or in other
        runs."""
        ran = Counter(self._turns.family(i) for i in known if self._times[i] is not None)
        elsewhere = set[Hashable]() if self._prior is None else self._prior.familiar
        return {family for family, n in ran.items() if n >= FEW} | elsewhere

    def _of_each_family(self, fresh: NDArray[np.intp], score: Floats) -> Sequence[int]:
        """The candidates `fresh`, one of each family in turn, those with a high score first. The
        score is the log of a time, but for its sign: a family with a lower one joins later."""
        families, scores = self._table.families(), dict(zip(fresh, score, strict=True))
        ranked = [int(i) for i in fresh[np.argsort(-score, kind="stable")]]
        return family_turns(ranked, families, lambda i: float(score.max() - scores[i]))

    def _lost(self, known: Sequence[int]) -> Set[Hashable]:
        """The families of which several candidates have failed, and none has run."""
        tried = [i for i in known if i in self._turns.places]
        failed = Counter(self._turns.family(i) for i in tried if self._times[i] is None)
        ran = {self._turns.family(i) for i in tried if self._times[i] is not None}
        return {family for family, n in failed.items() if n >= LOST} - ran

    def _foreseen(self) -> dict[int, float]:
        """The times of the candidates that are predicted to be the fastest by what other runs have
        measured; none if nothing is known of other runs."""
        if self._prior is None or not len(self._table):
            return {}
        mean = self._outlook([], [], 0).mean[: len(self._table)]
        return {int(i): float(np.exp(mean[i])) for i in np.argsort(mean, kind="stable")[:NEAR]}

    def _look_around(self, good: Sequence[int], count: int) -> None:
        """Ask for candidates near the fastest of those that ran (`good`) and near those on their
        front, and add them; `count` are wanted for this round."""
        if self._grow is None or not self._rounds:
            return
        times = {i: self._times[i] or math.inf for i in good} or self._foreseen()
        ranked = sorted(times, key=lambda i: (times[i], i))
        lean = np.minimum.accumulate([self._table.memory[i] for i in ranked]) if ranked else ()
        on_front = [
            i for n, i in enumerate(ranked) if n == 0 or self._table.memory[i] < lean[n - 1]
        ]
        parents = [i for i in dict.fromkeys([*ranked[:NEAR], *on_front]) if i not in self._looked]
        parents = parents[:AT_ONCE]
        self._looked.update(parents)
        logs = {i: coarse_log(times[i]) for i in ranked}
        worth = [i for i in ranked if logs[i] <= logs[ranked[0]] + _GOOD or i in on_front]
        self._add_more(count, parents, worth)


def front_at(wanted: Floats, memory: Floats, logs: Floats) -> Floats:
    """The best log time known within each amount of memory in `wanted`; `memory` and `logs` are
    those of the candidates that ran.

    For amounts below the least in `memory`, the worst time known stands in.
    """
    order = np.argsort(memory, kind="stable")
    best = np.minimum.accumulate(logs[order])
    at = np.searchsorted(memory[order], wanted, side="right") - 1
    return np.where(at >= 0, best[np.maximum(at, 0)], logs.max())


def run(
    search: Search,
    evaluate: Callable[[int], float | None],
    budget: int,
    each: Callable[[int], Sequence[float]] = lambda i: (),
) -> list[tuple[int, float | None]]:
    """The trace (candidate, time) of a search whose candidates are evaluated one by one, up to
    `budget`: `evaluate` gives a candidate's time or None, `each` the times of its kernels or ()."""
    trace: list[tuple[int, float | None]] = []
    while len(trace) < budget and (chosen := search.next_round()):
        for i in chosen[: budget - len(trace)]:
            trace.append((i, evaluate(i)))
            search.tell(*trace[-1], each(i))
    return trace


class _Room:
    """A limit on how many candidates of one form a round takes: `most`, while little is known of
    that form."""

    def __init__(self, known: Counter[bytes], most: int) -> None:
        self._known, self._most, self._taken = known, most, Counter[bytes]()

    def take(self, kind: bytes) -> bool:
        """Take a candidate of a form; returns True if there was room for it."""
        free = self._known[kind] >= FEW or self._taken[kind] < self._most
        self._taken[kind] += free
        return free


def _top(
    fresh: NDArray[np.intp],
    score: Floats,
    chosen: list[int],
    count: int,
    admit: Callable[[int], bool],
) -> list[int]:
    """The `count` best candidates by `score` among `fresh` that are not in `chosen` and that
    `admit` accepts."""
    ranked = map(int, fresh[np.argsort(-score, kind="stable")])
    return list(islice((i for i in ranked if i not in chosen and admit(i)), count))

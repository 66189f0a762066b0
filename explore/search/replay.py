"""The replay of a stored run, on which search strategies are compared without a device."""

import math
from collections.abc import Sequence

import numpy as np

from explore.options.options import Strategy
from explore.results.records import Record, kernels_of, latest
from explore.search.forecast import outlook
from explore.search.kernel_table import Floats
from explore.search.search import Search, run
from explore.search.search_over import search_over
from explore.search.variant_rows import kernel_table
from ir.core.frozen import frozen


@frozen
class Replay:
    """The candidates of a stored run with the times they had; a failed one has none."""

    records: tuple[Record, ...]

    @staticmethod
    def of(records: Sequence[Record]) -> "Replay":
        """The replay of those variants among a run's records that were lowered, each with its
        latest outcome."""
        return Replay(tuple(r for r in latest(records) if r.variant.derivation))

    def search(self, strategy: Strategy, seed: int, budget: int) -> Search:
        """The search over the recorded variants, as a run of `budget` variants with this strategy
        and seed would do it."""
        variants = [record.variant for record in self.records]
        return search_over(variants, self._memory(), strategy, seed, budget)

    def best_so_far(self, strategy: Strategy, seed: int, budget: int) -> list[float]:
        """The best time after 1, 2, … evaluations, up to `budget`, of a search over the recorded
        variants; infinite while nothing has run."""
        trace = run(self.search(strategy, seed, budget), self._time, budget, self._each)
        times = [math.inf if time is None else time for _, time in trace]
        return [float(t) for t in np.minimum.accumulate(times)] if times else []

    def _time(self, i: int) -> float | None:
        return self.records[i].time_ns

    def _each(self, i: int) -> Sequence[float]:
        return kernels_of(self.records[i].outcome)

    def rank_correlation(self, learned: int, seed: int) -> float:
        """The rank correlation (Spearman) of predicted with measured times, after learning from
        `learned` random variants."""
        ran = [r for r in self.records if r.time_ns is not None]
        order = np.random.default_rng(seed).permutation(len(ran))
        logs = np.log([r.time_ns or math.nan for r in ran])
        variants = [r.variant for r in ran]
        table = kernel_table(variants)
        seen, held = order[:learned], order[learned:]
        taken = {
            int(i): kernels_of(ran[i].outcome) or table.divided(i, math.exp(logs[i])) for i in seen
        }
        predicted = outlook(table, taken, (), seed).mean[held]
        return float(np.corrcoef(_ranks(predicted), _ranks(logs[held]))[0, 1])

    def _memory(self) -> list[float]:
        """The memory in bytes of each record; one without a plan counts as the most."""
        known = [r.memory_bytes for r in self.records if r.memory_bytes is not None]
        most = max(known, default=0)
        return [float(most if r.memory_bytes is None else r.memory_bytes) for r in self.records]


def _ranks(values: Floats) -> Floats:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)


def compare(
    replay: Replay, seeds: Sequence[int], budget: int
) -> dict[Strategy, list[tuple[float, float]]]:
    """The quality of each strategy for each seed: the best time after `budget` evaluations, as a
    multiple of the run's best, and the evaluation at which that time was reached."""
    strategies: tuple[Strategy, ...] = ("guided", "random")
    optimum = min((r.time_ns for r in replay.records if r.time_ns is not None), default=math.inf)
    found: dict[Strategy, list[tuple[float, float]]] = {}
    for strategy in strategies:
        curves = [replay.best_so_far(strategy, seed, budget) for seed in seeds]
        found[strategy] = [(c[-1] / optimum, float(c.index(c[-1]) + 1)) for c in curves if c]
    return found

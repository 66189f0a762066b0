"""The forecast of each candidate's time from its kernels, many of which it shares with candidates
that ran.

A kernel that was timed is taken at its time. For the others, a model tells the error of a rough
estimate of their time, so that few measurements suffice to begin with.
"""

# key: i candidate, k kernel

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from explore.search.correction import MOST, corrections
from explore.search.cost_model import Model, chances
from explore.search.kernel_table import Floats, KernelTable
from ir.core.frozen import frozen

STEP = math.log(1.03)  # times closer than this are one: noise must not turn the search around


@frozen
class Outlook:
    """The forecast of each candidate: the log of its time (`mean`), the deviation of this log
    (`spread`), and the chance that the candidate runs."""

    mean: Floats
    spread: Floats
    chance: Floats


@frozen
class Expected:
    """The times of a table's kernels that are expected before any of them has run here, one for
    each row: their logs (`mean`), and the deviations of these logs (`spread`)."""

    mean: Floats
    spread: Floats


@frozen
class Learned:
    """The knowledge of the times of kernels that other runs measured: the model of the error of
    estimates, of which a fraction `sure` is believed; the columns that it was fitted to; and the
    logs of the times of the kernels that ran, by their rows."""

    columns: Sequence[str]
    model: Model
    sure: float
    ran: Mapping[bytes, float]

    def expected(self, table: KernelTable) -> Expected:
        """The expected times of a table's kernels: the time of the very same kernel, where it ran,
        else that of the model."""
        rows = table.under(self.columns)
        error, spread, _ = self.model.predict(rows)
        mean = error + self.sure * table.estimates
        same = table.only(self.columns)
        for k, row in enumerate(rows):
            if same[k] and (log := self.ran.get(row.tobytes())) is not None:
                mean[k], spread[k] = log, STEP
        return Expected(mean, spread)


def learned(table: KernelTable, taken: Mapping[int, Sequence[float]]) -> Learned:
    """The knowledge of the times of a table's kernels that ran; `taken` has those of each
    candidate's kernels."""
    ran, logs = _medians(table, taken)
    sure = trust(table.estimates[ran], logs)
    model = Model.fit(table.rows, ran, ran, logs - sure * table.estimates[ran], seed=0)
    kernels = {table.rows[k].tobytes(): float(log) for k, log in zip(ran, logs, strict=True)}
    return Learned(table.columns, model, sure, kernels)


def outlook(
    table: KernelTable,
    taken: Mapping[int, Sequence[float]],
    failed: Iterable[int],
    seed: int,
    expected: Expected | None = None,
) -> Outlook:
    """The forecast of all candidates in a table, from those that ran, whose kernels' times are
    `taken`, and from those that failed. If other runs tell which times are to be `expected`, these
    take the place of the rough estimates. By how much they are off here is then told by the kernels
    that are like those that ran, until there are enough of these for a model."""
    ran, logs = _medians(table, taken)
    few = expected is not None and len(ran) <= MOST
    if expected is None:
        rough = trust(table.estimates[ran], logs) * table.estimates
        expected = Expected(rough, np.zeros(len(rough)))
    known = [*ran, *sorted({int(k) for i in failed for k in table.kernels_of(i)} - set(ran))]
    mean, spread, chance = expected.mean, expected.spread, np.ones(len(table.rows))
    if ran:
        off = logs - mean[ran]
        if few:
            error, spread = corrections(table, ran, off)
            chance = chances(table.rows, known, ran, seed)
        else:
            error, unsure, chance = Model.fit(table.rows, known, ran, off, seed).predict(table.rows)
            spread = np.hypot(spread, unsure)
        mean = mean + error
        mean[ran], spread[ran], chance[ran] = logs, STEP, 1.0
    total = table.total(mean)
    squares = np.square(np.exp(mean) * spread)[table.row_of]
    return Outlook(
        total,
        np.sqrt(np.add.reduceat(squares, table.start_of)) / np.exp(total),
        np.minimum.reduceat(chance[table.row_of], table.start_of),
    )


def _medians(table: KernelTable, taken: Mapping[int, Sequence[float]]) -> tuple[list[int], Floats]:
    """The rows of the kernels that ran, and the log of the median time of each; `taken` has the
    times of each candidate's kernels."""
    times = _of_kernels(table, taken)
    ran = sorted(times)
    return ran, np.array([coarse_log(float(np.median(times[k]))) for k in ran])


def _of_kernels(table: KernelTable, taken: Mapping[int, Sequence[float]]) -> dict[int, list[float]]:
    """The times of each kernel in the candidates that ran, by its row; `taken` has the times of
    each candidate's kernels."""
    times = defaultdict[int, list[float]](list)
    for i, each in taken.items():
        for k, time in zip(table.kernels_of(i), each, strict=True):
            times[int(k)].append(time)
    return dict(times)


def trust(estimate: Floats, logs: Floats) -> float:
    """The fraction, 0 to 1, of the differences between estimates that the logs of measured times
    confirm."""
    apart = estimate - estimate.mean()
    size = float(apart @ apart)
    return min(1.0, max(0.0, float(apart @ logs) / size)) if size else 0.0


def coarse_log(time: float) -> float:
    """The logarithm of a time, rounded to multiples of STEP, so that noise in a time does not
    change a search."""
    return STEP * round(math.log(max(time, 1e-300)) / STEP)

"""The forecast of each candidate's time from its kernels, many of which it shares with candidates
that ran.

A kernel that was timed is taken at its time. For the others, a model tells the error of a rough
estimate of their time, so that few measurements suffice to begin with.
"""

# key: i candidate, k kernel

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explore.search.cost_model import Model
from explore.search.kernel_table import Floats, KernelTable

STEP = math.log(1.03)  # times closer than this are one: noise must not turn the search around


@dataclass(frozen=True, slots=True)
class Outlook:
    """The forecast of each candidate: the log of its time (`mean`), the deviation of this log
    (`spread`), and the chance that the candidate runs."""

    mean: Floats
    spread: Floats
    chance: Floats


def outlook(
    table: KernelTable,
    taken: Mapping[int, Sequence[float]],
    failed: Iterable[int],
    seed: int,
    elsewhere: Mapping[int, Sequence[float]] | None = None,
) -> Outlook:
    """The forecast of all candidates in a table, from those that ran, whose kernels' times are
    `taken`, and from those that failed. Times from `elsewhere` count only for kernels that did not
    run here."""
    times = _of_kernels(table, taken)
    times = {**_of_kernels(table, elsewhere or {}), **times}
    ran = sorted(times)
    logs = np.array([coarse_log(float(np.median(times[k]))) for k in ran])
    estimate = trust(table.estimates[ran], logs) * table.estimates
    bad = sorted({int(k) for i in failed for k in table.kernels_of(i)} - set(ran))
    model = Model.fit(table.rows, [*ran, *bad], ran, logs - estimate[ran], seed)
    error, spread, chance = model.predict(table.rows)
    mean = error + estimate
    mean[ran], spread[ran], chance[ran] = logs, STEP, 1.0
    total = table.total(mean)
    unsure = np.square(np.exp(mean) * spread)[table.row_of]
    return Outlook(
        total,
        np.sqrt(np.add.reduceat(unsure, table.start_of)) / np.exp(total),
        np.minimum.reduceat(chance[table.row_of], table.start_of),
    )


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

"""The correction of the times that other runs lead to expect, by the few kernels that ran here: a
kernel is off by as much as those that are like it (Rasmussen, Williams: Gaussian Processes for
Machine Learning, 2006, chapter 2).

A forest that learns from a few kernels takes all others to be off as these are, and is sure of it.
Here a kernel that is unlike those that ran stays as expected, and as unsure.
"""

# key: k kernel (a row of the table)

from collections.abc import Sequence

import numpy as np

from explore.search.kernel_table import Floats, KernelTable

MOST = 100  # kernels that ran: from more, a forest learns
TOGETHER = 0.1  # by how much the logs of all times are off alike
ALIKE = 0.25  # by how much those of kernels that are alike are off, besides
FAR = 32.0  # kernels that differ by so many words, or deviations of features, tell 1 / e as much
NOISE = 0.04


def corrections(table: KernelTable, ran: Sequence[int], off: Floats) -> tuple[Floats, Floats]:
    """Two arrays, with a number for each kernel in a table: by how much the log of its expected
    time is off, and the deviation of that. The kernels `ran` are off by `off`."""
    like = _covariance(table, ran)
    weights = np.linalg.solve(like[ran] + NOISE**2 * np.eye(len(ran)), like.T)
    known = np.einsum("kn,nk->k", like, weights)
    unsure = np.maximum(TOGETHER**2 + ALIKE**2 - known, 0.0) + NOISE**2
    return np.asarray(off @ weights), np.sqrt(unsure)


def _covariance(table: KernelTable, ran: Sequence[int]) -> Floats:
    """The covariance of the errors of each kernel in a table, a row, with those of the kernels
    `ran`, a column for each."""
    words = ["=" in name for name in table.columns]
    deviation = table.rows.std(axis=0)
    scale = np.where(words, 1.0, np.where(deviation > 0, deviation, 1.0))
    rows = table.rows / scale
    apart = np.stack([np.abs(rows - rows[k]).sum(axis=1) for k in ran], axis=1)
    return np.asarray(TOGETHER**2 + ALIKE**2 * np.exp(-apart / FAR))

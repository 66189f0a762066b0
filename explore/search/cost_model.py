"""The learned cost model: forests over features of kernels that are known before they run."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.frozen import frozen

Floats = NDArray[np.float64]

_TREES = 48


@frozen
class Model:
    """A model of kernels: `times` predicts by how much the estimate of a time is wrong, and how
    sure that is; `success` predicts the chance that a kernel runs (None: no known kernel has
    failed)."""

    times: Any
    success: Any | None  # None when nothing has failed

    @staticmethod
    def fit(
        features: Floats, known: Sequence[int], good: Sequence[int], errors: Floats, seed: int
    ) -> "Model":
        """The model that learns from the kernels `known`, given as rows of `features`: those in
        `good` ran, and took exp(`errors`) times as long as estimated; the others failed."""
        return Model(
            _forest(features[good], errors, 2, seed), _success(features, known, good, seed)
        )

    def predict(self, features: Floats) -> tuple[Floats, Floats, Floats]:
        """Three arrays, with a number for each row of features: the mean and the deviation of the
        log of the estimate's error, and the chance that the kernel runs."""
        rows = np.ascontiguousarray(features, dtype=np.float32)
        trees = np.stack([tree.predict(rows) for tree in self.times.estimators_])
        return trees.mean(0), trees.std(0) + 1e-3, _chances(self.success, features)


def chances(features: Floats, known: Sequence[int], good: Sequence[int], seed: int) -> Floats:
    """The chance that each kernel runs, a row of `features`, learned from the kernels `known`, of
    which those in `good` ran."""
    return _chances(_success(features, known, good, seed), features)


def _success(features: Floats, known: Sequence[int], good: Sequence[int], seed: int) -> Any | None:
    """The forest that predicts whether kernels run; None if none of the known ones has failed."""
    ran = np.isin(known, good).astype(float)
    return None if ran.all() else _forest(features[known], ran, 3, seed)


def _chances(success: Any | None, rows: Floats) -> Floats:
    return np.ones(len(rows)) if success is None else np.clip(success.predict(rows), 0.02, 1.0)


def _forest(rows: Floats, target: Floats, leaf: int, seed: int) -> Any:
    """The forest that learns a target, a number for each row; `leaf` are the rows that a leaf has
    at least."""
    from sklearn.ensemble import ExtraTreesRegressor  # here: it takes a second to import

    made = ExtraTreesRegressor(_TREES, min_samples_leaf=leaf, max_features=0.6, random_state=seed)
    return made.fit(rows, target)


def expected_improvement(best: Floats, mean: Floats, spread: Floats) -> Floats:
    """The expected fall of the log time below `best`, for predictions that are normally distributed
    with these means and deviations (`spread`)."""
    z = (best - mean) / spread
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])
    return np.asarray((best - mean) * below + spread * density, dtype=np.float64)

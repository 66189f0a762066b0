"""The learned cost model: forests over what the compiler knows of a kernel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TREES = 48


@dataclass(frozen=True, slots=True)
class Model:
    """Predicts the log of a time over its estimate, how sure it is, and whether a kernel runs at
    all."""

    times: Any
    success: Any | None  # None when nothing has failed

    @staticmethod
    def fit(
        features: Floats, known: Sequence[int], good: Sequence[int], errors: Floats, seed: int
    ) -> "Model":
        """A model fitted to the kernels `known`, of which those in `good` ran, in exp(`errors`)
        times what was estimated."""
        from sklearn.ensemble import ExtraTreesRegressor  # here: it takes a second to import

        def forest(rows: Sequence[int], target: Floats, leaf: int) -> Any:
            made = ExtraTreesRegressor(
                _TREES, min_samples_leaf=leaf, max_features=0.6, random_state=seed
            )
            return made.fit(features[rows], target)

        ran = np.isin(known, good).astype(float)
        return Model(forest(good, errors, 2), None if ran.all() else forest(known, ran, 3))

    def predict(self, features: Floats) -> tuple[Floats, Floats, Floats]:
        """For each row the mean and standard deviation of the log, and the chance to run."""
        rows = np.ascontiguousarray(features, dtype=np.float32)
        trees = np.stack([tree.predict(rows) for tree in self.times.estimators_])
        chance = np.ones(len(rows)) if self.success is None else self.success.predict(rows)
        return trees.mean(0), trees.std(0) + 1e-3, np.clip(chance, 0.02, 1.0)


def expected_improvement(best: Floats, mean: Floats, spread: Floats) -> Floats:
    """The fall of the log time below `best` that is expected, for normal predictions."""
    z = (best - mean) / spread
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])
    return np.asarray((best - mean) * below + spread * density, dtype=np.float64)

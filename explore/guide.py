"""The search over a run's candidates: which strata it sees first, and how long its rounds are."""

from collections.abc import Callable, Sequence

import numpy as np

from explore.encode import Floats, matrix, rows, strata
from explore.records import Variant
from explore.search import Search, Strategy

Near = Callable[[Sequence[int]], tuple[Sequence[Variant], Sequence[float]]]


def search_over(
    variants: Sequence[Variant],
    memory: Sequence[float],
    strategy: Strategy,
    seed: int,
    budget: int,
    near: Near | None = None,
) -> Search:
    """At most a quarter of the budget goes to strata in turn; then rounds are guided. `near` gives
    further variants, and their memory, that are close to those of some numbers."""
    names, known = matrix(variants)

    def grow(parents: Sequence[int]) -> tuple[Floats, Floats]:
        assert near is not None
        more, theirs = near(parents)
        return rows(names, more), np.asarray(theirs, dtype=np.float64)

    places = strata(variants, memory)
    families_and_levels = len({place[:2] for place in places})
    return Search(
        known,
        places,
        memory,
        strategy=strategy,
        grow=None if near is None else grow,
        seed=seed,
        first=max(families_and_levels, 16, min(128, budget // 4)),
        batch=max(8, min(32, budget // 12)),
    )

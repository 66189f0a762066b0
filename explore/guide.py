"""The search over a run's candidates: which strata it sees first, and how long its rounds are."""

from collections.abc import Sequence

from explore.encode import matrix, strata
from explore.records import Variant
from explore.search import Search, Strategy


def search_over(
    variants: Sequence[Variant],
    memory: Sequence[float],
    strategy: Strategy,
    seed: int,
    budget: int,
) -> Search:
    """At most a quarter of the budget goes to strata in turn; then rounds are guided."""
    places = strata(variants, memory)
    families_and_levels = len({place[:2] for place in places})
    return Search(
        matrix(variants)[1],
        places,
        memory,
        strategy=strategy,
        seed=seed,
        first=max(families_and_levels, 16, min(128, budget // 4)),
        batch=max(8, min(32, budget // 12)),
    )

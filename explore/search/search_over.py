"""The search over a run's candidates: which strata it sees first, and how long its rounds are."""

from collections.abc import Callable, Sequence

from explore.options.options import Strategy
from explore.results.records import Variant
from explore.search.kernel_table import KernelTable
from explore.search.search import Search
from explore.search.variant_rows import kernel_table, strata

Near = Callable[[Sequence[int], Sequence[int]], tuple[Sequence[Variant], Sequence[float]]]


def search_over(
    variants: Sequence[Variant],
    memory: Sequence[float],
    strategy: Strategy,
    seed: int,
    budget: int,
    near: Near | None = None,
) -> Search:
    """The search over these variants within a budget: a few strata first, then guided rounds, in
    which strata not seen yet still get turns, about a quarter of the budget in all.

    `memory` has the bytes of each variant. `near` gives further variants, with theirs: those near
    the variants of some numbers, and those of forms like the forms of good ones.
    """

    def grow(parents: Sequence[int], good: Sequence[int]) -> KernelTable:
        assert near is not None
        more, theirs = near(parents, good)
        return kernel_table(more, theirs)

    places = strata(variants, memory)
    families_and_levels = len({place[:2] for place in places})
    return Search(
        kernel_table(variants, memory),
        places,
        strategy=strategy,
        grow=None if near is None else grow,
        seed=seed,
        first=max(16, min(32, budget // 16)),
        spread=max(families_and_levels, 16, min(128, budget // 4)),
        batch=max(8, min(32, budget // 12)),
    )

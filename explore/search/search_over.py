"""The search over a run's candidates: which strata it sees first, and how long its rounds are."""

from collections.abc import Callable, Sequence

from explore.options.options import Strategy
from explore.results.records import Record, Variant, kernels_of
from explore.search.kernel_table import KernelTable
from explore.search.search import Prior, Search, Shares
from explore.search.variant_rows import kernel_table, strata

Near = Callable[[Sequence[int], Sequence[int]], tuple[Sequence[Variant], Sequence[float]]]


def search_over(
    variants: Sequence[Variant],
    memory: Sequence[float],
    strategy: Strategy,
    seed: int,
    budget: int,
    near: Near | None = None,
    begin: Sequence[int] = (),
    learned: Sequence[Record] = (),
    lag: int = 1,
    shares: Shares | None = None,
) -> Search:
    """The search over these variants within a budget: a few strata first, then guided rounds, in
    which strata not seen yet still get turns, about a quarter of the budget in all.

    `memory` has the bytes of each variant. `near`, called with the numbers of some variants and of
    good ones, gives further variants, near the first and in forms like those of the good ones, with
    their bytes. The variants with the numbers `begin` come first; `learned` are records of other
    runs, from which times are predicted. Each round is chosen without the outcomes of the `lag`
    rounds before it, which may be under way then. `shares` are those of guided rounds.
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
        begin=begin,
        prior=prior_of(learned),
        grow=None if near is None else grow,
        seed=seed,
        first=max(16, min(32, budget // 16)),
        spread=max(families_and_levels, 16, min(128, budget // 4)),
        batch=max(4, min(32, budget // 12)),
        lag=lag,
        shares=shares,
    )


def prior_of(records: Sequence[Record]) -> Prior | None:
    """The knowledge for a search from the records of other runs; None if none of them has the times
    of its kernels."""
    timed = [(r.variant, kernels_of(r.outcome)) for r in records]
    fit = [(v, each) for v, each in timed if each and len(each) == len(v.features)]
    if not fit:
        return None
    return Prior(kernel_table([v for v, _ in fit]), [each for _, each in fit])

"""The search over a run's candidates: which strata it sees first, and how long its rounds are."""

from collections import Counter
from collections.abc import Callable, Sequence

from explore.options.options import Strategy
from explore.results.records import Record, Variant, kernels_of
from explore.search.search import FEW, Grown, Prior, Search, Shares
from explore.search.turns import Place
from explore.search.variant_rows import kernel_table, strata
from ir.core.frozen import frozen


@frozen
class Nearby:
    """The variants that join a search on its way, with the bytes of memory of each: first the
    `drawn` ones of forms that were derived meanwhile, then neighbours of good ones. With `more`, a
    further call will give others, whatever is good."""

    variants: Sequence[Variant]
    memory: Sequence[float]
    drawn: int = 0
    more: bool = False


Near = Callable[[Sequence[int], Sequence[int]], Nearby]


def round_size(budget: int) -> int:
    """The number of candidates in a round of a search within a budget."""
    return max(4, min(32, budget // 12))


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
    good ones, gives further variants, near the first and in forms like those of the good ones. The
    variants with the numbers `begin` come first; `learned` are records of other
    runs, from which times are predicted. Each round is chosen without the outcomes of the `lag`
    rounds before it, which may be under way then. `shares` are those of guided rounds.
    """

    known = list(zip(variants, memory, strict=True))
    drawn = list(range(len(known)))  # by number: those that have strata

    def grow(parents: Sequence[int], good: Sequence[int]) -> Grown:
        assert near is not None
        found = near(parents, good)
        drawn.extend(range(len(known), len(known) + found.drawn))
        known.extend(zip(found.variants, found.memory, strict=True))
        table = kernel_table(found.variants, found.memory)
        return Grown(table, places() if found.drawn else None, found.more)

    def places() -> dict[int, Place]:
        every = strata([known[i][0] for i in drawn], [known[i][1] for i in drawn])
        return dict(zip(drawn, every, strict=True))

    return Search(
        kernel_table(variants, memory),
        strata(variants, memory),
        strategy=strategy,
        begin=begin,
        prior=prior_of(learned),
        grow=None if near is None else grow,
        seed=seed,
        first=max(16, min(32, budget // 16)),
        spread=max(16, min(128, budget // 4)),
        batch=round_size(budget),
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
    count = Counter(variant.family for variant, _ in fit)
    familiar = frozenset(family for family, n in count.items() if n >= FEW)
    return Prior(kernel_table([v for v, _ in fit]), [each for _, each in fit], familiar)

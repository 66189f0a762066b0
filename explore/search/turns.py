"""The order in which candidates of different strata take turns."""

# key: i candidate

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from explore.search.kernel_table import Floats

_BLUR = math.log(2.0)  # estimates closer than this say nothing
_TWICE = math.log(2.0)


def stratified(
    strata: Sequence[tuple[Hashable, ...]], estimate: Floats, random: np.random.Generator
) -> list[int]:
    """An order of candidates, by number, that takes one from each stratum in turn, and likewise
    from finer strata inside each. `strata` has the strata of each candidate, the coarsest (its
    family) first; `estimate` has the log of its estimated time.

    Inside the finest strata, the candidates that are estimated to be quickest come first, but for a
    little noise drawn from `random`. A family whose quickest candidate is estimated to be slower
    than the quickest of all joins later: by one turn for each factor of two.
    """
    blurred = estimate + _BLUR * random.standard_normal(len(strata))
    members = [int(i) for i in np.argsort(blurred, kind="stable")]
    return _in_turns(members, strata, 0, lambda i: float((estimate[i] - estimate.min()) / _TWICE))


def family_turns(
    ranked: list[int], families: Sequence[Hashable], slower: Callable[[int], float]
) -> list[int]:
    """The candidates `ranked`, best first, as turns of their families (`families` has that of each
    candidate). A family joins later by one turn for each factor of two that its best candidate is
    slower than the best of all; `slower` has the log of that factor."""
    strata = [(family,) for family in families]
    return _in_turns(ranked, strata, 0, lambda i: slower(i) / _TWICE)


def _in_turns(
    members: list[int],
    strata: Sequence[tuple[Hashable, ...]],
    depth: int,
    slower: Callable[[int], float],
) -> list[int]:
    """The candidates `members` in turns, one from each stratum at this depth, where each stratum is
    itself in turns of finer ones. `strata` has the strata of each candidate, the coarsest (depth 0)
    first. At depth 0 a stratum joins later, by as many turns as `slower` gives for its best
    candidate."""
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    for i in members:
        groups.setdefault(strata[i][depth : depth + 1], []).append(i)
    if () in groups:
        return members
    ordered = [_in_turns(group, strata, depth + 1, slower) for group in groups.values()]
    late = [0 if depth else int(min(map(slower, group))) for group in ordered]
    turns = max((len(group) + n for group, n in zip(ordered, late, strict=True)), default=0)
    return [
        group[turn - n]
        for turn in range(turns)
        for group, n in zip(ordered, late, strict=True)
        if 0 <= turn - n < len(group)
    ]

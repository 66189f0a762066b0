"""The order in which candidates of different strata take turns."""

# key: i candidate

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from explore.search.kernel_table import Floats

_BLUR = math.log(2.0)  # estimates closer than this say nothing
_TWICE = math.log(2.0)

Place = tuple[Hashable, ...]  # the strata of a candidate, the coarsest (its family) first


@dataclass(slots=True)
class Turns:
    """The order of a search's candidates: those of `begin`, then one from each stratum in turn.
    `most` are seen sooner or later, and at least as many as there are families and levels, beside
    those of `begin`. Candidates may be added; the noise in the order of those before them stays as
    it was drawn from `random`."""

    begin: Sequence[int]
    most: int
    random: np.random.Generator
    order: list[int] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)  # by candidate
    noise: dict[int, float] = field(default_factory=dict)

    def put(self, places: Mapping[int, Place], estimate: Floats) -> None:
        """Put candidates with these strata in their order; `estimate` has the log of each
        candidate's estimated time."""
        self.places = dict(sorted(places.items()))
        new = [i for i in self.places if i not in self.noise]
        self.noise |= zip(new, map(float, self.random.standard_normal(len(new))), strict=True)
        numbers = list(self.places)
        noise = np.array([self.noise[i] for i in numbers])
        order = stratified(list(self.places.values()), estimate[numbers], noise)
        self.order = list(dict.fromkeys([*self.begin, *(numbers[n] for n in order)]))

    @property
    def spread(self) -> list[int]:
        """The candidates that are seen, sooner or later."""
        levels = {place[:2] for place in self.places.values()}
        return self.order[: max(self.most, len(levels)) + len(self.begin)]

    def family(self, i: int) -> Hashable:
        """The family of a candidate; None if it has no strata."""
        return next(iter(self.places.get(i, ())), None)


def stratified(strata: Sequence[Place], estimate: Floats, noise: Floats) -> list[int]:
    """An order of candidates, by number, that takes one from each stratum in turn, and likewise
    from finer strata inside each. `strata` has the strata of each candidate, the coarsest (its
    family) first; `estimate` has the log of its estimated time.

    Inside the finest strata, the candidates that are estimated to be quickest come first, but for a
    little `noise`: a normally distributed number for each. A family whose quickest candidate is
    estimated to be slower than the quickest of all joins later: by one turn for each factor of two.
    """
    blurred = estimate + _BLUR * noise
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
    strata: Sequence[Place],
    depth: int,
    slower: Callable[[int], float],
) -> list[int]:
    """The candidates `members` in turns, one from each stratum at this depth, where each stratum is
    itself in turns of finer ones. `strata` has the strata of each candidate, the coarsest (depth 0)
    first. At depth 0 a stratum joins later, by as many turns as `slower` gives for its best
    candidate."""
    groups: dict[Place, list[int]] = {}
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

"""The choice of an option for each layer, with the least time within a budget of bytes, decided
exactly.

The choice is a 0-1 programme. The memory that it takes is the most that any layer needs at its
worst moment, and the sum of what all layers keep for good. Both together must stay within the
budget."""

# key: l number of a layer, o number of one of its options

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from explore.network_choice.find_options import Options
from explore.network_choice.layer_options import Option
from explore.network_choice.layers_in_parts import without_copies
from explore.network_choice.live_bytes import LiveTensors, Moment
from explore.network_choice.network_plan import NetworkPlan, assembled
from explore.network_graph.network_layers import Layers
from explore.options.units import show_bytes
from ir.errors import UserError

UNIT = 1024.0  # bytes: what the solver counts in
TIME_LIMIT = 60.0  # seconds that the solver may take
TRIES = 8  # budgets that are asked for, where the arena cannot be as small as its bound


@dataclass(frozen=True, slots=True)
class Choice:
    """An option for each layer, their plan, and the share of its time by which another choice might
    still be faster (0: it is proved to be the best)."""

    layers: Layers
    options: tuple[Option, ...]
    plan: NetworkPlan
    gap: float

    @property
    def time_ns(self) -> float:
        """The sum of the layers' times."""
        return sum(o.time_ns for o in self.options)

    @property
    def memory_bytes(self) -> int:
        return self.plan.memory_bytes


@dataclass(frozen=True, slots=True)
class Chooser:
    """The 0-1 programme of a network: the options of each layer, with each option's time, the bytes
    that it keeps, and its worst moment; `outside` are the bytes of inputs and results, which lie
    outside the arena."""

    layers: Layers
    options: tuple[tuple[Option, ...], ...]  # of each layer
    moments: tuple[tuple[Moment, ...], ...]
    outside: int

    @staticmethod
    def of(layers: Layers, options: Options) -> "Chooser":
        """The 0-1 programme of a network, from its layers and the options of each of its programs.
        A layer whose result is a part of a concatenation writes it there at once, if the layer
        can."""
        layers, of_layers = without_copies(layers, [options[x.program] for x in layers.layers])
        live = LiveTensors.of(layers)
        moments = tuple(
            tuple(live.moment(layers, l, option) for option in each)
            for l, each in enumerate(of_layers)
        )
        return Chooser(layers, of_layers, moments, live.outside)

    def fastest(self) -> Choice:
        """The fastest choice of all, without a budget."""
        chosen = [min(each, key=lambda o: (o.time_ns, o.kept_bytes)) for each in self.options]
        return self._choice_of(chosen)

    def within(self, budget: int) -> Choice:
        """The fastest choice whose plan takes at most `budget` bytes; if there is none, a UserError
        says what the least is.

        The programme decides by the arena's bound. If a choice's arena is larger than that, so that
        its plan takes too many bytes, the programme is solved again for a smaller budget.
        """
        asked, bound = budget, 0.0
        for _ in range(TRIES):
            solved = self._solved(asked)
            if solved is None:
                break
            choice = self._choice(*solved)
            bound = bound or choice.time_ns * (1 - choice.gap)  # nothing within it is faster
            if choice.memory_bytes <= budget:
                return replace(choice, gap=1 - bound / choice.time_ns)
            asked -= choice.memory_bytes - budget
        least = self.least()
        if least.memory_bytes <= budget:
            return replace(least, gap=1 - bound / least.time_ns)
        raise UserError(self._too_little(budget))

    def _choice(self, numbers: Sequence[int], gap: float = 0.0) -> Choice:
        return self._choice_of([e[o] for e, o in zip(self.options, numbers, strict=True)], gap)

    def _choice_of(self, chosen: Sequence[Option], gap: float = 0.0) -> Choice:
        return Choice(self.layers, tuple(chosen), assembled(self.layers, chosen), gap)

    def least(self) -> Choice:
        """The choice of least memory; of several, the fastest."""
        solved = self._solved(None)
        assert solved is not None
        least = self._choice(*solved)
        faster = self._solved(least.memory_bytes)
        other = least if faster is None else self._choice(*faster)
        return other if other.memory_bytes <= least.memory_bytes else least

    def greedy(self, budget: int) -> Choice | None:
        """The choice that people make by hand: each layer in turn takes its fastest option that
        still fits, while the layers after it have their smallest; None if even the smallest options
        do not fit."""
        least = self.least()
        chosen = list(least.options)
        if least.memory_bytes > budget:
            return None
        for l, each in enumerate(self.options):
            for option in sorted(each, key=lambda o: o.time_ns):
                tried = [*chosen[:l], option, *chosen[l + 1 :]]
                if self.bytes_of(tried) <= budget:
                    chosen = tried
                    break
        return self._choice_of(chosen, np.inf)

    def sweep(self, points: int = 24) -> list[Choice]:
        """The front of the network: choices of which none is beaten in both time and memory, the
        fastest first. Where there are more than `points` of them, some are left out."""
        found = [self.fastest()]
        least = self.least()
        step = max(1, (found[0].memory_bytes - least.memory_bytes) // points)
        while found[-1].memory_bytes - step > least.memory_bytes:
            found.append(self.within(found[-1].memory_bytes - step))
        if least.memory_bytes < found[-1].memory_bytes:
            found.append(least)
        return _not_beaten(found)

    def bytes_of(self, chosen: Sequence[Option]) -> int:
        """The bytes that the options `chosen` take, if their arena is as small as its bound."""
        worst = 0
        for each, moments, option in zip(self.options, self.moments, chosen, strict=True):
            worst = max(worst, moments[each.index(option)].bytes)
        return self.outside + sum(o.kept_bytes for o in chosen) + worst

    def _solved(self, budget: int | None) -> tuple[list[int], float] | None:
        """The numbers of the options, one for each layer, that take the least time within a budget
        (None: that take the least memory), and the share of that by which another choice might
        still be better; None if no choice is within the budget."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import

        every = [(l, o) for l, each in enumerate(self.options) for o in range(len(each))]
        n = len(every)  # and one more unknown: the arena
        rows, low, high = [], [], []
        for layer in range(len(self.options)):
            rows.append([*(float(l == layer) for l, _ in every), 0.0])  # one option each
            low.append(1.0)
            high.append(1.0)
            need = [self.moments[l][o].bytes / UNIT * (l == layer) for l, o in every]
            rows.append([*need, -1.0])  # fits into the arena
            low.append(-np.inf)
            high.append(0.0)
        kept = [self.options[l][o].kept_bytes / UNIT for l, o in every]
        times = [self.options[l][o].time_ns for l, o in every]
        if budget is None:
            cost = [*kept, 1.0]
        else:
            cost = [*(t / max(times) for t in times), 0.0]
            rows.append([*kept, 1.0])
            low.append(-np.inf)
            high.append((budget - self.outside) / UNIT)
        found = milp(
            cost,
            constraints=LinearConstraint(np.array(rows), np.array(low), np.array(high)),
            integrality=[1] * n + [0],
            bounds=Bounds([0.0] * (n + 1), [1.0] * n + [np.inf]),
            options={"time_limit": TIME_LIMIT, "mip_rel_gap": 0.0},
        )
        if found.x is None:
            return None
        numbers = [0] * len(self.options)
        for (l, o), x in zip(every, found.x[:n], strict=True):
            if x > 0.5:
                numbers[l] = o
        return numbers, float(found.mip_gap or 0.0)

    def _too_little(self, budget: int) -> str:
        """The message that a budget is too small: what the least is, and what makes it."""
        least = self.least()
        worst = [
            moments[each.index(option)]
            for each, moments, option in zip(self.options, self.moments, least.options, strict=True)
        ]
        l = max(range(len(worst)), key=lambda i: worst[i].bytes)
        layer = self.layers.layers[l]
        arrays = sorted(worst[l].arrays, key=lambda a: -a[1])[:4]
        told = ", ".join(f"{name} {show_bytes(size)}" for name, size in arrays)
        kept = sum(o.kept_bytes for o in least.options)
        return (
            f"no choice takes at most {show_bytes(budget)}: the least is "
            f"{show_bytes(least.memory_bytes)} ({least.memory_bytes:,} bytes), of which weights "
            f"stay for good with {show_bytes(kept)}, inputs and results with "
            f"{show_bytes(self.outside)}; most lives at layer '{layer.title}' ({layer.operator}): "
            f"{told}"
        )


def _not_beaten(found: Sequence[Choice]) -> list[Choice]:
    kept: list[Choice] = []
    for choice in sorted(found, key=lambda c: (c.time_ns, c.memory_bytes)):
        if not kept or choice.memory_bytes < kept[-1].memory_bytes:
            kept.append(choice)
    return kept

"""The choice of an option for each layer, with the least time within a budget of bytes, decided
exactly, together with the layouts of the tensors between them.

The choice is a 0-1 programme. The memory that it takes is the most that any layer needs at its
worst moment, and the sum of what all layers keep for good. Both together must stay within the
budget."""

# key: l number of a layer

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf

from explore.network_choice.arena_demands import Chosen, demand_of, demand_of_all
from explore.network_choice.find_options import Options
from explore.network_choice.kept_arrays import Keeps, kept_together
from explore.network_choice.layer_options import Option
from explore.network_choice.layers_in_parts import Offer, Offers, offers_of, without_copies
from explore.network_choice.live_bytes import LiveTensors
from explore.network_choice.network_plan import NetworkPlan, assembled
from explore.network_choice.programme import LEEWAY, Demand, Programme, Solution
from explore.network_graph.arranged_layers import arranged
from explore.network_graph.layer_layouts import CHANGE
from explore.network_graph.network_layers import Change, Layers
from explore.operators.layouts import Layout
from explore.options.units import show_bytes
from ir.core.frozen import frozen
from ir.errors import UserError

TRIES = 60  # solutions that are tried, where the arena cannot be as small as its bound


@frozen
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

    @property
    def kept_bytes(self) -> int:
        """The bytes of weights that stay for good; those that layers share count once."""
        chosen = zip(self.layers.layers, self.options, strict=True)
        return kept_together(Keeps.of(layer, option.plan) for layer, option in chosen)


@frozen
class Least:
    """The choice of least memory that is found, and the bytes that any choice is proved to take."""

    choice: Choice
    proved: int


@dataclass(slots=True)
class Learned:
    """The facts that were learned by solving a network's programme: the demands that arenas make,
    and the choice of least memory (None: it was not asked for yet)."""

    demands: list[Demand] = field(default_factory=list)
    least: Least | None = None


@frozen
class Chooser:
    """The 0-1 programme of a network, the choices that it makes, and what was learned from them."""

    programme: Programme
    learned: Learned = field(default_factory=Learned)

    @staticmethod
    def of(layers: Layers, options: Options) -> "Chooser":
        """The chooser of a network, from its layers and the options of each of its programs. A
        layer whose result is a part of a concatenation writes it there at once, if the layer
        can."""
        changes = {change: options[number] for change, number in layers.changes.items()}
        measured = all(options[layer.program][0].measured for layer in layers.layers)
        able = {t: [o for o in each if o.measured or not measured] for t, each in changes.items()}
        return Chooser(Programme.of(*without_copies(layers, offers_of(layers, options)), able))

    @property
    def layers(self) -> Layers:
        """The layers, each as it is by default."""
        return self.programme.layers

    @property
    def offers(self) -> Offers:
        """The offers of each layer."""
        return self.programme.offers

    @property
    def options(self) -> tuple[tuple[Option, ...], ...]:
        """The options of each layer, in all of its layouts."""
        return tuple(tuple(offer.option for offer in each) for each in self.offers)

    def fastest(self) -> Choice:
        """The fastest choice of all, without a budget."""
        if self.programme.changes:
            return self._choice(self._solved(inf))
        fastest = [min(each, key=lambda o: (o.time_ns, o.kept_bytes)) for each in self.options]
        return self._choice_of(self._numbers(fastest))

    def within(self, budget: int) -> Choice:
        """The fastest choice whose plan takes at most `budget` bytes; if none is found, a UserError
        says what the least is."""
        choice, fastest = self._fastest_within(budget)
        if choice is None and self.least().memory_bytes <= budget:
            choice = self.least()
        if choice is None:
            raise UserError(self._too_little(budget))
        return replace(choice, gap=max(0.0, 1 - fastest / choice.time_ns))

    def _fastest_within(self, budget: int) -> tuple[Choice | None, float]:
        """The fastest choice whose plan takes at most `budget` bytes, None if none is found; and
        the least time that any such choice is proved to take.

        The programme decides by what lives at once. Where a choice's arena cannot be as small as
        that, so that its plan takes too many bytes, the programme is told so and solved again. What
        it is told is proved, unless an arena's least is not known. Then that choice is left out,
        and later solutions prove nothing.
        """
        fastest, guesses = 0.0, list[Demand]()
        for _ in range(TRIES):
            solution = self.programme.solved(budget, [*self.learned.demands, *guesses])
            if solution is None:
                break
            choice = self._choice(solution)
            if not guesses:
                fastest = choice.time_ns * (1 - choice.gap)
            if choice.memory_bytes <= budget:
                return choice, fastest
            self._learn(solution, choice, budget - _outside_arena(choice), guesses)
        return None, fastest

    def _learn(self, solution: Solution, choice: Choice, room: int, guesses: list[Demand]) -> None:
        """Add to the demands that are known one that excludes a choice whose arena is not within
        `room` bytes; to `guesses` if that is not proved."""
        chosen = Chosen(self.programme, solution, choice.layers, choice.plan)
        if choice.plan.least > room:
            self.learned.demands.append(demand_of(chosen))
        else:
            guesses.append(demand_of_all(chosen, choice.plan.plan.workspace_bytes))

    def _solved(self, budget: float | None) -> Solution:
        """The solution within a budget that is known to be feasible."""
        solution = self.programme.solved(budget)
        assert solution is not None
        return solution

    def _choice(self, solution: Solution) -> Choice:
        return self._choice_of(solution.numbers, solution.copies, solution.gap)

    def _choice_of(
        self,
        numbers: Sequence[int],
        copies: Mapping[Change, Option] | None = None,
        gap: float = 0.0,
    ) -> Choice:
        copies = copies or {}
        chosen = [each[n] for each, n in zip(self.offers, numbers, strict=True)]
        layers = arranged(self.layers, [offer.way for offer in chosen], [*copies])
        copying = {(change.tensor, change.copied): o for change, o in copies.items()}
        given = iter(chosen)
        options = [
            copying[layer.tensors[0][1], layers.tensors[layer.output].layout]
            if layer.operator == CHANGE
            else next(given).option
            for layer in layers.layers
        ]
        return Choice(layers, tuple(options), assembled(layers, options), gap)

    def least(self) -> Choice:
        """The choice of least memory that is found; of several, the fastest."""
        return self.least_proved().choice

    def least_proved(self) -> Least:
        """The choice of least memory that is found, and the bytes that are proved for any."""
        if self.learned.least is None:
            found = self._smallest()
            faster, _ = self._fastest_within(found.choice.memory_bytes)
            self.learned.least = found if faster is None else replace(found, choice=faster)
        return self.learned.least

    def _smallest(self) -> Least:
        """A choice of least memory, found as the fastest within a budget is."""
        proved, best, guesses = 0, list[Choice](), list[Demand]()
        for _ in range(TRIES):
            solution = self.programme.solved(None, [*self.learned.demands, *guesses])
            if solution is None:
                break
            choice = self._choice(solution)
            best = [min([*best, choice], key=lambda c: c.memory_bytes)]
            reached = ceil(solution.least - LEEWAY)
            if not guesses:
                proved = reached
            if best[0].memory_bytes <= reached:
                break
            self._learn(solution, choice, reached - _outside_arena(choice), guesses)
        return Least(best[0], min(proved, best[0].memory_bytes))

    def greedy(self, budget: int) -> Choice | None:
        """The choice that people make by hand: each layer in turn takes its fastest option that
        still fits, while the layers after it have their smallest, and all tensors lie in their
        usual layouts; None if even the smallest options do not fit."""
        if self.programme.changes:
            return self._plain().greedy(budget)
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
        return self._choice_of(self._numbers(chosen), gap=inf)

    def _plain(self) -> "Chooser":
        """The chooser of the same network in which each tensor lies in its usual layout."""
        usual = {name: t.layout for name, t in self.layers.tensors.items()}
        offers = [[x for x in each if _lies(x, usual)] for each in self.offers]
        return Chooser(Programme.of(self.layers, offers, {}))

    def _numbers(self, options: Sequence[Option]) -> list[int]:
        return [
            next(n for n, offer in enumerate(each) if offer.option is option)
            for each, option in zip(self.offers, options, strict=True)
        ]

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
        return self._closed(_not_beaten(found), points)

    def _closed(self, found: Sequence[Choice], most: int) -> list[Choice]:
        """The choices `found`, fastest first, with those of the front that lie between them; fewer
        of these if all would be more than `most`."""
        front = [found[0]]
        for n, after in enumerate(found[1:], 1):
            while len(front) + len(found) - n < most:
                between = self.within(front[-1].memory_bytes - 1)
                if between.time_ns >= after.time_ns:
                    break
                front.append(between)
            front.append(after)
        return _not_beaten(front)

    def bytes_of(self, chosen: Sequence[Option]) -> int:
        """The bytes that the options `chosen` take in the usual layouts, if their arena is as small
        as its bound."""
        numbers = self._numbers(chosen)
        moments = zip(self.programme.moments, numbers, strict=True)
        worst = max((each[n].bytes for each, n in moments), default=0)
        keeps = (each[n] for each, n in zip(self.programme.keeps, numbers, strict=True))
        return self.programme.live.outside + kept_together(keeps) + worst

    def _too_little(self, budget: int) -> str:
        """The message that a budget is too small: what the least is, and what makes it."""
        found = self.least_proved()
        least, layers = found.choice, found.choice.layers
        live = LiveTensors.of(layers)
        worst = [
            live.moment(layers, l, Offer(layer, option))
            for l, (layer, option) in enumerate(zip(layers.layers, least.options, strict=True))
        ]
        l = max(range(len(worst)), key=lambda i: worst[i].bytes)
        layer = layers.layers[l]
        arrays = sorted(worst[l].arrays, key=lambda a: -a[1])[:4]
        told = ", ".join(f"{name} {show_bytes(size)}" for name, size in arrays)
        return (
            f"{_least_words(found, budget)}, of which weights "
            f"stay for good with {show_bytes(least.kept_bytes)}, inputs and results with "
            f"{show_bytes(live.outside)}; most lives at layer '{layer.title}' "
            f"({layer.operator}): {told}"
        )


def _least_words(found: Least, budget: int) -> str:
    """Words on a budget for which no choice was found, and on the least that was found."""
    least = found.choice.memory_bytes
    size = f"{show_bytes(least)} ({least:,} bytes)"
    if found.proved >= least:
        return f"no choice takes at most {show_bytes(budget)}: the least is {size}"
    none = "no choice takes" if budget < found.proved else "no choice was found that takes"
    return (
        f"{none} at most {show_bytes(budget)}: every choice takes at least {found.proved:,} bytes, "
        f"and the least that was found is {size}"
    )


def _outside_arena(choice: Choice) -> int:
    return choice.memory_bytes - choice.plan.plan.workspace_bytes


def _lies(offer: Offer, usual: Mapping[str, Layout]) -> bool:
    return all(usual[t] is layout for t, layout in offer.way.layouts.items())


def _not_beaten(found: Sequence[Choice]) -> list[Choice]:
    kept: list[Choice] = []
    for choice in sorted(found, key=lambda c: (c.time_ns, c.memory_bytes)):
        if not kept or choice.memory_bytes < kept[-1].memory_bytes:
            kept.append(choice)
    return kept

"""The choice of a network's offers and layouts as a 0-1 programme.

An unknown for each offer of a layer says whether the layer has it. Where a tensor may lie in
several layouts, its makers say in which it lies; a layer that reads it in another needs a copy,
which is an unknown for each option of the program that copies. Most bytes live in the arena at a
layer's worst moment, or when a copy is made."""

# key: l number of a layer, o of one of its offers, t tensor, k number of a tensor's reader

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from explore.network_choice.kept_arrays import Keeps
from explore.network_choice.layer_options import Option
from explore.network_choice.layers_in_parts import Offer, Offers
from explore.network_choice.layers_in_place import overwriting
from explore.network_choice.live_bytes import LiveTensors, Moment
from explore.network_choice.zero_one import Solved, Term, ZeroOne
from explore.network_graph.network_layers import Change, Layers
from explore.operators.layouts import Layout
from ir.arena import Life
from ir.core.frozen import frozen

UNIT = 1024.0  # bytes: what the solver counts in
LEEWAY = 0.5  # bytes: more than the solver's tolerance, less than any difference
ARENA = "arena"

Changes = Mapping[Change, Sequence[Option]]
"""The options of the programs that make tensors' copies in other layouts."""


@frozen
class Has:
    """The unknown that says whether a layer has one of its offers."""

    layer: int
    offer: int


@frozen
class Copies:
    """The unknown that says whether a tensor is copied by an option of the program that does so."""

    change: Change
    option: int


@frozen
class Lies:
    """The unknown that is at least 1 if a tensor lies in a layout when its reader runs."""

    tensor: str
    reader: int
    layout: Layout


@frozen
class More:
    """The unknown that is at least the number of copies of a tensor that live with it, or of one
    outside the arena, when its reader runs."""

    tensor: str
    reader: int


@frozen
class Holds:
    """The unknown that is at least 1 if a layer keeps an array that others may keep, too, by the
    array's key."""

    key: Hashable


@frozen
class Demand:
    """The demand that the arena has at least so many bytes where the sum of these `terms` is as
    large as it can be, which is `count`: where a choice agrees with another one in some layers."""

    terms: tuple[Term, ...]
    count: float
    bytes: int


@frozen
class Solution:
    """A solved choice: the number of each layer's offer, the options that make copies of tensors in
    other layouts, the share of its cost by which another choice might be better, and the least that
    the cost is proved to be: bytes, or time in shares of the longest layer's."""

    numbers: tuple[int, ...]
    copies: Mapping[Change, Option]
    gap: float
    least: float


@frozen
class _Tensor:
    """A tensor that may lie in several layouts: the layers that make it (none: it is an input, in
    ONNX's order), those that read it, in order, its bytes, and whether it lies in the arena
    (`inside`) or outside, where only its copies need bytes.

    Of its readers, those in `whole` need all that they read until they end."""

    name: str
    makers: tuple[int, ...]
    readers: tuple[int, ...]
    bytes: int
    inside: bool
    whole: frozenset[int]

    @property
    def made(self) -> int:
        """The number of the last layer that makes it; -1 for an input."""
        return self.makers[-1] if self.makers else -1

    def lying(self, l: int) -> int | None:
        """The number of the first reader of which it is certain that what it reads lives when layer
        l has most; None if there is none."""
        later = [k for k, r in enumerate(self.readers) if r > l or (r == l and r in self.whole)]
        return later[0] if later and l > self.made else None


@frozen
class Programme:
    """The facts about a network: its layers, their offers, the worst moment of each offer and what
    it keeps for good, the tensors' lives, the options of the programs that copy tensors, and the
    tensors that may lie in several layouts.

    The bytes that it counts are never more than a plan's: what a layer may overwrite, or may need
    in its first launches only, is not counted twice."""

    layers: Layers
    offers: Offers
    moments: Sequence[Sequence[Moment]]
    keeps: Sequence[Sequence[Keeps]]
    live: LiveTensors
    changes: Changes
    tensors: Sequence[_Tensor]

    @staticmethod
    def of(layers: Layers, offers: Offers, changes: Changes) -> "Programme":
        """The programme of a network, with the changes of those tensors that are left."""
        live = LiveTensors.of(layers)
        moments = [[live.moment(layers, l, x) for x in each] for l, each in enumerate(offers)]
        keeps = [[Keeps.of(x.way, x.option.plan) for x in each] for each in offers]
        names = dict.fromkeys(t for each in offers for x in each for t in x.way.layouts)
        tensors = [_tensor(layers, offers, live, t) for t in names] if changes else []
        left = {change: found for change, found in changes.items() if change.tensor in names}
        return Programme(layers, offers, moments, keeps, live, left, tensors)

    def solved(self, budget: float | None, demands: Sequence[Demand] = ()) -> Solution | None:
        """The choice of least time within a budget in bytes, or, for None, that of least memory, in
        either case one that meets these demands; None if no choice is within the budget."""
        z = ZeroOne()
        self._name_unknowns(z)
        for t in self.tensors:
            self._lay_out(z, t)
        self._fit(z)
        for demand in demands:
            _demand(z, demand)
        kept = self._keep(z)
        times = [(name, o.time_ns) for name, o in self._options()]
        longest = max(time for _, time in times)
        cost: list[Term] = [(name, time / longest) for name, time in times]
        if budget is None:
            cost = [*kept, (ARENA, 1.0)]
        else:
            inside = budget - self.live.outside
            z.row([*kept, (ARENA, 1.0)], high=(inside + LEEWAY) / UNIT)
        found = z.solved(cost)
        return None if found is None else self._solution(found, budget is None)

    def _solution(self, solved: Solved, in_bytes: bool) -> Solution:
        values = solved.values
        numbers = [0] * len(self.offers)
        copies: dict[Change, Option] = {}
        for name, option in self._options():
            match name:
                case Has(l, o) if values[name] > 0.5:
                    numbers[l] = o
                case Copies(change) if values[name] > 0.5:
                    copies[change] = option
        least = solved.least * UNIT + self.live.outside if in_bytes else solved.least
        return Solution(tuple(numbers), copies, solved.gap, least)

    def _options(self) -> Iterator[tuple[Has | Copies, Option]]:
        """Every option that may be chosen, with the name of its unknown."""
        for l, each in enumerate(self.offers):
            yield from ((Has(l, o), offer.option) for o, offer in enumerate(each))
        for change, options in self.changes.items():
            yield from ((Copies(change, n), option) for n, option in enumerate(options))

    def _name_unknowns(self, z: ZeroOne) -> None:
        for name, _ in self._options():
            z.unknown(name)
        z.unknown(ARENA, whole=False, most=float("inf"))
        for t in self.tensors:
            for k in range(len(t.readers)):
                for layout in Layout:
                    z.unknown(Lies(t.name, k, layout), whole=False)
                z.unknown(More(t.name, k), whole=False, most=len(Layout) - 1.0)

    def _in(self, l: int, t: str, layout: Layout) -> list[Term]:
        """The offers of layer l that read or make tensor t in a layout."""
        return [
            (Has(l, o), 1.0)
            for o, offer in enumerate(self.offers[l])
            if offer.way.layouts.get(t) is layout
        ]

    def _copies(
        self, t: str, copied: Layout | None = None, lies: Layout | None = None
    ) -> list[Term]:
        """The copies of a tensor: into a layout, or into any (None), from a layout, or from any."""
        return [
            (Copies(change, n), 1.0)
            for change, options in self.changes.items()
            if change.tensor == t
            and (copied is None or change.copied is copied)
            and (lies is None or change.lies is lies)
            for n in range(len(options))
        ]

    def _lay_out(self, z: ZeroOne, t: _Tensor) -> None:
        """Demand that each reader of a tensor finds it in its layout, as it was made or copied, and
        relate the unknowns that tell where it lies."""
        for layout in Layout:
            made = self._in(t.makers[0], t.name, layout) if t.makers else []
            always = 1.0 if not t.makers and layout is Layout.ONNX else 0.0  # an input lies so
            copies = self._copies(t.name, copied=layout)
            there = [*made, *copies]
            z.row(there, high=1.0 - always)
            for change in (c for c in self.changes if c.tensor == t.name and c.lies is layout):
                copy = self._copies(t.name, change.copied, layout)
                z.row([*copy, *_minus(made)], high=always)
            reads = [x for reader in t.readers for x in self._in(reader, t.name, layout)]
            z.row([*copies, *_minus(reads)], high=0.0)
            for maker in t.makers[1:]:
                z.row([*self._in(maker, t.name, layout), *_minus(made)], 0.0, 0.0)
            for k, reader in enumerate(t.readers):
                read = self._in(reader, t.name, layout)
                z.row([*read, *_minus(there)], high=always)
                lies = Lies(t.name, k, layout)
                z.row([*read, (lies, -1.0)], high=0.0)
                if k:
                    z.row([(lies, 1.0), (Lies(t.name, k - 1, layout), -1.0)], high=0.0)
        for k in range(len(t.readers)):
            counted = [x for x in Layout if t.inside or x is not Layout.ONNX]
            lying: list[Term] = [(Lies(t.name, k, layout), 1.0) for layout in counted]
            z.row([*lying, (More(t.name, k), -1.0)], high=1.0 if t.inside else 0.0)

    def _fit(self, z: ZeroOne) -> None:
        """Demand one offer of each layer, and that the arena holds what lives at each moment."""
        for l, moments in enumerate(self.moments):
            z.row([(Has(l, o), 1.0) for o in range(len(moments))], 1.0, 1.0)
            need = [(Has(l, o), m.bytes / UNIT) for o, m in enumerate(moments)]
            z.row([*need, *_more(self.tensors, l), (ARENA, -1.0)], high=0.0)
        for t in self.tensors:
            self._fit_copies(z, t)

    def _keep(self, z: ZeroOne) -> list[Term]:
        """The terms whose sum is what is kept for good. An array that several layers may keep
        counts once, whichever of them keep it."""
        terms: list[Term] = [
            (Copies(change, n), option.kept_bytes / UNIT)
            for change, options in self.changes.items()
            for n, option in enumerate(options)
        ]
        holders = Counter(key for each in self.keeps for key in _keys(each))
        for l, each in enumerate(self.keeps):
            for o, keeps in enumerate(each):
                alone = sum(n for key, n in keeps.shared.items() if holders[key] == 1)
                terms.append((Has(l, o), (keeps.own + alone) / UNIT))
            for key, size in _keys(each).items():
                if holders[key] == 1:
                    continue
                if Holds(key) not in z.places:
                    z.unknown(Holds(key), whole=False)
                    terms.append((Holds(key), size / UNIT))
                those = [(Has(l, o), 1.0) for o, x in enumerate(each) if key in x.shared]
                z.row([*those, (Holds(key), -1.0)], high=0.0)
        return terms

    def _fit_copies(self, z: ZeroOne, t: _Tensor) -> None:
        """Demand that the arena holds what lives when a tensor is copied, just after it was made;
        inputs are copied first of all."""
        lives = tuple(
            (name, self.live.sizes[name])
            for name, life in self.live.lives.items()
            if life.first <= t.made < life.last
        )
        inputs = [x for x in self.tensors if not x.makers and not t.makers]
        others = [x for x in self.tensors if x is not t and x not in inputs]
        now = Moment(lives).bytes
        most = Moment((*lives, ("", t.bytes))).bytes - now
        copies = [(name, most / UNIT) for name, _ in self._copies(t.name)]
        copied = [
            (name, x.bytes / UNIT) for x in inputs if x is not t for name, _ in self._copies(x.name)
        ]
        terms = [*copies, *copied, *_more(others, t.made + 1), (ARENA, -1.0)]
        z.row(terms, high=-now / UNIT)


def _keys(each: Sequence[Keeps]) -> dict[Hashable, int]:
    """The arrays that a layer may keep and others may, too, by key, with their bytes."""
    return {key: size for keeps in each for key, size in keeps.shared.items()}


def _tensor(layers: Layers, offers: Offers, live: LiveTensors, name: str) -> _Tensor:
    ways = [each[0].way for each in offers]
    readers = [l for l, way in enumerate(ways) if name in dict(way.tensors).values()]
    return _Tensor(
        name,
        tuple(l for l, way in enumerate(ways) if way.output == name),
        tuple(readers),
        layers.tensors[name].kind.bytes,
        name in live.lives,
        frozenset(l for l in readers if all(_whole(layers, live, l, x, name) for x in offers[l])),
    )


def _whole(layers: Layers, live: LiveTensors, l: int, offer: Offer, name: str) -> bool:
    """True if layer l with this offer needs the tensor `name` until it ends, and could not write
    over it if nobody else read it."""
    way, plan = offer.way, offer.option.plan
    if sum(not k.prepack for k in plan.kernels) > 1:
        return False
    lives = {t: life for t, life in live.lives.items() if t == way.output}
    return overwriting(layers, lives | {name: Life(-1, l)}, l, way, plan) is None


def _demand(z: ZeroOne, demand: Demand) -> None:
    need = demand.bytes / UNIT
    terms = [(name, factor * need) for name, factor in demand.terms]
    z.row([*terms, (ARENA, -1.0)], high=need * (demand.count - 1))


def _minus(terms: Sequence[Term]) -> list[Term]:
    return [(name, -factor) for name, factor in terms]


def _more(tensors: Sequence[_Tensor], l: int) -> list[Term]:
    """The bytes that live at layer l of copies of tensors."""
    reading = ((t, t.lying(l)) for t in tensors)
    return [(More(t.name, k), t.bytes / UNIT) for t, k in reading if k is not None]

"""The demands that follow from one choice's arena: choices that agree with it in a few layers have
the same arrays there, so their arenas are not smaller than what these arrays need.

The 0-1 programme knows only what lives at each moment. Where arrays cannot be placed within that, a
demand tells it so."""

# key: l number of a layer before copies are added, n its number in the arranged network, t tensor

from collections.abc import Callable, Mapping, Sequence

from codegen.plan import Plan, Role
from explore.network_choice.layers_in_parts import Offer
from explore.network_choice.layers_in_place import overwriting
from explore.network_choice.network_plan import NetworkPlan
from explore.network_choice.programme import Copies, Demand, Has, Programme, Solution
from explore.network_choice.tight_packing import TooLong, peak, placed_within
from explore.network_choice.zero_one import Term
from explore.network_graph.layer_layouts import CHANGE
from explore.network_graph.network_layers import Layer, Layers
from explore.network_graph.tensor_lives import lives_of
from ir.arena import Life
from ir.core.frozen import frozen

STEPS = 2000  # of the search for a proof with fewer arrays

Decision = int | str
"""What a choice decides: the option of a layer, by number, or all copies of a tensor, by name."""


@frozen
class Chosen:
    """A solution of a network's programme, the layers arranged so, and their plan."""

    programme: Programme
    solution: Solution
    layers: Layers
    plan: NetworkPlan


@frozen
class _Array:
    """An array in the arena: its life in launches, its bytes, and the decisions that its existence,
    its life and its bytes depend on."""

    life: Life
    bytes: int
    decisions: frozenset[Decision]


def demand_of(chosen: Chosen) -> Demand:
    """The demand that the proved least of a choice's arena makes of all choices that agree with it
    in some layers, as few as are found."""
    least = chosen.plan.least
    arrays = _needed(_arrays(chosen), least)
    decisions = frozenset[Decision]().union(*(a.decisions for a in arrays))
    return _demand(chosen, sorted(decisions, key=str), least, alike=True)


def demand_of_all(chosen: Chosen, least: int) -> Demand:
    """The demand of `least` bytes for the arena, of choices that agree with this one in
    everything."""
    decisions = [*range(len(chosen.programme.offers)), *_copied_tensors(chosen.programme)]
    return _demand(chosen, decisions, least, alike=False)


def _copied_tensors(programme: Programme) -> Sequence[str]:
    return [*dict.fromkeys(change.tensor for change in programme.changes)]


# ---- arrays, and what they depend on


def _arrays(chosen: Chosen) -> list[_Array]:
    """The arrays in the arena of a choice."""
    plan, numbers = chosen.plan, _layer_numbers(chosen.layers)
    sizes = {b.name: b.bytes for b in plan.plan.buffers}
    held: dict[str, list[str]] = {}
    for t, place in plan.tensors.items():
        held.setdefault(place, []).append(t)
    users = _users(chosen)
    originals = {
        layer.output: layer.tensors[0][1]
        for layer in chosen.layers.layers
        if layer.operator == CHANGE
    }
    found = []
    for name, life in plan.lives.items():
        tensors = [originals.get(t, t) for t in held.get(name, [])]
        inside = numbers[plan.layer_of[life.first]]
        decisions = [d for t in tensors for d in users[t]] if tensors else [inside]
        found.append(_Array(life, sizes[name], frozenset(decisions)))
    return found


def _layer_numbers(layers: Layers) -> list[Decision]:
    """The decision on each layer of an arranged network: its number without copies, or, for a copy,
    the name of the tensor that is copied."""
    found, l = list[Decision](), 0
    for layer in layers.layers:
        found.append(layer.tensors[0][1] if layer.operator == CHANGE else l)
        l += layer.operator != CHANGE
    return found


def _users(chosen: Chosen) -> Mapping[str, list[Decision]]:
    """The decisions on each tensor: the layers that make or read it, and its copies."""
    found: dict[str, list[Decision]] = {t: [] for t in chosen.layers.tensors}
    for l, each in enumerate(chosen.programme.offers):
        for t in {each[0].way.output, *(t for _, t in each[0].way.tensors)}:
            found[t].append(l)
    for t in _copied_tensors(chosen.programme):
        found[t].append(t)
    return found


# ---- few arrays that prove as much


def _needed(arrays: Sequence[_Array], least: int) -> list[_Array]:
    """Some of the arrays of which an arena is proved to have at least `least` bytes, too."""
    left = sorted((a for a in arrays if a.bytes), key=lambda a: (a.life.last, a.life.first))
    left = left[_most(len(left), lambda n: _proved(left[n:], least)) :]
    left.sort(key=lambda a: (-a.life.first, -a.life.last))
    left = left[_most(len(left), lambda n: _proved(left[n:], least)) :]
    for decision in sorted({d for a in left for d in a.decisions}, key=str):
        fewer = [a for a in left if decision not in a.decisions]
        if _proved(fewer, least):
            left = fewer
    return left


def _most(end: int, holds: Callable[[int], bool]) -> int:
    """The largest number below `end` for which `holds` is true, if it is for all smaller ones."""
    low, high = 0, end
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _proved(arrays: Sequence[_Array], least: int) -> bool:
    """True if no arena of these arrays has fewer than `least` bytes."""
    lives, sizes = [a.life for a in arrays], [a.bytes for a in arrays]
    if peak(lives, sizes) >= least:
        return True
    try:
        return placed_within(lives, sizes, least - 1, [STEPS]) is None
    except TooLong:
        return False


# ---- the demand as terms of the programme


def _demand(chosen: Chosen, decisions: Sequence[Decision], least: int, *, alike: bool) -> Demand:
    """The demand of `least` bytes of choices that agree in some decisions. With `alike`, options of
    a layer agree if the layer's arrays have the same lives and are not smaller."""
    terms, count = list[Term](), len(decisions)
    for decision in decisions:
        if isinstance(decision, int):
            number = chosen.solution.numbers[decision]
            numbers = _alike(chosen, decision) if alike else [number]
            terms += [(Has(decision, o), 1.0) for o in numbers]
        else:
            agreed, more = _copied_alike(chosen, decision)
            terms += agreed
            count += more
    return Demand(tuple(terms), count, least)


def _copied_alike(chosen: Chosen, tensor: str) -> tuple[list[Term], int]:
    """The terms whose sum is largest where a tensor has the same copies as in a choice, by the same
    options, and what has to be added to the number of decisions for that sum."""
    terms, made = list[Term](), 0
    for change, options in chosen.programme.changes.items():
        if change.tensor == tensor:
            taken = chosen.solution.copies.get(change)
            made += taken is not None
            terms += [
                (Copies(change, n), 1.0 if option is taken else -1.0)
                for n, option in enumerate(options)
            ]
    return terms, made - 1


def _alike(chosen: Chosen, l: int) -> list[int]:
    """The numbers of the offers of layer l in whose place the chosen one's arrays would fit: in the
    same layouts, with arrays of the same lives in the layer that are not smaller."""
    offers = chosen.programme.offers[l]
    mine = offers[chosen.solution.numbers[l]]
    needed = _needs(chosen, l, mine)
    return [
        o
        for o, other in enumerate(offers)
        if other is mine
        or (_same_way(other.way, mine.way) and _needs(chosen, l, other).covers(needed))
    ]


def _same_way(a: Layer, b: Layer) -> bool:
    """True if two ways of one layer compute the same in the same layouts."""
    return (a.program, a.layouts, a.output, a.into) == (b.program, b.layouts, b.output, b.into)


@frozen
class _Needs:
    """The arrays that a layer needs at each of its launches: which of its tensors (its result is
    called ""), the tensor that it writes over, and its temporaries, each with its life and
    bytes."""

    tensors: tuple[frozenset[str], ...]
    over: str | None
    inner: tuple[tuple[int, int, int], ...]

    def covers(self, other: "_Needs") -> bool:
        """True if a layer that needs this much needs at least as much as another one at the same
        launches."""
        mine = list(self.inner)
        for first, last, size in sorted(other.inner, key=lambda x: -x[2]):
            held = [x for x in mine if x[:2] == (first, last) and x[2] >= size]
            if not held:
                return False
            mine.remove(max(held))
        return self.tensors == other.tensors and self.over == other.over


def _needs(chosen: Chosen, l: int, offer: Offer) -> _Needs:
    layers, plan = chosen.layers, offer.option.plan
    number = _layer_numbers(layers).index(l)
    over = overwriting(layers, lives_of(layers), number, layers.layers[number], plan)
    return _needs_of(plan, None if over is None else over.tensor)


def _needs_of(plan: Plan, over: str | None) -> _Needs:
    runs = [k for k in plan.kernels if not k.prepack]
    buffers = {b.name: b for b in plan.buffers}
    names = {
        b.name: "" if b.role is Role.OUTPUT else b.name
        for b in plan.buffers
        if b.role in (Role.INPUT, Role.OUTPUT)
    }
    tensors = tuple(frozenset(names[a] for a in k.arguments if a in names) for k in runs)
    uses: dict[str, list[int]] = {}
    for n, kernel in enumerate(runs):
        for a in kernel.arguments:
            if buffers[a].role is Role.TEMPORARY:
                uses.setdefault(a, []).append(n)
    inner = sorted((at[0], at[-1], buffers[name].bytes) for name, at in uses.items())
    return _Needs(tensors, over, tuple(inner))

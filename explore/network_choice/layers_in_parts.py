"""Layers that write into a part of the result of a concatenation, which is then no layer any more:
nothing is copied, and only one array of its size lives."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from codegen.plan import Role
from codegen.text_proof.work_in_part import Part, in_part
from explore.network_choice.layer_options import Option
from explore.network_graph.network_layers import Layer, Layers
from explore.network_graph.tensor_lives import lives_of
from ir.core.frozen import frozen


@frozen
class Offer:
    """A layer in one of its layouts (`way`), with an option of its program."""

    way: Layer
    option: Option


Offers = Sequence[Sequence[Offer]]
"""Of each layer."""


def offers_of(layers: Layers, options: Sequence[Sequence[Option]]) -> Offers:
    """The offers of each layer, from the options of each program. If those of a layer as it is were
    measured, others of it count only if they were measured, too."""
    found = []
    for layer in layers.layers:
        measured = all(o.measured for o in options[layer.program])
        offers = [Offer(way, o) for way in layer.ways for o in options[way.program]]
        found.append([x for x in offers if x.way is layer or x.option.measured or not measured])
    return found


def without_copies(layers: Layers, offers: Offers) -> tuple[Layers, tuple[tuple[Offer, ...], ...]]:
    """The network without those concatenations whose parts can be written straight into the result,
    and the offers of each layer that is left. A layer that makes a part has only those offers that
    can write it there."""
    makers = {layer.output: l for l, layer in enumerate(layers.layers)}
    changed: dict[int, tuple[Offer, ...]] = {}
    gone = set[int]()
    for l, layer in enumerate(layers.layers):
        made = _placed_parts(layers, offers, makers, layer)
        if made and not changed.keys() & made.keys() and not gone & made.keys():
            changed |= made
            gone.add(l)
    left = [l for l in range(len(layers.layers)) if l not in gone]
    kept = tuple(changed.get(l, tuple(offers[l])) for l in left)
    return replace(layers, layers=[each[0].way for each in kept]), kept


def _placed_parts(
    layers: Layers, offers: Offers, makers: Mapping[str, int], joined: Layer
) -> dict[int, tuple[Offer, ...]]:
    """The offers, by number of their layer, that make the parts of the concatenation `joined` where
    they belong in its result. Empty if one of the parts cannot be made so in the layouts that
    tensors have by default. `makers` has, for each tensor, the number of its layer."""
    lives = lives_of(layers)
    reads = Counter(t for layer in layers.layers for _, t in layer.tensors)
    found: dict[int, tuple[Offer, ...]] = {}
    for tensor, _ in joined.joins:
        if joined.output not in lives or tensor not in lives or reads[tensor] != 1:
            return {}
        number = makers[tensor]
        if layers.layers[number].into is not None:
            return {}
        kept = tuple(made for offer in offers[number] for made in _placed_offers(joined, offer))
        default = joined.layouts.get(joined.output)
        if not any(offer.way.layouts.get(joined.output) == default for offer in kept):
            return {}
        found[number] = kept
    return found if len(found) == len(joined.joins) else {}


def _placed_offers(joined: Layer, offer: Offer) -> Iterator[Offer]:
    """The offer changed so that it writes its result where the concatenation `joined` has it, in
    each layout in which this can be done."""
    way, out = offer.way, offer.way.output
    for whole in joined.ways:
        names = [t for t, _ in whole.joins]
        if out not in names or whole.layouts.get(out) != way.layouts.get(out):
            continue
        lengths = [n for _, n in whole.joins]
        before = names.index(out)
        part = Part(sum(lengths[:before]), lengths[before], sum(lengths))
        option = placed(offer.option, part)
        if option is not None:
            layouts = {t: x for t, x in way.layouts.items() if t != out}
            layouts |= {t: x for t, x in whole.layouts.items() if t == whole.output}
            yield Offer(replace(way, output=whole.output, into=part, layouts=layouts), option)


def placed(option: Option, part: Part) -> Option | None:
    """The option changed so that it writes its result into a part of a larger array; None if this
    cannot be done."""
    plan = option.plan
    (out,) = (b for b in plan.buffers if b.role is Role.OUTPUT)
    makes = [n for n, k in enumerate(plan.kernels) if out.name in k.arguments]
    if len(makes) != 1:
        return None
    rows = out.bytes // part.each
    larger = replace(out, shape=(*out.shape[:-1], part.whole), bytes=rows * part.whole)
    buffers = {b.name: larger if b is out else b for b in plan.buffers}
    old = plan.kernels[makes[0]]
    kernel = in_part(old, tuple(buffers[a] for a in old.arguments), out.name, part)
    if kernel is None:
        return None
    kernels = tuple(kernel if k is old else k for k in plan.kernels)
    memory = plan.memory_bytes + larger.bytes - out.bytes
    changed = replace(plan, kernels=kernels, buffers=tuple(buffers.values()), memory_bytes=memory)
    return replace(option, plan=changed)

"""The bytes that live at each launch of a network, as numbers for the choice: what an option needs
at its layer's worst moment, and what it keeps for good."""

# key: l number of a layer, t tensor, o option

from collections.abc import Mapping, Sequence

from codegen.plan import Kernel, Plan, Role
from explore.network_choice.layers_in_parts import Offer
from explore.network_choice.layers_in_place import overwriting
from explore.network_graph.network_layers import Layers
from explore.network_graph.tensor_lives import lives_of
from ir.arena import Life, aligned
from ir.core.frozen import frozen


@frozen
class Moment:
    """The arrays that live at one launch, also those of other layers: their bytes by name."""

    arrays: tuple[tuple[str, int], ...]

    @property
    def bytes(self) -> int:
        """The bytes of the least arena that holds these arrays: each but one begins at a multiple
        of the alignment."""
        if not self.arrays:
            return 0
        sizes = [n for _, n in self.arrays]
        return sum(map(aligned, sizes)) - max(aligned(n) - n for n in sizes)


@frozen
class LiveTensors:
    """The tensors between layers that lie in the arena: the life of each, counted in layers, and
    its bytes. `outside` are the bytes of the tensors that do not lie there: inputs and results."""

    lives: Mapping[str, Life]
    sizes: Mapping[str, int]
    outside: int

    @staticmethod
    def of(layers: Layers) -> "LiveTensors":
        """The lives of a network's tensors."""
        lives = lives_of(layers)
        results = {layers.root(name) for name in layers.outputs}
        sizes = {t: layers.tensors[t].kind.bytes for t in (*lives, *layers.inputs, *results)}
        outside = sum(sizes[t] for t in {*layers.inputs, *results})
        return LiveTensors(lives, sizes, outside)

    def moment(self, layers: Layers, l: int, offer: Offer) -> Moment:
        """The worst moment of layer number `l` if it has this offer; if the layer then works in
        place, its result needs no bytes of its own."""
        layer, option = offer.way, offer.option
        runs = [k for k in option.plan.kernels if not k.prepack]
        own = {t: name for name, t in layer.tensors} | {layer.output: _output(option.plan)}
        over = overwriting(layers, self.lives, l, layer, option.plan)
        if over is not None:
            del own[layer.output]
        through = [
            (t, self.sizes[t])
            for t, life in self.lives.items()
            if life.first <= l <= life.last
            and (t not in own or life.first < l < life.last)
            and (over is None or t != layer.output)
        ]
        inner = _inner(option.plan)
        moments = []
        for number in range(len(runs)):
            mine = [(n, size) for n, (life, size) in inner.items() if _at(life, number)]
            for t, name in own.items():
                if t in self.lives and (t, self.sizes[t]) not in through:
                    dies = self.lives[t].last == l and (over is None or t != over.tensor)
                    life = _named(runs, name, born=t == layer.output, dies=dies)
                    mine += [(t, self.sizes[t])] if _at(life, number) else []
            moments.append(Moment((*through, *mine)))
        return max(moments, key=lambda moment: moment.bytes)


def _at(life: Life, number: int) -> bool:
    return life.first <= number <= life.last


def _output(plan: Plan) -> str:
    return next(b.name for b in plan.buffers if b.role is Role.OUTPUT)


def _named(runs: Sequence[Kernel], name: str, born: bool, dies: bool) -> Life:
    """The life, in its layer's launches `runs`, of the tensor that is called `name` there: it
    begins at the first use if the layer makes it (`born`), and ends at the last use if nobody reads
    it later (`dies`)."""
    uses = [i for i, kernel in enumerate(runs) if name in kernel.arguments]
    whole = Life(0, len(runs) - 1)
    if not uses:
        return whole
    return Life(uses[0] if born else whole.first, uses[-1] if dies else whole.last)


def _inner(plan: Plan) -> dict[str, tuple[Life, int]]:
    """The life of each temporary inside a layer, in the launches of its plan, and its bytes, by
    name."""
    runs = [k for k in plan.kernels if not k.prepack]
    found = {}
    for b in plan.buffers:
        if b.role is Role.TEMPORARY:
            uses = [i for i, kernel in enumerate(runs) if b.name in kernel.arguments]
            found[b.name] = (Life(uses[0], uses[-1]), b.bytes)
    return found

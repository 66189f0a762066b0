"""One plan for a network: the kernels of all layers one after the other, and one arena for the
arrays between and inside them."""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.network_choice.kept_arrays import kept_keys, what_it_does
from explore.network_choice.layer_options import Option
from explore.network_choice.layers_in_place import Overwriting, overwriting
from explore.network_choice.tight_packing import peak, tight_packing
from explore.network_graph.network_layers import Layer, Layers
from explore.network_graph.tensor_lives import lives_of
from explore.onnx_model.onnx_graph import SCALARS, Array
from ir.arena import Life
from ir.core.frozen import frozen


@frozen
class NetworkPlan:
    """The plan of a network: the contents of its constants by name, the name of the buffer that
    holds each tensor (`tensors`), the lives of the arrays in the arena, the most bytes of them that
    live at once (`bound`), the bytes that their arena is proved to have at least (`least`), and the
    number of the layer of each kernel (`layer_of`)."""

    plan: Plan
    constants: Mapping[str, Array]
    tensors: Mapping[str, str]
    lives: Mapping[str, Life]  # of the arrays in the arena, in launches
    bound: int
    least: int
    layer_of: tuple[int, ...]  # of each kernel that runs

    @property
    def memory_bytes(self) -> int:
        return self.plan.memory_bytes


def assembled(layers: Layers, chosen: Sequence[Option], kept: bool = False) -> NetworkPlan:
    """The plan of a network in which each layer has its chosen option; with `kept`, all tensors are
    results, so that they can be looked at."""
    state = _Assembly(layers, kept)
    for number, (layer, option) in enumerate(zip(layers.layers, chosen, strict=True)):
        state.add(number, layer, option.plan)
    return state.finished()


class _Assembly:
    """The plan of a network that is being put together: its buffers by name, and its kernels, each
    with its layer."""

    def __init__(self, layers: Layers, kept: bool) -> None:
        self.layers, self.kept = layers, kept
        self.buffers: dict[str, Buffer] = {}
        self.kernels: list[Kernel] = []
        self.layer_of: list[int] = []
        self.constants: dict[str, Array] = {}
        self.names: dict[str, str] = {}
        self.texts: dict[str, str] = {}  # of kernels, by name
        self.shared: dict[Hashable, str] = {}  # buffers of what layers keep, by key
        self.packing = set[Hashable]()  # what kernels do that pack
        self.lives = {} if kept else lives_of(layers)
        for name in layers.inputs:
            self._tensor(name, Role.INPUT)

    def add(self, number: int, layer: Layer, plan: Plan) -> None:
        """Add the kernels of a layer, which has this number and this plan."""
        given = dict(layer.tensors)
        over = overwriting(self.layers, self.lives, number, layer, plan)
        names: dict[str, str] = {}
        keys = kept_keys(layer, plan)
        for b in plan.buffers:
            if b.role is Role.INPUT:
                names[b.name] = self.names[given[b.name]]
            elif b.role is Role.OUTPUT:
                names[b.name] = self._made(layer.output, over)
            else:
                names[b.name] = self._kept(f"{_plain(layer.title)}_{b.name}", b, keys.get(b.name))
            if b.role is Role.CONST and b.name in layer.constants:
                array = layer.constants[b.name].reshape(b.shape)
                self.constants.setdefault(names[b.name], array)
        for n, given_kernel in enumerate(plan.kernels):
            kernel = given_kernel if over is None else over.kernels.get(n, given_kernel)
            arguments = tuple(names[a] for a in kernel.arguments)
            if kernel.prepack:
                work = what_it_does(kernel), arguments
                if work in self.packing:
                    continue
                self.packing.add(work)
            self.kernels.append(self._apart(replace(kernel, arguments=arguments)))
            self.layer_of.append(number)

    def _apart(self, kernel: Kernel) -> Kernel:
        """The kernel, under another name if a kernel with another text has its name: layers with
        one program may have different variants, and all texts may stand in one file."""
        name, n = kernel.name, 2
        text = kernel.text
        while self.texts.setdefault(name, text) != text:
            name, n = f"{kernel.name}{n}", n + 1
            text = re.sub(rf"\b{kernel.name}\b", name, kernel.text)
        return replace(kernel, name=name, text=text)

    def _made(self, name: str, over: Overwriting | None) -> str:
        if over is not None:
            self.names[name] = self.names[over.tensor]
            return self.names[name]
        out = name in map(self.layers.root, self.layers.outputs)
        return self._tensor(name, Role.OUTPUT if out or self.kept else Role.TEMPORARY)

    def _tensor(self, name: str, role: Role) -> str:
        if name not in self.names:
            t = self.layers.tensors[name]
            outer = t.stored
            place = self._free(_plain(name))
            self.buffers[place] = Buffer(place, SCALARS[t.kind.dtype], outer, t.kind.bytes, role)
            self.names[name] = place
        return self.names[name]

    def _kept(self, name: str, like: Buffer, key: Hashable) -> str:
        """The buffer that a layer has under a key, which may be another layer's, too; one of its
        own if the key is None."""
        if key is None:
            return self._own(name, like)
        if key not in self.shared:
            self.shared[key] = self._own(name, like)
        return self.shared[key]

    def _own(self, name: str, like: Buffer) -> str:
        place = self._free(name)
        self.buffers[place] = replace(like, name=place, offset=None)
        return place

    def _free(self, name: str) -> str:
        """The name, with a number after it if a buffer has the name already."""
        found, n = name, 2
        while found in self.buffers:
            found, n = f"{name}_{n}", n + 1
        return found

    def finished(self) -> NetworkPlan:
        """The plan, with its arena."""
        runs = [k for k in self.kernels if not k.prepack]
        lives = _lives(runs, self.buffers)
        sizes = [self.buffers[name].bytes for name in lives]
        packing = tight_packing(list(lives.values()), sizes)
        arena, least = packing.arena, packing.least
        for name, offset in zip(lives, arena.offsets, strict=True):
            self.buffers[name] = replace(self.buffers[name], offset=offset)
        read = {name for kernel in runs for name in kernel.arguments}
        kept = sum(
            b.bytes
            for b in self.buffers.values()
            if b.role in (Role.INPUT, Role.OUTPUT, Role.PACKED)
            or (b.role is Role.CONST and b.name in read)
        )
        plan = Plan(tuple(self.kernels), self._ordered(), kept + arena.bytes, arena.bytes)
        layer_of = tuple(
            n for n, k in zip(self.layer_of, self.kernels, strict=True) if not k.prepack
        )
        bound = peak(list(lives.values()), sizes)
        return NetworkPlan(plan, self.constants, self.names, lives, bound, least, layer_of)

    def _ordered(self) -> tuple[Buffer, ...]:
        """The buffers; those of the network's results come last, in the order of the results."""
        roots = (self.names[self.layers.root(name)] for name in self.layers.outputs)
        last = [self.buffers[place] for place in dict.fromkeys(roots)]
        return *(b for b in self.buffers.values() if b not in last), *last


def _lives(runs: Sequence[Kernel], buffers: Mapping[str, Buffer]) -> dict[str, Life]:
    """The lives of temporaries, from the launch that makes each to the last one that reads it."""
    found: dict[str, Life] = {}
    for number, kernel in enumerate(runs):
        for name in kernel.arguments:
            if buffers[name].role is Role.TEMPORARY:
                first = found[name].first if name in found else number
                found[name] = Life(first, number)
    return found


def _plain(name: str) -> str:
    """The name with anything but letters and digits replaced by _, and cut short, so that it can be
    a file's name and stand in C text."""
    found = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:60]
    return found if found[:1].isalpha() else f"t_{found}"

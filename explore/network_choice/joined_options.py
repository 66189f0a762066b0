"""Options in two parts: the kernels of one program and then those of another, which together
compute what a third program computes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.network_choice.layer_options import Option, best_of
from explore.network_graph.network_layers import Layers
from ir.arena import Life, packed

TAKEN = 4  # of the first part's options, and of the second's: the fastest


def with_parts(layers: Layers, found: Sequence[Sequence[Option]]) -> list[Sequence[Option]]:
    """The options of each program, and, if the program can be taken in two parts, those made of an
    option for each part."""
    options = list(found)
    for whole, (first, second) in layers.parts.items():
        pairs = product(found[first][:TAKEN], found[second][:TAKEN])
        options[whole] = best_of([*found[whole], *(joined(a, b) for a, b in pairs)])
    return options


def joined(first: Option, second: Option) -> Option:
    """The option that runs the option `first` and then `second`, whose first input is the result of
    `first`."""
    plan = _one_after_other(first.plan, second.plan)
    name = f"{first.id}+{second.id}"
    measured = first.measured and second.measured
    time_ns = first.time_ns + second.time_ns
    return Option(name, plan, time_ns, measured, parts=(first, second))


def _one_after_other(a: Plan, b: Plan) -> Plan:
    between = next(x for x in a.buffers if x.role is Role.OUTPUT)
    read = next(x for x in b.buffers if x.role is Role.INPUT)
    given = {x.name for x in a.buffers if x.role in (Role.INPUT, Role.CONST)}
    left = {between.name: f"{between.name}_between"}
    mine = {x.name: left.get(x.name, x.name) for x in a.buffers}
    taken = set(mine.values())
    theirs = {read.name: mine[between.name]}
    for x in b.buffers:
        own = x.role in (Role.INPUT, Role.CONST)
        if x is not read:
            theirs[x.name] = x.name if own or x.name not in taken else f"{x.name}_then"
    buffers = {mine[x.name]: replace(x, name=mine[x.name]) for x in a.buffers}
    buffers[mine[between.name]] = replace(buffers[mine[between.name]], role=Role.TEMPORARY)
    for x in b.buffers:
        if x is not read and not (x.name in given and x.name in buffers):
            buffers[theirs[x.name]] = replace(x, name=theirs[x.name])
    kernels = [*(_renamed(k, mine) for k in a.kernels), *(_renamed(k, theirs) for k in b.kernels)]
    return _arranged(kernels, buffers, max(a.memory_bytes, b.memory_bytes))


def _renamed(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    return replace(kernel, arguments=tuple(names[x] for x in kernel.arguments))


def _arranged(kernels: Sequence[Kernel], buffers: Mapping[str, Buffer], memory: int) -> Plan:
    """The plan of these kernels and buffers, with an arena for all temporaries. It states the bytes
    that it takes, or `memory` if that is more."""
    runs = [k for k in kernels if not k.prepack]
    lives = {}
    for b in buffers.values():
        if b.role is Role.TEMPORARY:
            uses = [i for i, k in enumerate(runs) if b.name in k.arguments]
            lives[b.name] = Life(uses[0], uses[-1])
    arena = packed(list(lives.values()), [buffers[name].bytes for name in lives])
    placed = dict(zip(lives, arena.offsets, strict=True))
    made = tuple(replace(b, offset=placed.get(b.name)) for b in buffers.values())
    outside = sum(b.bytes for b in made if b.role is not Role.TEMPORARY)
    return Plan(tuple(kernels), made, max(memory, outside + arena.bytes), arena.bytes)

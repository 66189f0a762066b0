"""Random small networks of layers with options that nothing computes: only what they read, make and
keep counts. What every choice of options takes is found here by trying them all."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import assembled
from explore.network_choice.tight_packing import tight_packing
from explore.network_graph.network_layers import Layer, Layers
from explore.onnx_model.onnx_graph import Kind
from explore.operators.site import Tensor
from ir.arena import Life

STEPS = 10**6
WORDS = (1, 64, 128, 128, 129, 200, 256, 300, 384)  # floats of a tensor

ADDS = """__attribute__((reqd_work_group_size(1, 1, 1)))
__kernel void adds(
    {reads},
    __global float *restrict out_)
{{
  const int gid0 = get_global_id(0);
  out_[gid0] = {sum};
}}
"""  # reads each number where it writes it, so it may work in place

Span = tuple[int, int, int]
"""The first and the last launch of an array, and its bytes."""


def drawn_network(
    random: np.random.Generator, count: int = 9, several: int = 4
) -> tuple[Layers, list[list[Option]]]:
    """A network of `count` layers that each read one to three tensors of those made before, and the
    options of each layer; so many layers have `several` of them."""
    sizes = random.choice(WORDS, count + 1)
    kinds = [Kind("float32", (int(n),)) for n in sizes]
    tensors = {f"t{n}": Tensor(f"t{n}", kind) for n, kind in enumerate(kinds)}
    layers = Layers("drawn", {"t0": kinds[0]}, (f"t{count}",), tensors=tensors)
    options = []
    choosing = set(random.choice(count, min(several, count), replace=False).tolist())
    for l in range(count):
        near = [l, *random.integers(max(0, l - 5), l + 1, random.integers(0, 3))]
        reads = [(f"x{k}", f"t{n}") for k, n in enumerate(dict.fromkeys(map(int, near)))]
        layers.layers.append(Layer(f"layer{l}", "Drawn", l, tuple(reads), {}, f"t{l + 1}"))
        found = [
            _option(random, f"o{l}.{n}", [kinds[int(t[1:])] for _, t in reads], kinds[l + 1])
            for n in range(random.integers(2, 4) if l in choosing else 1)
        ]
        options.append(found)
    return layers, options


LOOSE = (
    ((1, 3, 5, 5, 6, 8, 7, 9, 10, 10), (5, 3, 3, 5, 1, 2, 4, 5, 2, 4)),
    ((4, 2, 5, 5, 6, 6, 7, 9, 10, 10), (4, 3, 2, 2, 2, 2, 5, 4, 5, 1)),
)
"""Tensors, made one after the other, that no arena as small as what lives at once can hold: the
layer that reads each last, and its bytes in units of the alignment."""


def loose_network(
    random: np.random.Generator, filled: float = 0.5
) -> tuple[Layers, list[list[Option]]]:
    """A network whose arena may be larger than what lives at once: this share of its layers'
    options have a temporary, which may fill what is left free."""
    last, units = LOOSE[random.integers(len(LOOSE))]
    words = [128 * n - int(random.choice((0, 0, 0, 1, 60))) for n in units]
    kinds = [Kind("float32", (n,)) for n in (128, *words, 128)]
    tensors = {f"t{n}": Tensor(f"t{n}", kind) for n, kind in enumerate(kinds)}
    count = len(units) + 1
    layers = Layers("loose", {"t0": kinds[0]}, (f"t{count}",), tensors=tensors)
    options = []
    for l in range(count):
        reads = [n + 1 for n, reader in enumerate(last) if reader == l or n + 1 == l] or [0]
        given = tuple((f"x{k}", f"t{n}") for k, n in enumerate(reads))
        layers.layers.append(Layer(f"layer{l}", "Drawn", l, given, {}, f"t{l + 1}"))
        inputs = [_buffer(f"x{k}", kinds[n], Role.INPUT) for k, n in enumerate(reads)]
        out = _buffer("out", kinds[l + 1], Role.OUTPUT)
        several = random.integers(1, 3)
        options.append([_loose_option(random, filled, inputs, out) for _ in range(several)])
    return layers, options


def _loose_option(
    random: np.random.Generator, filled: float, inputs: Sequence[Buffer], out: Buffer
) -> Option:
    kept, inner = (Kind("float32", (int(random.choice(n)),)) for n in ((8, 64, 200), (4, 128, 256)))
    more = [_buffer("w", kept, Role.PACKED)] if random.integers(2) else []
    more += [_buffer("s", inner, Role.TEMPORARY)] if random.uniform() < filled else []
    buffers = (*inputs, *more, out)
    kernel = Kernel("k", (1, 1, 1), (1, 1, 1), tuple(b.name for b in buffers), False, "")
    time_ns = float(random.integers(1, 40))
    return Option(f"o{time_ns:g}", Plan((kernel,), buffers, 0, 0), time_ns, measured=True)


def _buffer(name: str, kind: Kind, role: Role) -> Buffer:
    return Buffer(name, "float", kind.shape, kind.bytes, role)


def _option(random: np.random.Generator, name: str, reads: Sequence[Kind], made: Kind) -> Option:
    """An option of one to three launches, with up to two temporaries and constants kept."""
    inputs = [_buffer(f"x{n}", kind, Role.INPUT) for n, kind in enumerate(reads)]
    out = _buffer("out", made, Role.OUTPUT)
    kept = 4 * int(random.choice((0, 0, 32, 128, 250)))
    const = [Buffer("w", "float", (kept // 4,), kept, Role.PACKED)] if kept else []
    launches = int(random.integers(1, 4))
    inner, uses = [], [[*(b.name for b in const)] for _ in range(launches)]
    for n in range(int(random.integers(0, 3))):
        size = 4 * int(random.choice((64, 128, 128, 256, 300, 500)))
        inner.append(Buffer(f"s{n}", "float", (size // 4,), size, Role.TEMPORARY, 0))
        first, last = sorted(random.integers(0, launches, 2))
        for launch in {first, last}:
            uses[launch].append(f"s{n}")
    for b in inputs:
        uses[int(random.integers(launches))].append(b.name)
    uses[-1].append("out")
    text = {}
    same = all(b.bytes == out.bytes for b in inputs)
    if launches == 1 and same and not inner and not const:
        text[0] = ADDS.format(
            reads=",\n    ".join(
                f"__global const float *restrict x{n}_" for n in range(len(reads))
            ),
            sum=" + ".join(f"x{n}_[gid0]" for n in range(len(reads))),
        )
    each = (made.elements, 1, 1)
    kernels = tuple(
        Kernel(
            "adds" if n in text else f"k{n}", each, (1, 1, 1), tuple(args), False, text.get(n, "")
        )
        for n, args in enumerate(uses)
    )
    plan = Plan(kernels, (*inputs, *const, *inner, out), 0, 0)
    return Option(name, plan, float(random.integers(1, 40)), measured=True)


# ---- what choices take, tried one by one


def every_choice(
    layers: Layers, options: Sequence[Sequence[Option]]
) -> Iterator[tuple[float, int]]:
    """The time and the least bytes of every choice."""
    known: dict[tuple[Span, ...], int] = {}
    for chosen in product(*options):
        plan = assembled(layers, chosen).plan
        outside = sum(b.bytes for b in plan.buffers if b.role is not Role.TEMPORARY)
        spans = tuple(sorted(_spans(plan)))
        if spans not in known:
            known[spans] = least_arena(spans)
        yield sum(o.time_ns for o in chosen), outside + known[spans]


def _spans(plan: Plan) -> Iterator[Span]:
    for b in plan.buffers:
        if b.role is Role.TEMPORARY:
            at = [n for n, kernel in enumerate(plan.kernels) if b.name in kernel.arguments]
            yield at[0], at[-1], b.bytes


def front_of(choices: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """The times and bytes that no other choice beats, the fastest first."""
    found: list[tuple[float, int]] = []
    for time_ns, size in sorted(choices):
        if not found or size < found[-1][1]:
            found.append((time_ns, size))
    return found


def least_arena(spans: Sequence[Span]) -> int:
    """The bytes of the smallest arena of some arrays, by the search that other tests compare with
    all orders of few arrays, but with as many steps as it needs."""
    found = tight_packing([Life(a, b) for a, b, _ in spans], [n for _, _, n in spans], STEPS)
    assert found.least == found.arena.bytes
    return found.least

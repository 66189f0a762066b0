"""What a program takes, as sizes in its parameters: items, bytes, code. Everything is in one place.

A `Peak` is the largest of several amounts: sizes have no maximum of their own, and a limit on a
peak is a limit on each of its amounts.
"""

# key: e term, b buffer

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from constraints.quantities.code_size import code
from constraints.quantities.kernels import Kernel, kernels, parallel
from constraints.quantities.live_buffers import Live, Space, live_sets
from constraints.quantities.origin import brief
from constraints.quantities.value_bytes import bytes_of
from constraints.quantities.work import Work, work
from constraints.relations.relations import value_at
from ir.core.nodes import Expr, Level, Program
from ir.core.size import Size, names
from ir.core.terms import once
from ir.core.type_rules import size_of, type_of


@dataclass(frozen=True, slots=True)
class Amount:
    """A size and the text of what takes it."""

    size: Size
    origin: str


Peak = tuple[Amount, ...]
Dims = tuple[Peak, Peak, Peak]


@dataclass(frozen=True, slots=True)
class KernelQuantities:
    """Of one launch."""

    output: str
    prepack: bool
    items: Dims  # of a work-group, along each dimension; empty: the dimension has none
    groups: Dims
    global_items: Dims
    local_bytes: Peak
    private_bytes: Peak
    code: Amount
    work: Work
    parameters: frozenset[str]  # that any of these depends on


@dataclass(frozen=True, slots=True)
class Quantities:
    """Of a whole program; bytes of global memory as defined for the front."""

    kernels: tuple[KernelQuantities, ...]
    buffers: Peak  # every global buffer by itself
    memory_bytes: Peak
    workspace_bytes: Peak


@lru_cache(maxsize=4)
def quantities(program: Program) -> Quantities:
    """What a lowered program takes, symbolic in its free parameters."""
    launches = kernels(program)
    buffers = _buffers(program, launches)
    kept = _kept(program, launches)
    live = _temporaries(launches)
    return Quantities(
        tuple(map(_of_kernel, launches)),
        tuple(buffers.values()),
        _peak(_sum([buffers[b] for b in sorted(kept | at)]) for at in live),
        _peak(_sum([buffers[b] for b in sorted(at)]) for at in live),
    )


def peak_at(peak: Peak, values: Mapping[str, int]) -> int:
    """The largest amount at a point; 0 of none."""
    return max((value_at(a.size, values) for a in peak), default=0)


def _of_kernel(k: Kernel) -> KernelQuantities:
    return replace(_of_term(k.term), output=k.output, prepack=k.prepack)


@once
def _of_term(term: Expr) -> KernelQuantities:
    """Of a kernel, whatever it is called: other forms have it too."""
    items = _lengths(term, Level.LOCAL)
    counts = {dim: peak[0].size for dim, peak in enumerate(items) if len(peak) == 1}
    sets = live_sets(term, counts)
    dims = (items, _lengths(term, Level.GROUP), _lengths(term, Level.GLOBAL))
    local_bytes, private_bytes = (_bytes(sets, s) for s in (Space.LOCAL, Space.PRIVATE))
    spelled, done = Amount(code(term), brief(term)), work(term)
    peaks = (*(peak for three in dims for peak in three), local_bytes, private_bytes, (spelled,))
    return KernelQuantities(
        "",
        False,
        *dims,
        local_bytes,
        private_bytes,
        spelled,
        done,
        done.parameters.union(*(names(a.size) for peak in peaks for a in peak)),
    )


def _lengths(term: Expr, level: Level) -> Dims:
    found: tuple[list[Amount], list[Amount], list[Amount]] = ([], [], [])
    for e in parallel(term):
        if e.level is level:
            found[e.dim].append(Amount(size_of(e.xs), brief(e)))
    x, y, z = map(_peak, found)
    return x, y, z


def _bytes(sets: Iterable[Live], space: Space) -> Peak:
    alone = frozenset(b for live in sets for b in live if b.space is space and b.alone)
    own = {alone.union(b for b in live if b.space is space) for live in sets}
    ordered = sorted(sorted((b.number, b) for b in live) for live in own) if own else []
    sums = (_sum([Amount(b.bytes, b.origin) for _, b in live]) for live in ordered)
    return tuple(a for a in _peak(sums) if a.size != 0)


def _sum(amounts: Iterable[Amount]) -> Amount:
    total: Size = 0
    origins = []
    for a in amounts:
        total = total + a.size
        origins.append(a.origin)
    return Amount(total, " and ".join(dict.fromkeys(origins)))


def _peak(amounts: Iterable[Amount]) -> Peak:
    """Amounts that differ; of numbers only the largest."""
    found: dict[Size, Amount] = {}
    for a in amounts:
        found.setdefault(a.size, a)
    numbers = sorted(n for n in found if isinstance(n, int))
    return tuple(a for n, a in found.items() if not isinstance(n, int) or n == numbers[-1])


def _buffers(program: Program, launches: tuple[Kernel, ...]) -> dict[str, Amount]:
    given = {p.var.name: Amount(bytes_of(p.var.type), p.var.name) for p in program.params}
    made = {k.output: Amount(bytes_of(type_of(k.term)), brief(k.term)) for k in launches}
    return given | made


def _kept(program: Program, launches: tuple[Kernel, ...]) -> frozenset[str]:
    """What lives through an inference: inputs, the output, constants as they are read."""
    read = frozenset().union(*(k.reads for k in launches if not k.prepack))
    constant = {p.var.name for p in program.params if p.const}
    packed = {k.output for k in launches if k.prepack}
    inputs = {p.var.name for p in program.params if not p.const}
    return frozenset(inputs | packed | {launches[-1].output} | (constant & read))


def _temporaries(launches: tuple[Kernel, ...]) -> list[frozenset[str]]:
    """At each launch, the temporaries that are made by then and still to be read."""
    runs = [k for k in launches if not k.prepack]
    made = [k.output for k in runs[:-1]]
    last = {b: max((i for i, k in enumerate(runs) if b in k.reads), default=0) for b in made}
    return [
        frozenset(b for j, b in enumerate(made[: i + 1]) if j <= i <= max(j, last[b]))
        for i in range(len(runs))
    ]

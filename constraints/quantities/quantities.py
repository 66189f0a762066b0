"""The quantities of a program as sizes in its parameters: work-items, bytes, operations in its
text.

A `Peak` is the largest of several amounts: sizes have no maximum of their own, and a limit on a
peak is a limit on each of its amounts.
"""

# key: e term, b buffer

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from constraints.quantities.code_size import code
from constraints.quantities.held_buffers import Live, Space
from constraints.quantities.kernels import Kernel, kernels, parallel
from constraints.quantities.live_buffers import live_sets
from constraints.quantities.local_arena import largest_sets, packed_bytes, pools
from constraints.quantities.origin import brief
from constraints.quantities.value_bytes import bytes_of
from constraints.quantities.work import Work, work
from constraints.relations.relations import value_at
from ir.arena import Life, lives, packed, stacked_sizes, stacks
from ir.core.frozen import frozen
from ir.core.nodes import Edge, Expr, Level, Pad, PadEdge, Program
from ir.core.size import Size, names
from ir.core.terms import once, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import Type
from ir.meaning.inputs import parts_of


@frozen
class Amount:
    """A size, and the text of the term that needs it."""

    size: Size
    origin: str


Peak = tuple[Amount, ...]
Dims = tuple[Peak, Peak, Peak]


@frozen
class KernelQuantities:
    """The quantities of one launch of a kernel, the one that makes the array `output`: along each
    dimension the work-items of a group (`items`) and the groups, or, if the kernel leaves groups
    open, all work-items (`global_items`); bytes of local memory (in all, and of each pool) and of
    private memory; operations in its text (`code`); work; the bytes of the arrays that it reads and
    writes, each once (`arrays`); and the numbers of elements by which it pads what it reads on each
    side (`padded`), negative ones where it crops."""

    output: str
    prepack: bool
    items: Dims  # of a work-group, along each dimension; empty: the dimension has none
    groups: Dims
    global_items: Dims
    local_bytes: Peak
    local_pools: tuple[tuple[tuple[Life, Size], ...], ...]  # what shares storage: when, and bytes
    private_bytes: Peak
    code: Amount
    work: Work
    padded: tuple[Size, ...]
    arrays: Size
    parameters: frozenset[str]  # that any of these depends on


@frozen
class Quantities:
    """The quantities of a whole program: those of its kernels, and the bytes of each buffer, of the
    arena of temporaries, of what lives through an inference (`kept`), and of all memory at its
    peak.

    A limit on each amount of a peak is sound: no point takes more than the largest. Of more than
    six temporaries (or local arrays of a kernel) a point may take less: `memory_at` and `local_at`
    tell how much.
    """

    kernels: tuple[KernelQuantities, ...]
    buffers: Peak  # parameters and results, each by itself
    arena: Peak  # of all temporaries
    memory_bytes: Peak
    kept: Size  # bytes of what lives through an inference
    temporaries: tuple[tuple[Life, Size], ...]  # when each is needed, and its bytes


@lru_cache(maxsize=4)
def quantities(program: Program) -> Quantities:
    """The work-groups, local memory, buffers and other amounts of a lowered program (the fields of
    `Quantities`), each as a size in its tuning parameters."""
    launches = kernels(program)
    arrays = _arrays(program, launches)
    needed = lives([(k.output, k.reads) for k in launches if not k.prepack])
    kept = [part for name in sorted(_kept(program, launches)) for part in arrays[name]]
    temporaries = [(life, part) for name, life in needed.items() for part in arrays[name]]
    found = _stacks(temporaries)
    return Quantities(
        tuple(_of_kernel(k, arrays) for k in launches),
        _peak(part for name, parts in arrays.items() if name not in needed for part in parts),
        _peak(map(_sum, found)),
        _peak(_sum([*kept, *stack]) for stack in found),
        _sum(kept).size,
        tuple((life, part.size) for life, part in temporaries),
    )


def memory_at(q: Quantities, values: Mapping[str, int]) -> int:
    """The peak bytes of global memory at a point: those that the generated code takes."""
    return value_at(q.kept, values) + workspace_at(q, values)


def workspace_at(q: Quantities, values: Mapping[str, int]) -> int:
    """The bytes of all temporaries at a point, after sharing."""
    sizes = [value_at(size, values) for _, size in q.temporaries]
    return packed([life for life, _ in q.temporaries], sizes).bytes


def local_at(k: KernelQuantities, values: Mapping[str, int]) -> int:
    """The bytes of local memory that a group takes at a point."""
    return sum(
        packed_bytes([life for life, _ in pool], [value_at(size, values) for _, size in pool])
        for pool in k.local_pools
    )


def peak_at(peak: Peak, values: Mapping[str, int]) -> int:
    """The largest amount of a peak at a point; 0 where it has none."""
    return max((value_at(a.size, values) for a in peak), default=0)


def _of_kernel(k: Kernel, arrays: Mapping[str, Sequence[Amount]]) -> KernelQuantities:
    found = _of_term(k.term)
    once_each = _sum(part for name in sorted({*k.reads, k.output}) for part in arrays[name]).size
    return replace(
        found,
        output=k.output,
        prepack=k.prepack,
        arrays=once_each,
        parameters=found.parameters | names(once_each),
    )


@once
def _of_term(term: Expr) -> KernelQuantities:
    """The quantities of a kernel's term, without the kernel's name, so that kernels with equal
    terms share them."""
    items = _lengths(term, Level.LOCAL)
    counts = {dim: peak[0].size for dim, peak in enumerate(items) if len(peak) == 1}
    sets = live_sets(term, counts)
    dims = (items, _lengths(term, Level.GROUP), _lengths(term, Level.GLOBAL))
    local = pools(sets)
    local_bytes = _without_none(map(_total, largest_sets(local)))
    private_bytes = _without_none(_total(_private(live)) for live in sets)
    spelled, done = Amount(code(term), brief(term)), work(term)
    padded = tuple(side for e in subterms(term) for side in _sides(e))
    peaks = (*(peak for three in dims for peak in three), local_bytes, private_bytes, (spelled,))
    return KernelQuantities(
        "",
        False,
        *dims,
        local_bytes,
        tuple(tuple((life, b.bytes) for life, b in pool) for pool in local),
        private_bytes,
        spelled,
        done,
        padded,
        0,
        done.parameters.union(
            *(names(a.size) for peak in peaks for a in peak), *map(names, padded)
        ),
    )


def _sides(e: Expr) -> tuple[Size, ...]:
    """The numbers of elements that e adds to an array on each side, if whoever reads the result has
    to tell them from others; else none."""
    match e:
        case Pad(left, right):
            return left, right
        case PadEdge(edge, left, right) if edge is not Edge.ANY:
            return left, right
    return ()


def _lengths(term: Expr, level: Level) -> Dims:
    found: tuple[list[Amount], list[Amount], list[Amount]] = ([], [], [])
    for e in parallel(term):
        if e.level is level:
            found[e.dim].append(Amount(size_of(e.xs), brief(e)))
    x, y, z = map(_peak, found)
    return x, y, z


def _private(live: Live) -> Live:
    return frozenset(b for b in live if b.space is Space.PRIVATE)


def _without_none(amounts: Iterable[Amount]) -> Peak:
    return tuple(a for a in _peak(amounts) if a.size != 0)


def _total(live: Live) -> Amount:
    ordered = sorted(live, key=lambda b: b.number)
    return _sum(Amount(b.bytes, b.origin) for b in ordered)


def _sum(amounts: Iterable[Amount]) -> Amount:
    total: Size = 0
    origins = []
    for a in amounts:
        total = total + a.size
        origins.append(a.origin)
    return Amount(total, " and ".join(dict.fromkeys(origins)))


def _peak(amounts: Iterable[Amount]) -> Peak:
    """The peak of these amounts, without repetitions; of plain numbers only the largest is kept."""
    found: dict[Size, Amount] = {}
    for a in amounts:
        found.setdefault(a.size, a)
    numbers = sorted(n for n in found if isinstance(n, int))
    return tuple(a for n, a in found.items() if not isinstance(n, int) or n == numbers[-1])


def _arrays(program: Program, launches: tuple[Kernel, ...]) -> dict[str, list[Amount]]:
    """The amounts of the arrays that make up each parameter and each kernel's result, by name."""
    given = {p.var.name: _parts(p.var.type, p.var.name) for p in program.params}
    return given | {k.output: _parts(type_of(k.term), brief(k.term)) for k in launches}


def _parts(t: Type, origin: str) -> list[Amount]:
    return [Amount(bytes_of(part), origin) for _, part in parts_of(t)]


def _kept(program: Program, launches: tuple[Kernel, ...]) -> frozenset[str]:
    """The names of the arrays that live throughout an inference: inputs, the output, and constants
    in the layout in which kernels read them."""
    read = frozenset().union(*(k.reads for k in launches if not k.prepack))
    constant = {p.var.name for p in program.params if p.const}
    packed = {k.output for k in launches if k.prepack}
    inputs = {p.var.name for p in program.params if not p.const}
    return frozenset(inputs | packed | {launches[-1].output} | (constant & read))


def _stacks(temporaries: Sequence[tuple[Life, Amount]]) -> list[list[Amount]]:
    """The sets of temporaries that live together, each as a list of amounts, which add up. The
    arena of all temporaries takes as much as the largest sum, or less where there are more than
    six."""
    found = stacks([life for life, _ in temporaries])
    return [_stacked([temporaries[i][1] for i in stack]) for stack in found]


def _stacked(stack: Sequence[Amount]) -> list[Amount]:
    sizes = stacked_sizes([a.size for a in stack])
    return list(map(Amount, sizes, [a.origin for a in stack]))

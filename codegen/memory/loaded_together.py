"""Kernels whose lanes gather numbers that lie beside each other: they are loaded as vectors."""

# key: s statement, e value

from collections.abc import Collection, Sequence
from dataclasses import replace

from codegen.index.index import Index, constant, var
from codegen.index.substitute import coefficient, substitute
from codegen.memory.unrolled_registers import is_aligned
from codegen.tree.kernel_values import Build, Lane, Load, Value, loads, rewrite
from codegen.tree.memories import Space
from codegen.tree.statements import Block, For, If, Kernel, Statement, Store, remembered
from codegen.tree.value_builders import substituted

WIDTHS = (8, 4)  # of vectors that are loaded whole, the widest first


@remembered
def with_neighbours_loaded(kernel: Kernel) -> Kernel:
    """The kernel in which numbers of a vector that is gathered from global memory are loaded
    together: all of it from runs of four or more that lie side by side, as where two pixels are
    read whose places are bounded each by itself; else two floats as lanes of one load, where they
    are the halves of an aligned vector, and four, where another turn of a loop gathers their
    neighbours."""
    body = _block(kernel.body)
    return kernel if body == kernel.body else replace(kernel, body=body)


def _block(body: Block) -> Block:
    return Block(tuple([each for s in body.statements for each in _statement(s)]))


def _statement(s: Statement) -> tuple[Statement, ...]:
    match s:
        case Block():
            return (_block(s),)
        case For(_, _, body, _):
            return _in_fours(replace(s, body=_block(body)))
        case If(_, body):
            return (replace(s, body=_block(body)),)
        case Store(_, _, value):
            return (replace(s, value=rewrite(rewrite(value, _in_runs), _in_pairs)),)
    return (s,)


def _in_fours(s: For) -> tuple[Statement, ...]:
    """The loop s; or, if its turns load pairs that are neighbours, two by two, a loop over two
    turns at once, which load four numbers together."""
    stores = [each for each in s.body.statements if isinstance(each, Store)]
    pairs = [load for each in stores for load in loads(each.value) if _is_pair(load)]
    if s.count % 2 or len(stores) < len(s.body.statements) or not pairs:
        return (s,)
    if not all(_is_half(pair, s.var) for pair in pairs):
        return (s,)
    turn = var(s.var, 0, s.count // 2 - 1)
    both = [_at_once(each, {s.var: turn * 2 + n}, 2 * n) for n in (0, 1) for each in stores]
    if s.count == 2:
        return tuple(both)
    return (replace(s, count=s.count // 2, body=Block(tuple(both))),)


def _is_half(pair: Load, turn: str) -> bool:
    """True if the pair is half of an aligned vector of four, the first one where the variable
    `turn` is even."""
    return coefficient(pair.index, turn) == 2 and is_aligned(substitute(pair.index, {turn: 0}), 4)


def _at_once(s: Store, turn: dict[str, Index | int], first: int) -> Store:
    """The statement s at this turn, with each of its pairs the lanes from `first` on of four
    numbers that are loaded at once."""

    def known(e: Value) -> Value:
        match e:
            case Lane(Load(_, i, 2) as pair, lane) if _is_pair(pair):
                return Lane(replace(pair, index=i - first, width=4), first + lane)
        return e

    value = rewrite(substituted(s.value, turn), known)
    return replace(s, index=substitute(s.index, turn), value=value)


def _in_runs(e: Value) -> Value:
    """The vector e, made of vectors that are loaded whole if it is gathered in runs as long; any
    other value unchanged."""
    if not isinstance(e, Build):
        return e
    single = [part for part in e.parts if isinstance(part, Load) and _is_plain(part)]
    if len(single) < len(e.parts):
        return e
    for width in WIDTHS:
        starts = range(0, len(single), width)
        if len(single) % width == 0 and all(_run(single[n : n + width]) for n in starts):
            return replace(e, parts=tuple([replace(single[n], width=width) for n in starts]))
    return e


def _run(loads: Sequence[Load]) -> bool:
    """True if these loads of single numbers read neighbours in memory, in their order."""
    first = loads[0]
    return all(
        replace(load, index=first.index) == first and load.index - first.index == constant(n)
        for n, load in enumerate(loads)
    )


def _in_pairs(e: Value) -> Value:
    if not isinstance(e, Build):
        return e
    single = [part for part in e.parts if isinstance(part, Load) and _is_single(part)]
    parts = tuple([_lane(part, single) for part in e.parts])
    return e if parts == e.parts else replace(e, parts=parts)


def _lane(e: Value, others: Collection[Load]) -> Value:
    """The value e, or, if it is a load and half of a pair with one of `others`, a lane of both."""
    if not isinstance(e, Load) or e not in others:
        return e
    for lane in (0, 1):
        pair = replace(e, index=e.index - lane, width=2)
        other = replace(e, index=e.index + (1 - 2 * lane))
        if is_aligned(pair.index, 2) and other in others:
            return Lane(pair, lane)
    return e


def _is_plain(e: Load) -> bool:
    return e.memory.space is Space.GLOBAL and e.width == 1


def _is_single(e: Load) -> bool:
    return _is_plain(e) and e.memory.scalar == "float"


def _is_pair(e: Load) -> bool:
    return e.memory.space is Space.GLOBAL and e.width == 2 and e.memory.scalar == "float"

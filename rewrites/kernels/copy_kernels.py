"""Kernels that copy: they store windows or a padded view, many elements in long rows.

Where a work-item copies rows of its own, a CPU is quick: it reads and writes them from end to end.
On a GPU neighbouring work-items have to copy neighbouring elements, and there must be many. So `u`
work-items share each row, and take its elements in turns; `u` is 1, or the length of the row, or
between the two.
"""

# key: e term, s strategy, u work-items that share a row, n size

from collections.abc import Iterator, Mapping, Sequence

from ir.core.nodes import Expr, Level, Map, Pad, PadEdge, Slide, Store
from ir.core.size import Nat, Size, named, names
from ir.core.terms import children, size_names
from ir.core.type_rules import size_of, type_of
from ir.core.types import depth
from ir.core.views import is_view
from rewrites.analysis.out_views import is_crop
from rewrites.engine.rule import Rewritten, Step, Strategy
from rewrites.engine.stages import stage
from rewrites.engine.strategy import attempt, choice, seq, skip
from rewrites.kernels.naive import plain
from rewrites.kernels.work_group import flattened
from rewrites.laws.functions_of_elements import map_after_view
from rewrites.laws.lower import copy, to_parallel, to_seq
from rewrites.laws.maps import split_map
from rewrites.laws.vectors import vectorize_map
from rewrites.nest.labels import labels
from rewrites.nest.named_nest import picked, standing
from rewrites.nest.named_views import reordered
from rewrites.nest.spine import body, computed, inside, loops, nest, nested, sequential

BESIDE = (8, 4)  # neighbours that a work-item copies, as many as divide what is stored
SUMMED = (4, 2)  # neighbours that a work-item sums up, as many as divide what is stored
SHARED = (32, 64, 128)  # work-items that are as many as a GPU runs in step, or a few times as many


def unfolded(e: Expr) -> Rewritten | None:
    """The kernel e, which has no sums, lowered: with rows that work-items share where it copies
    windows or padded arrays, else with a work-item for each result."""
    copied = stage("a kernel that copies rows", seq(computed, _rows_shared, loops))
    return copied(e) if _is_of_windows(e) else plain(e)


def panel_by_panel(v: Size) -> Strategy:
    """The strategy that lowers a kernel which copies an array into panels: a work-item reads a row
    of the array from end to end, and writes it to one panel after another, in vectors of v
    elements. Other kernels without sums are lowered by `unfolded`."""

    def run(e: Expr) -> Rewritten | None:
        between = depth(type_of(e)) - 2
        if between < 1 or not is_view(e):
            return None
        lying = labels("panels", rows=between, lanes=1)
        vectors = nested(between + 1, vectorize_map(v=v))
        each = seq(computed, vectors, inside(_over(0, {0: 0})))
        return reordered(lying, ("rows", "panels", "lanes"), each)(e)

    return choice(stage("a kernel that lays out panels", run), unfolded)


def by_elements(e: Expr) -> Rewritten | None:
    """The kernel e, which has no sums, lowered with a work-item for a few neighbouring elements of
    what is stored, whatever dimensions that has: a GPU then writes whole lines."""
    vectors = attempt(choice(*(vectorize_map(v=v) for v in BESIDE)))
    neighbours = seq(vectors, inside(to_parallel(level=Level.GLOBAL, dim=0)))
    each = seq(choice(map_after_view(), copy()), neighbours)
    flat = flattened(depth(type_of(e)), each)
    return stage("a kernel that copies, a work-item a few elements", flat)(e)


def sums_by_elements(e: Expr) -> Rewritten | None:
    """The kernel e, which makes sums, lowered with a work-item for a few neighbouring results, a
    vector, whatever dimensions results have; None if e is no nest of maps around sums."""
    results = standing(results=len(nest(e))).merge("results")
    vectors = attempt(choice(*(vectorize_map(v=v) for v in SUMMED)))
    each = seq(body(sequential), to_parallel(level=Level.GLOBAL, dim=0))
    made = results.at("results", seq(vectors, inside(each)))
    return stage("a kernel that sums up, a work-item a few results", made)(e)


def _is_of_windows(e: Expr) -> bool:
    """True if e copies windows, or an array with a padding whose amounts are numbers, not
    parameters."""
    match e:
        case Store():
            return False
        case Slide():
            return True
        case Pad(int(), int()) | PadEdge(_, int(), int()) if not is_crop(e):
            return True
    return any(map(_is_of_windows, children(e)))


def _rows_shared(e: Expr) -> Rewritten | None:
    sizes = [size_of(m.xs) for m in nest(e)]
    wide = [level for level, n in enumerate(sizes) if n != 1]
    if len(wide) < 4 or not isinstance(sizes[wide[-1]], int):
        return plain(e)
    maps = picked(planes=wide[0], lines=wide[1], rows=wide[-1])
    shared = maps.at("rows", split_map(k=named("u"))).called("rows", "turns", "items")
    ids = {n: dim for dim, n in enumerate(shared.labels.positions("items", "lines", "planes"))}
    return shared.then(inside(_over(0, ids)))(e)


def _over(level: int, ids: Mapping[int, int]) -> Strategy:
    """The strategy that lowers nested maps, the outermost of which is at `level`: a map at a level
    in `ids` goes over dimension `ids[level]` of global ids, the others are loops."""

    def run(e: Expr) -> Rewritten | None:
        if not isinstance(e, Map):
            return skip(e)
        over = to_parallel(level=Level.GLOBAL, dim=ids[level]) if level in ids else to_seq()
        return seq(body(inside(_over(level + 1, ids))), over)(e)

    return run


def shares(e: Expr, steps: Sequence[Step]) -> tuple[int, ...]:
    """The values of the parameter `u` worth trying in the lowered term e. They follow from the
    lengths of the rows that work-items share, which are found in `steps`, the steps that led to
    e."""
    rows = set(_rows(steps)) if "u" in size_names(e) else set[int]()
    return tuple(sorted({u for n in rows for u in (1, *SHARED, n) if u in (1, n) or n % u == 0}))


def _rows(steps: Sequence[Step]) -> Iterator[int]:
    for step in steps:
        k = dict(step.arguments).get("k")
        if step.rule == split_map and isinstance(k, Nat) and names(k) == {"u"}:
            n = size_of(step.term)
            if isinstance(n, int):
                yield n

"""A law that turns sums of products over windows, however the program views its arrays, into sums
over the windows of one plane. The plane's elements are numbers or arrays of channels."""

# key: e term, p its products, x g operands, w window, v place in a window, r rows

from collections.abc import Callable, Sequence
from functools import partial

from ir.core.nodes import Binary, Expr, Get, Join, Map, Reduce, Slide, Transpose, Var, Zip
from ir.core.terms import free, lam, lam2, substitute, variables
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, Array, depth, leaves
from rewrites.analysis.affine_access import Access, Index, NoAccess
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.refused import shown
from rewrites.engine.rule import get, put, rule
from rewrites.fast_algorithms.by_rows import carried, uses
from rewrites.fast_algorithms.dft_terms import ZERO
from rewrites.laws.affine_views import at_level, gather, permuted, widened
from rewrites.nest.blocks_of_results import place_of_reduction
from rewrites.nest.rows_in_windows import Rows, phases, slid_along
from rewrites.nest.sums_of_products import Products, products


@rule("sums of products in windows  =  map … (map (w -> reduce … (zip w g)) (windows of a plane))")
def by_windows(e: Map) -> Expr | None:
    """Sums of products over windows become sums over the windows of one plane (or row) x, by maps
    inside those over all other dimensions.

        map … (map (f . reduce))  =  map … (map (w -> f (reduce (zip w g))) (slide v 1 x))

    The windows go along one or two dimensions, however the program views both operands. What else
    is summed up, such as channels, becomes an array at each place of x and g. Where the elements of
    a window lie d apart, x is cut into d phases, each of every d-th element: windows of a phase are
    of neighbours, and the results of all phases, in turns, are those of x.

        map f (windows of every d-th element)
          =  crop (join (transpose (map (map f . slide v 1) (transpose (split d x)))))
    """
    try:
        p = products(e)
        found = slid_along(p)
        if len(found) not in (1, 2) or adds_anything(found[0].data.base):
            return None
        return _by_windows(e, p, found)
    except NoAccess:
        return None


def _by_windows(e: Expr, p: Products, found: Sequence[Rows]) -> Expr | None:
    x, g = found[0].data, found[0].taps
    outer, inner = p.maps[: -len(found)], p.maps[-len(found) :]
    in_order = all(r.step == 1 for r in found) and tuple(r.window for r in found) == inner
    held = [i for i in found[0].sums if i not in {r.tap for r in found}]
    both = uses(x.coordinates) & uses(g.coordinates)
    if not (in_order and both.issuperset(held) and free(x.base) | free(g.base) <= free(e)):
        return None
    along, across = [r.data_dim for r in found], [r.taps_dim for r in found]
    own = [[i for i in outer if i in uses(a.coordinates)] for a in (x, g)]
    planes = _planes(x, along, own[0], held, [(r.first, _reach(r)) for r in found])
    taps = _planes(g, across, own[1], held, [(r.start, r.tap.size) for r in found])
    if not is_number(planes, len(own[0]) + len(found) + len(held)):
        return None
    made = partial(_windowed, [r.tap.size for r in found])
    if any(r.gap > 1 for r in found):
        planes = _in_phases(planes, len(own[0]), [r.gap for r in found])
        made = partial(_of_phases, made, [r.window.size for r in found])
    return carried(e, outer, planes, taps, (set(own[0]), set(own[1])), made)


def _reach(r: Rows) -> int:
    """The number of elements that windows reach along r, in whole phases."""
    return r.gap * (-(-r.window.size // r.gap) + r.tap.size - 1)


def _in_phases(planes: Expr, level: int, gaps: Sequence[int]) -> Expr:
    """The array `planes` with its dimensions from number `level` on, one for each of `gaps`, cut
    into so many phases each, which are dimensions outside of them."""
    d = len(gaps)
    for n in reversed(range(d)):
        planes = at_level(level + n, planes, partial(phases, gaps[n]))
    places = (rank for n in range(d) for rank in (level + n, level + d + n))
    return permuted(planes, [*range(level), *places])


def _of_phases(
    made: Callable[[Expr, Expr, Expr], Expr], counts: Sequence[int], e: Expr, x: Expr, g: Expr
) -> Expr:
    """The results `made` (of e, a phase of x and g) for all phases of x, in turns; along each
    dimension there are as many as `counts` says."""
    d = len(counts)

    def of_all(x: Expr, left: int) -> Expr:
        if not left:
            return made(e, x, g)
        return Map(lam("phase", elem_of(x), lambda phase: of_all(phase, left - 1)), x)

    results = permuted(of_all(x, d), [*range(1, 2 * d, 2), *range(0, 2 * d, 2)])
    for n in reversed(range(d)):
        results = at_level(2 * n, results, Join)
    for n, count in enumerate(counts):
        results = at_level(n, results, partial(_part, first=0, n=count))
    return results


def is_number(e: Expr, dims: int) -> bool:
    """True if e has exactly `dims` dimensions, and floats as elements."""
    return depth(type_of(e)) == dims and set(leaves(type_of(e))) == {FLOAT}


def _planes(
    a: Access,
    inside: Sequence[int],
    own: Sequence[Index],
    held: Sequence[Index],
    parts: Sequence[tuple[int, int]],
) -> Expr:
    """The array that the access a reads, as planes. Outermost are dimensions for the indices `own`.
    Then come the dimensions `inside` of the access's base, of which `parts` says, as (first,
    count), which elements are left. Dimensions for the indices `held` are innermost."""
    rest = [n for n in range(len(a.coordinates)) if n not in inside]
    e = permuted(a.base, [[*rest, *inside].index(n) for n in range(len(a.coordinates))])
    for level, (first, n) in enumerate(parts, len(rest)):
        e = at_level(level, e, partial(_part, first=first, n=n))
    e = gather(e, tuple(a.coordinates[n] for n in rest), (*own, *held))
    n, m, d = len(own), len(held), len(inside)
    return permuted(e, [*range(n), *range(n + d, n + d + m), *range(n, n + d)])


def _part(xs: Expr, first: int, n: int) -> Expr:
    """The n elements of xs from `first` on, with zeros for those outside of xs."""
    return widened(xs, -first, first + n - size_of(xs))


def _windowed(sizes: Sequence[int], e: Expr, x: Expr, g: Expr) -> Expr:
    """The inner maps of e, one for each of `sizes`, as maps over the windows of x. In the place of
    e's sum stands the sum of products of a window with the taps g, with the same epilogue. NoAccess
    if e's sums do not start from 0, or differ in their epilogues."""
    core, bound = e, set[str]()
    for _ in sizes:
        if not isinstance(core, Map):
            raise NoAccess(
                f"expected maps directly inside each other, found {shown(core)} between them"
            )
        bound |= {v.name for v in variables(core.f.pattern)}
        core = core.f.body
    place = place_of_reduction(core)
    assert place is not None
    old = get(core, place)
    around = put(core, place, Var("?sum", FLOAT))
    starts = isinstance(old, Reduce) and old.init == ZERO
    if not starts or free(around) & bound or not free(around) <= {*free(e), "?sum"}:
        raise NoAccess(f"expected sums from 0 with the same epilogue for each, found {shown(core)}")
    return slid(sizes, x, lambda w: substitute(around, {"?sum": sum_of(ZERO, w, g)}))


def slid(sizes: Sequence[int], x: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The array of f of each window of x, a row or a plane; windows have these sizes."""
    windows = Slide(sizes[0], 1, x)
    if len(sizes) == 1:
        return Map(lam("window", elem_of(windows), f), windows)

    def across(rows: Expr) -> Expr:
        slid = Transpose(Map(lam("row", elem_of(rows), lambda r: Slide(sizes[1], 1, r)), rows))
        return Map(lam("window", elem_of(slid), f), slid)

    return Map(lam("rows", elem_of(windows), across), windows)


def sum_of(acc: Expr, w: Expr, g: Expr) -> Expr:
    """The term acc + Σ x y, over the elements x of the window w and the taps y of g at the same
    places."""
    pairs = Zip((w, g))

    def step(a: Expr, t: Expr) -> Expr:
        if isinstance(elem_of(w), Array):
            return sum_of(a, Get(0, t), Get(1, t))
        return Binary("+", a, Binary("*", Get(0, t), Get(1, t)))

    return Reduce(acc, lam2(("acc", "datum_tap"), (FLOAT, elem_of(pairs)), step), pairs)

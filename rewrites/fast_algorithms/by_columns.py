"""A law of sums of products of spectra that slide along a second dimension: they are made column by
column."""

# key: e term, x spectra, g kernels' spectra, z w complex numbers, f frequency

from collections.abc import Callable
from functools import partial

from ir.core.nodes import Expr, Let, Map, Reduce, Split, Transpose, Zip
from ir.core.terms import component, lam
from ir.core.type_rules import elem_of, type_of
from ir.meaning.inputs import shape_of
from rewrites.analysis.affine_access import Access, Env, Index, NoAccess, array, bind, index, read
from rewrites.analysis.alpha_equality import alike
from rewrites.analysis.binder_names import joined
from rewrites.engine.refused import shown
from rewrites.engine.rule import rule
from rewrites.fast_algorithms.by_rows import at_rows, let_rows, slid, sum_of_rows, summed, uses
from rewrites.fast_algorithms.dft_terms import complexes, planes
from rewrites.fast_algorithms.sums_of_spectra import summed_spectra
from rewrites.laws.affine_views import gather, permuted
from rewrites.laws.views import swapped
from rewrites.nest.rows_in_windows import Rows, rows_of
from rewrites.nest.sums_of_products import Products

PART = Index("part", 2)  # of a complex number


@rule("sums of z conj w in windows  =  let x, g = columns in sums of (windows of x times conj g)")
def by_columns(e: Expr) -> Expr | None:
    """A sum of products of spectra in windows becomes a sum over pairs of columns, of one column
    slid along the other.

        map … (planes (reduce (z conj w)))  =  map … (planes (reduce (column + slid x g)))

    The same numbers are multiplied, those of each pair of columns together.
    """
    try:
        p = spectral_products(e)
        return _by_columns(p, rows_of(p))
    except NoAccess:
        return None


def spectral_products(e: Expr, env: Env | None = None, maps: tuple[Index, ...] = ()) -> Products:
    """The products that the nest e sums up, each of two complex numbers stored as a row of two;
    NoAccess if it has none. `env` has what the variables of e read, and `maps` are the indices of
    maps around e."""
    env = env or {}
    match e:
        case Map(f, xs):
            rows = array(read(xs, env))
            i = Index(f"map{len(maps)}", rows.size)
            return spectral_products(f.body, bind(env, f.pattern, rows.at(index(i))), (*maps, i))
        case Let(_, Reduce() as sums, Split()) if alike(e, planes(sums)):
            found = summed_spectra(sums)
            if found is not None:
                return _of_sums(*found[:2], env, maps)
    raise NoAccess(f"expected sums of products of spectra, found {shown(e)}")


def _of_sums(zs: Expr, ws: Expr, env: Env, maps: tuple[Index, ...]) -> Products:
    *sizes, _, count = shape_of(type_of(zs))
    sums = tuple(Index(f"sum{k}", size) for k, size in enumerate(sizes))
    frequency = Index("frequency", count)
    x, g = (_number(xs, (*sums, PART, frequency), env) for xs in (zs, ws))
    return Products((*maps, frequency), sums, (x, g))


def _number(xs: Expr, indices: tuple[Index, ...], env: Env) -> Access:
    """The access to the complex number of xs at these indices, stored in planes; the index of its
    real or imaginary part comes last."""
    found = read(xs, env)
    for i in indices:
        found = array(found).at(index(i))
    if not isinstance(found, Access) or index(PART) not in found.coordinates:
        raise NoAccess(f"expected complex numbers stored in two planes, found {shown(xs)}")
    own = found.coordinates
    k, last = own.index(index(PART)), len(own) - 1
    ranks = [last if n == k else n - (n > k) for n in range(len(own))]
    return Access(permuted(found.base, ranks), tuple(c for c in own if c != index(PART)))


def _by_columns(p: Products, r: Rows) -> Expr | None:
    sums, x, g = summed(r)
    in_x, in_g = uses(x), uses(g)
    if not set(sums) <= in_x & in_g:
        return None
    maps = kept(p, r)

    def planar(column: Expr) -> Expr:
        return swapped(column, 1) if r.phased else Transpose(column)

    def body(xs: Expr, gs: Expr) -> Expr:
        view_x = gather(xs, x, (*(i for i in maps if i in in_x), *sums))
        view_g = gather(gs, g, (*(i for i in maps if i in in_g), *sums))
        own = [(i in in_x, i in in_g) for i in maps]
        made = partial(sum_of_rows, sums=len(sums), term=partial(_slid, shared=r.shared))
        nested = (*maps, PART, r.window)
        order = (*p.maps[:-1], PART, p.maps[-1])
        return permuted(_nest(own, view_x, view_g, made), [order.index(i) for i in nested])

    rows_x = at_rows(r.data, r.data_dim, lambda xs: planar(r.dense(xs)))
    rows_g = at_rows(r.taps, r.taps_dim, lambda gs: planar(r.kernel(gs)))
    return let_rows(rows_x, rows_g, body)


def kept(p: Products, r: Rows) -> tuple[Index, ...]:
    """The indices of the maps that stay around columns when the products p are made column by
    column along r: those of both operands first, then those of the data, then those of the taps."""
    in_x, in_g = uses(r.data.coordinates), uses(r.taps.coordinates)
    whose = {i: (i in in_x and i not in in_g) + 2 * (i not in in_x) for i in p.maps}
    return tuple(sorted((i for i in p.maps if i != r.window), key=lambda i: whose[i]))


def _nest(
    own: list[tuple[bool, bool]], x: Expr, g: Expr, made: Callable[[Expr, Expr], Expr]
) -> Expr:
    """The nest of maps around planes(made(x, g)), one map for each entry of `own`, which says
    whether it goes over x and whether over g."""
    if not own:
        return planes(made(x, g))
    has = [part for part, mine in zip((x, g), own[0], strict=True) if mine]
    pairs = Zip(tuple(has)) if len(has) > 1 else has[0]

    def body(t: Expr) -> Expr:
        inner_x = (component(0, t) if own[0][1] else t) if own[0][0] else x
        inner_g = (component(1, t) if own[0][0] else t) if own[0][1] else g
        return _nest(own[1:], inner_x, inner_g, made)

    names = [name for name, mine in zip(("data", "taps"), own[0], strict=True) if mine]
    return Map(lam(joined(names), elem_of(pairs), body), pairs)


def _slid(x: Expr, g: Expr, shared: int) -> Expr:
    return slid(complexes(x), complexes(g), shared)

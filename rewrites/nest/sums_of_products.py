"""A nest of maps and sums seen as one sum of products of two cells."""

# key: e term

from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Lam, Lit, Map, Reduce, Var
from ir.core.terms import children
from rewrites.analysis.affine_access import (
    Access,
    Affine,
    Env,
    Index,
    NoAccess,
    array,
    bind,
    index,
    read,
)
from rewrites.analysis.folds import fold_of
from rewrites.engine.refused import shown
from rewrites.engine.rule import Place, get
from rewrites.laws.affine_views import unjoined
from rewrites.nest.dimensions import outermost_reductions
from rewrites.nest.spine import strip


@frozen
class Products:
    """A sum of products: for each value of the indices `maps`, the products of two cells, one of
    each of `operands`, summed over the indices `sums`."""

    maps: tuple[Index, ...]
    sums: tuple[Index, ...]
    operands: tuple[Access, Access]


def products(e: Expr, env: Env | None = None, maps: tuple[Index, ...] = ()) -> Products:
    """The products that the only sum in the nest of e adds up, whatever is done with the sum;
    NoAccess if there are none. `env` has what the variables of e read, and `maps` are the indices
    of maps around e."""
    env, inner = env or {}, strip(e)
    place = windows(e)
    if place:
        return products(get(e, place), env, maps)
    if isinstance(inner, Map):
        rows = array(read(inner.xs, env))
        i = Index(f"map{len(maps)}", rows.size)
        return products(inner.f.body, bind(env, inner.f.pattern, rows.at(index(i))), (*maps, i))
    found = outermost_reductions(e)
    if len(found) != 1:
        raise NoAccess(f"expected one sum inside the maps, found {len(found)}")
    sums, operands = _summed(found[0].f, found[0].xs, env, ())
    return Products(maps, sums, operands)


def windows(e: Expr) -> Place | None:
    """The place in e of a map whose elements are sums from 0, looked for outside of functions,
    outermost first; None if there is none."""
    match e:
        case Map(Lam(_, Reduce(Lit(0, _), _, _)), _):
            return ()
    for i, c in enumerate(children(e)):
        inner = None if isinstance(c, Lam) else windows(c)
        if inner is not None:
            return (i, *inner)
    return None


def _summed(
    f: Lam, xs: Expr, env: Env, sums: tuple[Index, ...]
) -> tuple[tuple[Index, ...], tuple[Access, Access]]:
    rows = array(read(xs, env))
    i = Index(f"sum{len(sums)}", rows.size)
    assert isinstance(f.pattern, tuple)
    acc, x = f.pattern
    env = bind(env, x, rows.at(index(i)))
    match f.body:
        case Reduce(Var(a, _), g, inner) if isinstance(acc, Var) and acc.name == a:
            return _summed(g, inner, env, (*sums, i))
    fold = fold_of(f)
    term = fold.term if fold is not None and fold.op == "+" else None
    if isinstance(term, Binary) and term.op == "*":
        sums = (*sums, i)
        return sums, (unjoined(_cell(term.a, env), sums), unjoined(_cell(term.b, env), sums))
    raise NoAccess(f"expected a sum of products, found a sum of {shown(term or f.body)}")


def _cell(e: Expr, env: Env) -> Access:
    found = read(e, env)
    if isinstance(found, Access):
        return found
    raise NoAccess(f"expected products of two numbers that are read, found the factor {shown(e)}")


def others(a: Access, without: int) -> tuple[Affine, ...]:
    """The coordinates of an access without that of one dimension."""
    return tuple(c for n, c in enumerate(a.coordinates) if n != without)

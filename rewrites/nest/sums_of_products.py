"""A nest of maps and sums seen as one sum of products of cells, and its rows that slide."""

# key: e term, x the operand that windows slide over, g the kernel, w window, v place in a window

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from ir.core.nodes import Binary, Expr, Join, Lam, Lit, Map, Reduce, Split, Transpose, Var
from ir.core.terms import children, lam
from ir.core.type_rules import elem_of, size_of, type_of
from ir.meaning.inputs import shape_of
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
from rewrites.engine.rule import Place, get
from rewrites.laws.affine_views import unjoined, widened
from rewrites.nest.dimensions import outermost_reductions
from rewrites.nest.spine import strip


@dataclass(frozen=True, slots=True)
class Products:
    """maps of the sum over `sums` of the product of two cells."""

    maps: tuple[Index, ...]
    sums: tuple[Index, ...]
    operands: tuple[Access, Access]


def products(e: Expr, env: Env | None = None, maps: tuple[Index, ...] = ()) -> Products:
    """Of the only sum in the nest of e, whatever is done with it; NoAccess, with the reason."""
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
    """Where the map of sums over windows stands."""
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
    raise NoAccess("expected a sum of products")


def _cell(e: Expr, env: Env) -> Access:
    found = read(e, env)
    if isinstance(found, Access):
        return found
    raise NoAccess("expected a product of two numbers")


@dataclass(frozen=True, slots=True)
class Rows:
    """x[…][step w + gap v + first] times g[…][v]: rows of x, dimension `along`, in windows."""

    x: Access
    g: Access
    w: Index
    v: Index
    along: int  # the dimension of x's base that windows slide along
    across: int  # the dimension of g's base that v counts
    step: int
    gap: int
    first: int
    sums: tuple[Index, ...]  # the others

    @property
    def start(self) -> int:
        """The first tap's place in a row of g."""
        return self.g.coordinates[self.across].constant

    @property
    def phased(self) -> bool:
        """Whether a row is in phases, one for each remainder of the step, which are summed up; if
        nothing else is, one phase will do."""
        return self.step > 1 or not self.sums

    @property
    def taps(self) -> int:
        """The places of a dense row of the kernel."""
        return -(-(self.gap * (self.v.size - 1) + 1) // self.step)

    @property
    def row(self) -> int:
        """The places of a dense row."""
        return self.w.size - 1 + self.taps

    @property
    def length(self) -> int:
        """Of the transform of a dense row; zeros before it lie where those after it do."""
        return length(max(self.row - self._zeros, self.taps, self.w.size))

    @property
    def shared(self) -> int:
        """The zeros on each side that a dense row is without, to be shared by both sides."""
        return self._zeros if self.length < length(self.row) else 0

    @property
    def _zeros(self) -> int:
        """How many zeros a dense row begins and ends with at least."""
        right = self.first + self.step * self.row - shape_of(type_of(self.x.base))[self.along]
        return max(0, min(-self.first, right) // self.step)

    def dense(self, xs: Expr) -> Expr:
        """A row of x: what windows reach of it, one row for each remainder of their step."""
        n, shared = self.step * self.row, self.step * self.shared
        left, right = -self.first, self.first + n - size_of(xs)
        return self._phases(widened(xs, left - shared, right - shared))

    def kernel(self, gs: Expr) -> Expr:
        """A row of g: its gaps filled with zeros, one row for each remainder."""
        gs = widened(gs, -self.start, self.start + self.v.size - size_of(gs))
        if self.gap > 1:
            singles = Split(1, gs)
            apart = lam("tap", elem_of(singles), lambda c: widened(c, 0, self.gap - 1))
            gs = widened(Join(Map(apart, singles)), 0, 1 - self.gap)
        return self._phases(widened(gs, 0, self.step * self.taps - size_of(gs)))

    def _phases(self, xs: Expr) -> Expr:
        return Transpose(Split(self.step, xs)) if self.phased else xs


def rows_of(p: Products) -> Rows:
    """The innermost rows that windows slide along, of more than one place if there are such;
    NoAccess where there are none."""
    found = [r for x, g in (p.operands, p.operands[::-1]) for r in _rows(p, x, g)]
    if not found:
        raise NoAccess("no windows that slide along an operand, with a kernel for all of them")
    rows = max(found, key=lambda r: (r.v.size > 1, r.along))
    return reduce(_reached, rows.sums, rows)


def _reached(r: Rows, i: Index) -> Rows:
    """The same sum without the steps in which every row is one of zeros, outside of its array."""
    steps = _inside(r, i)
    left = Index(i.name, len(steps))

    def later(c: Affine) -> Affine:
        terms = tuple((left if j == i else j, k) for j, k in c.terms)
        return replace(c, terms=terms, constant=c.constant + dict(c.terms).get(i, 0) * steps.start)

    x, g = (Access(a.base, tuple(map(later, a.coordinates))) for a in (r.x, r.g))
    return replace(r, x=x, g=g, sums=tuple(left if j == i else j for j in r.sums))


def _inside(r: Rows, i: Index) -> range:
    """The steps of a sum in which each coordinate may be in its array; all of them if none is."""
    first, last = 0, i.size
    for a in (r.x, r.g):
        for c, size in zip(a.coordinates, shape_of(type_of(a.base)), strict=False):
            rest = replace(c, terms=tuple((j, k) for j, k in c.terms if j != i))
            k = dict(c.terms).get(i, 0)
            if k > 0 and all(n > 0 for _, n in c.terms):
                first = max(first, -(rest.last // k))
                last = min(last, (size - 1 - rest.constant) // k + 1)
    return range(first, last) if first < last else range(i.size)


def slid_along(p: Products) -> list[Rows]:
    """The rows of an operand in each dimension that windows of several places slide along."""
    found = ([*_rows(p, x, g)] for x, g in (p.operands, p.operands[::-1]))
    return max(([r for r in rows if r.v.size > 1] for rows in found), key=len)


def slides_again(p: Products, r: Rows) -> bool:
    """Whether windows of more than one place slide along another dimension, too."""
    again = (one for x, g in (p.operands, p.operands[::-1]) for one in _rows(p, x, g))
    return any(one.v.size > 1 for one in again if one.w != r.w)


def _rows(p: Products, x: Access, g: Access) -> Iterator[Rows]:
    for along, at in enumerate(x.coordinates):
        windows = [i for i, _ in at.terms if i in p.maps]
        places = [i for i, _ in at.terms if i in p.sums]
        wide = [i for i in places if i.size > 1] or places[:1]
        if len(windows) == len(wide) == 1:
            yield from _along(p, x, g, along, windows[0], wide[0])


def _along(p: Products, x: Access, g: Access, along: int, w: Index, v: Index) -> Iterator[Rows]:
    """Rows of x along a dimension, if g has one for v, and w and v are nowhere else."""
    single = frozenset(i for i in p.sums if i.size == 1 and i != v)
    x, g = _without(x, single), _without(g, single)
    across = [n for n, c in enumerate(g.coordinates) if v in dict(c.terms)]
    alone = len(across) == 1 and g.coordinates[across[0]].terms == index(v).terms
    if alone and _uses(x, w) == _uses(x, v) == 1 and _uses(g, w) == 0:
        at = x.coordinates[along]
        step, gap = dict(at.terms)[w], dict(at.terms)[v]
        sums = tuple(i for i in p.sums if i != v and i not in single)
        if min(step, gap) > 0:
            yield Rows(x, g, w, v, along, across[0], step, gap, at.constant, sums)


def _without(a: Access, single: frozenset[Index]) -> Access:
    """Indices that are always 0 left out."""
    return Access(
        a.base,
        tuple(
            replace(c, terms=tuple((i, k) for i, k in c.terms if i not in single))
            for c in a.coordinates
        ),
    )


def _uses(a: Access, i: Index) -> int:
    return sum(i in dict(c.terms) for c in a.coordinates)


def others(a: Access, without: int) -> tuple[Affine, ...]:
    """The coordinates of an access but for one dimension."""
    return tuple(c for n, c in enumerate(a.coordinates) if n != without)


def length(n: int) -> int:
    """The least power of two, 2 or more, that is at least n."""
    return max(2, 1 << (n - 1).bit_length())

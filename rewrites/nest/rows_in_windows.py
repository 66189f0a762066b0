"""The rows of an operand that windows slide along, found in a sum of products."""

# key: p products, x data that windows slide over, g the kernel's taps, w window, v tap, r rows

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Join, Map, Split, Transpose
from ir.core.terms import lam
from ir.core.type_rules import elem_of, size_of, type_of
from ir.meaning.inputs import shape_of
from rewrites.analysis.affine_access import (
    Access,
    Affine,
    Index,
    NoAccess,
    index,
)
from rewrites.laws.affine_views import widened
from rewrites.nest.sums_of_products import Products


@frozen
class Rows:
    """A dimension along which windows slide: the tap number `tap` of the window number `window`
    multiplies data[…][step window + gap tap + first] with taps[…][start + tap].

    `window` and `tap` are loop indices, `data_dim` and `taps_dim` the dimensions of the two arrays
    that they go along, and `sums` the other indices that products are summed over.
    """

    data: Access
    taps: Access
    window: Index
    tap: Index
    data_dim: int  # the dimension of the data's base that windows slide along
    taps_dim: int  # the dimension of the taps' base that `tap` counts
    step: int
    gap: int
    first: int
    sums: tuple[Index, ...]  # the others

    @property
    def start(self) -> int:
        """The position in a row of taps at which the first tap of the sum stands."""
        return self.taps.coordinates[self.taps_dim].constant

    @property
    def phased(self) -> bool:
        """True if rows are cut into phases, one for each remainder by the step, and products are
        summed over phases. They are so, too, where the step is 1 and there is no other sum over
        pairs of rows: then a sum over a single phase takes its place."""
        return self.step > 1 or not self.sums

    @property
    def dense_taps(self) -> int:
        """The number of places of a row of taps after its gaps are filled and it is cut into
        phases."""
        return -(-(self.gap * (self.tap.size - 1) + 1) // self.step)

    @property
    def row(self) -> int:
        """The number of places that windows reach in a row of data after it is cut into phases."""
        return self.window.size - 1 + self.dense_taps

    @property
    def length(self) -> int:
        """The length of the Fourier transform of a row: the least power of two that holds a row of
        data (without the zeros that both its ends share), a row of taps, and a row of results, each
        by itself."""
        return length(max(self.row - self._zeros, self.dense_taps, self.window.size))

    @property
    def shared(self) -> int:
        """The number of zeros that are left out at each end of a row of data: the transform adds
        zeros, which stand for those of both ends. It is 0 where that makes the transform no
        shorter."""
        return self._zeros if self.length < length(self.row) else 0

    @property
    def _zeros(self) -> int:
        """The number of zeros that a row of data both begins and ends with, at least."""
        right = self.first + self.step * self.row - shape_of(type_of(self.data.base))[self.data_dim]
        return max(0, min(-self.first, right) // self.step)

    def dense(self, xs: Expr) -> Expr:
        """The part of the row of data xs that windows reach, without the zeros that a transform
        adds itself (`shared`); if rows are cut into phases, as one row for each remainder by the
        step."""
        n, shared = self.step * self.row, self.step * self.shared
        left, right = -self.first, self.first + n - size_of(xs)
        return self._phases(widened(xs, left - shared, right - shared))

    def kernel(self, gs: Expr) -> Expr:
        """The row of taps gs with its gaps filled with zeros; if rows are cut into phases, as one
        row for each remainder by the step."""
        gs = widened(gs, -self.start, self.start + self.tap.size - size_of(gs))
        if self.gap > 1:
            singles = Split(1, gs)
            apart = lam("tap", elem_of(singles), lambda c: widened(c, 0, self.gap - 1))
            gs = widened(Join(Map(apart, singles)), 0, 1 - self.gap)
        return self._phases(widened(gs, 0, self.step * self.dense_taps - size_of(gs)))

    def _phases(self, xs: Expr) -> Expr:
        return phases(self.step, xs) if self.phased else xs


def phases(k: int, xs: Expr) -> Expr:
    """The k phases of xs: of every k-th element, from the first, the second, … on."""
    return Transpose(Split(k, xs))


def rows_of(p: Products) -> Rows:
    """The innermost dimension of data along which windows slide, with the data and taps; dimensions
    whose windows have several places come before others. NoAccess if windows slide along none."""
    found = [r for x, g in (p.operands, p.operands[::-1]) for r in _rows(p, x, g)]
    if not found:
        raise NoAccess(
            "expected windows that slide along an operand and share a kernel, found none"
        )
    rows = max(found, key=lambda r: (r.tap.size > 1, r.data_dim))
    return reduce(_reached, rows.sums, rows)


def _reached(r: Rows, i: Index) -> Rows:
    """The rows r without those steps of the sum over i at which some coordinate is outside of its
    array, whatever the other indices are."""
    steps = _inside(r, i)
    left = Index(i.name, len(steps))

    def later(c: Affine) -> Affine:
        terms = tuple((left if j == i else j, k) for j, k in c.terms)
        return replace(c, terms=terms, constant=c.constant + dict(c.terms).get(i, 0) * steps.start)

    x, g = (Access(a.base, tuple(map(later, a.coordinates))) for a in (r.data, r.taps))
    return replace(r, data=x, taps=g, sums=tuple(left if j == i else j for j in r.sums))


def _inside(r: Rows, i: Index) -> range:
    """The steps of the sum over i at which each coordinate may be inside its array; all steps if
    there is none at which all may be."""
    first, last = 0, i.size
    for a in (r.data, r.taps):
        for c, size in zip(a.coordinates, shape_of(type_of(a.base)), strict=False):
            rest = replace(c, terms=tuple((j, k) for j, k in c.terms if j != i))
            k = dict(c.terms).get(i, 0)
            if k > 0 and all(n > 0 for _, n in c.terms):
                first = max(first, -(rest.last // k))
                last = min(last, (size - 1 - rest.constant) // k + 1)
    return range(first, last) if first < last else range(i.size)


def slid_along(p: Products) -> list[Rows]:
    """The dimensions of one operand along which windows of several places slide; of the two
    operands, the one with more such dimensions is taken."""
    found = ([*_rows(p, x, g)] for x, g in (p.operands, p.operands[::-1]))
    return max(([r for r in rows if r.tap.size > 1] for rows in found), key=len)


def slides_again(p: Products, r: Rows) -> bool:
    """True if windows of several places slide along another dimension besides that of r."""
    again = (one for x, g in (p.operands, p.operands[::-1]) for one in _rows(p, x, g))
    return any(one.tap.size > 1 for one in again if one.window != r.window)


def _rows(p: Products, x: Access, g: Access) -> Iterator[Rows]:
    for along, at in enumerate(x.coordinates):
        windows = [i for i, _ in at.terms if i in p.maps]
        places = [i for i, _ in at.terms if i in p.sums]
        wide = [i for i in places if i.size > 1] or places[:1]
        if len(windows) == len(wide) == 1:
            yield from _along(p, x, g, along, windows[0], wide[0])


def _along(p: Products, x: Access, g: Access, along: int, w: Index, v: Index) -> Iterator[Rows]:
    """The rows of the data x and the taps g along dimension number `along` of x, in which w counts
    windows and v taps; none if w or v is used in another dimension too."""
    single = frozenset(i for i in p.sums if i.size == 1 and i != v)
    x, g = _without(x, single), _without(g, single)
    across = [n for n, c in enumerate(g.coordinates) if v in dict(c.terms)]
    alone = len(across) == 1 and g.coordinates[across[0]].terms == index(v).terms
    if alone and _uses(x, w) == _uses(x, v) == 1 and _uses(g, w) == 0:
        at = x.coordinates[along]
        step, gap = dict(at.terms)[w], dict(at.terms)[v]
        sums = tuple(i for i in p.sums if i != v and i not in single)
        if min(step, gap) > 0:
            yield Rows(
                data=x,
                taps=g,
                window=w,
                tap=v,
                data_dim=along,
                taps_dim=across[0],
                step=step,
                gap=gap,
                first=at.constant,
                sums=sums,
            )


def _without(a: Access, single: frozenset[Index]) -> Access:
    """The access a without the indices `single`, which are always 0."""
    return Access(
        a.base,
        tuple(
            replace(c, terms=tuple((i, k) for i, k in c.terms if i not in single))
            for c in a.coordinates
        ),
    )


def _uses(a: Access, i: Index) -> int:
    return sum(i in dict(c.terms) for c in a.coordinates)


def length(n: int) -> int:
    """The least power of two, 2 or more, that is at least n."""
    return max(2, 1 << (n - 1).bit_length())

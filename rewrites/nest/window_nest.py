"""Nests of maps over windows, as transforms need them: which maps go over images, windows and
kernels."""

# key: e term, d dimensions of windows

from collections.abc import Iterable

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Slide
from ir.core.size import Size
from ir.core.type_rules import size_of, type_of
from ir.core.types import FLOAT, leaves, show_type
from rewrites.analysis.kernel_terms import own_terms
from rewrites.engine.refused import Refused
from rewrites.nest.dimensions import (
    Dims,
    classify,
    depends,
    operands,
    outermost_reductions,
    reduction,
)
from rewrites.nest.spine import nest


@frozen
class Windowed:
    """A nest of maps over images or groups, windows and kernels, around a sum.

    `dims` are its dimensions. `batch` counts the maps outside of the first one over windows, and
    `own` those of them, one at most, whose elements have kernels of their own. `sizes` are the
    sizes of the windows, and `counts` how many there are, the outermost dimension first.
    """

    dims: Dims
    batch: int  # maps outside the first over windows
    own: int  # of these, how many have kernels of their own for each element: one or none
    sizes: tuple[int, ...]  # of the windows, outermost first
    counts: tuple[Size, ...]  # of windows

    @property
    def d(self) -> int:
        """The number of maps that go over windows."""
        return len(self.sizes)

    def sides(self, m: int) -> tuple[int, ...]:
        """The sides of a tile of results: m, or all results if they are fewer (but 2 at least),
        along dimensions where windows have several elements, else 1."""
        most = [min(m, max(2, n)) if isinstance(n, int) else m for n in self.counts]
        return tuple(n if r > 1 else 1 for n, r in zip(most, self.sizes, strict=True))

    @property
    def outer(self) -> int:
        """The number of maps around the map over kernels."""
        return self.batch + self.d


def windowed(e: Expr) -> Windowed:
    """The nest of e as maps over windows and kernels; Refused without windows in one or two
    dimensions, or with one kernel."""
    dims, maps = _oriented(classify(e), e), nest(e)
    lead = _lead(dims.columns, e)
    d = len(dims.columns) - lead
    if d not in (1, 2):
        raise Refused(f"expected windows along one or two dimensions, found windows along {d}")
    if not dims.rows:
        raise Refused(
            "expected several kernels for each window, found one: products with one take less time "
            "than a transform of the window; where windows alone are summed up, see the forms "
            "`elementwise`"
        )
    slides = [t for i in dims.columns[lead:] for t in own_terms(maps[i].xs) if isinstance(t, Slide)]
    sizes = tuple(s.size for s in slides[:d] if isinstance(s.size, int))
    if len(sizes) < d:
        raise Refused(
            f"expected windows of known size along {d} dimensions, found such windows along "
            f"{len(sizes)}"
        )
    sums = reduction(e)
    of_floats([sums, *operands(sums)])
    if max(sizes) == 1:
        raise Refused(
            "expected windows of several elements, found windows of one: it is multiplied only "
            "once for a kernel, and no product can be saved"
        )
    if _levels(e) <= d:
        raise Refused(
            "expected a sum over a window and over something besides, such as channels, found a "
            "sum over a window alone: see the forms `elementwise`"
        )
    counts = tuple(size_of(s) for s in slides[:d])
    return Windowed(dims, len(dims.batch) + lead, _own(dims, e), sizes, counts)


def of_floats(parts: Iterable[Expr]) -> None:
    """Raise Refused if one of the terms `parts` holds numbers of another type than float:
    transforms are of floats alone."""
    others = {show_type(t) for part in parts for t in leaves(type_of(part)) if t != FLOAT}
    if others:
        found = ", ".join(sorted(others))
        raise Refused(
            f"expected products of floats, found {found} too: transforms are of floats alone"
        )


def _levels(e: Expr) -> int:
    """The number of sums that are nested in each other in e."""
    return max((1 + _levels(r.f.body) for r in outermost_reductions(e)), default=0)


def _oriented(dims: Dims, e: Expr) -> Dims:
    """The dimensions of e with those over windows as columns."""
    maps = nest(e)

    def slides(group: tuple[int, ...]) -> bool:
        return any(isinstance(maps[i].xs, Slide) for i in group)

    if slides(dims.rows) and not slides(dims.columns):
        return Dims(dims.batch, dims.columns, dims.rows)
    return dims


def _lead(columns: tuple[int, ...], e: Expr) -> int:
    """The number of dimensions of columns, such as images, before the first one that windows slide
    along; Refused if windows slide along none."""
    maps = nest(e)
    slides = [n for n, i in enumerate(columns) if isinstance(maps[i].xs, Slide)]
    if not slides:
        raise Refused("expected windows (maps over a slide along an array), found none")
    return slides[0]


def _own(dims: Dims, e: Expr) -> int:
    """The number of maps, one at most, over images or groups of channels that have kernels of their
    own."""
    reached = [depends(nest(e), part) for part in operands(reduction(e))]
    own = set(dims.batch) & frozenset.intersection(*reached)
    if own and len(dims.batch) > 1:
        raise Refused(
            "expected at most one dimension (images or groups) whose elements have kernels "
            "of their own, found several"
        )
    return len(own)

"""The dimensions of results that lie next to each other in memory, in the operands of sums over
windows: transforms of tiles load vectors along them."""

# key: e term, p its products

from ir.core.frozen import frozen
from ir.core.nodes import Expr, Map
from rewrites.analysis.affine_access import Access, Index, NoAccess, index
from rewrites.engine.strategy import skip
from rewrites.fast_algorithms.by_rows import uses
from rewrites.nest.rows_in_windows import slid_along
from rewrites.nest.sums_of_products import products
from rewrites.transforms.sums_over_tiles import lines

WIDEST = 16  # elements of a vector


@frozen
class Lanes:
    """The dimensions of results that are innermost in memory. `plane` is, among the maps that only
    the data have and windows do not slide along, the position of the one that is innermost in the
    data; None if it is none of them, as where channels are. `kernels` says that the kernels lie
    beside each other. `across` says that results lie along that plane, too, and not along kernels,
    and fill vectors there."""

    plane: int | None = None
    kernels: bool = False
    across: bool = False


def lanes_of(e: Expr) -> Lanes:
    """The lanes of the sums over windows in the nest e."""
    for view in (skip, lines):
        try:
            seen = view(e)
            return _lanes(seen[0] if seen else e)
        except NoAccess:
            continue
    return Lanes()


def _lanes(e: Expr) -> Lanes:
    p = products(e)
    found = slid_along(p)
    if not found:
        return Lanes()
    data, taps = found[0].data, found[0].taps
    windows = {r.window for r in found}
    own = {*uses(data.coordinates), *uses(taps.coordinates)} - windows
    planes = [i for i in p.maps if i in own & {*uses(data.coordinates)}]
    kernels = [i for i in p.maps if i in own & {*uses(taps.coordinates)}]
    last = _innermost(data)
    beside = len(kernels) == 1 and _innermost(taps) == kernels[0]
    if last not in planes:
        return Lanes(None, beside)
    across = isinstance(e, Map) and p.maps[-1] == last and last.size % WIDEST == 0
    return Lanes(planes.index(last), beside, across)


def _innermost(a: Access) -> Index | None:
    """The index that counts the elements of the innermost dimension of an access's array; None if
    it is no index alone."""
    used = [*uses(a.coordinates[-1:])]
    return used[0] if len(used) == 1 and a.coordinates[-1] == index(used[0]) else None

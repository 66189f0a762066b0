"""Constants laid out anew in memory: in panels, as wide as the block that a work-item or a group
makes of them."""

# key: e term, s strategy, n position in the nest

from functools import partial
from math import gcd, prod

from ir.core.nodes import Expr, Map, Zip
from ir.core.size import Size
from ir.core.terms import free
from ir.core.type_rules import elem_of, type_of
from ir.core.types import Array, Type, depth
from ir.core.views import is_view
from rewrites.engine.places import of_array, of_part
from rewrites.engine.refused import Refused
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, choice, seq, skip, when
from rewrites.kernels.vector_width import common, has_width
from rewrites.laws.views import join_inner, round_open, split_inner, split_open
from rewrites.nest.dimensions import Dims, sided
from rewrites.nest.labels import labels
from rewrites.nest.named_views import reordered, stored
from rewrites.nest.spine import kernels, nested

Side = tuple[int, ...]  # the position of a map, or none


def relay(
    constants: frozenset[str], flipped: bool, vectors: Size, others: Size, lanes: Size
) -> Strategy:
    """The strategy that stores, in each kernel, the `constants` in panels: those that vectors go
    over in panels of `vectors` rows, with `lanes` elements of a row together, and the other ones in
    panels of `others` rows. Vectors go over the rows of the nest, or, if `flipped`, over its
    columns."""

    def run(e: Expr) -> Rewritten | None:
        done = kernels(partial(each, common(e)))(e)
        if done is None or not done[1]:
            raise Refused(
                "expected an operand that a kernel reads along rows, to be stored in panels: a "
                "constant, or, in forms `laid`, any; found none in the program"
            )
        return done

    def each(widths: int, e: Expr) -> Rewritten | None:
        try:
            first, second = sides(sided(e), flipped)
        except Refused:
            return skip(e)
        over = [_over(constants, n, vectors, lanes, widths) for n in first]
        over += [_over(constants, n, others) for n in second if others != 1]
        return seq(*over)(e)

    return run


def sides(dims: Dims, flipped: bool) -> tuple[Side, Side]:
    """Two sides of a nest: the position of a map over rows, and that of the innermost map over
    columns, each empty if there is none. The first side is the one that vectors go over: the
    columns if `flipped`."""
    rows, columns = dims.rows[:1], dims.columns[-1:]
    return (columns, rows) if flipped else (rows, columns)


def _over(
    constants: frozenset[str], n: int, width: Size, lanes: Size = 1, widths: int = 0
) -> Strategy:
    """The strategy that lays out the constants that the map at position n goes over, in panels of
    `width` rows.

    In a panel, `lanes` elements of a row lie together if `lanes` divides the row and the sums may
    have vectors along it: a width that divides both the row and `widths`.
    """

    def panel(xs: Expr) -> Rewritten | None:
        constant = free(xs) and free(xs) <= constants and is_view(xs)
        if not constant or depth(type_of(xs)) < 2:
            return None
        inner = prod(shape(elem_of(xs)), start=1)
        fits = not isinstance(inner, int) or has_width(gcd(inner, widths))
        if isinstance(inner, int) and isinstance(lanes, int):
            fits = fits and inner % lanes == 0
        return panels(depth(type_of(xs)), width, lanes if fits else 1)(xs)

    def parts(xs: Expr) -> Rewritten | None:
        if not isinstance(xs, Zip):
            return attempt(panel)(xs)
        return seq(*(of_part(i, attempt(panel)) for i in range(len(xs.parts))))(xs)

    return attempt(nested(n, when(lambda m: isinstance(m, Map), of_array(parts))))


def shape(t: Type) -> list[Size]:
    """The lengths of an array type's dimensions."""
    return [t.size, *shape(t.elem)] if isinstance(t, Array) else []


def panels(
    dims: int, width: Size, lanes: Size = 1, made: Strategy = skip, by_step: bool = False
) -> Strategy:
    """The strategy that stores an array of `dims` dimensions in panels of `width` rows: in a panel,
    the rows are innermost, but for `lanes` elements of each row, which lie together.

    `made` is applied to what is stored. With `by_step`, the last dimension is outside of the others
    of a panel. A sum takes one element of it in each step, so what a step reads then lies together.
    """
    laid = stored(made)
    if lanes != 1:
        laid = _lanes(dims, lanes, laid)
    else:
        panel = labels("panels", "rows", elements=dims - 1)
        laid = reordered(panel, ("panels", "elements", "rows"), laid)
    if by_step:
        panel = labels("panels", "rows", others=dims - 2, steps=1)
        laid = reordered(panel, ("panels", "rows", "steps", "others"), laid)
    in_panels = seq(split_open(k=width), of_array(laid))
    return choice(seq(round_open(k=width), of_array(in_panels)), in_panels)


def _lanes(dims: int, k: Size, s: Strategy) -> Strategy:
    """The strategy that applies s to panels of an array of `dims` dimensions, seen with k
    neighbouring elements of each row together; the `dims` - 1 dimensions of a row are seen as one
    for this."""
    panel = labels("panels", "rows", "elements", "lanes")
    s = reordered(panel, ("panels", "elements", "rows", "lanes"), s)
    elements = panel.first("elements")
    s = seq(split_inner(k=k, level=elements), of_array(s))
    for _ in range(dims - 2):  # so many joins make a row's dimensions one
        s = seq(join_inner(level=elements), of_array(s))
    return s

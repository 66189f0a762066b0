"""Laws of windows and edges: tiling a slide, and moving slides and pads past maps."""

# key: n window size, s step, u tile size, v tile step, f function, xs array, c a pad's value

from ir.core.nodes import Edge, Expr, Join, Lam, Map, Pad, PadEdge, Slide, Split, Transpose, Var
from ir.core.size import Size, remainder, round_up
from ir.core.terms import apply, free, lam
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import Scalar, equal, leaves
from rewrites.analysis.folds import number
from rewrites.analysis.out_views import crops, extends
from rewrites.analysis.size_signs import at_most, divides
from rewrites.engine.rule import rule


@rule("slide n s  =  join . map (slide n s) . slide_strict u v,  v = u - n + s,  s divides u - n")
def tile_slide(e: Slide, u: Size) -> Expr | None:
    """A slide becomes windows of overlapping tiles of u elements; None if some element is in no
    window, or such tiles do not have all windows.

    The rule as the LIFT paper prints it has tiles start u - n apart, for windows of n elements, and
    so computes windows twice.
    """
    match e:
        case Slide(n, s, xs, strict):
            room, v = size_of(xs), u - n + s
            covered = strict or remainder(room - n, s) == 0
            whole = divides(s, u - n) and divides(v, room - u)
            if not (covered and whole and at_most(n, u) and at_most(u, room)):
                return None
            tiles = Slide(u, v, xs, strict=True)
            inner = lam("tile", elem_of(tiles), lambda t: Slide(n, s, t, strict=True))
            return Join(Map(inner, tiles))
    return None


@rule("slide n s  =  slide_strict n s . crop")
def strict_slide(e: Slide) -> Expr | None:
    """A slide becomes a `slide_strict` of the array without the elements at its end that no window
    reaches."""
    match e:
        case Slide(n, s, xs, False):
            rest = remainder(size_of(xs) - n, s)
            return Slide(n, s, PadEdge(Edge.ANY, 0, -rest, xs) if rest != 0 else xs, strict=True)
    return None


@rule("slide n s . map f  =  map (map f) . slide n s")
def slide_map(e: Slide) -> Expr | None:
    match e:
        case Slide(n, s, Map(f, xs), strict):
            windows = Slide(n, s, xs, strict)
            return Map(lam("window", elem_of(windows), lambda w: Map(f, w)), windows)
    return None


@rule("map (map f) . slide n s  =  slide n s . map f")
def map_slide(e: Map) -> Expr | None:
    """A function of single elements, computed in every window, is computed before the slide, once
    for each element."""
    match e:
        case Map(Lam(Var(w, _), Map(f, Var(y, _))), Slide(n, s, xs, strict)):
            return Slide(n, s, Map(f, xs), strict) if w == y and w not in free(f) else None
    return None


@rule("pad_edge l r . map f  =  map f . pad_edge l r")
def pad_map(e: PadEdge | Pad) -> Expr | None:
    """A padding that repeats elements (clamped, mirrored, wrapped or cropped) of an array that a
    map makes moves inside the map."""
    match e:
        case PadEdge(edge, left, right, Map(f, xs)):
            return Map(f, PadEdge(edge, left, right, xs))
        case Pad(left, right, _, Map(f, xs)) if crops(left, right):
            return Map(f, PadEdge(Edge.ANY, left, right, xs))
    return None


@rule("map f . pad_edge l r  =  pad_edge l r . map f")
def map_pad_edge(e: Map) -> Expr | None:
    match e:
        case Map(f, PadEdge(edge, left, right, xs)):
            return PadEdge(edge, left, right, Map(f, xs))
    return None


@rule("map f . pad l r c  =  pad l r (f c) . map f")
def map_pad(e: Map) -> Expr | None:
    """A map over an array padded with a constant becomes the map padded with the function of the
    constant.

    The constant must be a whole element, so that f can be applied to it.
    """
    match e:
        case Map(f, Pad(left, right, c, xs)) if equal(type_of(c), elem_of(xs)):
            return Pad(left, right, apply(f, c), Map(f, xs))
    return None


@rule("map (pad l r c)  =  transpose . pad l r c . transpose,  c a number")
def rows_pad(e: Map) -> Expr | None:
    """A padding of every row of an array by a number becomes a padding of its transpose by rows of
    that number, transposed back."""
    match e:
        case Map(Lam(p, Pad(left, right, c, Var(x, _))), xs) if isinstance(p, Var) and p.name == x:
            if isinstance(type_of(c), Scalar) and x not in free(c):
                return Transpose(Pad(left, right, c, Transpose(xs)))
    return None


@rule("transpose . pad l r c  =  map (pad l r c) . transpose,  c a number")
def pad_rows(e: Transpose) -> Expr | None:
    match e:
        case Transpose(Pad(left, right, c, xs)) if isinstance(type_of(c), Scalar):
            columns = Transpose(xs)
            return Map(lam("row", elem_of(columns), lambda r: Pad(left, right, c, r)), columns)
    return None


@rule("transpose . map (slide n s)  =  map transpose . slide n s . transpose")
def slide_rows(e: Transpose) -> Expr | None:
    """The transpose of an array that holds the windows of every row becomes the windows of the
    transposed array, each transposed."""
    match e:
        case Transpose(Map(Lam(Var(x, _), Slide(n, s, Var(y, _), strict)), xs)) if x == y:
            windows = Slide(n, s, Transpose(xs), strict)
            return Map(lam("window", elem_of(windows), Transpose), windows)
    return None


@rule("slide n 1  =  crop . slide n 1 . pad (0, round_up(c, k) - c) 0,  c windows")
def round_windows(e: Slide, k: Size) -> Expr | None:
    """A slide becomes a slide with a multiple of k windows, cropped to as many as before; the
    windows that are added see zeros beyond the array."""
    match e:
        case Slide(n, 1, xs, strict):
            count = size_of(e)
            more = round_up(count, k) - count
            scalar, *others = set(leaves(type_of(xs)))
            if more == 0 or others or not isinstance(scalar, Scalar):
                return None
            return PadEdge(Edge.ANY, 0, -more, Slide(n, 1, _padded(more, scalar, xs), strict))
    return None


def _padded(more: Size, scalar: Scalar, xs: Expr) -> Expr:
    return Pad(0, more, number(0, scalar), xs)


@rule("pad l r c . pad l' r' c  =  pad (l + l') (r + r') c,  none a crop")
def pad_twice(e: Pad) -> Expr | None:
    match e:
        case Pad(l1, r1, c, Pad(l2, r2, d, xs)) if c == d and extends(l1, r1) and extends(l2, r2):
            return Pad(l1 + l2, r1 + r2, c, xs)
    return None


@rule(
    "map (map g . transpose . map (slide n s)) . slide m t"
    "  =  transpose . map (map g . slide m t . transpose) . slide n s . transpose"
)
def windows_across(e: Map) -> Expr | None:
    """Maps over windows of rows, and inside them over windows of columns, exchange places: those
    over windows of columns go outside."""
    match e:
        case Map(
            Lam(
                Var(rows, _),
                Map(g, Transpose(Map(Lam(Var(x, _), Slide(n, s, Var(y, _), a)), Var(v, _)))),
            ),
            Slide(m, t, xs, b),
        ) if rows == v and x == y and rows not in free(g):
            outer = Slide(n, s, Transpose(xs), a)
            f = lam("columns", elem_of(outer), lambda c: Map(g, Slide(m, t, Transpose(c), b)))
            return Transpose(Map(f, outer))
    return None


@rule(
    "map (map g . slide m t . transpose) . slide n s"
    "  =  transpose . map (map g . transpose . map (slide n s)) . slide m t . transpose"
)
def windows_down(e: Map) -> Expr | None:
    """Maps over windows of columns, and inside them over windows of rows, exchange places: those
    over windows of rows go outside."""
    match e:
        case Map(
            Lam(Var(columns, _), Map(g, Slide(m, t, Transpose(Var(v, _)), b))), Slide(n, s, xs, a)
        ) if columns == v and columns not in free(g):
            outer = Slide(m, t, Transpose(xs), b)

            def body(rows: Expr) -> Expr:
                slid = lam("row", elem_of(rows), lambda row: Slide(n, s, row, a))
                return Map(g, Transpose(Map(slid, rows)))

            return Transpose(Map(lam("rows", elem_of(outer), body), outer))
    return None


@rule("split t . slide n s  =  map (slide n s) . slide_strict ((t - 1) s + n) (t s)")
def split_slide(e: Split) -> Expr | None:
    """Chunks of t windows become the windows of overlapping tiles, if every element is in a
    window."""
    match e:
        case Split(t, Slide(n, s, xs, strict)) if strict or remainder(size_of(xs) - n, s) == 0:
            tiles = Slide((t - 1) * s + n, t * s, xs, strict=True)
            inner = lam("tile", elem_of(tiles), lambda tile: Slide(n, s, tile, strict=True))
            return Map(inner, tiles)
    return None


@rule("slide n s . map f  =  slide n n . map f . join . slide n s,  n < s")
def close_gaps(e: Slide) -> Expr | None:
    """Windows that leave gaps become chunks of an array without the elements in the gaps."""
    match e:
        case Slide(n, s, xs, strict) if isinstance(n, int) and isinstance(s, int) and n < s:
            array = xs.xs if isinstance(xs, Map) else xs
            read = Join(Slide(n, s, array, strict))
            return Slide(n, n, Map(xs.f, read) if isinstance(xs, Map) else read, strict=True)
    return None


@rule("slide n s . map (slide m t . f)  =  map transpose . transpose . map (slide n s . transpose) "
      ". slide m t . transpose . map f")  # fmt: skip
def slide_slide(e: Slide) -> Expr | None:
    """A slide over rows, each of which is made into windows already, becomes a slide inside
    another: the outer one makes windows of columns, and the inner one windows of rows in each of
    these."""
    match e:
        case Slide(n, s, Map(Lam(Var() as row, Slide(m, t, ys, inner)), xs), outer):
            rows = xs if ys == row else Map(Lam(row, ys), xs)
            columns = Slide(m, t, Transpose(rows), inner)
            windows = lam("column", elem_of(columns), lambda c: Slide(n, s, Transpose(c), outer))
            rows = Transpose(Map(windows, columns))
            return Map(lam("row", elem_of(rows), Transpose), rows)
    return None


@rule(
    "map (map (map f . transpose . map (slide m t)) . slide n s)  =  transpose . map transpose ."
    " map (map (map f . transpose . map transpose) . transpose . map (slide m t)) . slide n s ."
    " map transpose . transpose"
)
def planes_inside(e: Map) -> Expr | None:
    """A map over planes, around maps over the windows of one plane, moves inside these: windows are
    made of all planes at once, which are innermost, as the channels of an image."""
    match e:
        case Map(Lam(Var(plane, _), Map(Lam(Var(rows, _), Map(f, across)), down)), xs):
            pass
        case _:
            return None
    match across, down:
        case (
            Transpose(Map(Lam(Var(x, _), Slide(m, t, Var(y, _), inner)), Var(v, _))),
            Slide(n, s, Var(p, _), outer),
        ) if x == y and v == rows and p == plane and not {rows, plane} & free(f):
            channels = Transpose(xs)
            image = Map(lam("row", elem_of(channels), Transpose), channels)
            slid = Slide(n, s, image, outer)

            def of_rows(rows: Expr) -> Expr:
                row = lam("row", elem_of(rows), lambda r: Slide(m, t, r, inner))
                windows = Transpose(Map(row, rows))
                return Map(lam("window", elem_of(windows), of_window), windows)

            def of_window(window: Expr) -> Expr:
                return Map(f, Transpose(Map(lam("row", elem_of(window), Transpose), window)))

            made = Map(lam("rows", elem_of(slid), of_rows), slid)
            return Transpose(Map(lam("rows", elem_of(made), Transpose), made))
    return None

"""Laws of windows and edges: tiling a slide, slides and pads past maps."""

# key: n window size, s step, u tile size, v tile step, f function, xs array, c a pad's value

from ir.nat import Size, remainder
from ir.nodes import Edge, Expr, Join, Lam, Map, Pad, PadEdge, Slide, Transpose, Var
from ir.terms import apply, free, lam
from ir.types import Scalar, equal
from ir.typing import elem_of, size_of, type_of
from rewrites.rule import rule
from rewrites.shape import at_most, crops, divides


@rule("slide n s  =  join . map (slide n s) . slide_strict u v,  v = u - n + s,  s divides u - n")
def tile_slide(e: Expr, u: Size) -> Expr | None:
    """Windows in overlapping tiles of u elements, where all elements are in a window.

    The rule as the LIFT paper prints it steps by u - n, and so computes windows twice.
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
def strict_slide(e: Expr) -> Expr | None:
    """Drops the elements at the end that no window reaches."""
    match e:
        case Slide(n, s, xs, False):
            rest = remainder(size_of(xs) - n, s)
            return Slide(n, s, PadEdge(Edge.ANY, 0, -rest, xs) if rest != 0 else xs, strict=True)
    return None


@rule("slide n s . map f  =  map (map f) . slide n s")
def slide_map(e: Expr) -> Expr | None:
    match e:
        case Slide(n, s, Map(f, xs), strict):
            windows = Slide(n, s, xs, strict)
            return Map(lam("window", elem_of(windows), lambda w: Map(f, w)), windows)
    return None


@rule("map (map f) . slide n s  =  slide n s . map f")
def map_slide(e: Expr) -> Expr | None:
    """What every window computes of its elements is computed once an element."""
    match e:
        case Map(Lam(Var(w, _), Map(f, Var(y, _))), Slide(n, s, xs, strict)):
            return Slide(n, s, Map(f, xs), strict) if w == y and w not in free(f) else None
    return None


@rule("pad_edge l r . map f  =  map f . pad_edge l r")
def pad_map(e: Expr) -> Expr | None:
    """Clamped, mirrored, wrapped or cropped: what is added is among the elements."""
    match e:
        case PadEdge(edge, left, right, Map(f, xs)):
            return Map(f, PadEdge(edge, left, right, xs))
        case Pad(left, right, _, Map(f, xs)) if crops(left, right):
            return Map(f, PadEdge(Edge.ANY, left, right, xs))
    return None


@rule("map f . pad_edge l r  =  pad_edge l r . map f")
def map_pad_edge(e: Expr) -> Expr | None:
    match e:
        case Map(f, PadEdge(edge, left, right, xs)):
            return PadEdge(edge, left, right, Map(f, xs))
    return None


@rule("map f . pad l r c  =  pad l r (f c) . map f")
def map_pad(e: Expr) -> Expr | None:
    """The constant must be a whole element, so that f can be applied to it."""
    match e:
        case Map(f, Pad(left, right, c, xs)) if equal(type_of(c), elem_of(xs)):
            return Pad(left, right, apply(f, c), Map(f, xs))
    return None


@rule("map (pad l r c)  =  transpose . pad l r c . transpose,  c a number")
def rows_pad(e: Expr) -> Expr | None:
    """Padding every row is padding the array of columns."""
    match e:
        case Map(Lam(p, Pad(left, right, c, Var(x, _))), xs) if isinstance(p, Var) and p.name == x:
            if isinstance(type_of(c), Scalar) and x not in free(c):
                return Transpose(Pad(left, right, c, Transpose(xs)))
    return None


@rule("transpose . pad l r c  =  map (pad l r c) . transpose,  c a number")
def pad_rows(e: Expr) -> Expr | None:
    match e:
        case Transpose(Pad(left, right, c, xs)) if isinstance(type_of(c), Scalar):
            columns = Transpose(xs)
            return Map(lam("row", elem_of(columns), lambda r: Pad(left, right, c, r)), columns)
    return None


@rule("transpose . map (slide n s)  =  map transpose . slide n s . transpose")
def slide_rows(e: Expr) -> Expr | None:
    """Windows of every row, seen column by column, are windows of rows of columns."""
    match e:
        case Transpose(Map(Lam(Var(x, _), Slide(n, s, Var(y, _), strict)), xs)) if x == y:
            windows = Slide(n, s, Transpose(xs), strict)
            return Map(lam("window", elem_of(windows), Transpose), windows)
    return None

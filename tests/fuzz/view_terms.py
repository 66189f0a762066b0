"""Random arrays made by each view of the language: their elements are those of other arrays, in
another arrangement."""

# key: g source of terms, t u types, n k m sizes, l r amounts left and right

from ir.core.nodes import (
    Binary,
    Concat,
    Expr,
    Join,
    Lam,
    MakeTuple,
    Pad,
    PadEdge,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.types import INT, Array, Scalar, Tuple, Type
from ir.elaborate.bijection import stride
from tests.support.random_terms import Scope, Terms


def view(g: Terms, t: Array, n: int, scope: Scope, depth: int, kind: str) -> Expr | None:
    """A random array of type t, of n elements, made by the view that `kind` names from random
    arrays of variables in `scope` and parameters; None where that view cannot make the type."""

    def of(u: Type, size: int) -> Expr:
        return g.value(Array(u, size), scope, depth - 1)

    match kind, t.elem:
        case "zip", Tuple(parts):
            return Zip(tuple(of(part, n) for part in parts))
        case "split", Array(u, int(m)):
            return Split(m, of(u, n * m))
        case (("slide" | "slide_strict"), Array(u, int(m))):
            step = g.size(1, 3)
            left = 0 if kind == "slide_strict" else g.rng.randrange(step)
            return Slide(m, step, of(u, (n - 1) * step + m + left), kind == "slide_strict")
        case "transpose", Array(u, int(m)):
            return Transpose(of(Array(u, n), m))
        case "join", u:
            k = divisor(g, n)
            return Join(of(Array(u, k), n // k))
        case "reorder", u:
            return Reorder(stride(divisor(g, n), n), of(u, n))
        case "reversed", u:
            i = Var("i", INT)
            return Reorder(Lam(i, Binary("-", SizeOf(n - 1), i)), of(u, n))
        case "concat", u if n > 1:
            k = g.rng.randint(1, n - 1)
            return Concat(of(u, k), of(u, n - k))
        case "crop", u:
            l, r = g.rng.randint(0, 2), g.rng.randint(0, 2)
            return Pad(-l, -r, filler(g, u), of(u, n + l + r))
        case "pad", u if n > 1:
            l, r = around(g, n, 2)
            return Pad(l, r, filler(g, u), of(u, n - l - r))
        case "edge", u if n > 1:
            l, r = around(g, n, g.one_of(2, n))  # more than once round, too
            return PadEdge(g.edge(), l, r, of(u, n - l - r))
    return None


def around(g: Terms, n: int, most: int) -> tuple[int, int]:
    """Random numbers (left, right) of elements that are to be padding at the ends of an array of n
    elements: at most `most` at each end, and not all n."""
    l = g.rng.randint(0, min(most, n - 1))
    return l, g.rng.randint(0, min(most, n - 1 - l))


def filler(g: Terms, t: Type) -> Expr:
    """A random value of type t to pad arrays with."""
    match t:
        case Scalar():
            return g.literal(t)
        case Tuple(parts):
            return MakeTuple(tuple(filler(g, part) for part in parts))
    return g.param(t)


def divisor(g: Terms, n: int) -> int:
    return g.rng.choice([k for k in range(1, n + 1) if n % k == 0])


def size_known(t: Type) -> int:
    assert isinstance(t, Array)
    assert isinstance(t.size, int)
    return t.size

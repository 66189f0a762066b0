"""A law that turns sums over windows into products with a matrix that holds the taps once for every
window."""

# key: w window, g taps, n their number, s step, x array, t a row of the matrix, z initial value

from ir.core.nodes import (
    Binary,
    Expr,
    Lam,
    Lit,
    MakeTuple,
    Map,
    Pad,
    Reduce,
    Reorder,
    Slide,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import apply, free, lam
from ir.core.type_rules import elem_of, pattern_type, size_of, type_of
from ir.core.types import INT, Scalar, Tuple, leaves
from rewrites.analysis.folds import number
from rewrites.analysis.linearity import added, linear
from rewrites.analysis.out_views import adds_anything
from rewrites.engine.rule import rule


@rule(
    "map (w -> reduce z (+ ⊗) (zip w g)) (slide n s x)"
    "  =  map (t -> reduce z (+ ⊗) (zip x t)) (toeplitz g),  ⊗ linear in the taps"
)
def replicate_taps(e: Map) -> Expr | None:
    """A sum of products over windows becomes the product of the whole row with the Toeplitz matrix
    of the taps.

    Elements outside of a window are multiplied by 0, so all of the row must be numbers.
    """
    match e:
        case Map(Lam(Var(w, _), Reduce(z, f, Zip((_, _) as parts))), Slide(int(), int(s), x, _)):
            windows = [isinstance(part, Var) and part.name == w for part in parts]
            if windows.count(True) != 1 or adds_anything(x):
                return None
            i = windows.index(True)
            g = parts[1 - i]
            matrix = toeplitz(g, size_of(e), s, size_of(x))
            if matrix is None or w in free(z) | free(f) | free(g) or not _linear(f, 1 - i):
                return None

            def row(t: Expr) -> Expr:
                return Reduce(z, f, Zip((x, t) if i == 0 else (t, x)))

            return Map(lam("taps", elem_of(matrix), row), matrix)
    return None


def toeplitz(g: Expr, rows: Size, s: int, columns: Size) -> Expr | None:
    """The Toeplitz matrix of the taps g, with these numbers of rows and columns: row i holds g from
    column i s on, and zeros. None if g is not of one scalar type, or `rows` is not known.

    It is made of windows of g between zeros, taken backwards.
    """
    scalar, *others = set(leaves(type_of(g)))
    if others or not isinstance(scalar, Scalar) or not isinstance(rows, int):
        return None
    padded = Pad((rows - 1) * s, columns - size_of(g), number(0, scalar), g)
    backwards = lam("index", INT, lambda i: Binary("-", Lit(rows - 1, INT), i))
    return Reorder(backwards, Slide(columns, s, padded))


def is_toeplitz(e: Expr) -> bool:
    """True if e has the form of a matrix that `toeplitz` makes."""
    return isinstance(e, Reorder) and isinstance(e.xs, Slide)


def _linear(f: Lam, taps: int) -> bool:
    """True if the fold f adds a term that is linear in the part `taps` of the pair that it is
    given."""
    assert isinstance(f.pattern, tuple)
    acc, pair = f.pattern
    if not isinstance(acc, Var):
        return False
    t = pattern_type(pair)
    assert isinstance(t, Tuple)
    x, h = (Var(f"?{i}", t.parts[i]) for i in (1 - taps, taps))
    term = added(apply(f, MakeTuple((acc, MakeTuple((x, h) if taps else (h, x))))), acc.name)
    return term is not None and linear(term, h)

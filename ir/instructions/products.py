"""The products of matrices that instructions make, as programs: a transposed times another, added
to a third."""

# key: a b c operands, t u types of their numbers

from ir.core.nodes import Binary, Expr, Lam, Map, Reduce, Unary, Var, Zip
from ir.core.types import FLOAT, INT, Array, Scalar


def product(
    steps: int,
    left: Scalar = FLOAT,
    right: Scalar | None = None,
    sums: Scalar = FLOAT,
    sides: tuple[int, int] = (16, 8),
) -> Lam:
    """The function (a, b, c) -> c + Σ over steps of a's row times b's row, where c has `sides` rows
    and columns; a holds numbers of type `left`, b of type `right` (or `left`), and c of type
    `sums`."""
    t, u = left, right or left
    m, n = sides
    rows, columns, kept = Array(t, m), Array(u, n), Array(sums, n)
    tile = Array(kept, m)
    a, b, c = Var("a", Array(rows, steps)), Var("b", Array(columns, steps)), Var("c", tile)
    acc, p, q = Var("acc", tile), Var("left", rows), Var("right", columns)
    row, x = Var("row", kept), Var("x", t)
    s, y = Var("s", sums), Var("y", u)
    times = Binary("*", _met(x, sums), _met(y, sums))
    added = Map(Lam((s, y), Binary("+", s, times)), Zip((row, q)))
    step = Lam((acc, (p, q)), Map(Lam((row, x), added), Zip((acc, p))))
    return Lam((a, b, c), Reduce(c, step, Zip((a, b))))


def _met(x: Var, sums: Scalar) -> Expr:
    """The number x as a factor of products that are summed in the type `sums`: as it is, if it is a
    float or the sums are ints; else converted to a float."""
    return x if x.type == FLOAT or sums == INT else Unary("float", x)

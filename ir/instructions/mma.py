"""NVIDIA's instruction `mma.sync`: a 16 × k matrix times a k × 8 one, added to a 16 × 8 one.

With e elements of an operand in a register and k = 4 e or 8 e, lane 4 g + t holds (CUTLASS,
`mma_traits_sm80.hpp`; all of its layouts are this one):

    A[row g + 8 r][step e t + i + 4 e h]   at (h, r, i)
    B[step e t + i + 4 e h][column g]      at (h, i)
    C[row g + 8 r][column 2 t + j]         at (r, j)
"""

# key: e elements in a register, a b c operands

from ir.core.nodes import Binary, Expr, Lam, Map, Reduce, Unary, Var, Zip
from ir.core.types import FLOAT, INT, Array, Scalar
from ir.instructions.fragments import Fragment

LANES = 32
NATIVE = "defined(__NV_CL_C_VERSION)"  # of the compilers that have these instructions


def fragments(e: int, halves: int) -> tuple[Fragment, Fragment, Fragment]:
    """The layouts of the operands A and B, each with a row for every step of the sum, and of the
    result C, for e elements in a register and 4 · e · `halves` steps."""
    return _fragments(e, halves, ("h", "t", "i"))


def neighbours(e: int, halves: int) -> tuple[Fragment, Fragment, Fragment]:
    """The layouts of the operands A and B and of the result C, as `fragments` gives them for e and
    `halves`, but with steps reordered so that those which one lane holds are neighbours."""
    return _fragments(e, halves, ("t", "h", "i"))


def _fragments(e: int, halves: int, steps: tuple[str, ...]) -> tuple[Fragment, Fragment, Fragment]:
    sizes = {"g": 8, "t": 4, "h": halves, "r": 2, "i": e, "j": 2}
    lanes = ("g", "t")
    return (
        Fragment(sizes, lanes, ("h", "r", "i"), rows=steps, columns=("r", "g")),
        Fragment(sizes, lanes, ("h", "i"), rows=steps, columns=("g",)),
        Fragment(sizes, lanes, ("r", "j"), rows=("r", "g"), columns=("t", "j")),
    )


def product(
    steps: int, left: Scalar = FLOAT, right: Scalar | None = None, sums: Scalar = FLOAT
) -> Lam:
    """The function (a, b, c) -> c + Σ over steps of a's row times b's row, each step 16 × 8
    products; a holds numbers of type `left`, b of type `right` (or `left`), and c of type
    `sums`."""
    t, u = left, right or left
    rows, columns, kept = Array(t, 16), Array(u, 8), Array(sums, 8)
    tile = Array(kept, 16)
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

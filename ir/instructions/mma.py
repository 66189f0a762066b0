"""NVIDIA's instruction `mma.sync`: a 16 × k matrix times a k × 8 one, added to a 16 × 8 one.

With e elements of an operand in a register and k = 4 e or 8 e, lane 4 g + t holds (CUTLASS,
`mma_traits_sm80.hpp`; all of its layouts are this one):

    A[row g + 8 r][step e t + i + 4 e h]   at (h, r, i)
    B[step e t + i + 4 e h][column g]      at (h, i)
    C[row g + 8 r][column 2 t + j]         at (r, j)
"""

# key: e elements in a register

from ir.instructions.fragments import Fragment

LANES = 32
NVIDIA = "defined(__NV_CL_C_VERSION)"  # of the compilers that have these instructions


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

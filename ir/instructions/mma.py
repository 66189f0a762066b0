"""NVIDIA's instruction `mma.sync`: a 16 × k matrix times a k × 8 one, added to a 16 × 8 one.

With e elements of an operand in a register and k = 4 e or 8 e, lane 4 g + t holds (CUTLASS,
`mma_traits_sm80.hpp`; all of its layouts are this one):

    A[row g + 8 r][step e t + i + 4 e h]   at (h, r, i)
    B[step e t + i + 4 e h][column g]      at (h, i)
    C[row g + 8 r][column 2 t + j]         at (r, j)
"""

# key: e elements in a register, a b c operands

from ir.core.nodes import Binary, Lam, Map, Reduce, Var, Zip
from ir.core.types import FLOAT, Array
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment

LANES = 32
TF32 = 2.0**13  # machine epsilons of a float that an operand may lose: 10 bits are kept of 23


def fragments(e: int, halves: int) -> tuple[Fragment, Fragment, Fragment]:
    """The layouts of the operands A and B, each with a row for every step of the sum, and of the
    result C, for e elements in a register and 4 e `halves` steps."""
    return _fragments(e, halves, ("h", "t", "i"))


def neighbours(e: int, halves: int) -> tuple[Fragment, Fragment, Fragment]:
    """The layouts of the operands A and B and of the result C, as `fragments` gives them, but with
    steps reordered so that those which one lane holds are neighbours."""
    return _fragments(e, halves, ("t", "h", "i"))


def _fragments(e: int, halves: int, steps: tuple[str, ...]) -> tuple[Fragment, Fragment, Fragment]:
    sizes = {"g": 8, "t": 4, "h": halves, "r": 2, "i": e, "j": 2}
    lanes = ("g", "t")
    return (
        Fragment(sizes, lanes, ("h", "r", "i"), rows=steps, columns=("r", "g")),
        Fragment(sizes, lanes, ("h", "i"), rows=steps, columns=("g",)),
        Fragment(sizes, lanes, ("r", "j"), rows=("r", "g"), columns=("t", "j")),
    )


def product(steps: int) -> Lam:
    """The function (a, b, c) -> c + Σ over steps of a's row times b's row, each step 16 × 8
    products."""
    rows, columns = Array(FLOAT, 16), Array(FLOAT, 8)
    sums = Array(columns, 16)
    a, b, c = Var("a", Array(rows, steps)), Var("b", Array(columns, steps)), Var("c", sums)
    acc, left, right = Var("acc", sums), Var("left", rows), Var("right", columns)
    row, x = Var("row", columns), Var("x", FLOAT)
    s, y = Var("s", FLOAT), Var("y", FLOAT)
    added = Map(Lam((s, y), Binary("+", s, Binary("*", x, y))), Zip((row, right)))
    step = Lam((acc, (left, right)), Map(Lam((row, x), added), Zip((acc, left))))
    return Lam((a, b, c), Reduce(c, step, Zip((a, b))))


# On NVIDIA the instruction itself; elsewhere lanes shuffle what they hold. Both read the first ten
# bits after the point of their operands.
MMA_TF32 = """
#if defined(__NV_CL_C_VERSION)
inline float4 mma_tf32(float4 a, float2 b, float4 c)
{
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w)
               : "r"(as_uint(a.x)), "r"(as_uint(a.y)), "r"(as_uint(a.z)), "r"(as_uint(a.w)),
                 "r"(as_uint(b.x)), "r"(as_uint(b.y)));
  return c;
}
#else
inline float4 mma_tf32(float4 a, float2 b, float4 c)
{
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
  a = as_float4(as_uint4(a) & 0xffffe000u);
  b = as_float2(as_uint2(b) & 0xffffe000u);
  for (int s = 0; s < 4; ++s) {
    const int of_row = 4 * g + s, of_even = 8 * t + s, of_odd = 8 * t + 4 + s;
    const float2 upper = (float2)(sub_group_shuffle(a.x, of_row), sub_group_shuffle(a.z, of_row));
    const float2 lower = (float2)(sub_group_shuffle(a.y, of_row), sub_group_shuffle(a.w, of_row));
    const float2 left = (float2)(sub_group_shuffle(b.x, of_even), sub_group_shuffle(b.y, of_even));
    const float2 right = (float2)(sub_group_shuffle(b.x, of_odd), sub_group_shuffle(b.y, of_odd));
    c += (float4)(dot(upper, left), dot(upper, right), dot(lower, left), dot(lower, right));
  }
  return c;
}
#endif
"""

ENTRIES = (
    Entry(
        "mma_tf32",
        product(8),
        fragments(1, 2),
        neighbours(1, 2),
        LANES,
        rounding=TF32,
        text=MMA_TF32.strip(),
        native="__NV_CL_C_VERSION",
    ),
)

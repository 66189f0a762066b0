"""Intel's instruction for sub-groups of 16 lanes (`cl_intel_subgroup_matrix_multiply_accumulate`):
tiles of 8 × 16 results, with 16 steps of a sum of bfloats or halves, in floats.

Lane l holds step l of all rows of A, column l of B, of which two neighbouring steps are in a
register of 32 bits, and column l of C. The extension has bytes, too, of which a lane holds 32; the
language has no vectors of more than 16.
"""

# key: a b c operands

from ir.core.types import BFLOAT, HALF, Scalar
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment
from ir.instructions.products import product

LANES = 16
INTEL = "defined(cl_intel_subgroup_matrix_multiply_accumulate)"
# Products are exact. How sums are rounded is not told: taken as NVIDIA's, which are cut off.
LOST = 2.0**3

SIZES = {"l": LANES, "m": 8, "k": 16}
LAYOUTS = (
    Fragment(SIZES, ("l",), ("m",), rows=("l",), columns=("m",)),
    Fragment(SIZES, ("l",), ("k",), rows=("k",), columns=("l",)),
    Fragment(SIZES, ("l",), ("m",), rows=("m",), columns=("l",)),
)

_NATIVE = """
inline float8 NAME(ushort8 a, ushort16 b, float8 c)
{
  return intel_sub_group_KIND_KIND_matrix_mad_k16(as_short8(a), as_int8(b), c);
}
"""
# Lane s sends step s of all rows; each lane multiplies it by that step of its own column.
_SHUFFLES = """
inline float NAME_float(ushort x)
{
  return FLOAT;
}
inline float8 NAME(ushort8 a, ushort16 b, float8 c)
{
  const ushort column[16] = {b.s0, b.s1, b.s2, b.s3, b.s4, b.s5, b.s6, b.s7,
                             b.s8, b.s9, b.sa, b.sb, b.sc, b.sd, b.se, b.sf};
  const uint4 rows = as_uint4(a);
  for (int s = 0; s < 16; ++s) {
    const ushort8 x = as_ushort8((uint4)(
        sub_group_shuffle(rows.x, s), sub_group_shuffle(rows.y, s),
        sub_group_shuffle(rows.z, s), sub_group_shuffle(rows.w, s)));
    const float y = NAME_float(column[s]);
    c += y * (float8)(NAME_float(x.s0), NAME_float(x.s1), NAME_float(x.s2), NAME_float(x.s3),
                      NAME_float(x.s4), NAME_float(x.s5), NAME_float(x.s6), NAME_float(x.s7));
  }
  return c;
}
"""


def _entry(name: str, t: Scalar, kind: str, number: str) -> Entry:
    """The entry of the instruction for numbers of type t, called `kind` by the extension; `number`
    is the float that the bits x are, as an expression of OpenCL."""
    return Entry(
        name,
        product(16, t, sides=(8, 16)),
        LAYOUTS,
        LAYOUTS,
        LANES,
        rounding=LOST,
        spelled={INTEL: _NATIVE.replace("NAME", name).replace("KIND", kind)},
        emulated=_SHUFFLES.replace("NAME", name).replace("FLOAT", number),
        kept=24,
    )


ENTRIES = (
    _entry("intel_bf16", BFLOAT, "bf16", "as_float((uint)x << 16)"),
    _entry("intel_f16", HALF, "f16", "vload_half(0, (__private half *)&x)"),
)

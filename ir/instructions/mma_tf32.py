"""The instruction `mma.sync` of NVIDIA with operands of type tf32: floats of which ten bits after
the point are read."""

from ir.instructions.entry import Entry
from ir.instructions.mma import LANES, NATIVE, fragments, neighbours, product

LOST = 2.0**13  # machine epsilons of a float that an operand may lose: 10 bits are kept of 23

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
        rounding=LOST,
        text=MMA_TF32.strip(),
        native=NATIVE,
    ),
)

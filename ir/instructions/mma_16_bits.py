"""The text of NVIDIA's `mma.sync` with operands of 16 bits, two in a register of 32: the
instruction itself, and shuffles elsewhere."""

import re

# NAME: of the function; TYPE: in PTX; FLOATS: two numbers of a register as floats.
_TEXT = """
#if defined(__NV_CL_C_VERSION)
inline float4 NAME(ushort8 a, ushort4 b, float4 c)
{
  const uint4 x = as_uint4(a);
  const uint2 y = as_uint2(b);
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c.x), "+f"(c.y), "+f"(c.z), "+f"(c.w)
               : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y));
  return c;
}
#else
inline float2 NAME_floats(uint x) { return FLOATS; }
inline float4 NAME(ushort8 a, ushort4 b, float4 c)
{
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
  const uint4 x = as_uint4(a);
  const uint2 y = as_uint2(b);
  for (int s = 0; s < 4; ++s) {
    const int of_row = 4 * g + s, of_even = 8 * t + s, of_odd = 8 * t + 4 + s;
    const float4 upper = (float4)(NAME_floats(sub_group_shuffle(x.x, of_row)),
                                  NAME_floats(sub_group_shuffle(x.z, of_row)));
    const float4 lower = (float4)(NAME_floats(sub_group_shuffle(x.y, of_row)),
                                  NAME_floats(sub_group_shuffle(x.w, of_row)));
    const float4 left = (float4)(NAME_floats(sub_group_shuffle(y.x, of_even)),
                                 NAME_floats(sub_group_shuffle(y.y, of_even)));
    const float4 right = (float4)(NAME_floats(sub_group_shuffle(y.x, of_odd)),
                                  NAME_floats(sub_group_shuffle(y.y, of_odd)));
    c += (float4)(dot(upper, left), dot(upper, right), dot(lower, left), dot(lower, right));
  }
  return c;
}
#endif
"""


def text_of(name: str, ptx: str, floats: str) -> str:
    """The text of the OpenCL functions of the instruction `name`, for numbers of the PTX type
    `ptx`. `floats` is an expression of OpenCL, as text: the two numbers in the register x, as
    floats."""
    words = {"NAME": name, "TYPE": ptx, "FLOATS": floats}
    return re.sub("|".join(words), lambda found: words[found[0]], _TEXT).strip()

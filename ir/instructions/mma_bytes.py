"""The instruction `mma.sync` of NVIDIA with bytes as operands, four in a register of 32 bits, and
ints as sums, which wrap around.

The letters of a name tell which operands are signed (s) and which are not (u), the number how many
steps of a sum it makes.
"""

import re
from itertools import product as pairs

from ir.core.types import CHAR, INT, UCHAR
from ir.instructions.entry import Entry
from ir.instructions.mma import LANES, NATIVE, fragments, neighbours, product

SIGNED = {"s": CHAR, "u": UCHAR}

# NAME: of the function; LEFT, RIGHT: the operands' types in OpenCL; A, B: in PTX; WORDS_A, WORDS_B:
# the vectors of registers that hold them; SHAPE: in PTX; LIST_A, LIST_B: the registers; TERMS: what
# the lanes of a row and of two columns add, at a place s of the four in a row.
_TEXT = """
#if defined(__NV_CL_C_VERSION)
inline int4 NAME(LEFT a, RIGHT b, int4 c)
{
  const WORDS_A x = as_WORDS_A(a);
  const WORDS_B y = as_WORDS_B(b);
  asm volatile("mma.sync.aligned.SHAPE.row.col.s32.A8.B8.s32 "
               "{%0, %1, %2, %3}, PLACES, {%0, %1, %2, %3};"
               : "+r"(c.x), "+r"(c.y), "+r"(c.z), "+r"(c.w)
               : GIVEN);
  return c;
}
#else
inline int NAME_dot(uint a, uint b)
{
  const int4 p = convert_int4(as_LEFT4(a)) * convert_int4(as_RIGHT4(b));
  return p.x + p.y + p.z + p.w;
}
inline int4 NAME(LEFT a, RIGHT b, int4 c)
{
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
  const WORDS_A x = as_WORDS_A(a);
  const WORDS_B y = as_WORDS_B(b);
  uint4 sums = as_uint4(c);
  for (int s = 0; s < 4; ++s) {
    const int of_row = 4 * g + s, of_even = 8 * t + s, of_odd = 8 * t + 4 + s;
STEPS
  }
  return as_int4(sums);
}
#endif
"""
_STEP = """\
    {{
      const uint upper = sub_group_shuffle(x.{upper}, of_row);
      const uint lower = sub_group_shuffle(x.{lower}, of_row);
      const uint left = sub_group_shuffle({right}, of_even);
      const uint right = sub_group_shuffle({right}, of_odd);
      sums += (uint4)(NAME_dot(upper, left), NAME_dot(upper, right),
                      NAME_dot(lower, left), NAME_dot(lower, right));
    }}"""


def _text(name: str, signs: str, halves: int) -> str:
    """The text of the OpenCL functions of the instruction `name`, for bytes with these signs (such
    as `su`) and 16 · `halves` steps of a sum: the instruction itself, and shuffles elsewhere."""
    left, right = (SIGNED[sign].name for sign in signs)
    registers = 2 * halves, halves
    rights = ["y"] if halves == 1 else ["y.x", "y.y"]
    lefts = ("x", "y"), ("z", "w")
    steps = (
        _STEP.format(upper=lefts[h][0], lower=lefts[h][1], right=y) for h, y in enumerate(rights)
    )
    given = [*(f"x.{lane}" for lane in "xyzw"[: registers[0]]), *rights]
    numbers = [f"%{4 + n}" for n in range(len(given))]
    places = [numbers[: registers[0]], numbers[registers[0] :]]
    words = {
        "STEPS": "\n".join(steps),
        "PLACES": ", ".join("{" + ", ".join(part) + "}" for part in places),
        "GIVEN": ", ".join(f'"r"({register})' for register in given),
        "SHAPE": f"m16n8k{16 * halves}",
        "WORDS_A": f"uint{registers[0]}",
        "WORDS_B": "uint" if halves == 1 else "uint2",
        "A8": f"{signs[0]}8",
        "B8": f"{signs[1]}8",
        "LEFT4": f"{left}4",
        "RIGHT4": f"{right}4",
        "LEFT": f"{left}{4 * registers[0]}",
        "RIGHT": f"{right}{4 * registers[1]}",
        "NAME": name,
    }
    text = _TEXT
    for _ in range(2):  # what stands for STEPS holds words itself
        text = re.sub("|".join(words), lambda found: words[found[0]], text)
    return text.strip()


def _entry(signs: str, halves: int) -> Entry:
    name = f"mma_{signs}_{16 * halves}"
    left, right = (SIGNED[sign] for sign in signs)
    return Entry(
        name,
        product(16 * halves, left, right, INT),
        fragments(4, halves),
        neighbours(4, halves),
        LANES,
        rounding=0.0,
        text=_text(name, signs, halves),
        native=NATIVE,
    )


ENTRIES = tuple(_entry(f"{a}{b}", halves) for halves, a, b in pairs((2, 1), SIGNED, SIGNED))

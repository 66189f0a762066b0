"""The texts of `wgmma` (`ir/instructions/entries/wgmma.py`): functions of OpenCL C with lines of
PTX, those that carry it out by shuffles, and both for one call that stands for several.

In the templates words in capitals stand for what differs: a function's name, its first operand's
type (A), lines of PTX, and their registers.
"""

from collections.abc import Mapping, Sequence

from ir.core.frozen import frozen
from ir.instructions.side_by_side import Several, several_name

TARGET = "sm_90a"
SM_90A = "defined(HAS_PTX_SM_90A)"
ROWS, COLUMNS = 64, 32
MOST_BESIDE = 8  # calls as one: 256 columns

_MADE = """
  const uint8 x = as_uint8(a);
  const ulong far = ACROSS && line > 1 ? steps : columns;
  const ulong lines = line > 1 ? 2 - line / 8 : 0;
  const ulong first =
      (ulong)((uint)(size_t)b >> 4) | (steps << 16) | (far << 32) | (lines << 62);
  const ulong second = first + 2 * steps;
  asm volatile("LINES"
               : SUMS
               : REGISTERS, "l"(first), "l"(second) : "memory");
""".strip("\n")
_PTX = f"""
inline float16 NAME_of(
    A a, const __local void *b, ulong steps, ulong columns, ulong line, float16 c)
{{
{_MADE}
  return c;
}}
#define NAME(a, b, steps, columns, line, c) NAME_of(a, &(b), steps, columns, line, c)
"""
# One call for several: c_0, c_1, … are their sums.
_SEVERAL = f"""
inline void NAME_of(
    A a, const __local void *b, ulong steps, ulong columns, ulong line, POINTERS)
{{
  float16 HELD;
{_MADE}
  GIVEN
}}
#define NAME(a, b, steps, columns, line, RESULTS) \\
  NAME_of(a, &(b), steps, columns, line, ADDRESSES)
"""
_SEVERAL_EMULATED = """
#define NAME(a, b, steps, columns, line, RESULTS) { CALLS }
"""
_LINES = (
    "wgmma.fence.sync.aligned;",
    "INSTRUCTION RESULTS, {OPERANDS_0}, PLACE_0, 1ENDING;",
    "INSTRUCTION RESULTS, {OPERANDS_4}, PLACE_1, 1ENDING;",
)
# Each lane reads the columns of its results from local memory, and gets its rows' steps from the
# lanes of its sub-group that hold them. WORD is what its column has of a word's steps.
_SHUFFLES = """
inline float NAME_dot(uint a, uint b)
{
  return DOT;
}
__attribute__((noinline))
float16 NAME_of(A a, const __local uint *b, int steps, int columns, int line, float16 c)
{
  const int place = (size_t)b / 16 % 8;
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
  uint x[8];
  float sums[16];
  vstore8(as_uint8(a), 0, x);
  vstore16(c, 0, sums);
  #pragma nounroll
  for (int piece = 0; piece < 4; ++piece) {
    #pragma nounroll
    for (int s = 0; s < 4; ++s) {
      const uint upper = sub_group_shuffle(x[2 * piece], 4 * g + s);
      const uint lower = sub_group_shuffle(x[2 * piece + 1], 4 * g + s);
      #pragma nounroll
      for (int n = 0; n < 8; ++n) {
        const int column = 8 * (n / 2) + 2 * t + n % 2;
        const uint y = WORD;
        sums[4 * (n / 2) + n % 2] += NAME_dot(upper, y);
        sums[4 * (n / 2) + n % 2 + 2] += NAME_dot(lower, y);
      }
    }
  }
  return vload16(0, sums);
}
#define NAME(a, b, steps, columns, line, c) \\
  NAME_of(a, (const __local uint *)&(b), steps, columns, line, c)
"""
_PLACE = """
inline int NAME_place(int place, int piece, int line)
{
  const int at = place + piece;
  return (at ^ at / 8 % line) - place;
}
"""
_WORD = """b[4 * NAME_place(
          place, piece * steps + column / 8 * columns + column % 8 * line, line) + s]"""
_WORD_ACROSS = """NAME_pair((const __local ushort *)b + column % 8, place,
          piece * steps + column / 8 * columns + 2 * s * line, line)"""
_PAIR = """
inline uint NAME_pair(const __local ushort *b, int place, int even, int line)
{
  return b[8 * NAME_place(place, even, line)]
      | (uint)b[8 * NAME_place(place, even + line, line)] << 16;
}
"""


@frozen
class WgmmaText:
    """The texts of the instruction `name`: of operands that are `kind` in PTX, of which a register
    holds so many `elements`; `dot` is the sum of the products of what the words a and b hold. The
    operand in local memory lies along the sum, or `across` it."""

    name: str
    kind: str
    elements: int
    dot: str
    across: bool

    @property
    def spelled(self) -> Mapping[str, str]:
        """The function with lines of PTX, by the condition for it."""
        return {SM_90A: self._filled(_PTX, self.name, self._ptx(("c",)))}

    @property
    def emulated(self) -> str:
        """The functions that carry it out by shuffles."""
        text = _PLACE + _PAIR * self.across + _SHUFFLES
        word = _WORD_ACROSS if self.across else _WORD
        return self._filled(text, self.name, {"DOT": self.dot, "WORD": word})

    @property
    def beside(self) -> Mapping[int, Several]:
        """The texts of one call that stands for several, by how many these are."""
        return {n: self._several(n) for n in range(2, MOST_BESIDE + 1)}

    def _several(self, count: int) -> Several:
        sums = [f"c_{n}" for n in range(count)]
        words = {
            "POINTERS": ", ".join(f"float16 *to_{n}" for n in range(count)),
            "HELD": ", ".join(f"c_{n} = *to_{n}" for n in range(count)),
            "GIVEN": " ".join(f"*to_{n} = c_{n};" for n in range(count)),
            "RESULTS": ", ".join(sums),
            "ADDRESSES": ", ".join(f"&({c})" for c in sums),
            "CALLS": " ".join(
                f"{c} = {self.name}(a, (&(b))[{4 * n} * (columns)], steps, columns, line, {c});"
                for n, c in enumerate(sums)
            ),
        }
        called = several_name(self.name, count)
        spelled = self._filled(_SEVERAL, called, {**self._ptx(sums), **words})
        return Several({SM_90A: spelled}, self._filled(_SEVERAL_EMULATED, called, words))

    def _ptx(self, sums: Sequence[str]) -> dict[str, str]:
        """The lines of PTX and their registers, with results in the vectors `sums`, each of 32
        columns."""
        held, e = 16 * len(sums), self.elements
        shape = f"m{ROWS}n{COLUMNS * len(sums)}k{8 * e}"
        words = {
            "INSTRUCTION": f"wgmma.mma_async.sync.aligned.{shape}.f32.{self.kind}.{self.kind}",
            "RESULTS": f"{{{', '.join(f'%{n}' for n in range(held))}}}",
            "ENDING": f", 1, 1, {int(self.across)}" if e > 1 else ", 1, 1",
            **{f"OPERANDS_{n}": ", ".join(f"%{held + n + k}" for k in range(4)) for n in (0, 4)},
            **{f"PLACE_{n}": f"%{held + 8 + n}" for n in range(2)},
        }
        return {
            "LINES": '\\n"\n               "'.join(
                f"//@{TARGET} {_replaced(line, words)}" for line in _LINES
            ),
            "SUMS": ", ".join(f'"+f"({c}.s{n:x})' for c in sums for n in range(16)),
            "REGISTERS": ", ".join(f'"r"(x.s{n})' for n in range(8)),
        }

    def _filled(self, text: str, called: str, more: Mapping[str, str]) -> str:
        held = "float" if self.elements == 1 else "ushort"
        words = {"ACROSS": str(int(self.across)), "A a": f"{held}{8 * self.elements} a"}
        return _replaced(text, {**more, **words, "NAME": called})


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, new in words.items():
        text = text.replace(word, new)
    return text

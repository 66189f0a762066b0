"""The instruction `wgmma` of NVIDIA's devices of compute capability 9.0: four sub-groups multiply
a 64 × k matrix, which lanes hold, by a k × 32 one, which lies in local memory.

With e elements of an operand in a register, two instructions of k = 8 e steps each are begun one
after the other, and awaited later (`ir/instructions/under_way.py`). Lane 32 w + 4 g + t holds, as
in `mma.sync`,

    A[row 16 w + g + 8 r][step 4 e q + e t + i]   at (q, r, i)
    C[row 16 w + g + 8 r][column 8 n + 2 t + j]   at (n, r, j)

and piece 32 q + c of B has the steps 4 e q + m of column c, which take 16 bytes. Eight columns lie
behind each other, or in lines of four or eight pieces that are exchanged; how far steps and columns
beyond them lie is told in the instruction's descriptor of the matrix (PTX ISA, "Matrix descriptor",
without swizzling, or with that of 64 or 128 bytes). Of an operand that lies across the sum
(names in `_across`; numbers of 16 bits only), piece 8 (4 q + n) + u has step 8 q + u of the columns
8 n + m, and eight steps lie behind each other.

OpenCL's compiler assembles for a target that has not got the instruction. So its lines stand in the
program's PTX as comments, behind the target that they need, until the host opens them
(`codegen/runtime/build_options.py`).
"""

# key: e elements in a register; q r i w g t n j c m u digits, as above

from ir.core.nodes import Placed
from ir.core.types import BFLOAT, BYTES, FLOAT, HALF, Scalar
from ir.instructions.entries import mma_bf16, mma_f16, mma_tf32
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment
from ir.instructions.products import product

LANES, SUB_GROUPS = 128, 4
ROWS, COLUMNS = 64, 32
PIECES = (4, 4, 8)  # of steps, of eight columns each, and these
TARGET = "sm_90a"
SM_90A = "defined(HAS_PTX_SM_90A)"

# Words in capitals: the function's name, its first operand's type (A), the lines of PTX, and their
# registers.
_PTX = """
inline float16 NAME_of(
    A a, const __local void *b, ulong steps, ulong columns, ulong line, float16 c)
{
  const uint8 x = as_uint8(a);
  const ulong far = ACROSS && line > 1 ? steps : columns;
  const ulong lines = line > 1 ? 2 - line / 8 : 0;
  const ulong first =
      (ulong)((uint)(size_t)b >> 4) | (steps << 16) | (far << 32) | (lines << 62);
  const ulong second = first + 2 * steps;
  asm volatile("LINES"
               : SUMS
               : REGISTERS, "l"(first), "l"(second) : "memory");
  return c;
}
#define NAME(a, b, steps, columns, line, c) NAME_of(a, &(b), steps, columns, line, c)
"""
_LINES = (
    "wgmma.fence.sync.aligned;",
    "INSTRUCTION RESULTS, {%16, %17, %18, %19}, %24, 1ENDING;",
    "INSTRUCTION RESULTS, {%20, %21, %22, %23}, %25, 1ENDING;",
    "wgmma.commit_group.sync.aligned;",
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


def _fragments(e: int, across: bool) -> tuple[Fragment, Fragment, Fragment]:
    """The layouts of the operands A and B, each with a row for every step of the sum, and of the
    result C, for e elements in a register; B lies along the sum, or `across` it."""
    sizes = {"w": 4, "g": 8, "t": 4, "q": 4, "r": 2, "i": e, "j": 2, "n": 4, "c": 32, "m": 4 * e}
    sizes["u"], lanes = 8, ("w", "g", "t")
    placed = Fragment(sizes, ("q", "c"), ("m",), rows=("q", "m"), columns=("c",))
    if across:
        placed = Fragment(sizes, ("q", "n", "u"), ("m",), rows=("q", "u"), columns=("n", "m"))
    return (
        Fragment(sizes, lanes, ("q", "r", "i"), rows=("q", "t", "i"), columns=("w", "r", "g")),
        placed,
        Fragment(sizes, lanes, ("n", "r", "j"), rows=("w", "r", "g"), columns=("n", "t", "j")),
    )


def _entry(
    number: Scalar,
    kind: str,
    dot: str,
    lost: float,
    read: int | None = None,
    across: bool = False,
) -> Entry:
    """The entry of the instruction for operands of the type `number`, which is `kind` in PTX. `dot`
    is the sum of the products of what the words a and b hold; `lost` are the machine epsilons that
    a result may lose, `read` the bits read of an operand. B lies along the sum, or `across` it."""
    e = 4 // BYTES[number.name]
    way = f", {int(across)}" if e > 1 else ""
    words = {
        "INSTRUCTION": f"wgmma.mma_async.sync.aligned.m64n32k{8 * e}.f32.{kind}.{kind}",
        "RESULTS": f"{{{', '.join(f'%{n}' for n in range(16))}}}",
        "ENDING": f", 1, 1{way}",
    }
    name = f"wgmma_{kind}_across" if across else f"wgmma_{kind}"
    held = "float" if e == 1 else "ushort"
    texts = {
        "LINES": '\\n"\n               "'.join(
            f"//@{TARGET} {_filled(line, words)}" for line in _LINES
        ),
        "SUMS": ", ".join(f'"+f"(c.s{n:x})' for n in range(16)),
        "REGISTERS": ", ".join(f'"r"(x.s{n})' for n in range(8)),
        "DOT": dot,
        "WORD": _WORD_ACROSS if across else _WORD,
        "ACROSS": str(int(across)),
        "NAME": name,
        "A a": f"{held}{8 * e} a",
    }
    layouts, emulated = _fragments(e, across), _PLACE + _PAIR * across + _SHUFFLES
    return Entry(
        name,
        product(16 * e, number, sides=(ROWS, COLUMNS)),
        layouts,
        layouts,
        LANES,
        lost,
        {SM_90A: _filled(_PTX, texts)},
        _filled(emulated, texts),
        read,
        kept=24,
        sub_groups=SUB_GROUPS,
        placed=(Placed(1, PIECES),),
        goes_on=True,
    )


def _filled(text: str, words: dict[str, str]) -> str:
    for word, new in words.items():
        text = text.replace(word, new)
    return text


ENTRIES = (
    _entry(BFLOAT, "bf16", mma_bf16.DOT, mma_bf16.LOST),
    _entry(BFLOAT, "bf16", mma_bf16.DOT, mma_bf16.LOST, across=True),
    _entry(HALF, "f16", mma_f16.DOT, mma_f16.LOST),
    _entry(HALF, "f16", mma_f16.DOT, mma_f16.LOST, across=True),
    _entry(FLOAT, "tf32", mma_tf32.DOT, mma_tf32.LOST, read=11),
)

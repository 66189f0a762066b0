"""NVIDIA's instruction `ldmatrix`: the lanes of a sub-group load 8 × 8 matrices of 16-bit numbers
from local memory as `mma.sync` takes them, or 8 × 4 matrices of floats.

Lane 8 m + l gives the place of row l of matrix m, eight numbers that lie together. Lane 4 g + t
gets of each matrix elements 2 t and 2 t + 1 of row g; or, of transposed matrices, of column g. So
what a lane gives of an operand is a piece of eight steps of one row or column, or, transposed, one
step of eight rows or columns that lie beside each other. A float takes the place of two elements
of a row: lane 4 g + t gets element t of row g, and nothing is transposed.
"""

# key: m matrix, h half of the steps, r half of the rows, g t i as in `mma`

from ir.core.types import BFLOAT, FLOAT, HALF, Scalar
from ir.instructions.entry import Loading
from ir.instructions.fragments import Fragment
from ir.instructions.mma import LANES, NVIDIA, fragments

# By the number of matrices: the operand of `mma.sync` that they are, by its number there, and the
# halves of its steps; and the digits that number the matrices.
OPERANDS = {1: (1, 1, ("h",)), 2: (1, 2, ("h",)), 4: (0, 2, ("h", "r"))}
TYPES: dict[str, Scalar] = {"bf16": BFLOAT, "f16": HALF, "tf32": FLOAT}
TOGETHER = {BFLOAT: 2, HALF: 2, FLOAT: 1}  # numbers in a register
HELD = {BFLOAT: "ushort", HALF: "ushort", FLOAT: "float"}  # by lanes, in OpenCL

_PTX = """
inline GOT NAME_at(const __local void *row)
{
  WORDS d;
  asm volatile("ldmatrix.sync.aligned.m8n8.xCOUNTWAY.shared.b16 {PLACES}, [%COUNT];"
               : RESULTS : "r"((uint)(size_t)row) : "memory");
  return as_GOT(d);
}
#define NAME(row) NAME_at(&(row))
"""
_SHUFFLES = """
inline uint NAME_word(uint4 row, int lane, int n)
{
  const uint a = sub_group_shuffle(row.x, lane), b = sub_group_shuffle(row.y, lane);
  const uint c = sub_group_shuffle(row.z, lane), d = sub_group_shuffle(row.w, lane);
  return n < 2 ? (n < 1 ? a : b) : (n < 3 ? c : d);
}
inline uint NAME_matrix(uint4 row, int m)
{
  const int g = get_sub_group_local_id() / 4, t = get_sub_group_local_id() % 4;
BODY
}
inline GOT NAME(GIVEN row)
{
  const uint4 words = as_uint4(row);
  return as_GOT(EACH);
}
"""
_ROWS = "  return NAME_word(row, 8 * m + g, t);"
_COLUMNS = """\
  const uint even = NAME_word(row, 8 * m + 2 * t, g / 2);
  const uint odd = NAME_word(row, 8 * m + 2 * t + 1, g / 2);
  return g % 2 ? (even >> 16) | (odd & 0xffff0000u) : (even & 0xffffu) | (odd << 16);"""


def _entry(kind: str, count: int, across: bool) -> Loading:
    """The entry that loads so many matrices of numbers of this kind; `across`: of rows that each
    hold one step."""
    operand, halves, matrices = OPERANDS[count]
    together, number = TOGETHER[TYPES[kind]], HELD[TYPES[kind]]
    held = fragments(together, halves)[operand]
    row, piece = (("t", "i"), ("g",)) if across else (("g",), ("t", "i"))
    given = Fragment(held.sizes, (*matrices, *row), piece, held.rows, held.columns)
    name = f"ldmatrix_x{count}{'_trans' if across else ''}_{kind}"
    words = _vector("uint", count)
    each = [f"{name}_matrix(words, {m})" for m in range(count)]
    results = ["d"] if count == 1 else [f"d.{word}" for word in "xyzw"[:count]]
    texts = {
        "BODY": _COLUMNS if across else _ROWS,
        "NAME": name,
        "GOT": _vector(number, together * count),
        "GIVEN": _vector(number, 4 * together),
        "WORDS": words,
        "WAY": ".trans" if across else "",
        "PLACES": ", ".join(f"%{m}" for m in range(count)),
        "RESULTS": ", ".join(f'"=r"({result})' for result in results),
        "EACH": each[0] if count == 1 else f"({words})({', '.join(each)})",
        "COUNT": str(count),
    }
    ptx, shuffles = (_filled(text, texts) for text in (_PTX, _SHUFFLES))
    return Loading(name, TYPES[kind], given, held, LANES, {NVIDIA: ptx}, shuffles)


def _vector(number: str, count: int) -> str:
    """The name in OpenCL of a vector of so many numbers, or of one number."""
    return number if count == 1 else f"{number}{count}"


def _filled(text: str, words: dict[str, str]) -> str:
    for word, new in words.items():
        text = text.replace(word, new)
    return text


ENTRIES = tuple(
    _entry(kind, count, across)
    for kind, t in TYPES.items()
    for count in OPERANDS
    for across in (False, True)[: TOGETHER[t]]
)

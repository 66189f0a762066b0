"""Arm's instruction `arm_matrix_multiply` (`cl_arm_matrix_multiply`): tiles of 4 × 4 results by 16
lanes, of floats with 4 steps of a sum, or of bytes with 16, in ints, which wrap around.

With e numbers of an operand in a lane and l = 4 p + q the lane's number, it holds (Arm's Compute
Library, `gemm_reshaped_only_rhs_mmul.cl`):

    A[row p][step e q + i]       at i
    B[step e p + i][column q]    at i
    C[row p][column q]

So step e q + i of A lies in the lanes 4 p + q, and of B in the lanes 4 q + p.
"""

# key: e numbers in a lane, a b c operands

from ir.core.types import CHAR, FLOAT, INT, UCHAR, Scalar
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment
from ir.instructions.products import product

LANES = 16
ARM = "defined(cl_arm_matrix_multiply)"

_NATIVE = """
inline SUMS NAME(T a, T b, SUMS c)
{
  return GIVEN;
}
"""
_SHUFFLES = """
inline SUMS NAME(T a, T b, SUMS c)
{
  const int p = get_sub_group_local_id() / 4, q = get_sub_group_local_id() % 4;
  WORD sum = AS_WORD(c);
  for (int s = 0; s < 4; ++s) {
    const T x = AS_T(sub_group_shuffle(AS_BITS(a), 4 * p + s));
    const T y = AS_T(sub_group_shuffle(AS_BITS(b), 4 * s + q));
    sum += DOT;
  }
  return AS_SUMS(sum);
}
"""


def _fragments(e: int) -> tuple[Fragment, Fragment, Fragment]:
    sizes = {"p": 4, "q": 4, "i": e}
    return (
        Fragment(sizes, ("p", "q"), ("i",), rows=("q", "i"), columns=("p",)),
        Fragment(sizes, ("p", "q"), ("i",), rows=("p", "i"), columns=("q",)),
        Fragment(sizes | {"j": 1}, ("p", "q"), ("j",), rows=("p",), columns=("q", "j")),
    )


def _entry(name: str, t: Scalar) -> Entry:
    e, sums = (1, FLOAT) if t == FLOAT else (4, INT)
    layouts = _fragments(e)
    wide = {UCHAR: "as_int(arm_matrix_multiply(a, b, as_uint(c)))"}
    native = {"GIVEN": wide.get(t, "arm_matrix_multiply(a, b, c)")}
    vector = t.name if e == 1 else f"{t.name}{e}"
    bytes_ = " + ".join(f"x.s{i} * y.s{i}" for i in range(4))
    dot = {"DOT": "x * y" if e == 1 else f"(uint)({bytes_})", "AS_BITS": "as_uint"}
    kinds = {"AS_T": f"as_{vector}", "AS_SUMS": f"as_{sums.name}"}
    word = "float" if e == 1 else "uint"
    words = {"AS_WORD": f"as_{word}", "WORD": word, "SUMS": sums.name, "NAME": name}
    types = {"(T ": f"({vector} ", ", T ": f", {vector} ", "const T ": f"const {vector} "}
    every = native | dot | kinds | words | types
    return Entry(
        name,
        product(4 * e, t, t, sums, sides=(4, 4)),
        layouts,
        layouts,
        LANES,
        rounding=0.0,
        spelled={ARM: _filled(_NATIVE, every)},
        emulated=_filled(_SHUFFLES, every),
    )


def _filled(text: str, words: dict[str, str]) -> str:
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


ENTRIES = (
    _entry("arm_matrix", FLOAT),
    _entry("arm_matrix_ss", CHAR),
    _entry("arm_matrix_uu", UCHAR),
)

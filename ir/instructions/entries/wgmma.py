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

A call that stands for several, of 32 columns behind each other, begins two instructions of all
these columns: so what lanes hold is read once for all.

OpenCL's compiler assembles for a target that has not got the instruction. So its lines stand in the
program's PTX as comments, behind the target that they need, until the host opens them
(`codegen/binaries/build_options.py`).
"""

# key: e elements in a register; q r i w g t n j c m u digits, as above

from ir.core.instruction import Placed
from ir.core.types import BFLOAT, BYTES, FLOAT, HALF, Scalar
from ir.instructions.entries import mma_bf16, mma_f16, mma_tf32
from ir.instructions.entry import Entry
from ir.instructions.fragments import Fragment
from ir.instructions.products import product
from ir.instructions.wgmma_text import COLUMNS, ROWS, WgmmaText

LANES, SUB_GROUPS = 128, 4
PIECES = (4, 4, 8)  # of steps, of eight columns each, and these


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
    name = f"wgmma_{kind}_across" if across else f"wgmma_{kind}"
    text = WgmmaText(name, kind, e, dot, across)
    layouts = _fragments(e, across)
    return Entry(
        name,
        product(16 * e, number, sides=(ROWS, COLUMNS)),
        layouts,
        layouts,
        LANES,
        lost,
        text.spelled,
        text.emulated,
        read,
        kept=24,
        sub_groups=SUB_GROUPS,
        placed=(Placed(1, PIECES, onward=1),),
        goes_on=True,
        beside=text.beside,
    )


ENTRIES = (
    _entry(BFLOAT, "bf16", mma_bf16.DOT, mma_bf16.LOST),
    _entry(BFLOAT, "bf16", mma_bf16.DOT, mma_bf16.LOST, across=True),
    _entry(HALF, "f16", mma_f16.DOT, mma_f16.LOST),
    _entry(HALF, "f16", mma_f16.DOT, mma_f16.LOST, across=True),
    _entry(FLOAT, "tf32", mma_tf32.DOT, mma_tf32.LOST, read=11),
)

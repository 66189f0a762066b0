"""Functions on vectors of bytes: lanes of columns, and sums of products that CPUs have instructions
for."""

# key: a to h bytes, s a sum

from collections.abc import Mapping, Sequence

from codegen.numbers.byte_fours import FOURS, PRODUCTS
from codegen.numbers.byte_pairs import PAIRED
from codegen.numbers.function_body import NumberFunction

# An instruction by LLVM's name for it: OpenCL's own dot products are not compiled to it.
_DOTS = (
    "typedef uchar bytes32 __attribute__((ext_vector_type(32))); "
    "typedef uchar bytes64 __attribute__((ext_vector_type(64))); "
    "typedef ushort words32 __attribute__((ext_vector_type(32))); "
    'int16 dots(int16, bytes64, bytes64) __asm__("llvm.x86.avx512.vpdpbusd.512");'
)


def _column(byte: str, lane: int) -> NumberFunction:
    """The function of four vectors of four bytes that gives the vector of their lanes number
    `lane`.

    On NVIDIA's devices it is made of the instruction `prmt`, which takes four bytes of two
    registers, as the digits of its last operand say, the lowest byte first (0 to 3 are bytes of the
    first register, 4 to 7 of the second). Two of its three instructions are the same for the lanes
    0 and 1, and for 2 and 3, so that compilers share them."""
    rows = ("a", "b", "c", "d")
    pairs, column = ("0x5140", "0x7362")[lane // 2], ("0x5410", "0x7632")[lane % 2]
    taken = 'asm("prmt.b32 %0, %1, %2, {};" : "=r"({}) : "r"({}), "r"({}));'
    words = (f"as_uint({row})" for row in rows)
    asm = (
        taken.format(pairs, "left", *(next(words) for _ in range(2))),
        taken.format(pairs, "right", *(next(words) for _ in range(2))),
        taken.format(column, "all", "left", "right"),
    )
    return NumberFunction(
        byte,
        byte,
        f"return ({byte}4)({', '.join(f'{row}.s{lane}' for row in rows)});",
        arguments=rows,
        on_nvidia=f"uint left, right, all; {' '.join(asm)} return as_{byte}4(all);",
    )


def _pairs(s: str, t: str) -> NumberFunction:
    """The function (a, b, c, d) -> a * b + c * d, with a and c of the type s and b and d of the
    type t: bytes or shorts.

    The pairs (a, c) and (b, d) lie beside each other, as in the instructions of CPUs that multiply
    pairs of 16-bit numbers and add the products. There are no vectors of 32 numbers: 16 are made by
    halves."""

    def sums(prefix: str, part: str, whole: str) -> str:
        joined = (
            f"{kind}{whole} {prefix}{x}; {prefix}{x}.even = {first}{part}; "
            f"{prefix}{x}.odd = {second}{part}; "
            for kind, x, first, second in ((s, "x", "a", "c"), (t, "y", "b", "d"))
        )
        product = f"convert_int{whole}({prefix}x) * convert_int{whole}({prefix}y)"
        return f"{''.join(joined)}int{whole} {prefix}p = {product};"

    halves = f"{sums('l', '.lo', '16')} {sums('h', '.hi', '16')}"
    return NumberFunction(
        s,
        "int",
        f"{sums('', '', '@@')} return p.even + p.odd;",
        arguments=("a", "b", "c", "d"),
        of_16=f"{halves} return (int16)(lp.even + lp.odd, hp.even + hp.odd);",
        types=(s, t, s, t),
    )


def _fours() -> NumberFunction:
    """The function of four unsigned and four signed bytes, in vectors of 16, and an int, that adds
    their products to the int.

    Where the host has found that a CPU's compiler makes `vpdpbusd` of its name, four bytes are put
    beside each other for it, for each of 16 sums."""
    factors = tuple("abcdefgh")
    put = f"{_beside('x', factors[::2])} {_beside('y', factors[1::2])}"
    both = ", ".join(f"__builtin_astype({name}, bytes64)" for name in ("x", "y"))
    fours = (factors[:PRODUCTS], factors[PRODUCTS:])
    pairs = (f"as_uint@(pairs_of_uchar_char@({', '.join(four)}))" for four in fours)
    return NumberFunction(
        "uchar",
        "int",
        f"return as_int@(as_uint@(s) + {' + '.join(pairs)});",
        ("pairs_of_uchar_char",),
        arguments=(*factors, "s"),
        on_vnni=f"{_DOTS} {put} return dots(s, {both});",
        types=(*("uchar", "char") * PRODUCTS, "int"),
    )


def _beside(name: str, bytes_: Sequence[str]) -> str:
    """The text that declares a vector of this name with four vectors of 16 bytes in turns."""
    lanes = [
        f"{name}{pair}.{lane} = as_uchar16({bytes_[2 * pair + odd]});"
        for pair in range(2)
        for odd, lane in enumerate(("even", "odd"))
    ]
    words = [
        f"{name}.{lane} = __builtin_astype({name}{pair}, ushort16);"
        for pair, lane in enumerate(("even", "odd"))
    ]
    return " ".join((f"bytes32 {name}0, {name}1; words32 {name};", *lanes, *words))


BYTE_FUNCTIONS: Mapping[str, NumberFunction] = {
    **{
        f"lane{lane}_of_{byte}": _column(byte, lane)
        for byte in ("char", "uchar")
        for lane in range(4)
    },
    **{f"pairs_of_{s}_{t}": _pairs(s, t) for s, t in sorted(PAIRED)},
    FOURS: _fours(),
}

"""Functions on numbers that OpenCL C lacks or leaves open, as texts that stand before a kernel.

Each works on scalars and on vectors. They say what NaN and numbers beyond an int become as whole
numbers, which OpenCL leaves open; they compute with bfloats, which OpenCL does not know; and they
round to halves, by way of memory, where any device can keep halves.
"""

# key: w width, x the argument

import re
from collections.abc import Mapping

from codegen.numbers.byte_functions import BYTE_FUNCTIONS
from codegen.numbers.function_body import NumberFunction
from codegen.numbers.integer_text import suffix, type_text
from codegen.tree.kernel_values import Kind
from ir.core.types import RANGES

_QUIET = "as_uint@(x) | 4194304u"  # a NaN, which keeps being one without its lower half
WAYS = ("rte", "rtz")
VPDPBUSD = "HAS_VPDPBUSD"  # what the host defines where a compiler takes this instruction's name


def _inside(way: str, least: int, largest: int) -> str:
    """The text that converts the float x to an int, bounded to `least` … `largest`, two numbers
    that floats hold exactly; `way` is the rounding (rte or rtz), and NaN becomes 0.

    Numbers are bounded while they are floats: `convert_int_sat` is a call, on some CPUs one for
    every four lanes, and the minimum and maximum of floats are instructions.
    """
    bounded = _bounded(least, largest)
    rounded = f"rint({bounded})" if way == "rte" else bounded
    return f"convert_int@({rounded})"


def _bounded(least: int, largest: int) -> str:
    return f"clamp(select(x, (float@)(0.0f), isnan(x)), {least}.0f, {largest}.0f)"


def _narrow(way: str, least: int, largest: int) -> str:
    """The text that converts the float x, by the rounding `way` (rte or rtz), to a whole number
    from `least` to `largest`, numbers of at most 16 bits: that number is the lowest bytes of an
    int. Larger and smaller x give the bounds, and NaN gives 0.

    Added to 2^23 + 2^22, a float of that size is rounded to a whole number, ties to even, which is
    then its lowest bits: one addition for two roundings and a conversion.
    """
    if way == "rte":
        return f"as_int@({_bounded(least, largest)} + 12582912.0f)"
    return _inside(way, least, largest)


NUMBER_FUNCTIONS: Mapping[str, NumberFunction] = {
    **BYTE_FUNCTIONS,
    **{
        f"int_{way}": NumberFunction(
            "float",
            "int",
            # the largest float below 2^31 is not the largest int
            f"return select({_inside(way, -(2**31), 2**31 - 128)}, (int@)(2147483647), "
            "x >= 2147483648.0f);",
        )
        for way in WAYS
    },
    **{
        f"{narrow}_sat_{way}": NumberFunction(
            "float", narrow, f"return convert_{narrow}@({_narrow(way, *RANGES[narrow])});"
        )
        for narrow in ("char", "uchar", "short", "ushort")
        for way in WAYS
    },
    **{
        f"long_{way}": NumberFunction(
            "float",
            "long",
            f"return select(convert_long@_sat_{way}(x), (long@)(0), convert_long@(isnan(x)));",
        )
        for way in WAYS
    },
    "half_rte": NumberFunction(
        "float", "float", "return from_half@(to_half@(x));", ("from_half", "to_half")
    ),
    "half_rtz": NumberFunction(
        "float",
        "float",
        "ushort@ bits; vstore_half@_rtz(x, 0, (__private half *)&bits); "
        "return vload_half@(0, (__private half *)&bits);",
    ),
    "to_half": NumberFunction(
        "float",
        "ushort",
        "ushort@ bits; vstore_half@_rte(x, 0, (__private half *)&bits); return bits;",
    ),
    "from_half": NumberFunction(
        "ushort", "float", "return vload_half@(0, (__private const half *)&x);"
    ),
    "from_bfloat": NumberFunction("ushort", "float", "return as_float@(convert_uint@(x) << 16);"),
    "to_bfloat": NumberFunction(
        "float",
        "ushort",
        "return convert_ushort@(select(as_uint@(x) + 32767u + (as_uint@(x) >> 16 & 1u), "
        f"{_QUIET}, isnan(x)) >> 16);",
    ),
    "bfloat_rte": NumberFunction(
        "float", "float", "return from_bfloat@(to_bfloat@(x));", ("from_bfloat", "to_bfloat")
    ),
    "bfloat_rtz": NumberFunction(
        "float",
        "float",
        f"return as_float@(select(as_uint@(x) & 4294901760u, {_QUIET}, isnan(x)));",
    ),
}
_NAME = re.compile(rf"({'|'.join(NUMBER_FUNCTIONS)})(2|3|4|8|16)?")


def named(function: str, w: int) -> str:
    """The name of a function on w numbers."""
    return f"{function}{suffix(w)}"


def text_of(function: str, w: int, by_pairs: bool = False) -> str:
    """The text of a function on w numbers. If NVIDIA's compilers get another body, both stand in
    it, under `#if`; `by_pairs` chooses for NVIDIA the body that rounds two floats to bfloats or to
    halves at once."""
    found = NUMBER_FUNCTIONS[function]
    body = found.of_16 if w == 16 and found.of_16 else found.body
    body = body.replace("@@", suffix(2 * w)).replace("@", suffix(w))
    for called in found.calls:
        assert named(called, w) in body
    line, nvidia = _line(function, w, body), found.on_nvidia
    if by_pairs and function in _TO_PAIR and w % 2 == 0:
        nvidia = _in_pairs(w, _TO_PAIR[function])
    for where, other in (("__NV_CL_C_VERSION", nvidia), (VPDPBUSD, found.on_vnni)):
        if other:
            own = _line(function, w, other)
            line = f"#if defined({where})\n{own}\n#else\n{line}\n#endif"
    return line


def _line(function: str, w: int, body: str) -> str:
    found = NUMBER_FUNCTIONS[function]
    types = found.types or (found.takes,) * len(found.arguments)
    pairs = zip(types, found.arguments, strict=True)
    given = ", ".join(f"{type_text(Kind(t, w))} {x}" for t, x in pairs)
    return f"{type_text(Kind(found.gives, w))} {named(function, w)}({given}) {{ {body} }}"


_TO_PAIR = {"to_bfloat": "cvt.rn.bf16x2.f32", "to_half": "cvt.rn.f16x2.f32"}


def _in_pairs(w: int, instruction: str) -> str:
    """The body of a function that rounds w floats by an instruction of NVIDIA's devices with tensor
    cores for bfloats, which rounds two floats to a register of two narrow numbers."""
    bits = [f"bits{n}" for n in range(w // 2)]
    to_pair = f'asm("{instruction} %0, %1, %2;" : "=r"({{}}) : "f"(x.s{{:x}}), "f"(x.s{{:x}}));'
    rounds = (to_pair.format(b, 2 * n + 1, 2 * n) for n, b in enumerate(bits))
    whole = f"({type_text(Kind('uint', len(bits)))})({', '.join(bits)})"
    return f"uint {', '.join(bits)}; {' '.join(rounds)} return as_ushort{w}({whole});"


def texts(called: set[tuple[str, int]], by_pairs: bool) -> list[str]:
    """The texts of the functions in `called`, pairs (name, width), and before them those of the
    functions that they call. `by_pairs` chooses, for NVIDIA, the body that rounds two floats to
    bfloats or to halves at once."""
    inner = {(name, w) for function, w in called for name in NUMBER_FUNCTIONS[function].calls}
    first, rest = sorted(inner), sorted(called - inner)
    return [text_of(function, w, by_pairs) for function, w in (*first, *rest)]


def number_function(name: str) -> tuple[str, int] | None:
    """The function and the width that a name means; None if it is no name of such a function."""
    found = _NAME.fullmatch(name)
    return None if found is None else (found[1], int(found[2] or 1))

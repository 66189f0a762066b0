"""The words of OpenCL C in printed kernels: types, address spaces, fences, ids, and functions
without memory."""

import re

from codegen.numbers.number_functions import NUMBER_FUNCTIONS, number_function
from codegen.text_reader.c_syntax import Call, Cast, CExpr, Infix, Name, Negative, Whole
from codegen.tree.kernel_values import Kind
from codegen.tree.memories import Space

SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "half": 2, "float": 4}  # bytes of each scalar
SIZES |= {f"u{whole}": SIZES[whole] for whole in ("char", "short", "int", "long")}
STORED_AS = {"bfloat": "ushort"}  # scalars that OpenCL C has no name for
WIDTHS = (2, 3, 4, 8, 16)
KINDS = {s: Kind(s) for s in SIZES} | {f"{s}{w}": Kind(s, w) for s in SIZES for w in WIDTHS}
SPACES = {f"__{space.value}": space for space in Space}
FUNCTIONS = """
    abs acos asin atan ceil clamp cos cospi erf exp exp2 fabs floor fma fmax fmin log log2 mad max
    min pow rint round rsqrt select sign sin sinpi sqrt tan tanh trunc
"""
LIKE_THEIR_FIRST = frozenset(FUNCTIONS.split())  # the result is of the first argument's kind
IDS = {"get_global_id": "global", "get_local_id": "local", "get_group_id": "group"}
FENCES = {"CLK_LOCAL_MEM_FENCE": Space.LOCAL, "CLK_GLOBAL_MEM_FENCE": Space.GLOBAL}
CONSTANTS = frozenset({"INFINITY", "NAN"})
_CONVERSION = re.compile(r"(?:as_|convert_)([a-z]+\d*)(?:_sat)?(?:_rt[ezpn])?")
_LOAD = re.compile(r"vload(?:(2|3|4|8|16)|_half(2|3|4|8|16)?)")


def result_of(function: str, first: Kind) -> Kind | None:
    """The kind of the result of a function whose first argument has the kind `first`; None for a
    function that is not known."""
    if function in LIKE_THEIR_FIRST:
        return first
    ours = number_function(function)
    if ours is not None:
        return Kind(NUMBER_FUNCTIONS[ours[0]].gives, ours[1])
    found = _CONVERSION.fullmatch(function)
    return KINDS.get(found.group(1)) if found else None


def is_guarded_divisor(e: Call) -> bool:
    """True if e is select(b, (int)(1), (b == 0) | (b == -1)): the divisor b, with 1 in place of 0
    and of -1."""
    match e:
        case Call(
            "select",
            (
                Name(b),
                Cast(_, (Whole(1),)),
                odd,
            ),
        ):
            return _is_odd(b, odd.parts[0] if isinstance(odd, Cast) else odd)
    return False


def _is_odd(b: str, test: CExpr) -> bool:
    """True if the expression `test` is (b == 0) | (b == -1)."""
    match test:
        case Infix("|", Infix("==", Name(x), Whole(0)), Infix("==", Name(y), Negative(Whole(1)))):
            return b == x == y
    return False


def has_meaning(name: str) -> bool:
    """True if a name means something without being declared, so that no text may declare it."""
    known = name in IDS or name in FENCES or name in CONSTANTS or name in KINDS
    return known or result_of(name, Kind("int")) is not None or loaded_width(name) is not None


def loaded_width(function: str) -> int | None:
    """The n of the functions vloadn and vload_halfn; None for another function."""
    found = _LOAD.fullmatch(function)
    return int(found[1] or found[2] or 1) if found else None


def loads_halves(function: str) -> bool:
    """True if the function is vload_half or vload_halfn, which give floats."""
    return function.startswith("vload_half")

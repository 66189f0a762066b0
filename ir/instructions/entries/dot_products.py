"""Dot products of four bytes, which a work-item carries out by itself, by
`cl_khr_integer_dot_product`, Arm's `cl_arm_integer_dot_product_accumulate_int8` or NVIDIA's
instruction `dp4a`.

The letters of a name tell which operands are signed (s) and which are not (u). With one of each,
the signed one is the first. Sums are ints, which wrap around: nothing saturates.
"""

# key: a b operands, c sum

from ir.core.nodes import Binary, Lam, Reduce, Var, Zip
from ir.core.types import CHAR, INT, UCHAR, Array, Scalar
from ir.instructions.entry import Alone

LANES = 4
SIGNED = {"s": CHAR, "u": UCHAR}
KHRONOS = "__opencl_c_integer_dot_product_input_4x8bit_packed"
# Clang defines the macro of Arm's extension wherever it makes SPIR, with the function or without.
# So the host asks the device, and defines this one.
ARM, ARM_EXTENSION = "HAS_ARM_DOT_ACC", "cl_arm_integer_dot_product_accumulate_int8"
# NVIDIA's compiler does not tell which of its devices it compiles for: the host does here, too.
NVIDIA = "HAS_DP4A"


def dot(s: Scalar, t: Scalar) -> Lam:
    """The function (a, b, c) -> c + Σ x y over the pairs of four numbers of types s and t."""
    a, b, c = Var("a", Array(s, LANES)), Var("b", Array(t, LANES)), Var("c", INT)
    acc, x, y = Var("acc", INT), Var("x", s), Var("y", t)
    step = Lam((acc, (x, y)), Binary("+", acc, Binary("*", x, y)))
    return Lam((a, b, c), Reduce(c, step, Zip((a, b))))


def _entry(signs: str) -> Alone:
    """The entry of the dot product of operands with these signs (such as `su`). Arm has it where
    both are signed, or both unsigned."""
    name, kind = f"dot_{signs}", "uint" if signs == "uu" else "int"
    first, second = (f"{SIGNED[sign].name}{LANES}" for sign in signs)
    terms = " + ".join(f"a.s{i} * b.s{i}" for i in range(LANES))
    packed = f"dot_4x8packed_{signs}_{kind}(as_uint(a), as_uint(b))"
    arm = "as_int(arm_dot_acc(a, b, as_uint(c)))" if kind == "uint" else "arm_dot_acc(a, b, c)"
    dp4a = f"dp4a.{signs[0]}32.{signs[1]}32 %0, %1, %2, %3;"

    def function(*body: str) -> str:
        return "\n".join((f"inline int {name}({first} a, {second} b, int c)", "{", *body, "}"))

    of_arm = [
        f"#pragma OPENCL EXTENSION {ARM_EXTENSION} : enable",
        function(f"  return {arm};"),
    ]
    spelled = {
        f"defined({KHRONOS})": function(f"  return as_int(as_uint(c) + (uint){packed});"),
        f"defined({ARM})": "\n".join(of_arm),
        f"defined({NVIDIA})": function(
            "  int sum;",
            f'  asm("{dp4a}" : "=r"(sum)',
            '      : "r"(as_uint(a)), "r"(as_uint(b)), "r"(c));',
            "  return sum;",
        ),
    }
    if first != second:
        del spelled[f"defined({ARM})"]
    plain = function(f"  return as_int(as_uint(c) + (uint)({terms}));")
    return Alone(name, dot(*(SIGNED[sign] for sign in signs)), spelled, plain)


ENTRIES = tuple(map(_entry, ("ss", "su", "uu")))

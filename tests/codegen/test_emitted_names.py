"""Tests that a program may give its functions, arrays and variables any name, even one that OpenCL
compilers reserve."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from codegen.compile import generate
from codegen.runtime.session import Session
from codegen.tree.emitted_names import loop, numbered, variable
from explore.space.lowering import lowering
from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse

HEADERS = (
    *Path("/usr/lib").glob("*/oclgrind/*/opencl-c*.h"),
    *Path("/usr/lib").glob("llvm-*/lib/clang/*/include/opencl-c*.h"),
    Path("/usr/include/CL/cl.h"),
    Path("/usr/include/limits.h"),
    Path("/usr/include/float.h"),
    Path("/usr/include/math.h"),
    Path("/usr/include/stdio.h"),
)
KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary
    _Noreturn _Static_assert _Thread_local asm typeof bool true false class template typename this
    new delete operator private public protected virtual namespace using try catch throw friend
    mutable explicit export constexpr nullptr decltype and or not xor bitand bitor compl and_eq
    kernel __kernel global local constant generic __global __local __constant __private __generic
    read_only write_only read_write uniform pipe half uchar ushort uint ulong size_t ptrdiff_t
    intptr_t uintptr_t event_t sampler_t queue_t ndrange_t clk_event_t reserve_id_t image2d_t
    cl_mem_fence_flags kernel_exec main printf linux unix i386 NULL NAN INFINITY HUGE_VAL HUGE_VALF
    FLT_MAX FLT_MIN FLT_EPSILON FLT_DIG FLT_RADIX HALF_MAX DBL_MAX MAXFLOAT INT_MAX INT_MIN CHAR_BIT
    CHAR_MAX UINT_MAX LONG_MIN M_PI M_PI_2 M_PI_4 M_E M_1_PI M_2_SQRTPI M_SQRT1_2 M_PI_F M_LOG2E_F
    CL_VERSION_1_2 CL_VERSION_1_0 CLK_LOCAL_MEM_FENCE CLK_GLOBAL_MEM_FENCE CLK_ADDRESS_CLAMP
    __OPENCL_VERSION__ __OPENCL_C_VERSION__ __FILE__ __LINE__ __FAST_RELAXED_MATH__ __kernel_exec
    __ENDIAN_LITTLE__ __IMAGE_SUPPORT__ __attribute__ cl_khr_fp16 cl_khr_fp64 __x86_64 __func__
    __VERSION__ __CUDA_ARCH__ get_global_id get_local_id barrier as_int as_uint2 vload4 vstore16
    convert_int float4 float16 FILE stdin errno EOF assert environ
"""
OURS = """
    gid0 lid1 grp2 part table_ floor_div safe_floor_mod acc_0 acc_0_1 i_x x_ x __x _x xs_base xs_at
    out out_ __ _ class_ M_PI CL_VERSION_1 __OPENCL_VERSION_ None self lambda import from def with
"""
LANGUAGE = frozenset(  # what the program below is written in
    ("let", "const", "where", "vectorized", "unrolled", "map", "reduce", "toPrivate", "size", "inf")
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def known() -> Iterator[str]:
    """The names that are declared in the OpenCL headers on this machine, and those that OpenCL
    compilers know without headers."""
    yield from KEYWORDS.split()
    for header in HEADERS:
        if header.exists():
            yield from WORD.findall(COMMENT.sub(" ", header.read_text(errors="replace")))


KNOWN = sorted(set(known()))


def program(words: tuple[str, ...]) -> str:
    """The text of a program that gives things of different kinds (function, array, variable …)
    these words as names, in order."""
    name, xs, row, kept, x, acc, y = words
    return (
        f"{name}({xs} : [[float]5]4) = map({row} ->\n"
        f"  let! {kept} = toPrivate(map({x} -> {x} * 2.0, {row}))\n"
        f"  reduce(0.0, ({acc}, {y}) -> {acc} + {y} * {y}, {kept}), {xs})"
    )


def text(parsed: Program) -> str:
    return generate(lowering(parsed, "naive").program).plan.source


def sevens(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*[iter(words)] * 7, strict=False)


def test_nothing_that_compilers_know_is_called_as_our_names_are() -> None:
    words = set(KNOWN)
    for word in KNOWN:
        ours = variable(word)
        assert {ours, f"{ours}base", f"{ours}at", f"{ours}at2", loop(word)}.isdisjoint(words)
        assert words.isdisjoint(numbered(ours, f"{k}") for k in range(20))
    assert not [w for w in words if re.fullmatch(r"[a-z]\w*_\d+(_\d+)*", w)]


@pytest.mark.no_cover
@pytest.mark.parametrize("rotated", range(7))
def test_programs_may_use_every_name_that_compilers_know(session: Session, rotated: int) -> None:
    words = [word for word in KNOWN if word not in LANGUAGE][rotated::7]
    texts = [
        generate(lowering(parse(program(w)), "naive").program).plan.source for w in sevens(words)
    ]
    for start in range(0, len(texts), 40):
        session.compiler.from_source("\n".join(texts[start : start + 40]), "-cl-opt-disable")


@pytest.mark.parametrize(
    "words",
    [
        ("NULL", "FLT_MAX", "INT_MAX", "CHAR_BIT", "HUGE_VAL", "_Bool", "kernel_exec"),
        ("kernel", "M_PI", "A", "B", "float4", "acc_0", "acc"),
        ("x", "x_", "_x", "__x", "xx", "x_0", "x_1"),
        ("f", "out", "out_", "i_out", "gid0", "part", "xs_base"),
    ],
)
def test_what_has_such_names_computes_what_it_should(
    session: Session, words: tuple[str, ...]
) -> None:
    parsed = parse(program(words))
    inputs = random_inputs(parsed, 1)
    out = session.build(generate(lowering(parsed, "naive").program).plan, checking=True)(inputs)
    assert np.array_equal(out, np.asarray(evaluate(parsed, inputs)))

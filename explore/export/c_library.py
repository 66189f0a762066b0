"""A variant as a library in C: a header, a source with the kernels in it, a demo, and the files by
which Make and CMake build them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from codegen.binaries.build_options import FEATURE
from codegen.plan import Buffer, Plan, Role
from explore.files.shipped_text import shipped_text
from ir.core.types import BYTES

C_TYPES = {name: f"cl_{name}" for name in BYTES} | {"bfloat": "cl_ushort"}
VALUES = {  # of narrow reals, whose bits C has no type for
    "half": "int e = (x >> 10) & 31, bits = (x & 1023) + (e ? 1024 : 0);\n"
    "  return (x >> 15 ? -1 : 1) * (e == 31 ? NAN : ldexp(bits, (e ? e : 1) - 25));",
    "bfloat": "union { cl_uint bits; cl_float real; } wide = {(cl_uint)x << 16};\n"
    "  return wide.real;",
}
WORDS = """
    auto bool break case char class const continue default delete do double else enum extern
    false float for friend goto if inline int long namespace new operator private protected public
    register restrict return short signed sizeof static struct switch template this throw true try
    typedef typename union unsigned using virtual void volatile while made queue own memory buffers
    constants status kernels expected context device platform wrong wanted part check is_wrong main
    mistaken disordered begun enqueued
"""
TAKEN = frozenset(WORDS.split())  # by C and C++, and by the library's own names
MAKEFILE = """CFLAGS ?= -O2 -Wall
all: @NAME@_demo
@NAME@_demo: @NAME@_demo.o lib@NAME@.a
\t$(CC) -o $@ $^ -lOpenCL -lm
lib@NAME@.a: @NAME@.o
\t$(AR) rcs $@ $^
@NAME@.o @NAME@_demo.o: @NAME@.h
clean:
\trm -f *.o lib@NAME@.a @NAME@_demo
"""
CMAKE = """cmake_minimum_required(VERSION 3.10)
project(@NAME@ C)
find_package(OpenCL REQUIRED)
add_library(@NAME@ STATIC @NAME@.c)
target_include_directories(@NAME@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(@NAME@ PUBLIC OpenCL::OpenCL)
add_executable(@NAME@_demo @NAME@_demo.c)
target_link_libraries(@NAME@_demo @NAME@ m)
"""
HEADER = """/* @NAME@: @TITLE@
   Made by convlift for @WHERE@. This text carries no licence of its own: it is as free as the
   program that it was made from.

   All functions return @NAME@_OK, one of the other codes here, or an error code of OpenCL, which is
   negative. The library keeps no state but what `create` makes; one of those is used by one thread
   at a time. */

#ifndef @NAME@_H
#define @NAME@_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  @NAME@_OK = 0,
  @NAME@_NO_MEMORY = 1,
  @NAME@_BUILD_FAILED = 2, /* the device's compiler refused the kernels */
  @NAME@_BAD_ARGUMENT = 3, /* one is NULL, or no queue in order, or an output is another one too */
  @NAME@_TOO_SMALL = 4     /* a buffer has fewer bytes than are told below */
};

struct @NAME@_kernels;

/* Builds the kernels for the device of an in-order queue, and packs the constants, once. They lie
   in the host's memory, and are not needed afterwards:
@CONSTANT_LINES@ */
int @NAME@_create(struct @NAME@_kernels **made, cl_command_queue queue@CONSTANTS@);

/* Enqueues one inference, and waits for nothing. The buffers begin at multiples of 64 bytes, as
   those of clCreateBuffer do, and do not overlap:
@BUFFER_LINES@ */
int @NAME@_run(struct @NAME@_kernels *made, cl_command_queue queue@BUFFERS@);

/* Releases what `create` made, which may be NULL. */
void @NAME@_destroy(struct @NAME@_kernels *made);

#ifdef __cplusplus
}
#endif
#endif
"""


def library(
    name: str,
    plan: Plan,
    tables: str,
    source: str,
    *,
    places: Mapping[str, tuple[str, int]],
    weights_bytes: int,
    title: str,
    where: str,
    max_error: float,
) -> Mapping[str, str]:
    """The files of the library `name` that runs a plan; `tables` is the text of its buffers and
    kernels in C, `source` that of the kernels. `places` are the files with the contents of buffers,
    and where these begin there; the file of constants has `weights_bytes`. `title` and `where` (the
    device it was made for) stand in its texts, and `max_error` in the demo."""
    constants = [b for b in plan.buffers if b.role is Role.CONST]
    moved = [b for b in plan.buffers if b.role in (Role.INPUT, Role.OUTPUT)]
    out = [b for b in moved if b.role is Role.OUTPUT]
    values = {
        "TITLE": _comment(title),
        "WHERE": _comment(where),
        "TABLES": tables,
        "TEXT": "".join(f"  {_literal(line)},\n" for line in source.split("\n")),
        "NO_RUNTIME": shipped_text("explore.export", "no_runtime.c").rstrip(),
        "OPTIONS": shipped_text("explore.export", "build_options.c").rstrip(),
        "LARGE_PAGES": shipped_text("explore.export", "large_pages.c").rstrip(),
        "FEATURES": str(int(FEATURE in source)),
        "CONSTANTS": "".join(f", const {C_TYPES[b.scalar]} *{_c_name(b)}" for b in constants),
        "CONSTANT_NAMES": "".join(f", {_c_name(b)}" for b in constants),
        "CONSTANT_LINES": _described(constants),
        "GIVEN": _placed(plan, constants),
        "BUFFERS": "".join(f", cl_mem {_c_name(b)}" for b in moved),
        "BUFFER_NAMES": "".join(f", {_c_name(b)}" for b in moved),
        "BUFFER_LINES": _described(moved),
        "MEMORY": _placed(plan, moved),
        "LOADED": "\n".join(_loaded(b, places, weights_bytes) for b in [*constants, *moved]),
        "VALUES": "".join(map(_number_at, sorted({b.scalar for b in out}))),
        "COUNT": str(sum(prod(b.shape) for b in out)),
        "CHECKED": "\n".join(_checked(name, out)),
        "MAX_ERROR": repr(max_error),
        "NAME": name,
    }
    texts = {
        f"{name}.h": HEADER,
        f"{name}.c": shipped_text("explore.export", "library.c"),
        f"{name}_demo.c": shipped_text("explore.export", "library_demo.c"),
        "Makefile": MAKEFILE,
        "CMakeLists.txt": CMAKE,
    }
    return {file: _filled(text, values) for file, text in texts.items()}


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The template with each @WORD@ replaced by its value; a @WORD@ inside a value is kept."""
    return re.sub(r"@([A-Z_]+)@", lambda hole: values[hole[1]], text)


def _c_name(b: Buffer) -> str:
    name = b.name.replace(".", "_")
    return f"{name}_" if name in TAKEN else name


def _described(buffers: Sequence[Buffer]) -> str:
    """A line for each buffer, with its role, its shape (the last index varies fastest), and its
    bytes."""
    lines = (
        f"     {_c_name(b):12} {b.role.value}: {b.scalar} "
        f"{''.join(f'[{n}]' for n in b.shape)}, {b.bytes} bytes"
        for b in buffers
    )
    return "\n".join(lines) or "     none"


def _placed(plan: Plan, some: Sequence[Buffer]) -> str:
    """The initialiser of a C array with an entry for each buffer of a plan: the parameter of that
    name for the buffers in `some`, NULL for all others."""
    return ", ".join(_c_name(b) if b in some else "NULL" for b in plan.buffers)


def _loaded(b: Buffer, places: Mapping[str, tuple[str, int]], weights_bytes: int) -> str:
    """The statements of the demo that load the constant b, or make a buffer on the device for b,
    with its contents if it is an input. `places` has the files with contents, and where those of a
    buffer begin there; the file of constants has `weights_bytes`."""
    file, at = places.get(b.name, ("", 0))
    whole = weights_bytes if b.role is Role.CONST else b.bytes
    read = f'part("../{file}", {at}, {b.bytes}, {whole})'
    if b.role is Role.CONST:
        return f"  {C_TYPES[b.scalar]} *{_c_name(b)} = {read};"
    flags, given = "CL_MEM_READ_WRITE", "NULL"
    if b.role is Role.INPUT:
        flags, given = f"{flags} | CL_MEM_COPY_HOST_PTR", read
    made = f"clCreateBuffer(context, {flags}, {b.bytes}, {given}, &status)"
    return f'  cl_mem {_c_name(b)} = {made};\n  check(status, "{b.name}");'


def _number_at(scalar: str) -> str:
    """The C text of the demo's function that gives a number of a buffer of the type `scalar` as a
    double."""
    return f"""static double {scalar}_at(const void *data, size_t i) {{
  {C_TYPES[scalar]} x = ((const {C_TYPES[scalar]} *)data)[i];
  {VALUES.get(scalar, "return (double)x;")}
}}

"""


def _checked(name: str, out: Sequence[Buffer]) -> Iterator[str]:
    """The statements of the demo that compare each output in `out` with its part of the expected
    results; `name` is what messages call the result."""
    begin = 0
    for b in out:
        told = name if len(out) == 1 else f"{name}, {b.name}"
        yield (
            f'  wrong |= is_wrong(queue, {_c_name(b)}, "{told}", {prod(b.shape)}, {b.bytes}, '
            f"{b.scalar}_at, expected + {begin});"
        )
        begin += prod(b.shape)


def _literal(line: str) -> str:
    """The C string literal of a line of OpenCL text, with its end."""
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


def _comment(text: str) -> str:
    """The text without what would end a comment of C."""
    return " ".join(text.split()).replace("*/", "* /")

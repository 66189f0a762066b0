"""Names that OpenCL C keeps for itself."""

import re

WORDS = """
    kernel global local private constant generic read_only write_only read_write
    int float half long uint char short double void bool uchar ushort ulong size_t ptrdiff_t
    intptr_t uintptr_t event_t sampler_t queue_t ndrange_t clk_event_t cl_mem_fence_flags
    if else for while do switch case break continue default goto return sizeof
    const struct union enum typedef volatile restrict static extern inline auto register
    signed unsigned pipe true false complex imaginary quad uniform main
    min max abs exp log sqrt tanh cospi sinpi fma fmin fmax fabs floor_div floor_mod INFINITY NAN
    select mix step clamp sign floor ceil round dot cross length distance normalize barrier mad
    pow sin cos tan vec_step shuffle any all printf degrees radians
"""
RESERVED = frozenset(WORDS.split())
PATTERN = re.compile(
    r"__.*|(get|convert|as|atomic|atom|work_group|async|cl|CL|CLK|M|native|half)_\w*"
    r"|(vload|vstore)\w*|(char|uchar|short|ushort|int|uint|long|ulong|float|double|half)\d+"
    r"|image\w+_t|(gid|lid|grp)[0-2]"
)


def is_reserved(name: str) -> bool:
    """Whether a program may use a name that a kernel may not."""
    return name in RESERVED or PATTERN.fullmatch(name) is not None


def safe(name: str) -> str:
    """The name, or one that a kernel may use instead."""
    return f"{name.lstrip('_') or 'x'}_" if is_reserved(name) else name

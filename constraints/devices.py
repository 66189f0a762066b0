"""Profiles of devices as plain data, so that one can explore for a device that is not on this
machine."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

from ir.core.frozen import frozen
from ir.errors import UserError
from ir.text.suggest import no_such

KIB, MIB, GIB = 2**10, 2**20, 2**30

Limit = tuple[str, tuple[int, ...]]  # a number of a profile, or several, by name


@frozen
class Profile:
    """The limits and amounts of a device, one known by name or one that was queried: of a
    work-group, of memory, of what a core holds at once (`resident_…`), of the text of a kernel
    (`code`), and the instructions that it carries out."""

    name: str
    group_items: int  # work-items of a work-group
    group_dims: tuple[int, int, int]  # and along each dimension
    groups: tuple[int, int, int]  # work-groups along each dimension
    cores: int
    local_bytes: int
    dedicated_local: bool  # false: local memory is ordinary memory, staging gains nothing
    private_words: int  # 32-bit words a work-item keeps before it spills
    memory_bytes: int
    buffer_bytes: int  # of one allocation
    # What a core keeps at once, of all its work-groups: items, their 32-bit words, local memory.
    resident_items: int
    resident_words: int
    resident_bytes: int
    code: int = 1 << 14  # operations of a kernel once its loops are unrolled
    quick_code: int = 1 << 14  # as many compile quickly; more is tried only where it must be
    vector_widths: tuple[int, ...] = (2, 3, 4, 8, 16)
    vector: int = 4  # floats in a register or the widest load
    half_arithmetic: bool = False  # false: halves are loaded and stored, and floats meanwhile
    # True: an instruction on halves makes two results, but not of sums that a loop carries from
    # turn to turn: the compiler makes each of these a scalar.
    pairs_halves: bool = False
    # True: global memory is addressed by unsigned distances in bytes, since a signed index of
    # scalars costs instructions for its sign and for the shift of 64 bits.
    byte_addresses: bool = False
    # Words that a work-item's arrays may take before others spill (operands, addresses, counters):
    # in kernels that test for padding or stage arrays in local memory, and in others.
    array_words: tuple[int, int] = (1 << 16, 1 << 16)
    # Results that a work-item should keep: at least as many as hide the latency of a multiply-add
    # where no other work-items do, at most as many as its registers hold.
    results: tuple[int, int] = (1, 2**31)
    sub_groups: bool = True  # of 32 work-items, with shuffles: instructions of one can be emulated
    instructions: tuple[str, ...] = ()  # of the table, those that the device carries out itself

    @property
    def is_gpu(self) -> bool:
        """True if a core keeps several work-items at once, as GPUs do."""
        return self.resident_items > 1


# Bifrost: 64 registers before spilling; a quarter of memory an allocation (Mali OpenCL guide).
MALI_G72 = Profile(
    name="mali-g72",
    group_items=384,
    group_dims=(384, 384, 384),
    groups=(2**31, 2**31, 2**31),
    cores=12,
    local_bytes=32 * KIB,
    dedicated_local=False,
    private_words=64,
    memory_bytes=4 * GIB,
    buffer_bytes=1 * GIB,
    resident_items=384,
    resident_words=384 * 64,
    resident_bytes=32 * KIB,
    half_arithmetic=True,
    pairs_halves=True,  # by Mesa's compiler (docs/results/mali.md, halves)
    byte_addresses=True,  # four instructions an address, not six (docs/results/mali.md)
    # Half of the registers: operands and addresses take the others. Mesa's compiler spills with 48.
    results=(1, 32),
    # By Mesa's compiler for G72: kernels that test for padding spill from 40 or 44 words on, those
    # of `registers` that do not test for it spill nothing up to 62 (docs/results/mali.md).
    array_words=(38, 62),
    sub_groups=False,
)

DOTS = ("dot_ss", "dot_uu")


def _later_mali(
    name: str, cores: int, items: int, group: int, instructions: tuple[str, ...] = DOTS
) -> Profile:
    """The profile of a Mali newer than the G72, whose work-items have 64 registers each, or 32 if a
    core runs as many of them as it can hold.

    `items` (work-items of a core) is from Arm's Mali GPU datasheet of 2021; `group` (work-items of
    a group) is what Mesa's driver allows."""
    return replace(
        MALI_G72,
        name=name,
        cores=cores,
        group_items=group,
        group_dims=(group, group, group),
        resident_items=items,
        resident_words=items * 32,
        instructions=instructions,
    )


# Cores as in a phone's or a board's chip: Kirin 980, Helio G80, Dimensity 700, RK3588.
MALI_G76 = _later_mali("mali-g76", cores=10, items=768, group=256)
MALI_G52 = _later_mali("mali-g52", cores=2, items=768, group=256)
MALI_G57 = _later_mali("mali-g57", cores=2, items=1024, group=256)
MALI_G610 = _later_mali("mali-g610", cores=4, items=1024, group=1024)

# Snapdragon 845. Registers: 96 KiB of each of two cores (24 of four words where all waves are
# there), as Mesa's driver counts them; local memory lies in the core.
ADRENO_630 = replace(
    MALI_G72,
    name="adreno-630",
    group_items=1024,
    group_dims=(1024, 1024, 1024),
    cores=2,
    dedicated_local=True,
    pairs_halves=False,
    private_words=192,
    results=(1, 96),
    array_words=(1 << 16, 1 << 16),
    resident_items=1024,
    resident_words=1024 * 96,
)

# CUDA programming guide, compute capability 9.0: 255 registers a thread, 65,535 groups in y and z;
# a multiprocessor keeps 2,048 threads, 65,536 registers, 227 KiB of shared memory.
H200 = Profile(
    name="h200",
    group_items=1024,
    group_dims=(1024, 1024, 64),
    groups=(2**31 - 1, 65535, 65535),
    cores=132,
    local_bytes=48 * KIB,
    dedicated_local=True,
    private_words=255,
    memory_bytes=139 * GIB,
    buffer_bytes=34 * GIB,
    resident_items=2048,
    resident_words=1 << 16,
    resident_bytes=227 * KIB,
    instructions=(
        *("mma_tf32", "mma_bf16", "mma_f16", "mma_tf32_4", "mma_bf16_8", "mma_f16_8"),
        *("wgmma_tf32", "wgmma_bf16", "wgmma_f16", "wgmma_bf16_across", "wgmma_f16_across"),
        *(f"mma_{signs}_{steps}" for steps in (32, 16) for signs in ("ss", "su", "us", "uu")),
        *("dot_ss", "dot_su", "dot_uu"),
        *("lanes_sum_32", "lanes_max_32", "lanes_min_32", "lanes_first_32"),
        *(f"lanes_swap_{distance}" for distance in (1, 2, 4, 8, 16)),
        "copy_in_flight",
    ),
)


# What of a profile can be given as numbers, by name.
NUMBERS = tuple(sorted(f.name for f in fields(Profile) if f.name not in ("name", "instructions")))


def results_of_cpu(vector: int) -> tuple[int, int]:
    """The least and the most results that a CPU's work-item should keep in registers, for vectors
    of `vector` floats.

    AVX-512 has 32 registers, others 16; four or so hold operands. Two multiply-adds begin in each
    cycle and take four cycles.
    """
    return 8 * vector, (28 if vector > 8 else 12) * vector


# A CPU runtime: private arrays that spill stay in the first-level cache, and may take 8 KiB of it,
# as a transform of 256 numbers and the sum of its products do. A core goes through one group after
# the other, and through the items of a group: it keeps one at a time.
CPU = Profile(
    name="cpu",
    group_items=4096,
    group_dims=(4096, 4096, 4096),
    groups=(2**31, 2**31, 2**31),
    cores=2,
    local_bytes=32 * KIB,
    dedicated_local=False,
    private_words=2048,
    memory_bytes=4 * GIB,
    buffer_bytes=1 * GIB,
    resident_items=1,
    resident_words=2048,
    resident_bytes=32 * KIB,
    vector=16,
    results=results_of_cpu(16),
)

PROFILES = {
    p.name: p for p in (MALI_G72, MALI_G52, MALI_G76, MALI_G57, MALI_G610, ADRENO_630, H200, CPU)
}


def profile(name: str) -> Profile:
    """The profile with this name; if there is none, a UserError that lists the names."""
    if name not in PROFILES:
        raise no_such("profile", name, PROFILES)
    return PROFILES[name]


def limit(text: str) -> Limit:
    """The pair (name, values) that a text such as `local_bytes=65536` or `group_dims=256,256,64`
    means."""
    name, equals, values = text.partition("=")
    numbers = [part.strip() for part in values.split(",")]
    if not equals or not all(n.isascii() and n.isdigit() and len(n) < 19 for n in numbers):
        raise UserError(f"expected NAME=N or NAME=N,N,…, found {text!r}")
    return name.strip(), tuple(map(int, numbers))


def with_overrides(base: Profile, overrides: Iterable[Limit]) -> Profile:
    """The profile `base` with some of its numbers replaced by those in `overrides`."""
    for name, values in overrides:
        if name not in NUMBERS:
            raise no_such("number", name, NUMBERS, of="a profile")
        base = replace(base, **{name: _like(getattr(base, name), name, values)})
    return base


def _like(old: Any, name: str, values: tuple[int, ...]) -> Any:
    """The new `values` of the limit `name` in the form of its old value: one number, several, or a
    bool (1 or 0); a UserError if they do not fit it."""
    if isinstance(old, bool):
        if values not in ((0,), (1,)):
            raise UserError(f"{name} of a profile must be 0 or 1, found {_spelled(values)}")
        return values == (1,)
    if min(values) < 1:
        raise UserError(f"{name} of a profile must be at least 1, found {_spelled(values)}")
    if isinstance(old, int):
        if len(values) > 1:
            raise UserError(f"{name} of a profile must be one number, found {_spelled(values)}")
        return values[0]
    if name != "vector_widths" and len(values) != len(old):
        raise UserError(f"{name} of a profile must be {len(old)} numbers, found {_spelled(values)}")
    return values


def _spelled(values: Iterable[int]) -> str:
    return ",".join(map(str, values))

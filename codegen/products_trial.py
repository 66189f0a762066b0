"""The trial of the instruction that adds up four products of bytes: whether a CPU's compiler makes
it of LLVM's name for it, and what it computes is right, of any bytes and where sums wrap around."""

import json
from random import Random

import numpy as np

from codegen.numbers.byte_fours import FOURS, PRODUCTS, WIDTH
from codegen.numbers.number_functions import VPDPBUSD, named, text_of
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import first_cpu

FACTORS = 2 * PRODUCTS
BYTES = FACTORS * WIDTH
ENDS = bytes((0, 255)) * (WIDTH // 2), bytes((127, 127, 128, 128)) * (WIDTH // 4)  # uchar, char
STARTS = 5, 2**31 - 1, -(2**31)


def try_products(library: str) -> None:
    """Run the instruction on random bytes and on the least and the largest ones, on the first CPU
    of the runtime `library`, and print as a JSON object whether the sums were right."""
    seeded = Random(0)
    given = (seeded.randbytes(BYTES), b"".join(ENDS) * PRODUCTS)
    x = Buffer("x", "uchar", (BYTES,), BYTES, Role.INPUT)
    y = Buffer("y", "int", (len(STARTS), WIDTH), 4 * WIDTH * len(STARTS), Role.OUTPUT)
    launch = Kernel("trial", (1, 1, 1), (1, 1, 1), ("x", "y"), prepack=False, text=kernel_text())
    plan = Plan((launch,), (x, y), BYTES + 4 * WIDTH * len(STARTS), 0)
    program = first_cpu(library).build(plan, f"-D{VPDPBUSD}")
    tried = [np.frombuffer(drawn, np.uint8) for drawn in given]
    right = all(np.array_equal(program({"x": bits}), expected(bits)) for bits in tried)
    print(json.dumps({"products": right}), flush=True)


def kernel_text() -> str:
    """The text of a kernel that stores, for each start, that and four products of the bytes that it
    is given."""
    factors = (f"vload16({n}, x)" for n in range(FACTORS))
    given = ", ".join(f if n % 2 == 0 else f"as_char16({f})" for n, f in enumerate(factors))
    sums = (f"{named(FOURS, WIDTH)}({given}, (int16)({start}))" for start in STARTS)
    stores = " ".join(f"vstore16({total}, {n}, y);" for n, total in enumerate(sums))
    return (
        f"{text_of('pairs_of_uchar_char', WIDTH)}\n{text_of(FOURS, WIDTH)}\n"
        f"kernel void trial(global const uchar *x, global int *y) {{ {stores} }}\n"
    )


def expected(bits: np.ndarray) -> np.ndarray:
    """The sums that the kernel is to store: a start and products of unsigned and signed bytes."""
    rows = bits.reshape(FACTORS, WIDTH)
    unsigned, signed = rows[::2].astype(np.int64), rows[1::2].view(np.int8).astype(np.int64)
    products = (unsigned * signed).sum(axis=0)
    sums: np.ndarray = (np.array(STARTS)[:, None] + products).astype(np.int32)
    return sums

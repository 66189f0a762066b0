"""The trial of the instruction that adds up four products of bytes: whether a CPU's compiler makes
it of LLVM's name for it, and what it computes is right."""

import json
from random import Random

import numpy as np

from codegen.numbers.byte_fours import FOURS, PRODUCTS, WIDTH
from codegen.numbers.number_functions import VPDPBUSD, named, text_of
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import first_cpu

FACTORS = 2 * PRODUCTS
BYTES = FACTORS * WIDTH


def try_products(library: str) -> None:
    """Run the instruction on random bytes on the first CPU of the runtime `library`, and print as a
    JSON object whether the sums were right."""
    seeded = Random(0)
    bits = np.frombuffer(seeded.randbytes(BYTES), np.uint8)
    x = Buffer("x", "uchar", (BYTES,), BYTES, Role.INPUT)
    y = Buffer("y", "int", (WIDTH,), 4 * WIDTH, Role.OUTPUT)
    launch = Kernel("trial", (1, 1, 1), (1, 1, 1), ("x", "y"), prepack=False, text=kernel_text())
    plan = Plan((launch,), (x, y), BYTES + 4 * WIDTH, 0)
    found = first_cpu(library).build(plan, f"-D{VPDPBUSD}")({"x": bits})
    print(json.dumps({"products": bool(np.array_equal(found, expected(bits)))}), flush=True)


def kernel_text() -> str:
    """The text of a kernel that stores 5 and four products of the bytes that it is given."""
    factors = (f"vload16({n}, x)" for n in range(FACTORS))
    given = (f if n % 2 == 0 else f"as_char16({f})" for n, f in enumerate(factors))
    call = f"{named(FOURS, WIDTH)}({', '.join(given)}, (int16)(5))"
    return (
        f"{text_of('pairs_of_uchar_char', WIDTH)}\n{text_of(FOURS, WIDTH)}\n"
        f"kernel void trial(global const uchar *x, global int *y) {{ vstore16({call}, 0, y); }}\n"
    )


def expected(bits: np.ndarray) -> np.ndarray:
    """The sums that the kernel is to store: 5 and the products of unsigned and signed bytes."""
    rows = bits.reshape(FACTORS, WIDTH)
    unsigned, signed = rows[::2].astype(np.int32), rows[1::2].view(np.int8).astype(np.int32)
    sums: np.ndarray = 5 + (unsigned * signed).sum(axis=0, dtype=np.int32)
    return sums

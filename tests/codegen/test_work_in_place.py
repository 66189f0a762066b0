"""Tests that a kernel works in place only where each cell is read before it is written."""

from dataclasses import replace

import numpy as np
import pytest

from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import Session
from codegen.text_proof.work_in_part import Part, in_part
from codegen.text_proof.work_in_place import in_place

N = 64


def kernel(body: str) -> tuple[Kernel, tuple[Buffer, ...]]:
    """A kernel of 4 work-items with this body, on arrays x, z and y of 64 floats, and its
    buffers."""
    text = (
        "__attribute__((reqd_work_group_size(2, 1, 1)))\n"
        "__kernel void k_(\n    __global const float *restrict x_,\n"
        "    __global const float *restrict z_,\n    __global float *restrict y_)\n{\n"
        f"  const int gid0 = get_global_id(0);\n{body}}}\n"
    )
    roles = {"x": Role.TEMPORARY, "z": Role.INPUT, "y": Role.OUTPUT}
    buffers = tuple(Buffer(n, "float", (N,), 4 * N, role) for n, role in roles.items())
    return Kernel("k_", (4, 1, 1), (2, 1, 1), ("x", "z", "y"), False, text), buffers


def loop(read: str, write: str = "gid0 * 16 + i") -> str:
    """The text of a loop over i from 0 to 15 that puts x[read] + z[i] at y[write]; `read` and
    `write` are the texts of two indices."""
    return f"  for (int i = 0; i < 16; ++i) {{\n    y_[{write}] = x_[{read}] + z_[i];\n  }}\n"


ALL_FIRST = (
    "  float a[16];\n  for (int i = 0; i < 16; ++i) {\n    a[i] = x_[gid0 * 16 + 15 - i];\n  }\n"
    "  for (int i = 0; i < 16; ++i) {\n    y_[gid0 * 16 + i] = a[i];\n  }\n"
)


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        (loop("gid0 * 16 + i"), True),
        (loop("i * 4 + gid0", "i * 4 + gid0"), True),
        (loop("gid0 * 16 + 15 - i"), False),  # read after it was written
        (loop("(3 - gid0) * 16 + i"), False),  # another work-item's
        (loop("gid0 * 16"), False),
        (ALL_FIRST, True),  # all of a work-item's are read before it writes any
        (loop("gid0 * 16 + i", "gid0 * 16 + i") + loop("gid0 * 16 + i"), False),
        ("  vstore4(vload4(0, x_ + gid0 * 16), 0, y_ + gid0 * 16);\n", True),
        ("  vstore4(vload4(0, x_ + gid0 * 16), 0, y_ + gid0 * 16 + 2);\n", True),
        ("  vstore4(vload4(0, x_ + gid0 * 2 + 1), 0, y_ + gid0 * 4);\n", False),
    ],
)
def test_a_cell_is_read_by_its_writer_before_it_is_written(body: str, fine: bool) -> None:
    given, buffers = kernel(body)
    made = in_place(given, buffers, "x", "y")
    assert (made is not None) == fine
    assert made is None or made.arguments == ("z", "y")
    assert in_place(given, buffers, "y", "x") is None


def test_a_kernel_in_place_computes_what_it_did(session: Session) -> None:
    given, (x, z, y) = kernel(ALL_FIRST)
    made = in_place(given, (x, z, y), "x", "y")
    assert made is not None
    fill = Kernel(
        "fill_", (N, 1, 1), (1, 1, 1), ("z", "y"), False,
        "__attribute__((reqd_work_group_size(1, 1, 1)))\n__kernel void fill_(\n"
        "    __global const float *restrict z_,\n    __global float *restrict y_)\n{\n"
        "  const int gid0 = get_global_id(0);\n  y_[gid0] = z_[gid0];\n}\n",
    )  # fmt: skip
    plan = Plan((fill, made), (z, y), z.bytes + y.bytes, 0)
    array = np.random.default_rng().standard_normal(N).astype(np.float32)
    found = np.asarray(session.build(plan)({"z": array}))
    np.testing.assert_array_equal(found, array.reshape(4, 16)[:, ::-1].ravel())


HALVES = "".join(
    f"  *(__global float8 *)&y_[gid0 * 16 + {8 * i}] = vload8(gid0 * 2 + {i}, x_);\n"
    for i in (0, 1)
)


@pytest.mark.parametrize(
    ("body", "fine"),
    [
        (loop("gid0 * 16 + i"), True),
        (HALVES, True),
        ("  *(__global float16 *)&y_[gid0 * 16] = vload16(gid0, x_);\n", False),  # two rows
        (f"{HALVES}  y_[gid0 * 16] = y_[gid0 * 16] + 1.0f;\n", False),  # reads what it wrote
        ("  vstore8(vload8(gid0, x_), gid0, y_);\n", False),
    ],
)
@pytest.mark.parametrize("part", [Part(8, 8, 24), Part(3, 8, 13)])
def test_results_go_into_a_part_of_each_row(
    body: str, fine: bool, part: Part, session: Session
) -> None:
    given, (x, z, y) = kernel(body)
    x = replace(x, role=Role.INPUT)
    larger = replace(y, shape=(8, part.whole), bytes=y.bytes // 8 * part.whole)
    made = in_part(given, (x, z, larger), "y", part)
    assert (made is not None) == fine
    if made is not None:
        arrays = [np.random.default_rng().standard_normal(N).astype(np.float32) for _ in "xz"]
        of = dict(zip("xz", arrays, strict=True))
        right = session.build(Plan((given,), (x, z, y), 3 * y.bytes, 0))(of)
        found = session.build(Plan((made,), (x, z, larger), 2 * y.bytes + larger.bytes, 0))(of)
        np.testing.assert_array_equal(np.asarray(found)[:, part.offset :][:, :8].ravel(), right)
    assert in_part(given, (x, z, y), "y", part) is None  # too small

"""Tests of programs without their compilers' intermediate code: binaries that have none of their
own are smaller, compute what they did, and other files are left as they are."""

from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from codegen.binaries.binary_cache import BinaryCache
from codegen.binaries.intermediate_code import (
    HEADER,
    intermediate_code,
    with_intermediate_code,
)
from codegen.plan import Plan
from codegen.runtime.devices import Device
from codegen.runtime.session import Session, open_device
from tests.codegen.test_runtime import X, adding, edited

NAMES = b"\0.ocl.ir\0.ocl.meta\0.ocl.obj\0.ocl.ver\0"
PIECES = {".ocl.ir": b"intermediate", ".ocl.meta": b"kernels", ".ocl.obj": b"machine code"}
KNOWN, UNKNOWN = b"\x17\0\0\0", b"\x18\0\0\0"


def file_of(pieces: dict[str, bytes]) -> bytes:
    """An ELF file with these sections, as Intel's driver writes it."""
    every = [("", b""), *pieces.items(), ("", NAMES)]
    place = 64 + HEADER.size * len(every)
    headers = b""
    for name, content in every:
        at = NAMES.index(name.encode() + b"\0")
        headers += HEADER.pack(at, 0, 0, 0, place, len(content), 0, 0, 0, 0)
        place += len(content)
    numbers = (64).to_bytes(8, "little") + bytes(10)
    counts = b"".join(n.to_bytes(2, "little") for n in (HEADER.size, len(every), len(every) - 1))
    begin = (b"\x7fELF\x02\x01".ljust(0x28, b"\0") + numbers + counts).ljust(64, b"\0")
    return begin + headers + b"".join(content for _, content in every)


def test_intermediate_code_is_found_and_replaced_and_the_rest_is_as_it_was() -> None:
    binary = file_of({**PIECES, ".ocl.ver": KNOWN})
    assert intermediate_code(binary) == b"intermediate"
    assert with_intermediate_code(binary, b"intermediate") == binary
    less = file_of({**PIECES, ".ocl.ir": b"none", ".ocl.ver": KNOWN})
    assert with_intermediate_code(binary, b"none") == less


@pytest.mark.parametrize(
    "binary",
    [
        b"",
        b"// text for another compiler",
        b"\x7fELF\x02\x01",
        file_of({**PIECES, ".ocl.ver": KNOWN})[:200],
        file_of({**PIECES, ".ocl.ver": UNKNOWN}),
        file_of(PIECES),
        file_of({**PIECES, ".ocl.obj": b"", ".ocl.ver": KNOWN}),
        file_of({".ocl.ir": b"intermediate", ".ocl.ver": KNOWN}),
    ],
    ids=["empty", "text", "header", "half", "unknown", "no version", "no code", "no section"],
)
def test_of_another_file_no_code_is_found(binary: bytes) -> None:
    assert intermediate_code(binary) is None


@pytest.fixture
def keeping(device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session on a device whose driver keeps intermediate code, with a cache of its own."""
    if "Intel" not in device.platform or device.kind != "cpu":
        pytest.skip(f"{device.name}'s driver keeps no intermediate code that is known")
    open_device(device)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return open_device(device)


def kept_of(tmp_path: Path) -> bytes:
    """The binary of the only program in the cache."""
    (file,) = (tmp_path / "convlift" / "programs").iterdir()
    return BinaryCache(file.parent).get(file.name) or b""


BINARIES = cl.program_info.BINARIES
UNROLLED = adding(
    body="float s = y[i];\n#pragma unroll\nfor (int k = 0; k < 200; k++) s += x[k]; z[i] = s;"
)


def test_a_program_is_kept_with_the_intermediate_code_of_nothing(
    keeping: Session, tmp_path: Path
) -> None:
    """The driver would keep that of 200 additions, which are unrolled."""
    whole = keeping.compiler.from_source(UNROLLED.kernels[0].source, "").get_info(BINARIES)[0]
    keeping.build(UNROLLED)
    assert intermediate_code(kept_of(tmp_path)) == keeping.compiler._nothing()
    assert len(kept_of(tmp_path)) < len(whole)


def test_code_that_takes_no_more_than_that_of_nothing_is_left(
    keeping: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping.compiler, "_nothing", lambda: bytes(1 << 20))
    keeping.build(adding())
    whole = keeping.compiler.from_source(adding().kernels[0].source, "").get_info(BINARIES)[0]
    assert len(kept_of(tmp_path)) == len(whole)


TABLE = "constant float table[4] = {1, 2, 4, 8};\n"
SHARED = """local float shared_x[16]; int j = get_local_id(0); shared_x[j] = x[i];
barrier(CLK_LOCAL_MEM_FENCE); z[i] = exp(shared_x[15 - j]) * table[j & 3];"""


def turned() -> Plan:
    """A plan that turns groups of 16 numbers around in local memory, and multiplies their
    exponentials by a table of constants."""
    whole = edited(adding(body=SHARED), "kernel void", f"{TABLE}kernel void")
    return edited(whole, "void add", "__attribute__((reqd_work_group_size(16, 1, 1))) void add")


@pytest.mark.parametrize("checking", [False, True])
def test_tables_local_memory_and_sizes_of_groups_stay(keeping: Session, checking: bool) -> None:
    """Compiled, and loaded from the cache."""
    right = np.exp(X.reshape(-1, 16)[:, ::-1]) * np.tile([1, 2, 4, 8], 4)
    for session in (keeping, open_device(keeping.device)):
        made = session.build(turned(), checking=checking)({"x": X, "y": X})
        assert np.allclose(made, right.reshape(-1))

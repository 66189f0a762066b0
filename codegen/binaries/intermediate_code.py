"""The intermediate code of a compiler in the binaries of programs: found, and replaced.

A binary of Intel's driver for CPUs is an ELF file that has LLVM's intermediate code in one section,
and the machine code that was made from it in another. Whoever loads such a binary gets the machine
code. The driver reads the intermediate code as well, asks it for which machine it is, and keeps it
as long as the program lives, in fifteen times the bytes that it takes in the file: 8 MiB for the 26
kernels of squeezenet, which have 0.08 MiB of machine code. The code of a program that does nothing
serves as well.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace

from ir.core.frozen import frozen

ELF = b"\x7fELF\x02\x01"  # of 64 bits, the lowest byte first
SECTIONS_AT = 0x28
SECTIONS = 0x3A  # the size of a header, how many there are, and which one holds the names
HEADER = struct.Struct("<IIQQQQIIQQ")

INTERMEDIATE, MACHINE, VERSION = ".ocl.ir", ".ocl.obj", ".ocl.ver"
VERSIONS = (0x15, 0x17)
"""The versions of the format with which it was tried: those of the driver's packages 2025.0.0
(0x15), 2025.3.3, 2026.0.0 and 2026.2.0 (0x17)."""


@frozen
class Section:
    """A section of an ELF file: its name, its header's fields before and after its place, and its
    content."""

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    content: bytes


def intermediate_code(binary: bytes) -> bytes | None:
    """The intermediate code in a program's binary; None if the binary has no machine code beside
    it, or is of a format that is not known."""
    found = {section.name: section.content for section in _sections(binary)}
    known = int.from_bytes(found.get(VERSION, b""), "little") in VERSIONS
    return found.get(INTERMEDIATE) if known and found.get(MACHINE) else None


def with_intermediate_code(binary: bytes, code: bytes) -> bytes:
    """A program's binary in which `code` is in place of the intermediate code that
    `intermediate_code` found in it."""
    return _written(
        binary,
        [replace(s, content=code) if s.name == INTERMEDIATE else s for s in _sections(binary)],
    )


def _sections(binary: bytes) -> Sequence[Section]:
    """The sections of an ELF file, in the order of their headers; none of another file."""
    if not binary.startswith(ELF):
        return ()
    try:
        return _read(binary)
    except (struct.error, IndexError, ValueError):  # not whole
        return ()


def _read(binary: bytes) -> Sequence[Section]:
    (at,) = struct.unpack_from("<Q", binary, SECTIONS_AT)
    size, count, naming = struct.unpack_from("<HHH", binary, SECTIONS)
    if size != HEADER.size:
        raise ValueError(f"expected headers of {HEADER.size} bytes, found {size}")
    headers = [HEADER.unpack_from(binary, at + n * size) for n in range(count)]
    contents = [binary[start : start + length] for *_, start, length, _, _, _, _ in headers]
    return [
        Section(_name(contents[naming], h[0]), h[:4], h[6:], content)
        for h, content in zip(headers, contents, strict=True)
    ]


def _name(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode("ascii")


def _written(binary: bytes, sections: Sequence[Section]) -> bytes:
    """An ELF file with these sections, one behind the other, behind the header of `binary` and the
    sections' own headers."""
    (at,) = struct.unpack_from("<Q", binary, SECTIONS_AT)
    place = at + HEADER.size * len(sections)
    headers = []
    for s in sections:
        headers.append(HEADER.pack(*s.before, place, len(s.content), *s.after))
        place += len(s.content)
    return b"".join([binary[:at], *headers, *(s.content for s in sections)])

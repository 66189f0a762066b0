"""Programs of ours in C, which run in the toolchain's emulator: compiled by the toolchain itself
when they are first asked for."""

import hashlib
import os
import tempfile
from pathlib import Path

from explore.files.shipped_text import shipped_text
from explore.files.whole_files import write_whole
from explore.toolchain.toolchain import (
    LIBRARIES,
    PROGRAMS,
    TookTooLong,
    Toolchain,
    ToolchainFault,
    emulated,
)

BUILD_LIMIT = 120.0  # seconds to make a program


def compiler_program(toolchain: Toolchain) -> Path:
    """The program, run in the emulator, that has kernels' texts compiled."""
    return made(toolchain, "ask_compiler", shipped_text("explore.toolchain", "ask_compiler.c"))


def made(toolchain: Toolchain, name: str, text: str) -> Path:
    """The path of the program called `name` that is compiled from this text in C; it is compiled
    anew only if the text was never compiled before. A ToolchainFault if it does not compile."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    program = toolchain.folder / PROGRAMS / f"{name}-{digest}"
    if program.is_file():
        return program
    program.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        source, fresh = Path(scratch) / f"{name}.c", Path(scratch) / name
        write_whole(source, text)
        loader = f"/{LIBRARIES}/libOpenCL.so.1"
        words = [
            str(toolchain.root / "usr/bin/tcc"),
            "-rdynamic",
            "-o",
            str(fresh),
            str(source),
            loader,
        ]
        try:
            said = emulated(toolchain, words, BUILD_LIMIT)
        except TookTooLong as error:
            raise ToolchainFault(f"its C compiler {error}") from error
        if said.status or not fresh.is_file():
            told = " ".join(said.out.split())[-300:] or f"status {said.status}"
            raise ToolchainFault(f"its C compiler made no program: {told}")
        os.replace(fresh, program)
    return program

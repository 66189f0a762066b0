"""The driver's compiler: it makes programs of OpenCL texts for a device, and keeps what it made in
memory and on disk. It uses pyopencl, which the session hands it as `cl`."""

import contextlib
import os
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from codegen.binaries import binary_cache as cache
from codegen.binaries.build_options import build_options, for_its_target
from codegen.binaries.cache_folder import cache_folder
from codegen.binaries.intermediate_code import intermediate_code, with_intermediate_code
from codegen.numbers.number_functions import VPDPBUSD
from codegen.runtime.devices import Device
from codegen.runtime.results import BuildFailed

NOTHING = "kernel void nothing() {}"

KEPT = 32  # kernels compiled last; others are loaded from disk. A driver holds a megabyte or more
# for each: 256 of them made a worker of 1.2 GB


class DriverCompiler:
    """The compiler of a device's driver, for programs in one context."""

    def __init__(self, cl: Any, device: Device, handle: Any, context: Any, cached: bool) -> None:
        """The compiler for `device`, which pyopencl (`cl`) knows by `handle`; `cached` keeps on
        disk what it makes."""
        self._cl, self._device, self._handle, self._context = cl, device, handle, context
        # A simulator reports the source's lines, which a binary does not have.
        keep = cached and not device.simulator
        self._cache = cache.BinaryCache(cache_folder() / "programs") if keep else None
        self._made = lru_cache(maxsize=KEPT)(self._compiled)
        self._nothing = lru_cache(maxsize=1)(self._code_of_nothing)

    def program(self, text: str, options: str, checking: bool) -> Any:
        """The program of a text, compiled with these options and those that the text asks for;
        with `checking`, only its results matter."""
        if self._device.vpdpbusd and VPDPBUSD in text:
            options = f"{options} -D{VPDPBUSD}"
        if checking and self._emulates(text):
            options = f"{options} -cl-opt-disable"  # 0.3 s in place of 10 with Intel's compiler
        more = os.environ.get("PYOPENCL_BUILD_OPTIONS", "")  # which pyopencl adds
        return self._made(text, build_options(text, self._handle, options), more)

    def from_source(self, text: str, options: str) -> Any:
        """The program of a text, compiled with these options alone, whatever is kept of it."""
        program = self._cl.Program(self._context, self._quick_to_build(text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Asking anything before the build turns off pyopencl's own cache, which would leave
            # the source of each failure in the temporary folder.
            program.get_info(self._cl.program_info.CONTEXT)
        try:
            return self._for_its_target(self._built(program, options))
        except self._cl.Error as error:
            raise BuildFailed(self._log(program) or str(error)) from error

    def code_bytes(self, programs: Iterable[Any]) -> int | None:
        """The size of programs as they would be kept in files; None if the driver does not say."""
        sizes = self._cl.program_info.BINARY_SIZES
        try:
            return sum(int(size) for program in programs for size in program.get_info(sizes))
        except self._cl.Error:
            return None

    def forget(self) -> None:
        """Drop the programs that are kept in memory."""
        self._made.cache_clear()

    def _compiled(self, text: str, options: str, more: str) -> Any:
        if self._cache is None:
            return self.from_source(text, options)
        key = cache.key("kernel 2", text, options, more, *identity(self._handle))
        binary = self._cache.get(key)
        if binary is not None:
            try:
                return self._loaded(binary, options)
            except self._cl.Error:
                self._cache.drop(key)
        compiled = self._light(self.from_source(text, options), options)
        with contextlib.suppress(self._cl.Error):
            self._cache.put(key, self._binary(compiled))
        return compiled

    def _light(self, program: Any, options: str) -> Any:
        """The program without the compiler's intermediate code, loaded again, if the driver would
        keep that beside the machine code; otherwise the program itself."""
        with contextlib.suppress(self._cl.Error, BuildFailed):
            binary = self._binary(program)
            code = intermediate_code(binary)
            if code is None or not 0 < len(self._nothing()) < len(code):
                return program
            loaded = self._loaded(with_intermediate_code(binary, self._nothing()), options)
            if self._kernel_names(loaded) == self._kernel_names(program):
                return loaded
        return program

    def _code_of_nothing(self) -> bytes:
        """The intermediate code of a program whose only kernel does nothing."""
        return intermediate_code(self._binary(self.from_source(NOTHING, ""))) or b""

    def _for_its_target(self, program: Any) -> Any:
        """The program; or, if its PTX has lines that need another target than the compiler's, the
        program that is built from it with these lines opened."""
        if not self._is_nvidias:
            return program
        binary = self._binary(program)
        opened = for_its_target(binary)
        return program if opened == binary else self._loaded(opened, "")

    def _loaded(self, binary: bytes, options: str) -> Any:
        return self._built(self._cl.Program(self._context, [self._handle], [binary]), options)

    def _binary(self, program: Any) -> bytes:
        (binary,) = program.get_info(self._cl.program_info.BINARIES)
        return bytes(binary)

    def _quick_to_build(self, text: str) -> str:
        """The text to build: loops around emulated instructions are not unrolled. Unrolled, Intel's
        compiler takes 14 s, otherwise 0.8 s."""
        if not self._emulates(text):
            return text
        return text.replace("#pragma unroll", "#pragma nounroll")

    def _emulates(self, text: str) -> bool:
        """True if the device emulates the text's instructions, which it does only to check
        results."""
        return "SUB_GROUP_OF(" in text and not self._is_nvidias

    @property
    def _is_nvidias(self) -> bool:
        return "cl_nv_" in self._handle.extensions

    def _log(self, program: Any) -> str:
        try:
            log = program.get_build_info(self._handle, self._cl.program_build_info.LOG)
        except self._cl.Error:
            return ""
        return str(log).strip("\0 \n")

    def _kernel_names(self, program: Any) -> set[str]:
        """The names of a program's kernels."""
        return set(program.get_info(self._cl.program_info.KERNEL_NAMES).split(";"))

    def _built(self, program: Any, options: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cl.CompilerWarning)
            return program.build(options=options)


def identity(handle: Any) -> tuple[str, ...]:
    """The texts by which a driver tells the device `handle`: names and versions."""
    texts = (handle.name, handle.platform.name, handle.version, handle.driver_version)
    return tuple(text.strip() for text in texts)

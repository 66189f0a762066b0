"""A program in the toolchain's emulator that answers one question after another. Most of what a
small kernel costs is the start of the compiler, which is thus paid once."""

import os
import select
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from explore.toolchain.toolchain import MOST, Said, TookTooLong, Toolchain, started

END = b"\nend\n"
CHUNK = 1 << 16  # bytes
BUSY = 20  # times as long as its processor time a program may take by the clock
LOOK_EVERY = 0.5  # seconds


class RunningProgram:
    """A running program, with `words` as its path and arguments and `variables` as its environment
    besides PATH and HOME. Each line that it is sent is a question, and its answer is what it prints
    until a line `end`."""

    def __init__(
        self, toolchain: Toolchain, words: Sequence[str], variables: Mapping[str, str]
    ) -> None:
        self._process = started(toolchain, words, variables)
        self.asked = 0  # how many questions

    def ask(self, question: str, limit_s: float) -> Said:
        """The answer to a question; its `status` is None unless the program ended meanwhile. Raises
        TookTooLong, and ends the program, if that takes more than `limit_s` seconds of processor
        time, or many times as long by the clock: what is compiled does not depend on how busy the
        machine is."""
        self.asked += 1
        pipe = self._process.stdin
        if self._process.returncode is not None or pipe is None:
            return Said("", self._process.returncode)
        try:
            pipe.write(f"{question}\n".encode())
            pipe.flush()
        except BrokenPipeError:
            return self._last_words(b"")
        return self._answer(limit_s)

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()

    def _answer(self, limit_s: float) -> Said:
        out = self._process.stdout
        assert out is not None
        used, begun = self._processor_s(), time.monotonic()
        heard = bytearray()
        while not heard.endswith(END):
            if self._processor_s() - used > limit_s or time.monotonic() - begun > BUSY * limit_s:
                self.close()
                raise TookTooLong(f"took longer than {limit_s:g} s")
            if not select.select([out], [], [], LOOK_EVERY)[0]:
                continue
            more = os.read(out.fileno(), CHUNK)
            if not more:
                return self._last_words(bytes(heard))
            heard += more if len(heard) < MOST else more[-len(END) :]
        return Said(heard.removesuffix(END[1:]).decode(errors="replace"), None)

    def _processor_s(self) -> float:
        """The processor time that the program has taken so far, in seconds."""
        try:
            told = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _last_words(self, heard: bytes) -> Said:
        """The text that the program said last, with the status with which it ended."""
        rest, _ = self._process.communicate()
        return Said((heard + rest)[:MOST].decode(errors="replace"), self._process.returncode)

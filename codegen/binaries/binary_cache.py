"""The cache of built programs on disk; anything wrong with it only means building again."""

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from math import inf
from pathlib import Path

DIGEST_BYTES = 32
DEFAULT_LIMIT = 256 << 20
LEFT = 0.75  # of the limit, once that is passed: to look through all files takes as long as a build


def key(*parts: str) -> str:
    """The file name for these parts: a digest that no other list of parts has."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never half; may raise
    OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@dataclass(slots=True)
class BinaryCache:
    """A folder of files named by key, each with its digest before its bytes; the least recently
    used are removed once the files take more than `limit_bytes`. `held_bytes` is what they took
    when the folder was last looked at, and what was put into it since."""

    place: Path
    limit_bytes: int = DEFAULT_LIMIT
    held_bytes: float = inf  # at the last look, and what was put since: looking takes time

    def get(self, name: str) -> bytes | None:
        """The bytes kept under a name, whose file becomes the last used; None if there are none, or
        if they do not fit their digest."""
        path = self.place / name
        try:
            content = path.read_bytes()
        except OSError:
            return None
        binary = content[DIGEST_BYTES:]
        if hashlib.sha256(binary).digest() != content[:DIGEST_BYTES]:
            self.drop(name)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return binary

    def put(self, name: str, binary: bytes) -> None:
        """Keep bytes under a name, and remove the least recently used files if the folder is too
        large then; nothing is kept where files cannot be written."""
        with contextlib.suppress(OSError):
            write_atomically(self.place / name, hashlib.sha256(binary).digest() + binary)
            self.held_bytes += DIGEST_BYTES + len(binary)
            if self.held_bytes > self.limit_bytes:
                self._evict()

    def drop(self, name: str) -> None:
        """Remove the file of a name, if it is there."""
        with contextlib.suppress(OSError):
            (self.place / name).unlink()

    def _evict(self) -> None:
        files = []
        for entry in os.scandir(self.place):
            with contextlib.suppress(OSError):  # another process may be evicting too
                facts = entry.stat()
                files.append((facts.st_mtime_ns, entry.name, facts.st_size))
        self.held_bytes = sum(size for _, _, size in files)
        if self.held_bytes <= self.limit_bytes:
            return
        for _, name, size in sorted(files):
            if self.held_bytes <= LEFT * self.limit_bytes:
                return
            self.drop(name)
            self.held_bytes -= size

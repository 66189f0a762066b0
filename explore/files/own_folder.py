"""A folder whose files are reached through its descriptor, so that no link in it leads outside.

A run's folder may come from anybody. A file to write or remove is given by a plain name, relative
to the open folder; a link of that name is replaced or refused, never followed. A file with a second
name (a hard link), perhaps outside, is not written to either.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ir.core.frozen import frozen
from ir.errors import UserError

NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+-]{0,254}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class OwnFolder:
    """An open folder; its path is only used for messages."""

    path: Path
    fd: int

    @staticmethod
    @contextmanager
    def opened(path: Path, make: bool = False) -> "Iterator[OwnFolder]":
        """The open folder at a path that a person gave: links in that path are followed. With
        `make`, it is made if it does not exist."""
        with _told(path):
            if make:
                path.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, _FOLDER)
        try:
            yield OwnFolder(path, fd)
        finally:
            os.close(fd)

    @contextmanager
    def inner(self, name: str) -> "Iterator[OwnFolder]":
        """The open folder of this name inside, made if there is none; a link is refused."""
        path = self._named(name)
        with _told(path):
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.fd)
            fd = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self.fd)
        try:
            yield OwnFolder(path, fd)
        finally:
            os.close(fd)

    def names(self) -> list[str]:
        """The names of everything in the folder, sorted."""
        with _told(self.path):
            return sorted(os.listdir(self.fd))

    def is_file(self, name: str) -> bool:
        """True if the folder has a file of this name; a link is not one."""
        try:
            return stat.S_ISREG(os.lstat(self._named(name).name, dir_fd=self.fd).st_mode)
        except FileNotFoundError:
            return False

    def demand_own(self, name: str) -> None:
        """Raise a UserError if the thing of this name is not a file, or is a hard link; do nothing
        if there is no such thing."""
        with _told(self._named(name)), suppress(FileNotFoundError):
            _demand_own(self.path / name, os.lstat(name, dir_fd=self.fd))

    def is_there(self, name: str) -> bool:
        """True if the folder has anything of this name, also a link that leads nowhere."""
        return name in self.names()

    def remove(self, name: str) -> None:
        """Remove the file of this name, if it is there; of a link, the link itself."""
        with _told(self._named(name)), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.fd)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file that appears whole or not at all; a link of its name is replaced."""
        data = content.encode() if isinstance(content, str) else content
        with self.making(name) as fd, _told(self.path / name), open(fd, "wb", closefd=False) as out:
            out.write(data)

    @contextmanager
    def making(self, name: str) -> Iterator[int]:
        """The descriptor of a new empty file; it gets its name when the context is left without an
        error."""
        part, path = f".part-{name}", self._named(name)
        self.remove(part)
        with _told(path):
            fd = os.open(part, _NEW, 0o644, dir_fd=self.fd)
        try:
            yield fd
            with _told(path):
                os.replace(part, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=self.fd)
            raise
        finally:
            os.close(fd)

    def open(self, name: str, flags: int) -> int:
        """The descriptor of the folder's file of this name, opened with these `flags` of the
        system; a UserError for links, hard links included."""
        with _told(self._named(name)):
            mode = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            fd = os.open(name, flags | mode, 0o644, dir_fd=self.fd)
        try:
            _demand_own(self.path / name, os.fstat(fd))
        except UserError:
            os.close(fd)
            raise
        return fd

    def _named(self, name: str) -> Path:
        if not NAME.fullmatch(name) or name in (".", ".."):
            raise UserError(f"expected the name of a file in {self.path}, found {name!r}")
        return self.path / name


def _demand_own(path: Path, known: os.stat_result) -> None:
    if not stat.S_ISREG(known.st_mode):
        raise UserError(f"{path} is a link or no file: expected a file of the run's own")
    if known.st_nlink > 1:
        raise UserError(
            f"{path} is a hard link: a file elsewhere is the same one, and would be written to; "
            "copy the folder, and use the copy"
        )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """The context in which an OSError becomes a UserError that says why `path` cannot be
    written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}") from error


def reason(error: OSError) -> str:
    """The reason, in words, why a file could not be opened or written."""
    match error.errno:
        case errno.ELOOP:
            return "it is a link that leads elsewhere"
        case errno.ENOSPC | errno.EDQUOT:
            return "the disk is full"
        case _:
            return error.strerror or str(error)

"""Debian packages as files: their contents are unpacked into a folder, and nowhere else.

A package is an `ar` archive whose member `data.tar…` holds its files. It is data from outside: a
link or a name that leads out of the folder is an error (found by Python's `data` filter, where it
has one), and no script of it is run.
"""

import io
import lzma
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from ir.errors import UserError

MAGIC = b"!<arch>\n"
HEADER = 60  # bytes before each member: name 16, dates and owners 32, size 10, end 2
MOST = 1 << 30  # bytes of one package's files


def unpack(package: Path, folder: Path, unwanted: re.Pattern[str]) -> int:
    """Unpack the files of a package into a folder, but for those whose names match `unwanted` at
    their beginning; the result is how many bytes they take."""
    try:
        with tarfile.open(fileobj=_data(package)) as files:
            members = [m for m in files if _plain(m) and not unwanted.match(_name(m))]
            size = sum(m.size for m in members)
            if size > MOST:
                raise UserError(f"{package}: expected at most {MOST} bytes of files, found {size}")
            _extract(files, members, folder)
            return size
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise UserError(f"{package} cannot be unpacked: {error}") from error


def _extract(files: tarfile.TarFile, members: list[tarfile.TarInfo], folder: Path) -> None:
    """Write the members to the folder; raises a TarError if one would lie outside it."""
    if hasattr(tarfile, "data_filter"):
        files.extractall(folder, members, filter="data")
        return
    for member in members:  # Python before 3.11.4
        link = Path(member.linkname) if member.islnk() else _beside(member)
        for path in (Path(member.name), *([link] if member.linkname else [])):
            if path.is_absolute() or not (folder / path).resolve().is_relative_to(folder.resolve()):
                raise tarfile.TarError(f"{member.name!r} would be outside the folder")
        files.extract(member, folder)


def _beside(member: tarfile.TarInfo) -> Path:
    """The path that a symbolic link leads to, from where the archive is unpacked."""
    return Path(member.name).parent / member.linkname


def _name(member: tarfile.TarInfo) -> str:
    return member.name.removeprefix("./")


def _plain(member: tarfile.TarInfo) -> bool:
    """True for files, folders and links; a package's devices are of no use here."""
    return member.isfile() or member.isdir() or member.issym() or member.islnk()


def _data(package: Path) -> io.BytesIO:
    """The archive of a package's files."""
    for name, content in _members(package.read_bytes(), package):
        if name.startswith("data.tar"):
            return io.BytesIO(content)
    raise UserError(f"{package} is no Debian package: expected a member data.tar, found none")


def _members(archive: bytes, package: Path) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each member of an `ar` archive."""
    if not archive.startswith(MAGIC):
        raise UserError(f"{package} is no Debian package: it does not begin with {MAGIC!r}")
    at = len(MAGIC)
    while at + HEADER <= len(archive):
        header = archive[at : at + HEADER]
        size = header[48:58].strip()
        if not size.isdigit():
            raise UserError(
                f"{package} is no Debian package: expected a member's size, found {size!r}"
            )
        start = at + HEADER
        yield (
            header[:16].decode("ascii", "replace").rstrip(" /"),
            archive[start : start + int(size)],
        )
        at = start + int(size) + int(size) % 2

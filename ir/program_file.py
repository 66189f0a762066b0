"""The reading of a program's file: UTF-8 of a bounded length, whatever kind of file it is."""

from pathlib import Path

from ir.errors import UserError

LONGEST = 1 << 20  # bytes of a program: a file such as /dev/zero has no end


def text_of(path: Path | str) -> str:
    """The text in a file, without a byte order mark; a UserError names what could not be read."""
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in its name
        raise UserError(f"cannot read {path!r}: {error}") from None
    if len(content) > LONGEST:
        raise UserError(f"cannot read {path}: expected a program of at most {LONGEST} bytes")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise UserError(f"cannot read {path}: expected UTF-8 text") from None

"""Files that appear whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from ir.errors import UserError


def write_whole(file: Path, content: str | bytes) -> None:
    """The file itself is replaced, even where a link of its name leads elsewhere."""
    part = file.with_name(f".part-{file.name}")
    try:
        part.unlink(missing_ok=True)
        with part.open("xb") as out:
            out.write(content.encode() if isinstance(content, str) else content)
        os.replace(part, file)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise UserError(f"cannot write {file}: {error.strerror}") from error

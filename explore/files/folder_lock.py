"""A lock on a folder, so that only one process writes there; it belongs to the open file, so it
ends with the process."""

import contextlib
import fcntl
import os
from pathlib import Path

from explore.files.own_folder import OwnFolder
from ir.errors import UserError


class Lock:
    """The lock of a folder, held until closed; a second holder is refused and told who holds it."""

    def __init__(self, folder: Path) -> None:
        with OwnFolder.opened(folder) as own:
            self._file = own.open("lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise UserError(
                f"another run (process {holder}) is writing in {folder}; "
                "wait for it, stop it, or choose another folder with --out"
            ) from None
        with contextlib.suppress(OSError):  # the number is a courtesy: a full disk does not matter
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

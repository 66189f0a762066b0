"""Folders that are made beside their place and put there, whole, by a rename: until then what was
there before stays. What a maker leaves behind that was killed is removed by the next."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ir.errors import UserError

MARK = ".being-made-"  # in the name of a folder that something is made in
FRESH, BEFORE = "fresh", "before"


@contextmanager
def made_beside(place: Path) -> Iterator[Path]:
    """The path of a folder that is to be made, beside `place`; `put` brings it there. All that is
    beside `place` then is removed at the end, as is what makers left that were killed."""
    at = place.resolve()
    try:
        at.parent.mkdir(parents=True, exist_ok=True)
        _remove_left(at)
        scratch = Path(tempfile.mkdtemp(prefix=f"{at.name}{MARK}", dir=at.parent))
    except OSError as error:
        raise UserError(f"nothing can be made in {at.parent}: {error.strerror}") from error
    lock = os.open(scratch, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield scratch / FRESH
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(lock)


def put(fresh: Path, place: Path) -> None:
    """Put a folder that was made beside `place` there, instead of what was there; raises a
    UserError, and leaves what was there, if that cannot be done."""
    at = place.resolve()
    before = take_away(fresh, place)
    try:
        fresh.rename(at)
    except OSError as error:
        with contextlib.suppress(OSError):
            before.rename(at)
        raise UserError(f"{at} cannot be replaced: {error.strerror}") from error


def take_away(fresh: Path, place: Path) -> Path:
    """Move what is at `place`, if anything, to where it is removed together with the folder in
    which `fresh` is made; the result is the path that it has there."""
    at, before = place.resolve(), fresh.with_name(BEFORE)
    try:
        if at.exists():
            at.rename(before)
    except OSError as error:
        raise UserError(f"{at} cannot be moved: {error.strerror}") from error
    return before


def _remove_left(at: Path) -> None:
    """Remove what makers left beside the place `at`, except those that are still at work."""
    for left in at.parent.glob(f"{at.name}{MARK}*"):
        with contextlib.suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left)
            finally:
                os.close(lock)

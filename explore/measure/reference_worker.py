"""The right result of a program, computed in a process of its own, so that it can be ended at any
moment.

Even one long operation on arrays can be ended, and messages go on while it is computed.
"""

import time
from collections.abc import Callable
from pathlib import Path

from explore.measure.kept_references import keep_reference
from explore.measure.reference_file import hash_of, stored_reference
from explore.results.records import Failed
from explore.workers.pool import Pool
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import Unsupported, UserError

EVERY = 10.0  # seconds between words
LEAST = 5.0  # seconds that it gets of a time that is up: without it nothing can be measured


@frozen
class Asked:
    """A task to compute the reference of a program for a seed; `folder` may hold it already."""

    program: Program
    seed: int
    folder: Path
    sha256: str | None


def reference_in_time(
    program: Program,
    seed: int,
    folder: Path,
    sha256: str | None,
    note: Callable[[str], None],
    left_s: float | None = None,
) -> tuple[Path, str]:
    """The file with the reference of a program for a seed, and its hash; a UserError if it takes
    longer than `left_s` seconds (None: no limit). It is computed, unless `folder` has the file with
    the hash `sha256`. `note` is told of progress."""
    note("computing what is right, by the interpreter")
    limit = float("inf") if left_s is None else max(LEAST, left_s)
    begun = time.monotonic()
    with Pool[Asked, tuple[Path, str]](_stored, timeout=limit, stage="run") as pool:
        pool.submit(Asked(program, seed, folder, sha256))
        while not (done := pool.results(EVERY)):
            note(f"computing what is right, by the interpreter: {time.monotonic() - begun:.0f} s")
    result: tuple[Path, str] | Failed = done[0].result
    if isinstance(result, Failed):
        raise UserError(_told(program, result, limit))
    keep_reference(program, seed, result[0])
    return result


def _stored(asked: Asked) -> tuple[Path, str] | Failed:
    """The file with the reference that a task asks for, and its hash; a UserError or Unsupported
    becomes a failure. The worker runs this."""
    try:
        file = stored_reference(asked.program, asked.seed, asked.folder, asked.sha256)
    except UserError as error:
        return Failed("verify", str(error))
    except Unsupported as error:
        return Failed("verify", f"not supported: {error}")
    except MemoryError as error:
        words = (
            f"what is right cannot be computed here: more memory is needed than there is ({error})"
        )
        return Failed("verify", words)
    except RecursionError:
        return Failed("verify", "not supported: the program is nested too deep")
    return file, hash_of(file)


def _told(program: Program, failed: Failed, limit: float) -> str:
    if failed.timed_out:
        return (
            f"the time was up: what is right of {program.name} took the interpreter longer than "
            f"the {limit:.3g} s that were left, so nothing could be checked or measured; give more "
            "with --time-limit, or smaller sizes with --set"
        )
    if failed.stage == "verify":
        return failed.reason
    return f"what is right could not be computed: {failed.reason}\n{failed.detail}".rstrip()

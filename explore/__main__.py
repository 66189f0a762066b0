"""The command `explore`: its first steps, before the modules of its sub-commands are loaded."""

import gc
import sys
import time
from collections.abc import Sequence

from explore.arguments.command_names import COMMANDS
from explore.workers.nursery import begin_nursery

# Workers of a run need these. They are loaded beside what the command itself needs, by another
# process: so they are named, not imported.
OF_WORKERS = ("explore.building.build_variant", "explore.measure.measure_variant")
WITHOUT_WORKERS = ("-h", "--help", "--version", "--words-to-complete", "--cluster")
GARBAGE = 20_000  # objects made between looks for what nobody needs: modules and terms stay


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 after a message about a mistake, or 2 for bad
    usage."""
    begun = time.monotonic()  # limits of time count from here
    given = list(sys.argv[1:] if argv is None else argv)
    if _starts_workers(given):
        begin_nursery(OF_WORKERS)
    gc.set_threshold(GARBAGE)
    from ir.command import guard  # here and below: what takes a second to load

    return guard(lambda: _carried_out(given, begun))


def _carried_out(given: Sequence[str], begun: float) -> int:
    from explore.commands.command_table import carried_out

    return carried_out(given, begun)


def _starts_workers(given: Sequence[str]) -> bool:
    """True if the command's words look like those of a run on this machine, before they are
    parsed."""
    run = bool(given) and (given[0] == "resume" or given[0] not in COMMANDS)
    return run and not any(word.split("=")[0] in WITHOUT_WORKERS for word in given)


if __name__ == "__main__":
    sys.exit(main())

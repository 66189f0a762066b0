"""A process that adds made-up entries to a record book until it is ended, printing the name of each
once it is kept: `python -m tests.support.record_writer FILE SEED`."""

import json
import sys
from itertools import cycle
from pathlib import Path

from explore.record_book.entries import Place, Subject, entry_of
from explore.record_book.program_identity import Identity
from explore.record_book.record_book import RecordBook
from tests.support.sample_runs import sample_run


def main(file: Path, seed: int) -> None:
    """Add the entries of a made-up run, drawn by this seed, to the record book `file`, over and
    over, until the process is ended."""
    place = Place("a device", "its platform", f"{seed}", json.dumps({"cores": [4]}))
    subject = Subject(Identity("0" * 64, (seed,), {"Map": 2}), "made up", "")
    kept = [entry_of(record, subject, place, "0.1") for record in sample_run(200, seed)]
    with RecordBook(file) as book:
        for entry in cycle(kept):
            book.add([entry])
            print(entry.record.variant.id, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

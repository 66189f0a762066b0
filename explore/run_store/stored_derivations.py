"""The derivations of a run's variants, each stored once: variants of one form share theirs, which
may have hundreds of steps."""

import json
import sqlite3

from explore.options.stored_fields import Damaged, loaded
from explore.results.read_record import steps_from
from explore.results.record_json import step_json
from explore.results.records import Step
from explore.run_store.packed_text import MOST, packed, unpacked


class StoredDerivations:
    """The table of derivations in the file of a run, by number; what was written or read is
    remembered."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[tuple[Step, ...], int] = {}
        self._steps: dict[int, tuple[Step, ...]] = {}

    def number(self, steps: tuple[Step, ...]) -> int:
        """The number of a derivation; it is stored, in the transaction that goes on, if it has
        none."""
        found = self._numbers.get(steps)
        if found is None:
            text = json.dumps({"steps": [step_json(step) for step in steps]})
            sql = "INSERT INTO derivation (steps) VALUES (?)"
            found = self._connection.execute(sql, [packed(text)]).lastrowid
            assert found is not None
            self._remember(found, steps)
        return found

    def steps(self, number: int) -> tuple[Step, ...]:
        """The steps of the derivation of this number; raises Damaged if there is none."""
        if number not in self._steps:
            sql = "SELECT steps FROM derivation WHERE number = ?"
            row = self._connection.execute(sql, [number]).fetchone()
            if row is None:
                raise Damaged(f"derivation: expected one that is stored, found number {number}")
            fields = loaded(unpacked(row[0], "derivation"), "derivation", MOST)
            self._remember(number, steps_from(fields, "steps"))
        return self._steps[number]

    def _remember(self, number: int, steps: tuple[Step, ...]) -> None:
        self._steps[number] = steps
        self._numbers.setdefault(steps, number)

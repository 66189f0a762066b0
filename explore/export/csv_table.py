"""A run as one CSV table, with a row for each variant and a column for each parameter."""

import csv
import io
from collections.abc import Sequence

from explore.results.code_totals import DONE, code_totals
from explore.results.record_json import facts_json
from explore.results.records import Record, latest

_FIRST = ("id", "family", "form", "stored", "status", "stage", "reason", "time_ns", "spread")
_REST = (
    *("memory_bytes", "workspace_bytes", "prepack_ns", "build_ns", "error", "code_bytes"),
    *("clock", "device_ns", "slowdown", "flops", "traffic_bytes", "elapsed_s", "key"),
    *("least_ns", "most_ns", "spills"),
)
_COMPILED = ("private_bytes", "threads", *(f"all {name}" for name in DONE))


def to_csv(records: Sequence[Record]) -> str:
    """The CSV table of a run, with the record of each variant's latest round as a row; no cell is
    read as a formula by spreadsheets."""
    found = latest(records)
    names = sorted({name for record in found for name, _ in record.variant.parameters})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FIRST, *(f"parameter {name}" for name in names), *_REST, *_COMPILED])
    for record in found:
        fields = {**facts_json(record), "stored": " ".join(record.variant.stored)}
        parameters = dict(record.variant.parameters)
        fields |= _compiled(record)
        cells = [*(fields[f] for f in _FIRST), *(parameters.get(n) for n in names)]
        cells += [*(fields[f] for f in _REST), *(fields.get(f) for f in _COMPILED)]
        writer.writerow([_inert(cell) for cell in cells])
    return out.getvalue()


def _compiled(record: Record) -> dict[str, object]:
    """The cells of a variant's compiled code, by column; none if it was not compiled."""
    code = code_totals(record)
    if code is None:
        return {}
    own: dict[str, object] = {
        "code_bytes": code.bytes,
        "private_bytes": code.private_bytes,
        "threads": code.threads,
    }
    return own | {f"all {name}": n for name, n in code.done}


def _inert(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in tuple("=+-@\t\r") else cell

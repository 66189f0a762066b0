"""A run in the T4 results format, which auto-tuners exchange.

The format is the auto-tuning community's (FAIR benchmarking, Tørring et al. 2023); its times are in
milliseconds. The schema beside this file is ours, as strict as what we write.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from explore.export.json_schema import problems
from explore.files.shipped_text import shipped_text
from explore.results.records import Failed, Measured, Outcome, Predicted, Record, Stage, latest
from explore.results.run_environment import Environment

SCHEMA_VERSION = "1.0.0"

_INVALIDITY: dict[Stage, str] = {
    "constrain": "constraints",
    "emit": "compile",
    "prove": "constraints",
    "build": "compile",
    "run": "runtime",
    "verify": "correctness",
}


def to_t4(records: Sequence[Record], environment: Environment) -> dict[str, Any]:
    """The results of a run as a document in T4, the format that auto-tuners exchange: the variants
    that were tried on the device, or compiled for it. Variants whose times are only estimated are
    left out."""
    tried = [r for r in latest(records) if not isinstance(r.outcome, Predicted) or r.outcome.code]
    document = {
        "schema_version": SCHEMA_VERSION,
        "metadata": {
            "tuner": f"convlift {environment.version}",
            "program": environment.name,
            "program_sha256": environment.program_hash,
            "device": environment.device,
            "platform": environment.platform,
            "driver": environment.driver,
            "seed": environment.seed,
        },
        "results": [_result(record) for record in tried],
    }
    if wrong := list(problems(document, schema())):
        raise AssertionError(f"the T4 export breaks its schema: {wrong[:3]}")
    return document


def schema() -> dict[str, Any]:
    text = shipped_text("explore.export", "t4_results.schema.json")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _result(record: Record) -> dict[str, Any]:
    outcome = record.outcome
    measured = outcome if isinstance(outcome, Measured) else None
    predicted = isinstance(outcome, Predicted)
    return {
        "timestamp": str(datetime.fromtimestamp(record.unix_s, UTC)),
        "configuration": {
            "family": record.variant.family,
            "form": record.variant.form,
            "stored": " ".join(record.variant.stored),
            **dict(record.variant.parameters),
        },
        "objectives": ["predicted time" if predicted else "time", "memory"],
        "times": {
            "compilation_time": _ms(measured.build_ns) if measured else 0.0,
            "runtimes": [_ms(ns) for ns in measured.runs_ns] if measured else [],
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": 0.0,
        },
        "invalidity": _invalidity(outcome),
        "correctness": 1 if measured else 0,
        "measurements": _measurements(record, measured) if measured else _compiled(record),
    }


def _measurements(record: Record, measured: Measured) -> list[dict[str, Any]]:
    found = (
        ("time", _ms(measured.time_ns), "ms"),
        ("memory", record.memory_bytes, "bytes"),
        ("workspace", record.workspace_bytes, "bytes"),
        ("prepack", _ms(measured.prepack_ns), "ms"),
        ("device time", None if measured.device_ns is None else _ms(measured.device_ns), "ms"),
        ("clock", measured.clock, ""),
        ("slowdown", measured.slowdown, "times"),
        ("error", measured.error, ""),
    )
    return [{"name": n, "value": v, "unit": u} for n, v, u in found if v is not None]


def _compiled(record: Record) -> list[dict[str, Any]]:
    """The measurements, as T4 has them, of a variant that never ran: numbers of the code that a
    device's compiler made of it, and the time predicted of it."""
    outcome = record.outcome
    if not isinstance(outcome, Predicted):
        return []
    found: list[tuple[str, float | int | str | None, str]] = [
        ("predicted time", _ms(outcome.time_ns), "ms"),
        ("least predicted", None if outcome.least_ns is None else _ms(outcome.least_ns), "ms"),
        ("most predicted", None if outcome.most_ns is None else _ms(outcome.most_ns), "ms"),
        ("memory", record.memory_bytes, "bytes"),
        ("spills", outcome.spills, ""),
    ]
    for code in outcome.code:
        found += [
            (f"{code.kernel} code", code.bytes, "bytes"),
            (f"{code.kernel} private", code.private_bytes, "bytes"),
            (f"{code.kernel} threads", code.threads, ""),
        ]
        found += [(f"{code.kernel} {name}", n, "") for name, n in code.done]
    return [{"name": n, "value": v, "unit": u} for n, v, u in found if v is not None]


def _invalidity(outcome: Outcome) -> str:
    match outcome:
        case Failed(timed_out=True):
            return "timeout"
        case Failed(stage=stage):
            return _INVALIDITY[stage]
        case _:
            return "correct"


def _ms(ns: float) -> float:
    return ns / 1e6

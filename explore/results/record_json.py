"""Records as JSON, in the lines that `--json` prints; `read_record` reads them."""

import json
import math
from dataclasses import asdict
from typing import Any, TypeAlias

from codegen.plan import Buffer, Kernel, Plan
from explore.results.kernel_code import code_json
from explore.results.records import (
    Failed,
    Measured,
    Outcome,
    Predicted,
    Record,
    Step,
    Variant,
)

Json: TypeAlias = dict[str, Any]

_STATUS = {Measured: "measured", Failed: "failed", Predicted: "predicted"}


def to_line(record: Record) -> str:
    """The record as one line of JSON, with the text of all kernels of its variant."""
    plan = record.variant.plan
    return json.dumps({**to_json(record), "source": plan and plan.source}, allow_nan=False)


def to_json(record: Record) -> Json:
    """The record as a JSON object, with the fields that `--json` prints; null for a field without a
    value."""
    return {**facts_json(record), **_steps_json(record.variant)}


def facts_json(record: Record) -> Json:
    """The record as a JSON object, without the steps of its derivation."""
    return {
        **_variant_facts(record.variant),
        **outcome_json(record.outcome),
        "elapsed_s": record.elapsed_s,
        "unix_s": record.unix_s,
        "round": record.round,
    }


def plan_json(plan: Plan) -> Json:
    """The launch plan as JSON, with all that a host program needs to run it."""
    return {
        "kernels": [asdict(kernel) for kernel in plan.kernels],
        "buffers": [_buffer_json(buffer) for buffer in plan.buffers],
        "memory_bytes": plan.memory_bytes,
        "workspace_bytes": plan.workspace_bytes,
    }


def launch_json(kernel: Kernel) -> Json:
    """The launch of a kernel as JSON, without its text."""
    return {name: v for name, v in asdict(kernel).items() if name not in ("text", "needs")}


def variant_json(variant: Variant) -> Json:
    """The variant as a JSON object, with its plan and the steps of its derivation."""
    return {**_variant_facts(variant), **_steps_json(variant)}


def _steps_json(variant: Variant) -> Json:
    return {"derivation": [step_json(step) for step in variant.derivation]}


def _variant_facts(variant: Variant) -> Json:
    plan = variant.plan
    return {
        "id": variant.id,
        "key": variant.key,
        "family": variant.family,
        "parameters": dict(variant.parameters),
        "stored": list(variant.stored),
        "form": variant.form,
        "traits": list(variant.traits),
        "tile": variant.tile,
        "flops": variant.flops,
        "traffic_bytes": variant.traffic_bytes,
        "chip_bytes": variant.chip_bytes,
        "bank_conflicts": variant.bank_conflicts,
        "known_error": variant.known_error,
        "rounding": variant.rounding,
        "block": variant.block,
        "features": [{n: _finite(value) for n, value in kernel} for kernel in variant.features],
        "memory_bytes": plan.memory_bytes if plan else None,
        "workspace_bytes": plan.workspace_bytes if plan else None,
        "kernels": [asdict(kernel) for kernel in plan.kernels] if plan else [],
        "buffers": [_buffer_json(buffer) for buffer in plan.buffers] if plan else [],
    }


def outcome_json(outcome: Outcome) -> Json:
    """The outcome of a variant as a JSON object."""
    measured = outcome if isinstance(outcome, Measured) else None
    failed = outcome if isinstance(outcome, Failed) else None
    predicted = outcome if isinstance(outcome, Predicted) else None
    return {
        "status": _STATUS[type(outcome)],
        "stage": failed.stage if failed else None,
        "reason": failed.reason if failed else None,
        "detail": failed.detail if failed else "",
        "timed_out": failed.timed_out if failed else False,
        "time_ns": None if isinstance(outcome, Failed) else outcome.time_ns,
        "spread": measured.spread if measured else None,
        "noisy": measured.noisy if measured else None,
        "error": measured.error if measured else _finite(failed.error) if failed else None,
        "prepack_ns": measured.prepack_ns if measured else None,
        "build_ns": measured.build_ns if measured else None,
        "code_bytes": measured.code_bytes if measured else None,
        "clock": measured.clock if measured else None,
        "slowdown": measured.slowdown if measured else None,
        "yardstick_ns": measured.yardstick_ns if measured else None,
        "runs_ns": list(measured.runs_ns) if measured else [],
        "device_ns": measured.device_ns if measured else None,
        "kernels_ns": list(measured.kernels_ns) if measured else [],
        "stopped_early": measured.stopped_early if measured else False,
        "code": [code_json(code) for code in predicted.code] if predicted else [],
        "least_ns": predicted.least_ns if predicted else None,
        "most_ns": predicted.most_ns if predicted else None,
        "spills": predicted.spills if predicted else None,
    }


def step_json(step: Step) -> Json:
    """The step of a derivation as JSON, with the stages that begin with it if there are any."""
    stages = [begun._asdict() for begun in step.stages]
    words: Json = {"law": step.law, "place": step.place, "term": step.term}
    return words | ({"stages": stages} if stages else {})


def _buffer_json(buffer: Buffer) -> Json:
    return {**asdict(buffer), "role": buffer.role.value}


def _finite(value: float | None) -> float | None:
    """The value, or None where it is infinite or not a number, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None

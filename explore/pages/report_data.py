"""The data of a report as plain values: what is drawn of a run, and the details of variants."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from explore.pages.shared_lines import SharedLines
from explore.report.palette import colours, markers
from explore.report.parameter_words import WORDS
from explore.report.time_notes import told_of_times
from explore.report.traffic_against_bounds import bound_of, dataflow_traffic, least_traffic
from explore.results.code_totals import code_totals
from explore.results.front import front
from explore.results.lost_forms import LostForm
from explore.results.record_json import facts_json, launch_json, step_json
from explore.results.records import (
    STAGES,
    Bounds,
    Failed,
    Peer,
    Record,
    Stage,
    Step,
    latest,
)
from explore.results.run_environment import Environment
from ir.core.frozen import frozen

_DETAILS = ("id", "parameters", "buffers", "detail")
_SUMMARY = (
    *(
        "id",
        "family",
        "status",
        "stage",
        "reason",
        "time_ns",
        "spread",
        "noisy",
        "error",
        "known_error",
        "prepack_ns",
    ),
    *("memory_bytes", "workspace_bytes", "traffic_bytes", "elapsed_s", "stopped_early"),
    *("clock", "device_ns", "kernels_ns", "slowdown"),
    *("least_ns", "most_ns", "spills"),
)
_REASONS = 4  # shown for each stage


@frozen
class Told:
    """The contents of a report: the records of a run, its environment, peers, and lost forms;
    `folder` is the run's folder as the commands that the report shows name it."""

    records: Sequence[Record]
    environment: Environment
    peers: Sequence[Peer] = ()
    lost: Sequence[LostForm] = ()
    folder: str = "RUN"

    def drawn(self) -> dict[str, Any]:
        """The data that a page draws at once, as JSON data: the run and its variants."""
        found = latest(self.records)
        return {
            **_run(self.records, found, self.environment, self.peers),
            "lost_forms": [*map(_lost, self.lost)],
            "folder": self.folder,
            "words": _words(found),
        }

    def details(self) -> dict[str, Any]:
        """The details that a page shows when a variant is opened, as JSON data: for each variant,
        in the order in which `drawn` has them."""
        return _details(latest(self.records))


def best_so_far(records: Sequence[Record]) -> list[Record]:
    """The records of the first round that were faster than all before them."""
    curve: list[Record] = []
    for record in sorted((r for r in records if r.round == 0), key=lambda r: r.elapsed_s):
        time = record.time_ns
        if time is not None and (not curve or time < (curve[-1].time_ns or 0)):
            curve.append(record)
    return curve


def failures(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The failures of each stage as JSON data: their number, and examples of the commonest
    reasons."""
    found = []
    for stage in STAGES:
        alike: dict[str, list[tuple[str, str]]] = {}
        for id, reason in _failed_at(records, stage):
            alike.setdefault(_sort_of(reason), []).append((id, reason))
        groups = sorted(alike.values(), key=len, reverse=True)
        shown = [{"count": len(g), "id": g[0][0], "reason": g[0][1]} for g in groups[:_REASONS]]
        if groups:
            found.append({"stage": stage, "count": sum(map(len, groups)), "reasons": shown})
    return found


def _run(
    records: Sequence[Record],
    found: Sequence[Record],
    environment: Environment,
    peers: Sequence[Peer],
) -> dict[str, Any]:
    families = [record.variant.family for record in found]
    marks = markers(families)
    bounds = environment.bounds
    started = datetime.fromtimestamp(environment.started_unix_s, UTC)
    return {
        "name": environment.name,
        "program": environment.program_run,
        "device": environment.where,
        "driver": environment.driver,
        "version": environment.version,
        "seed": environment.seed,
        "started": f"{started:%Y-%m-%d %H:%M} UTC" if environment.started_unix_s else "",
        "families": {f: {"colour": c, "marker": marks[f]} for f, c in colours(families).items()},
        "variants": [_summary(record, bounds) for record in found],
        "front": [record.variant.id for record in front(records)],
        "front_with_error": [r.variant.id for r in front(records, ("time", "memory", "error"))],
        "curve": [
            {"id": r.variant.id, "elapsed_s": r.elapsed_s, "time_ns": r.time_ns}
            for r in best_so_far(records)
        ],
        "peers": [
            {
                "name": peer.name,
                "time_ns": peer.time_ns,
                "memory_bytes": peer.memory_bytes,
                "note": peer.note,
            }
            for peer in peers
        ],
        "bounds": {
            "flops": bounds.flops,
            "whole_operations": bounds.whole_operations,
            "io_bytes": bounds.io_bytes,
            "peak_flops": bounds.peak_flops,
            "bandwidth": bounds.bandwidth,
            "roofline_ns": bounds.roofline_ns,
            "launch_ns": bounds.launch_ns,
            "event_ns": bounds.event_ns,
        },
        "failures": failures(found),
        "times": told_of_times(records, bounds),
    }


def _words(found: Sequence[Record]) -> dict[str, str]:
    """The parameters of these variants in words, by the parameter's name."""
    names = {name for record in found for name, _ in record.variant.parameters}
    return {name: WORDS[name] for name in sorted(names) if name in WORDS}


def _lost(form: LostForm) -> dict[str, str]:
    return {"name": form.name, "reason": form.reason}


def _summary(record: Record, bounds: Bounds) -> dict[str, Any]:
    fields = facts_json(record)
    parameters = " ".join(f"{name}={value}" for name, value in fields["parameters"].items())
    short = {name: fields[name] for name in _SUMMARY}
    return {
        **short,
        "parameters": parameters,
        "form": record.variant.form,
        "least_traffic": least_traffic(record.variant, bounds),
        "bound": bound_of(record.variant, bounds),
        "dataflow_traffic": dataflow_traffic(record.variant, bounds),
        "compiled": _compiled(record),
    }


def _compiled(record: Record) -> dict[str, Any] | None:
    """The numbers of a variant's compiled code as JSON data; None if it was not compiled."""
    code = code_totals(record)
    return None if code is None else {**asdict(code), "done": dict(code.done)}


def _details(found: Sequence[Record]) -> dict[str, Any]:
    """The details of variants as JSON data; variants of a form share their derivation, and texts,
    which are told by their numbers, share lines."""
    from explore.pages.tiling import tiling  # here: it reads kernels, after they ran

    number: dict[tuple[Step, ...], int] = {}
    for record in found:
        number.setdefault(record.variant.derivation, len(number))
    texts, sources = SharedLines(), _sources(found)
    derivations = [[_numbered(step_json(step), texts) for step in steps] for steps in number]
    written = {id: texts.add(source) for id, source in sources}
    best = {record.variant.id for record in front(found)}
    variants = []
    for record in found:
        fields = facts_json(record)
        variant, plan = record.variant, record.variant.plan
        variants.append(
            {name: fields[name] for name in _DETAILS}
            | {"kernels": [launch_json(k) for k in plan.kernels] if plan else []}
            | {"source": written.get(variant.id), "derivation": number[variant.derivation]}
            | {"tiling": tiling(plan) if plan and variant.id in best else None}
        )
    return {"texts": texts.to_json(), "derivations": derivations, "variants": variants}


def _sources(found: Sequence[Record]) -> list[tuple[str, str]]:
    """The ids and texts of variants that have a text, those of a form together."""
    some = sorted((r.variant for r in found), key=lambda v: (v.family, v.form))
    return [(variant.id, variant.plan.source) for variant in some if variant.plan]


def _numbered(step: dict[str, Any], texts: SharedLines) -> dict[str, Any]:
    """A step as JSON data with the numbers of its law, place and terms in `texts` instead of the
    words."""
    words = {name: texts.add(step[name]) for name in ("law", "place", "term")}
    stages = [
        {**stage, "before": texts.add(stage["before"]), "after": texts.add(stage["after"])}
        for stage in step.get("stages", ())
    ]
    return words | ({"stages": stages} if stages else {})


def _failed_at(records: Sequence[Record], stage: Stage) -> Iterator[tuple[str, str]]:
    for record in records:
        match record.outcome:
            case Failed(stage=at, reason=reason) if at == stage:
                yield record.variant.id, reason


def _sort_of(reason: str) -> str:
    """The reason of a failure without its numbers, so that reasons that differ only in numbers
    count as one."""
    return re.sub(r"\d+(\.\d+)?", "…", reason)

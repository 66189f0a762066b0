"""The writing of a bundle: a folder that runs the best variants of a run where OpenCL alone is."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from codegen.plan import Plan
from explore.bundle.bundled_program import BundledProgram
from explore.bundle.claims import FORMAT
from explore.bundle.variant_tables import Entry, Facts, plans_header
from explore.export.export_variant import refuse_names, refuse_occupied
from explore.export.plan_in_c import turns
from explore.files.shipped_text import shipped_text
from explore.files.whole_files import write_folder
from explore.measure.reference import largest_error
from explore.options.options import Options
from explore.results.front import best_first
from explore.results.record_json import launch_json, plan_json
from explore.results.records import Record
from explore.results.run_environment import Environment
from explore.run.source import Source
from explore.run.trusted_plans import TrustedPlans
from ir.errors import UserError
from ir.text.counted import counted

OURS = "bundle.json"  # a folder that holds one may be written again
LIMIT_S = 120  # seconds that a variant may take on the board

MAKEFILE = """CFLAGS ?= -O2 -Wall
bundle: bundle.c plans.h host_tools.c build_options.c large_pages.c no_runtime.c sha256.c \\
\t\tdrawn_inputs.c
\t$(CC) $(CFLAGS) -o $@ bundle.c -lOpenCL -lm
"""
COPIED = (
    ("codegen.runtime", "platforms.py"),
    ("codegen.binaries", "build_options.py"),
    ("codegen.runtime", "large_pages.py"),
    ("explore.export", "build_options.c"),
    ("explore.export", "large_pages.c"),
    ("explore.export", "host_tools.c"),
    ("explore.export", "no_runtime.c"),
    ("explore.bundle", "bundle.c"),
    ("explore.bundle", "sha256.c"),
    ("explore.bundle", "drawn_inputs.c"),
    ("explore.bundle", "drawn_inputs.py"),
)


def write_bundle(
    records: Sequence[Record], environment: Environment, top: int, folder: Path, jobs: int
) -> int:
    """Write the best variants of a run, at most `top`, to a folder; returns how many were written.

    Each is first made again and proved, by `jobs` workers. A UserError if none can be run."""
    refuse_occupied(folder, OURS, ("kernels",))
    best = best_first(records, top)
    if not best:
        raise UserError("no variant of this run can be run: there is nothing to bundle")
    plans = TrustedPlans(environment, jobs=jobs).all(best)
    for plan in plans:
        refuse_names(plan)
    entries = [_entry(n, r, plan) for n, (r, plan) in enumerate(zip(best, plans, strict=True))]
    options = Options.from_json(environment.options)
    program = BundledProgram(Source.of(environment).program(options), options.seed)
    if not all(np.isfinite(out).all() for out in program.right.outputs):
        raise UserError("a bundle compares finite results: this program has infinite ones, or NaN")
    allowed = largest_error(program.program, options.max_error)
    expected = b"".join(
        np.ascontiguousarray(out, np.float64).tobytes() for out in program.right.outputs
    )
    facts = Facts(
        form=FORMAT,
        made_for=environment.where,
        program=environment.program_hash,
        seed=options.seed,
        max_error=allowed,
        turns=turns(plans[0]),
        expected_bytes=len(expected),
        expected=sha256(expected).hexdigest(),
        limit_s=LIMIT_S,
    )
    host = shipped_text("explore.bundle", "bundle.py.in")
    contents: dict[str, str | bytes] = {
        OURS: json.dumps(_described(facts, program, entries), indent=1) + "\n",
        "plans.h": plans_header(facts, program.inputs, entries),
        "expected.bin": expected,
        "bundle.py": host,
        "Makefile": MAKEFILE,
        "README.md": _readme(environment, len(entries)),
        **{name: shipped_text(package, name) for package, name in COPIED},
        **{entry.file: entry.plan.source for entry in entries},
    }
    write_folder(folder, contents)
    return len(entries)


def text_hash(plan: Plan) -> str:
    """The sha256 of the OpenCL text of a plan's kernels, as a bundle holds it."""
    return sha256(plan.source.encode()).hexdigest()


def _entry(number: int, record: Record, plan: Plan) -> Entry:
    file = f"kernels/{number:03}-{record.variant.id}.cl"
    return Entry(record.variant.id, file, text_hash(plan), plan)


def _described(
    facts: Facts, program: BundledProgram, entries: Sequence[Entry]
) -> Mapping[str, Any]:
    """The contents of a bundle's file bundle.json: its facts, its program's inputs, and its
    variants."""
    return {
        "bundle": facts.form,
        "made_for": facts.made_for,
        "program": facts.program,
        "seed": facts.seed,
        "max_error": facts.max_error,
        "turns": facts.turns,
        "expected": facts.expected,
        "limit_s": facts.limit_s,
        "inputs": {i.name: {"scalar": i.scalar, "count": i.count} for i in program.inputs},
        "variants": [_variant(entry) for entry in entries],
    }


def _variant(entry: Entry) -> Mapping[str, Any]:
    plan = entry.plan
    return {
        "id": entry.id,
        "file": entry.file,
        "text": entry.sha256,
        "workspace_bytes": plan.workspace_bytes,
        "buffers": plan_json(plan)["buffers"],
        "kernels": [launch_json(kernel) for kernel in plan.kernels],
    }


def _readme(environment: Environment, count: int) -> str:
    return f"""# {counted(count, "variant")} of {environment.name}

Made for {environment.where}, to be run on a device of that kind. Copy this folder there, and run
one of

    make && ./bundle      (needs a C compiler, the OpenCL headers and a loader)
    python bundle.py      (needs numpy and pyopencl)

Either takes the number or a part of the name of a device. Each variant runs in a process of its
own, is built from its text in `kernels`, checked and timed; one that crashes or takes more than
{LIMIT_S} seconds has failed, and the others go on. A start that was broken off goes on with what is
missing in `results.jsonl`. Bring that file back:

    explore absorb RUN results.jsonl

Inputs are drawn by the seed (`drawn_inputs.c`, `drawn_inputs.py`); `expected.bin` holds the right
results for them, in doubles.
"""

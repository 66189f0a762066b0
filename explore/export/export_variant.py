"""The export of a variant as a folder that runs and checks itself without convlift."""

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codegen.plan import Plan
from explore.export.c_library import library
from explore.export.contents_places import (
    INPUTS,
    WEIGHTS,
    Place,
    places_of,
    weights_bytes,
    with_place,
)
from explore.export.kernel_listing import listing
from explore.export.plan_in_c import plan_header, tables, turns
from explore.export.python_package import python_package
from explore.files.shipped_text import shipped_text
from explore.files.whole_files import write_folder
from explore.measure.reference import Array, inputs_of, largest_error, reference
from explore.options.options import Options
from explore.options.units import show_bytes, show_time
from explore.report.summary import pace_words, time_words
from explore.results.derivation_steps import laws_of, outline_of, stages_of
from explore.results.record_json import launch_json, plan_json
from explore.results.records import Measured, Predicted, Record, Variant
from explore.results.run_environment import Environment
from ir.core.frozen import frozen
from ir.errors import UserError
from ir.parse import parse
from rewrites.engine.outline_text import headings

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BUFFER = re.compile(rf"{NAME.pattern}(\.[0-9]+)*")  # `xs.0`: component 0 of a tuple
OURS = "plan.json"  # a folder that holds one may be written again
EXPECTED = "data/expected.bin"

MAKEFILE = """CFLAGS ?= -O2 -Wall
host: host.c host_tools.c plan.h build_options.c large_pages.c no_runtime.c
\t$(CC) $(CFLAGS) -o $@ host.c -lOpenCL -lm
"""


def export(
    record: Record, plan: Plan, environment: Environment, folder: Path, name: str | None = None
) -> None:
    """Write a variant to a folder: kernels, launch plan, inputs, the right result, and host
    programs in Python and C.

    `plan` must be a trusted one of the record's variant. `name` is that of the libraries in C and
    Python; None takes the program's.
    """
    options = Options.from_json(environment.options)
    program = parse(environment.program, environment.name, dict(options.sizes))
    allowed = largest_error(program, options.max_error)
    told = Told(
        made_for=environment.where,
        max_error=allowed,
        said=_plan(record, environment),
        kernels=kernel_text(record.variant, plan),
        readme=_readme(record, environment, library_name(name or program.name)),
        name=name or program.name,
        title=f"{record.variant.id}, a variant of {environment.name}.",
        derivation=_derivation(record, environment),
    )
    inputs = inputs_of(program, options.seed)
    write_export(folder, plan, told, inputs, reference(program, options.seed).outputs)


@frozen
class Told:
    """The facts that an export tells besides its plan: the device it was made for, the largest
    error of a right result, the fields of `plan.json`, the text of its kernels, its README, the
    name and the title of its libraries, and the derivation, if there is one."""

    made_for: str
    max_error: float
    said: Mapping[str, Any]
    kernels: str
    readme: str
    name: str
    title: str
    derivation: str = ""


def write_export(
    folder: Path, plan: Plan, told: Told, inputs: Mapping[str, Array], expected: Sequence[Array]
) -> None:
    """Write a plan to a folder, with inputs and constants by buffer, the right results in the order
    of the plan's outputs, and host programs in Python and C."""
    refuse_names(plan)
    refuse_occupied(folder, OURS, ("data", INPUTS, WEIGHTS, "library", "python"))
    places = places_of(plan)
    said = {
        **plan_json(plan),
        "buffers": [with_place(b, places) for b in plan_json(plan)["buffers"]],
        "weights_bytes": weights_bytes(plan, places),
        "kernels": [launch_json(kernel) for kernel in plan.kernels],
        **told.said,
        "made_for": told.made_for,
        "turns": turns(plan),
        "max_error": told.max_error,
    }
    plan_text = json.dumps(said, indent=1) + "\n"
    package = python_package(
        library_name(told.name), plan, title=told.title, said=plan_text, kernels=told.kernels
    )
    texts = {
        OURS: plan_text,
        "kernels.cl": told.kernels,
        "plan.h": plan_header(plan, told.made_for, told.max_error),
        "platforms.py": shipped_text("codegen.runtime", "platforms.py"),
        "build_options.py": shipped_text("codegen.binaries", "build_options.py"),
        "large_pages.py": shipped_text("codegen.runtime", "large_pages.py"),
        "build_options.c": shipped_text("explore.export", "build_options.c"),
        "large_pages.c": shipped_text("explore.export", "large_pages.c"),
        "no_runtime.c": shipped_text("explore.export", "no_runtime.c"),
        "host.py": shipped_text("explore.export", "host.py.in"),
        "host.c": shipped_text("explore.export", "host.c"),
        "host_tools.c": shipped_text("explore.export", "host_tools.c"),
        "Makefile": MAKEFILE,
        "README.md": told.readme,
        **({"derivation.txt": told.derivation} if told.derivation else {}),
        **{f"python/{file}": text for file, text in package.items()},
    }
    arrays = _stored(plan, places, inputs, expected)
    write_folder(folder, {**texts, **_library(plan, told), **arrays})


def _library(plan: Plan, told: Told) -> Mapping[str, str]:
    """The files of the library in C, by their paths in the export: they are in a folder of their
    own."""
    made = library(
        library_name(told.name),
        plan,
        tables(plan),
        told.kernels,
        places={name: (place.file, place.at) for name, place in places_of(plan).items()},
        weights_bytes=weights_bytes(plan, places_of(plan)),
        title=told.title,
        where=told.made_for,
        max_error=told.max_error,
    )
    return {f"library/{file}": text for file, text in made.items()}


def library_name(name: str) -> str:
    """The name of an export's libraries in C and Python: `name` itself if these languages allow it,
    else `kernels`."""
    return name if _fits(name) else "kernels"


def demand_library_name(name: str) -> str:
    """The name that a user gives the libraries; a UserError if it can be none."""
    if not _fits(name):
        raise UserError(
            "expected a plain name of letters, digits and _, and no keyword of Python; "
            f"found {name!r}"
        )
    return name


def _fits(name: str) -> bool:
    return NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


def _stored(
    plan: Plan,
    places: Mapping[str, Place],
    inputs: Mapping[str, Array],
    expected: Sequence[Array],
) -> Mapping[str, bytes]:
    """The contents of an export's files of data, by file: inputs and constants at their `places`,
    and the right results (`expected`)."""
    files, weights = dict[str, bytes](), bytearray(weights_bytes(plan, places))
    for name, place in places.items():
        data = np.ascontiguousarray(inputs[name]).tobytes()
        if place.file == WEIGHTS:
            weights[place.at : place.at + len(data)] = data
        else:
            files[place.file] = data
    if weights:
        files[WEIGHTS] = bytes(weights)
    doubles = (np.ascontiguousarray(array, np.float64).tobytes() for array in expected)
    return {**files, EXPECTED: b"".join(doubles)}


def kernel_text(variant: Variant, plan: Plan) -> str:
    """The OpenCL text of a plan, below a comment with the outline of its variant's derivation, its
    buffers and its kernels."""
    given = ", ".join(f"{name} = {value}" for name, value in variant.parameters)
    lines = [f"{variant.id}: {variant.family} {variant.form}".rstrip(), f"with {given or 'none'}"]
    lines += headings(stages_of(variant.derivation))
    return listing(plan, lines)


def refuse_names(plan: Plan) -> None:
    """Raise a UserError for a plan with names that are not plain: they become file names and C
    text."""
    named = [(b.name, BUFFER) for b in plan.buffers] + [(k.name, NAME) for k in plan.kernels]
    for name, plain in named:
        if not plain.fullmatch(name):
            raise UserError(
                f"cannot export {name!r}: it is not a plain name of letters, digits and _"
            )


def refuse_occupied(folder: Path, ours: str, inner: Sequence[str]) -> None:
    """Raise a UserError for a folder into which an export must not be written: it holds files, but
    none called `ours`, by which an earlier export is known; or one of the places `inner` in it is a
    link."""
    try:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"expected a folder, found the file {folder}")
        if folder.exists() and any(folder.iterdir()) and not (folder / ours).exists():
            raise UserError(f"{folder} holds other files: choose an empty or a new folder")
    except OSError as error:
        raise UserError(f"cannot write in {folder}: {error.strerror}") from error
    for place in inner:
        if (folder / place).is_symlink():
            raise UserError(f"{folder / place} is a link that leads elsewhere: choose a new folder")


def _derivation(record: Record, environment: Environment) -> str:
    """The text of a whole derivation: the program, the outline, and every law with the term that
    then stood at its place."""
    steps = record.variant.derivation
    parts = [environment.program_run.rstrip(), *outline_of(steps)]
    if any(step.stages for step in steps):
        parts += ["", *laws_of(steps)]
    return "\n".join(parts) + "\n"


def _plan(record: Record, environment: Environment) -> Mapping[str, Any]:
    return {
        "id": record.variant.id,
        "family": record.variant.family,
        "form": record.variant.form,
        "parameters": dict(record.variant.parameters),
        **_times(record, environment),
    }


def _times(record: Record, environment: Environment) -> Mapping[str, Any]:
    """The times that the export tells, as JSON: of an inference, with its clock, of its kernels,
    and of an empty launch."""
    measured = record.outcome if isinstance(record.outcome, Measured) else None
    return {
        "time_ns": record.time_ns,
        "clock": measured and measured.clock,
        "device_ns": measured and measured.device_ns,
        "launch_ns": environment.bounds.launch_ns,
    }


def _time_words(record: Record) -> str:
    """The time of a record in words: with its spread and the machine's pace, or that it was
    predicted."""
    match record.outcome:
        case Measured() as measured:
            pace = pace_words(measured)
            return time_words(measured) + (f" (measured on a machine {pace})" if pace else "")
        case Predicted():
            return f"{show_time(record.time_ns)} (predicted: nothing was run)"
    return "none"


def _readme(record: Record, environment: Environment, name: str) -> str:
    return f"""# {record.variant.id}

A variant of the program below, on {environment.where}.

    time     {_time_words(record)}
    memory   {show_bytes(record.memory_bytes)}

    python host.py      (needs numpy and pyopencl)
    make && ./host      (needs a C compiler, the OpenCL headers and a loader)

    cd library && make && ./*_demo      (the same as a library: create, run, destroy)
    pip install ./python                (the same as a package: from {name} import Kernels)

`derivation.txt` tells law by law how it was made of the program.

Both hosts run `kernels.cl` as `plan.json` says (`plan.h` says the same in C) on what is in
`{INPUTS}` and `{WEIGHTS}`, print what an inference takes, of many back to back, and check the
result against `{EXPECTED}` (doubles). `./host` also prints what an empty launch takes: no plan of
as many kernels is faster.

`host.py` finds runtimes that pip installed. `./host`, the demo and your own programs ask the OpenCL
loader, which ends them with error -1001 if no runtime is registered with the system. It is told of
one so (Intel's CPU runtime in the Python environment $VIRTUAL_ENV):

    RUNTIME=$VIRTUAL_ENV/lib/libintelocl.so
    LD_LIBRARY_PATH=$VIRTUAL_ENV/lib OCL_ICD_FILENAMES=$RUNTIME OCL_ICD_VENDORS=$RUNTIME ./host

```
{environment.program_run.replace("```", "'''").rstrip()}
```
"""

"""The export of a variant as a folder that runs and checks itself without convlift."""

import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.export.c_library import library
from explore.files.whole_files import write_folder
from explore.measure.measure_variant import turns_of
from explore.measure.reference import Array, inputs_of, largest_error, reference
from explore.options.options import Options
from explore.options.units import show_bytes, show_time
from explore.results.derivation_steps import stages_of
from explore.results.record_json import launch_json, plan_json
from explore.results.records import Measured, Predicted, Record, Variant
from explore.results.run_environment import Environment
from ir.core.types import BYTES
from ir.errors import UserError
from ir.parse import parse
from rewrites.engine.outline_text import headings

GIVEN = (Role.INPUT, Role.CONST)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BUFFER = re.compile(rf"{NAME.pattern}(\.[0-9]+)*")  # `xs.0`: component 0 of a tuple
OURS = "plan.json"  # a folder that holds one may be written again
INPUTS = "data/inputs"  # apart from the expected output, whatever an input is called
EXPECTED = "data/expected.bin"

MAKEFILE = """CFLAGS ?= -O2 -Wall
host: host.c plan.h
\t$(CC) $(CFLAGS) -o $@ host.c -lOpenCL -lm
"""


def export(record: Record, plan: Plan, environment: Environment, folder: Path) -> None:
    """Write a variant to a folder: kernels, launch plan, inputs, the right result, and host
    programs in Python and C.

    `plan` must be a trusted one of the record's variant.
    """
    options = Options.from_json(environment.options)
    program = parse(environment.program, environment.name, dict(options.sizes))
    allowed = largest_error(program, options.max_error)
    told = Told(
        made_for=environment.where,
        max_error=allowed,
        said=_plan(record, environment),
        kernels=kernel_text(record.variant, plan),
        readme=_readme(record, environment),
        name=program.name,
        title=f"{record.variant.id}, a variant of {environment.name}.",
    )
    inputs = inputs_of(program, options.seed)
    write_export(folder, plan, told, inputs, reference(program, options.seed).output)


@dataclass(frozen=True, slots=True)
class Told:
    """What an export tells beside its plan: the device it was made for, the largest error of a
    right result, what `plan.json` says of it, the text of its kernels, its README, and the name and
    the title of its library in C."""

    made_for: str
    max_error: float
    said: Mapping[str, Any]
    kernels: str
    readme: str
    name: str
    title: str


def write_export(
    folder: Path, plan: Plan, told: Told, inputs: Mapping[str, Array], expected: Array
) -> None:
    """Write a plan to a folder, with inputs and constants by buffer, the right result, and host
    programs in Python and C."""
    _refuse_names(plan)
    try:
        _refuse_occupied(folder)
    except OSError as error:
        raise UserError(f"cannot write in {folder}: {error.strerror}") from error
    said = {
        **plan_json(plan),
        "kernels": [launch_json(kernel) for kernel in plan.kernels],
        **told.said,
        "made_for": told.made_for,
        "turns": _turns(plan),
        "max_error": told.max_error,
    }
    texts = {
        OURS: json.dumps(said, indent=1) + "\n",
        "kernels.cl": told.kernels,
        "plan.h": _header(plan, told.made_for, told.max_error),
        "platforms.py": _text("codegen.runtime", "platforms.py"),
        "host.py": _text("explore.export", "host.py.in"),
        "host.c": _text("explore.export", "host.c"),
        "Makefile": MAKEFILE,
        "README.md": told.readme,
    }
    write_folder(folder, {**texts, **_library(plan, told), **_stored(inputs, expected)})


def _library(plan: Plan, told: Told) -> Mapping[str, str]:
    """The files of the library in C, in a folder of their own."""
    made = library(
        told.name if NAME.fullmatch(told.name) else "kernels",
        plan,
        _tables(plan),
        told.kernels,
        title=told.title,
        where=told.made_for,
        max_error=told.max_error,
    )
    return {f"library/{file}": text for file, text in made.items()}


def _stored(inputs: Mapping[str, Array], expected: Array) -> Mapping[str, bytes]:
    arrays = {_file_of(name): np.ascontiguousarray(array) for name, array in inputs.items()}
    arrays[EXPECTED] = np.ascontiguousarray(expected, np.float64)
    return {name: array.tobytes() for name, array in arrays.items()}


def _file_of(buffer: str) -> str:
    return f"{INPUTS}/{buffer}.bin"


def kernel_text(variant: Variant, plan: Plan) -> str:
    """The OpenCL text of a plan, below a comment with the outline of its variant's derivation."""
    given = ", ".join(f"{name} = {value}" for name, value in variant.parameters)
    lines = [f"{variant.id}: {variant.family} {variant.form}".rstrip(), f"with {given or 'none'}"]
    lines += headings(stages_of(variant.derivation))
    return "".join(f"// {_one_line(line)}\n" for line in lines) + "\n" + plan.source


def _one_line(text: str) -> str:
    """The text made safe for a one-line comment: without line ends and backslashes."""
    return re.sub(r"\s", " ", text).rstrip().replace("\\", "/")


def _refuse_names(plan: Plan) -> None:
    """Raise a UserError for a plan with names that are not plain: they become file names and C
    text."""
    named = [(b.name, BUFFER) for b in plan.buffers] + [(k.name, NAME) for k in plan.kernels]
    for name, plain in named:
        if not plain.fullmatch(name):
            raise UserError(
                f"cannot export {name!r}: it is not a plain name of letters, digits and _"
            )


def _refuse_occupied(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UserError(f"expected a folder, found the file {folder}")
    if folder.exists() and any(folder.iterdir()) and not (folder / OURS).exists():
        raise UserError(f"{folder} holds other files: choose an empty or a new folder")
    for place in ("data", INPUTS, "library"):
        if (folder / place).is_symlink():
            raise UserError(f"{folder / place} is a link that leads elsewhere: choose a new folder")


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


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


def _turns(plan: Plan) -> int:
    """The number of copies of the inputs that an exported host program uses in turns: as many as
    were used when the variant was timed."""
    return turns_of(sum(buffer.bytes for buffer in plan.buffers if buffer.role is Role.INPUT))


# ---- C


def _header(plan: Plan, made_for: str, max_error: float) -> str:
    buffers = "".join(f"  {_c_buffer(b)},\n" for b in plan.buffers)
    return f"""/* The launch plan: what plan.json says, for host.c. */
enum {{ BUFFERS = {len(plan.buffers)}, KERNELS = {len(plan.kernels)}, TURNS = {_turns(plan)} }};
#define ARENA_BYTES {plan.workspace_bytes}u /* of temporaries */
#define MAX_ERROR {max_error!r}
#define MADE_FOR {_c_text(made_for)} /* the device, and its platform */
enum scalar {{ {", ".join(name.upper() for name in BYTES)} }};
static const size_t bytes_of[] = {{ {", ".join(map(str, BYTES.values()))} }};
enum role {{ INPUT, CONST, PACKED, TEMPORARY, OUTPUT }};
static const struct {{
  const char *name, *file; /* file: where its contents are stored, if they are given */
  enum scalar scalar;
  enum role role;
  size_t bytes;
  size_t offset; /* of a temporary: where it begins in the arena */
}} buffers[] = {{
{buffers}}};
{_c_kernels(plan)}"""


def _tables(plan: Plan) -> str:
    """The buffers and kernels of a plan as C text, as far as a library needs them."""
    roles = ", ".join(role.name for role in Role)
    buffers = "".join(
        f"  {{{b.role.name}, {b.bytes}u, {b.offset or 0}u}}, /* {b.name} */\n" for b in plan.buffers
    )
    return f"""enum {{ BUFFERS = {len(plan.buffers)}, KERNELS = {len(plan.kernels)} }};
#define ARENA_BYTES {plan.workspace_bytes}u /* of temporaries */
enum role {{ {roles} }};
static const struct {{
  enum role role;
  size_t bytes, offset; /* offset: of a temporary, where it begins in the arena */
}} buffers[] = {{
{buffers}}};
{_c_kernels(plan)}"""


def _c_kernels(plan: Plan) -> str:
    numbers = {buffer.name: i for i, buffer in enumerate(plan.buffers)}
    most = max(len(kernel.arguments) for kernel in plan.kernels)
    kernels = "".join(f"  {_c_kernel(k, numbers)},\n" for k in plan.kernels)
    return f"""static const struct {{
  const char *name;
  size_t global_size[3], local_size[3];
  int prepack; /* runs once, when constants change */
  int argument_count, arguments[{most}];
}} kernels[] = {{
{kernels}}};
"""


def _c_text(text: str) -> str:
    """The C string literal for a text's bytes; bytes that C could misread are written in octal."""
    plain = string.ascii_letters + string.digits + " .,:;_+-()@#"
    return '"' + "".join(c if c in plain else _octal(c) for c in text) + '"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode())


def _c_buffer(b: Buffer) -> str:
    file = f'"{_file_of(b.name)}"' if b.role in GIVEN else "NULL"
    scalar, role = b.scalar.upper(), b.role.value.upper()
    return f'{{"{b.name}", {file}, {scalar}, {role}, {b.bytes}u, {b.offset or 0}u}}'


def _c_kernel(k: Kernel, numbers: Mapping[str, int]) -> str:
    arguments = ", ".join(str(numbers[name]) for name in k.arguments)
    sizes = f"{_c_sizes(k.global_size)}, {_c_sizes(k.local_size)}"
    return f'{{"{k.name}", {sizes}, {int(k.prepack)}, {len(k.arguments)}, {{{arguments}}}}}'


def _c_sizes(size: tuple[int, int, int]) -> str:
    return "{" + ", ".join(map(str, size)) + "}"


def _readme(record: Record, environment: Environment) -> str:
    memory, time = show_bytes(record.memory_bytes), show_time(record.time_ns)
    guess = " (predicted: nothing was run)" if isinstance(record.outcome, Predicted) else ""
    return f"""# {record.variant.id}

A variant of the program below: {time}{guess} and {memory} of global memory on
{environment.where}.

    python host.py      (needs numpy and pyopencl)
    make && ./host      (needs a C compiler, the OpenCL headers and a loader)

    cd library && make && ./*_demo      (the same as a library: create, run, destroy)

Both hosts run `kernels.cl` as `plan.json` says (`plan.h` says the same in C) on what is in
`{INPUTS}`, print what an inference takes, of many back to back, and check the result against
`{EXPECTED}` (doubles). `./host` also prints what an empty launch takes: no plan of as many kernels
is faster.

`host.py` finds runtimes that pip installed. `./host` asks the OpenCL loader, which is told of one
so (Intel's CPU runtime in the Python environment ENV; the second way is for Debian's own loader):

    LD_LIBRARY_PATH=ENV/lib OCL_ICD_FILENAMES=ENV/lib/libintelocl.so ./host
    OCL_ICD_VENDORS=ENV/lib/libintelocl.so ./host

```
{environment.program_run.replace("```", "'''").rstrip()}
```
"""

"""A launch plan as C text, for host programs and libraries."""

import string
from collections.abc import Mapping

from codegen.plan import Buffer, Kernel, Plan, Role
from explore.export.contents_places import Place, places_of, weights_bytes
from explore.measure.measure_tasks import turns_of
from ir.core.types import BYTES


def turns(plan: Plan) -> int:
    """The number of copies of the inputs that an exported host program uses in turns: as many as
    were used when the variant was timed."""
    return turns_of(sum(buffer.bytes for buffer in plan.buffers if buffer.role is Role.INPUT))


def plan_header(plan: Plan, made_for: str, max_error: float) -> str:
    """The text of `plan.h`: the launch plan in C, the device it was made for, and the largest error
    of a right result."""
    places = places_of(plan)
    buffers = "".join(f"  {_c_buffer(b, places.get(b.name))},\n" for b in plan.buffers)
    return f"""/* The launch plan: what plan.json says, for host.c. */
enum {{ BUFFERS = {len(plan.buffers)}, KERNELS = {len(plan.kernels)}, TURNS = {turns(plan)} }};
#define ARENA_BYTES {plan.workspace_bytes}u /* of temporaries */
#define WEIGHTS_BYTES {weights_bytes(plan, places)}u /* of the file with all constants */
#define MAX_ERROR {max_error!r}
#define MADE_FOR {c_text(made_for)} /* the device, and its platform */
enum scalar {{ {", ".join(name.upper() for name in BYTES)} }};
static const size_t bytes_of[] = {{ {", ".join(map(str, BYTES.values()))} }};
enum role {{ INPUT, CONST, PACKED, TEMPORARY, OUTPUT }};
static const struct {{
  const char *name, *file; /* file: where its contents are stored, if they are given */
  enum scalar scalar;
  enum role role;
  size_t bytes;
  size_t offset; /* of a temporary: where it begins in the arena */
  size_t at; /* of a constant: where it begins in its file */
}} buffers[] = {{
{buffers}}};
{_c_kernels(plan)}"""


def tables(plan: Plan) -> str:
    """The C text of a plan's buffers (role, bytes, place in the arena) and kernels, and of how many
    there are, for a library."""
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


def c_text(text: str) -> str:
    """The C string literal for a text's bytes; bytes that C could misread are written in octal."""
    plain = string.ascii_letters + string.digits + " .,:;_+-()@#"
    return '"' + "".join(c if c in plain else _octal(c) for c in text) + '"'


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in char.encode())


def _c_buffer(b: Buffer, place: Place | None) -> str:
    file, at = ("NULL", 0) if place is None else (f'"{place.file}"', place.at)
    scalar, role = b.scalar.upper(), b.role.value.upper()
    return f'{{"{b.name}", {file}, {scalar}, {role}, {b.bytes}u, {b.offset or 0}u, {at}u}}'


def _c_kernel(k: Kernel, numbers: Mapping[str, int]) -> str:
    arguments = ", ".join(str(numbers[name]) for name in k.arguments)
    sizes = f"{c_sizes(k.global_size)}, {c_sizes(k.local_size)}"
    return f'{{"{k.name}", {sizes}, {int(k.prepack)}, {len(k.arguments)}, {{{arguments}}}}}'


def c_sizes(size: tuple[int, int, int]) -> str:
    """The C initialiser of the three sizes of a launch."""
    return "{" + ", ".join(map(str, size)) + "}"

"""The plans of a bundle's variants as C text, for bundle.c."""

from collections.abc import Iterable, Mapping, Sequence

from codegen.plan import Buffer, Kernel, Plan
from explore.export.plan_in_c import c_sizes, c_text
from ir.core.frozen import frozen
from ir.core.types import BYTES


@frozen
class Entry:
    """A variant of a bundle: its name, the file with the text of its kernels, the sha256 of that
    text, and its plan."""

    id: str
    file: str
    sha256: str
    plan: Plan


@frozen
class Input:
    """An input of a bundle's program: its name, the scalar type of its numbers, and how many there
    are."""

    name: str
    scalar: str
    count: int


@frozen
class Facts:
    """The facts that all variants of a bundle share: the version of its format (`form`), the device
    they were made for, the sha256 of the program, the seed, the largest error of a right result,
    the number of copies of the inputs (`turns`), the bytes of the expected results and their
    sha256, and the seconds that a variant may take (`limit_s`)."""

    form: int
    made_for: str
    program: str
    seed: int
    max_error: float
    turns: int
    expected_bytes: int
    expected: str
    limit_s: int


def plans_header(facts: Facts, inputs: Sequence[Input], entries: Sequence[Entry]) -> str:
    """The text of `plans.h`: the facts, the inputs and the plans of a bundle's variants in C."""
    numbers = {given.name: n for n, given in enumerate(inputs)}
    given = "".join(f"  {{{i.scalar.upper()}, {i.count}u}}, /* {i.name} */\n" for i in inputs)
    tables = "".join(_tables(n, entry.plan, numbers) for n, entry in enumerate(entries))
    variants = "".join(f"  {_variant(n, entry)},\n" for n, entry in enumerate(entries))
    return f"""/* The launch plans of all variants: what bundle.json says, for bundle.c. */
enum {{ FORMAT = {facts.form}, VARIANTS = {len(entries)}, INPUTS = {len(inputs)} }};
enum {{ TURNS = {facts.turns}, LIMIT_S = {facts.limit_s} /* seconds for a variant */ }};
#define SEED {facts.seed % 2**64}u
#define EXPECTED_BYTES {facts.expected_bytes}u /* of expected.bin */
#define EXPECTED_SHA256 "{facts.expected}"
#define MAX_ERROR {facts.max_error!r}
#define PROGRAM_SHA256 "{facts.program}"
#define MADE_FOR {c_text(facts.made_for)} /* the device, and its platform */
enum scalar {{ {", ".join(name.upper() for name in BYTES)} }};
static const size_t bytes_of[] = {{ {", ".join(map(str, BYTES.values()))} }};
enum role {{ INPUT, CONST, PACKED, TEMPORARY, OUTPUT }};
static const struct {{
  enum scalar scalar;
  size_t count;
}} inputs[] = {{
{given}}};
struct buffer {{
  enum scalar scalar;
  enum role role;
  int input; /* its number among the inputs, or -1 */
  size_t bytes, offset; /* of a temporary: where it begins in the arena */
}};
struct kernel {{
  const char *name;
  size_t global_size[3], local_size[3];
  int prepack; /* runs once, when constants change */
  int argument_count;
  const int *arguments;
}};
{tables}static const struct variant {{
  const char *id, *file, *sha256;
  size_t arena; /* bytes of temporaries */
  int buffer_count, kernel_count;
  const struct buffer *buffers;
  const struct kernel *kernels;
}} variants[] = {{
{variants}}};
"""


def _tables(n: int, plan: Plan, inputs: Mapping[str, int]) -> str:
    """The C tables of the buffers, arguments and kernels of variant number n; `inputs` gives the
    number of each input by name."""
    at = {buffer.name: i for i, buffer in enumerate(plan.buffers)}
    buffers = "".join(f"  {_buffer(b, inputs.get(b.name, -1))},\n" for b in plan.buffers)
    arguments = "".join(
        f"static const int arguments_{n}_{k}[] = {{{_numbers(at[a] for a in kernel.arguments)}}};\n"
        for k, kernel in enumerate(plan.kernels)
    )
    kernels = "".join(f"  {_kernel(k, n, kernel)},\n" for k, kernel in enumerate(plan.kernels))
    return (
        f"static const struct buffer buffers_{n}[] = {{\n{buffers}}};\n{arguments}"
        f"static const struct kernel kernels_{n}[] = {{\n{kernels}}};\n"
    )


def _buffer(b: Buffer, number: int) -> str:
    given = f"{b.scalar.upper()}, {b.role.value.upper()}, {number}"
    return f"{{{given}, {b.bytes}u, {b.offset or 0}u}} /* {b.name} */"


def _kernel(k: int, n: int, kernel: Kernel) -> str:
    sizes = f"{c_sizes(kernel.global_size)}, {c_sizes(kernel.local_size)}"
    count = len(kernel.arguments)
    return f'{{"{kernel.name}", {sizes}, {int(kernel.prepack)}, {count}, arguments_{n}_{k}}}'


def _variant(n: int, entry: Entry) -> str:
    plan = entry.plan
    counts = f"{plan.workspace_bytes}u, {len(plan.buffers)}, {len(plan.kernels)}"
    return f'{{"{entry.id}", "{entry.file}", "{entry.sha256}", {counts}, buffers_{n}, kernels_{n}}}'


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))

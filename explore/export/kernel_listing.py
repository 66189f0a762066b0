"""The text of a plan's kernels as one would check it in: a header, and a title for each kernel."""

import re
from collections.abc import Mapping, Sequence

from codegen.plan import Buffer, Kernel, Plan, Role

MADE = re.compile(r"(?P<of>\w+)_(?P<how>transformed|packed|padded|rearranged)(_\d+)?")
"""How buffers are called that a kernel makes of one parameter (`ir/core/cut_kernels.py`)."""
HOW = {
    "transformed": "transform",
    "packed": "packing",
    "padded": "padding",
    "rearranged": "another order",
}
FREE = (
    "This text carries no licence of its own: it is as free as the program that it was made from."
)
ALIGNMENT = "The last index varies fastest; each buffer begins at a multiple of 64 bytes."


def listing(plan: Plan, lines: Sequence[str]) -> str:
    """The OpenCL text of a plan below a comment. The comment has these `lines`, the buffers with
    their layouts, and the kernels with their titles in the order of their launches; each kernel's
    text has its title above it, too."""
    titles = titles_of(plan)
    launches = [f"{k.name}: {_when(k)}{titles[k.name]}" for k in plan.kernels]
    buffers = [_described(b) for b in plan.buffers]
    told = [*lines, "", f"Buffers. {ALIGNMENT}", *buffers, "", "Kernels, in order:"]
    told += [*(f"  {line}" for line in launches), "", FREE]
    head = "".join(f"// {_one_line(line)}".rstrip() + "\n" for line in told)
    needs = dict.fromkeys(line for kernel in plan.kernels for line in kernel.needs)
    texts = {k.text: f"// {titles[k.name]}\n{k.text}" for k in reversed(plan.kernels)}
    written = [texts[text] for text in dict.fromkeys(k.text for k in plan.kernels)]
    return "\n".join([head, *needs, *([""] if needs else []), *written])


def titles_of(plan: Plan) -> Mapping[str, str]:
    """The titles of a plan's kernels by name, such as `input transform: image_transformed from
    image`; what a kernel does is told by what it makes, and of what."""
    roles = {b.name: b.role for b in plan.buffers}
    products = set[str]()  # temporaries that are made of transformed ones, directly or not
    found = {}
    for k in plan.kernels:
        made = [n for n in k.arguments if _is_made(k, roles[n], n, plan)]
        read = [n for n in k.arguments if n not in made]
        after = bool(products.intersection(read))
        if after or any(_how(name) == "transformed" for name in read):
            products.update(n for n in made if _how(n) is None)
        words = f"{', '.join(made)} from {', '.join(read)}" if read else ", ".join(made)
        purpose = _purpose(made[0], roles, after, made[0] in products) if made else "nothing"
        found[k.name] = f"{purpose}: {words}"
    return found


def _how(name: str) -> str | None:
    """The words that tell how a buffer was made of one parameter, from the buffer's name; None if
    the name does not tell this."""
    found = MADE.fullmatch(name)
    return found["how"] if found else None


def _is_made(k: Kernel, role: Role, name: str, plan: Plan) -> bool:
    """True if the kernel k makes the buffer `name`, one of its arguments with this role: the buffer
    is an output of the plan, or a temporary or packed one that no earlier kernel uses."""
    if role is Role.OUTPUT:
        return True
    if role not in (Role.TEMPORARY, Role.PACKED):
        return False
    users = [other for other in plan.kernels if name in other.arguments]
    return users[0] is k


def _purpose(made: str, roles: Mapping[str, Role], after: bool, product: bool) -> str:
    """The purpose of the kernel that makes the buffer `made`, in a few words; `roles` are those of
    the plan's buffers. `after` is true if the kernel reads products, and `product` if what it makes
    is a product of transformed arrays, or made of such products."""
    found = MADE.fullmatch(made)
    if found:
        of = "input" if roles[made] is Role.TEMPORARY else found["of"]
        return f"{of} {HOW[found['how']]}"
    if roles[made] is Role.OUTPUT:
        return "output transform" if after else "result"
    if product:
        return "transform of products" if after else "product"
    return "intermediate result"


def _when(k: Kernel) -> str:
    return "once, " if k.prepack else ""


def _described(b: Buffer) -> str:
    shape = "".join(f"[{n}]" for n in b.shape)
    return f"  {b.name}: {b.role.value}, {b.scalar} {shape}, {b.bytes} bytes"


def _one_line(text: str) -> str:
    """The text without line ends and backslashes, so that it can stand in a one-line comment."""
    return re.sub(r"\s", " ", text).rstrip().replace("\\", "/")

"""Names in OpenCL text that are made from a program's names.

A program's name never stands in the text as it is, for it may be a keyword, a builtin or a macro of
some compiler. Names of kernels, buffers and variables end in an underscore, or, where a small
letter begins them, in an underscore and numbers: `weights_`, `acc_0_1`. Those of loops begin with
`i_`, and addresses end in `_base` or `_at`. Nothing that compilers know is called so.
"""

import re

from codegen.tree.kernel_values import loads
from codegen.tree.memories import Space
from codegen.tree.statements import Declare, For, Kernel, Store, statements

PLAIN = re.compile(r"[^A-Za-z0-9_]")


def stem(name: str) -> str:
    """The beginning of names in the text that are made from the program's name `name`: it begins
    with a letter, as names that begin with an underscore are the compiler's."""
    plain = PLAIN.sub("_", name)
    return plain if plain[:1].isalpha() else f"x{plain}"


def variable(name: str) -> str:
    """The variable in the text for a program's name."""
    return f"{stem(name)}_"


def loop(name: str) -> str:
    """The name of the counter of a loop over the elements of what `name` stands for in the
    program."""
    return f"i_{stem(name)}"


def numbered(variable: str, numbers: str) -> str:
    """The name of the register of a variable that has these numbers: of acc_ and 0_1 it is acc_0_1;
    after a capital, which may begin a macro, A_0_1_."""
    return f"{variable}{numbers}{'' if variable[0].islower() else '_'}"


def apart(hint: str, end: str, taken: set[str]) -> str:
    """The name hint + end, with the first number in between that makes it free; it is added to
    `taken`."""
    between = "_" if hint[-1].isdigit() else ""
    name, n = f"{hint}{end}", 1
    while name in taken:
        n += 1
        name = f"{hint}{between}{n}{end}"
    taken.add(name)
    return name


def given_names(kernel: Kernel) -> set[str]:
    """The names in use in a kernel, without those of the memories that it declares: those of its
    buffers, constant tables, loop counters and ids, and its own."""
    taken = {m.name for m in (*kernel.reads, *kernel.writes)} | {i.name for i in kernel.ids}
    for s in statements(kernel.body):
        match s:
            case For(name, _, _, _):
                taken.add(name)
            case Store(_, _, value, _):
                read = (load.memory for load in loads(value))
                taken |= {m.name for m in read if m.space is Space.CONSTANT}
    return taken | {kernel.name}


def in_use(kernel: Kernel) -> set[str]:
    """All names in use in a kernel, those of the memories that it declares too."""
    declared = (s.memory.name for s in statements(kernel.body) if isinstance(s, Declare))
    return given_names(kernel).union(declared)

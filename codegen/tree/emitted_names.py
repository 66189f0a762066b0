"""Names in OpenCL text that are made from a program's names.

A program's name never stands in the text as it is, for it may be a keyword, a builtin or a macro of
some compiler. Names of kernels, buffers and variables end in an underscore, or, where a small
letter begins them, in an underscore and numbers: `weights_`, `acc_0_1`. Those of loops begin with
`i_`, and addresses end in `_base` or `_at`. Nothing that compilers know is called so.
"""

import re

from codegen.tree.statements import Declare, For, Kernel, statements

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


def in_use(kernel: Kernel) -> set[str]:
    """The names of a kernel's memories, loop counters and ids."""
    inner = list(statements(kernel.body))
    memories = {s.memory.name for s in inner if isinstance(s, Declare)}
    counters = {s.var for s in inner if isinstance(s, For)}
    given = {m.name for m in (*kernel.reads, *kernel.writes)}
    return memories | counters | given | {i.name for i in kernel.ids}

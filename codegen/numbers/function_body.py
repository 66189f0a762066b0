"""The description of a function on numbers, from which its text is made."""

from ir.core.frozen import frozen


@frozen
class NumberFunction:
    """A function on numbers: the names of the types that it takes and gives; its body; the
    functions that it `calls`; and the names of its arguments, with their `types` if these differ.
    In bodies, @ stands for the vector width, and @@ for twice the vector width.

    `on_nvidia` is its body on NVIDIA's devices, `on_vnni` that where the host has found the
    instruction VPDPBUSD, and `of_16` its body on 16 numbers, where these are not `body`.
    """

    takes: str
    gives: str
    body: str
    calls: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ("x",)
    on_nvidia: str = ""  # its body there, where that is another
    on_vnni: str = ""  # its body where the host has found VPDPBUSD, where that is another
    of_16: str = ""  # its body on 16 numbers, where that is another
    types: tuple[str, ...] = ()  # of its arguments, where they differ

"""The plan that code generation hands to the runtime: OpenCL text and how to launch it."""

from collections.abc import Sequence
from enum import Enum

from ir.core.frozen import frozen


class Role(Enum):
    """The purpose of a global buffer."""

    INPUT = "input"  # given at every run
    CONST = "const"  # given once, read as it is
    PACKED = "packed"  # made once from constants by a prepack kernel, then kept
    TEMPORARY = "temporary"  # made and used within a run
    OUTPUT = "output"


@frozen
class Buffer:
    """A global buffer of a plan; temporaries lie in one arena, each from its `offset` in bytes on.

    Temporaries that are not needed at the same time may share bytes.
    """

    name: str
    scalar: str  # the name of a scalar type
    shape: tuple[int, ...]
    bytes: int
    role: Role
    offset: int | None = None


@frozen
class Kernel:
    """One launch of a kernel; `arguments` are buffer names in the order of the kernel's parameters,
    and a kernel of `prepack` runs only once.

    `text` compiles by itself after the lines in `needs`, so that variants can share kernels.
    """

    name: str
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    arguments: tuple[str, ...]
    prepack: bool  # runs once when constants change, not at each inference
    text: str
    needs: tuple[str, ...] = ()  # extensions and functions

    @property
    def source(self) -> str:
        return source_of([self])


@frozen
class Plan:
    """The plan of a program: everything that is needed to build and run it. `kernels` are in launch
    order; `memory_bytes` are the most bytes of global memory that live during a run,
    `workspace_bytes` those of its temporaries."""

    kernels: tuple[Kernel, ...]
    buffers: tuple[Buffer, ...]
    memory_bytes: int  # peak global bytes live during an inference
    workspace_bytes: int  # of the arena of temporaries

    @property
    def source(self) -> str:
        """The OpenCL text of all kernels."""
        return source_of(self.kernels)

    @property
    def uses_half(self) -> bool:
        """True if a kernel needs the extension cl_khr_fp16: it computes with halves."""
        return "cl_khr_fp16" in self.source


def source_of(kernels: Sequence[Kernel]) -> str:
    """The OpenCL text of some kernels: the lines that they need, then their texts, each once."""
    needs = dict.fromkeys(line for kernel in kernels for line in kernel.needs)
    texts = dict.fromkeys(kernel.text for kernel in kernels)
    return "\n".join([*needs, "", *texts] if needs else texts)

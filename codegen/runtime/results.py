"""The results of trying a plan or an instruction on a device: it came out right, or one of four
failures."""

from collections.abc import Iterator
from contextlib import contextmanager

from ir.core.frozen import frozen
from ir.errors import UserError


@frozen
class Tried:
    """An instruction that came out right on a device: natively or, if `emulated`, by shuffles of a
    sub-group."""

    name: str
    emulated: bool


class BuildFailed(Exception):
    """Raised where the device's compiler refuses the program; `log` is what it said."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


class GroupTooLarge(BuildFailed):
    """Raised where the compiler built a kernel, but the device cannot run work-groups as large as
    the kernel's: they need more registers, for instance, than there are."""


class RunFailed(Exception):
    """Raised where the driver refused or lost a command: out of memory, out of resources, a
    fault."""


class GuardViolated(Exception):
    """Raised where a kernel wrote outside a buffer; `offset` is in bytes from the buffer's
    start."""

    def __init__(self, kernel: str, buffer: str, offset: int) -> None:
        super().__init__(f"kernel '{kernel}' wrote outside buffer '{buffer}', at byte {offset}")
        self.kernel = kernel
        self.buffer = buffer
        self.offset = offset

    def __reduce__(self) -> tuple[type["GuardViolated"], tuple[str, str, int]]:
        return GuardViolated, (self.kernel, self.buffer, self.offset)


class PoisonFound(Exception):
    """Raised where elements of the output were never written, or made from what was never
    written."""

    def __init__(self, buffer: str, count: int, first: tuple[int, ...]) -> None:
        super().__init__(f"{count} elements of '{buffer}' were left unwritten, first {list(first)}")
        self.buffer = buffer
        self.count = count
        self.first = first

    def __reduce__(self) -> tuple[type["PoisonFound"], tuple[str, int, tuple[int, ...]]]:
        return PoisonFound, (self.buffer, self.count, self.first)


@contextmanager
def told(device: str) -> Iterator[None]:
    """A context that turns BuildFailed, RunFailed, GuardViolated and PoisonFound into UserErrors
    that name the device."""
    try:
        yield
    except BuildFailed as error:
        raise UserError(f"the compiler of {device} refuses the program:\n{error.log}") from error
    except (RunFailed, GuardViolated, PoisonFound) as error:
        raise UserError(f"on {device}: {error}") from error

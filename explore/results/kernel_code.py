"""The code that a device's compiler made of a kernel, as numbers, or its words where it refuses the
kernel; and these as JSON."""

from dataclasses import asdict
from typing import Any

from explore.options.stored_fields import PLAIN, Fields
from ir.core.frozen import frozen

MOST = 1e15


@frozen
class KernelCode:
    """The numbers that a device's compiler tells of the code of one kernel.

    `counts` are numbers by name, such as instructions, as they stand in the code; `done` are the
    same for what a work-item carries out on average, with loops counted as often as they turn
    (empty if that is not known). `spills` and `fills` are registers that the code moves to memory
    and back, `threads` is the share of a core's work-items for which registers suffice, and
    `group_items` the size of the largest group.
    """

    kernel: str
    compiler: str
    counts: tuple[tuple[str, float], ...]
    done: tuple[tuple[str, float], ...]
    bytes: int  # of the code
    spills: int  # registers that are moved to memory, each where that stands in the code
    fills: int  # and back
    private_bytes: int  # of memory, a work-item
    local_bytes: int  # a group
    threads: float  # the share of a core's work-items that its registers have room for
    group_items: int  # the largest group that the device takes

    @property
    def instructions(self) -> float:
        """The instructions that stand in the code."""
        return dict(self.counts).get("instructions", 0.0)


@frozen
class Refusal:
    """The words in which a device's compiler refuses a kernel. They are about the kernel alone: a
    fault of the toolchain or the machine is never one."""

    words: str
    detail: str = ""  # the compiler's log


def code_json(code: KernelCode) -> dict[str, Any]:
    """The code of a kernel as JSON."""
    return {**asdict(code), "counts": dict(code.counts), "done": dict(code.done)}


def code_from(fields: Fields) -> KernelCode:
    """The code of a kernel in fields that `code_json` gave; raises Damaged for any other fields."""
    return KernelCode(
        kernel=fields.matching("kernel", PLAIN, "a plain name"),
        compiler=fields.text("compiler"),
        counts=_numbers(fields.fields("counts")),
        done=_numbers(fields.fields("done")),
        bytes=fields.whole("bytes"),
        spills=fields.whole("spills"),
        fills=fields.whole("fills"),
        private_bytes=fields.whole("private_bytes"),
        local_bytes=fields.whole("local_bytes"),
        threads=fields.number("threads", most=1.0),
        group_items=fields.whole("group_items"),
    )


def _numbers(fields: Fields) -> tuple[tuple[str, float], ...]:
    return tuple((name, fields.number(name, most=MOST)) for name in fields.named(64))

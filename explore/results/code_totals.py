"""The numbers of the code that a device's compiler made of all kernels of a variant."""

from math import prod

from explore.results.kernel_code import KernelCode
from explore.results.records import Predicted, Record
from ir.core.frozen import frozen

DONE = (
    *("instructions", "tuples", "fma", "cvt", "sfu", "ls"),
    *("messages", "words", "multiply_adds", "products", "whole_products"),
)


@frozen
class CodeTotals:
    """The numbers of a variant's compiled code.

    `bytes`, `spills` and `fills` are sums over its kernels, `private_bytes` is the most that a
    work-item takes, `threads` the least share of a core's work-items. `done` is what all work-items
    of all kernels carry out in an inference, by the names in DONE that the device has; empty if it
    is not known.
    """

    bytes: int
    spills: int
    fills: int
    private_bytes: int
    threads: float
    done: tuple[tuple[str, float], ...]

    @property
    def issued(self) -> float | None:
        """The tuples (pairs of instructions), on a device that has them, or instructions that all
        work-items issue; None if it is not known."""
        done = dict(self.done)
        return done.get("tuples", done.get("instructions"))


def code_totals(record: Record) -> CodeTotals | None:
    """The numbers of a record's compiled code; None if its kernels were not compiled."""
    code = record.outcome.code if isinstance(record.outcome, Predicted) else ()
    if not code:
        return None
    return CodeTotals(
        bytes=sum(c.bytes for c in code),
        spills=sum(c.spills for c in code),
        fills=sum(c.fills for c in code),
        private_bytes=max(c.private_bytes for c in code),
        threads=min(c.threads for c in code),
        done=_done(record, code),
    )


def _done(record: Record, code: tuple[KernelCode, ...]) -> tuple[tuple[str, float], ...]:
    plan = record.variant.plan
    launches = [k for k in plan.kernels if not k.prepack] if plan else []
    if len(launches) != len(code) or not all(c.done for c in code):
        return ()
    found: dict[str, float] = {}
    for launch, made in zip(launches, code, strict=True):
        for name, n in made.done:
            found[name] = found.get(name, 0.0) + n * prod(launch.global_size)
    return tuple((name, found[name]) for name in DONE if name in found)

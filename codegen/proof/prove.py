"""The proof that a kernel is safe to run: every access in bounds, no races, every barrier met by
all together.

The proof reads the final tree with its barriers, and nothing of what put them there. Ranges settle
most obligations; races in small tiles are settled by trying every value; Z3 is asked for the rest,
and what it cannot settle within its limit stays open.
"""

from collections.abc import Iterator

from codegen.proof.accesses import Footprint
from codegen.proof.footprint import footprint
from codegen.proof.races_and_bounds import EACH_MS, LIMIT_MS, RANGES, verdicts
from codegen.proof.verdicts import Kind, Obligation, Proof, Proved, Refuted, Unproved, Verdict
from codegen.tree.kernel_values import gathers
from codegen.tree.statements import Kernel, calls, remembered


@remembered
def prove(kernel: Kernel, limit_ms: int = LIMIT_MS, each_ms: int = EACH_MS) -> Proof:
    """The proof of a kernel; Z3 may work `each_ms` on an obligation, `limit_ms` in all."""
    found = footprint(kernel)
    return Proof(kernel.name, (*_launch(kernel, found), *verdicts(found, limit_ms, each_ms)))


def _launch(kernel: Kernel, found: Footprint) -> Iterator[Verdict]:
    """The verdicts that each id of the kernel takes as many values as the launch gives it."""
    for i in kernel.ids:
        size, count = kernel.local_size[i.dimension], kernel.groups[i.dimension]
        real = {"local": size, "group": count, "global": size * count}[i.kind]
        obligation = Obligation(Kind.LAUNCH, "", f"{i.name} is 0 … {i.extent - 1}")
        if real == i.extent:
            yield Proved(obligation, RANGES)
        else:
            yield Refuted(obligation, f"the launch makes it 0 … {real - 1}")
    for call in filter(gathers, calls(kernel)):
        lanes, name = call.instruction.lanes, call.instruction.name
        obligation = Obligation(Kind.LAUNCH, "", f"dimension 0 is the {lanes} lanes of {name}")
        if kernel.local_size[0] == lanes:
            yield Proved(obligation, RANGES)
        else:
            yield Refuted(obligation, f"the launch makes it {kernel.local_size[0]}")
    for stranger in sorted(set(found.strangers)):
        yield Unproved(Obligation(Kind.LAUNCH, "", stranger), "the tree contradicts itself")

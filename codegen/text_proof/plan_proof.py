"""The proof that the kernels of a plan share buffers safely.

Whatever a kernel reads has been written before, and was not overwritten since by a buffer that lies
in the same place.
"""

# key: b buffer, n number of a kernel in its run

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from codegen.plan import Kernel, Plan, Role
from codegen.proof.races_and_bounds import RANGES
from codegen.proof.verdicts import Kind, Obligation, Proof, Proved, Refuted, Verdict
from codegen.text_proof.launch_agreement import share
from codegen.text_reader.c_syntax import KernelText
from ir.arena import ALIGNMENT


@dataclass(slots=True)
class Use:
    """The use of a buffer in a run: the positions of kernels that write it (`writes`), and of all
    that take it as an argument (`uses`)."""

    writes: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)


Texts = Sequence[KernelText]


def prove_plan(plan: Plan, texts: Texts) -> Proof:
    """The proof of the obligations between the kernels of a plan, whose texts are these."""
    pairs = list(zip(plan.kernels, texts, strict=True))
    packing = _uses([pair for pair in pairs if pair[0].prepack])
    running = _uses([pair for pair in pairs if not pair[0].prepack])
    verdicts = [*_written_first(plan, packing, running), *_kept(plan, running)]
    return Proof("the plan", (*_names(plan), *_in_arena(plan), *verdicts))


def _uses(kernels: Sequence[tuple[Kernel, KernelText]]) -> dict[str, Use]:
    found: dict[str, Use] = {}
    for n, (launch, text) in enumerate(kernels):
        for name, p in zip(launch.arguments, text.parameters, strict=False):
            use = found.setdefault(name, Use())
            use.uses.append(n)
            if not p.const:
                use.writes.append(n)
    return found


def _names(plan: Plan) -> Iterator[Verdict]:
    """The verdict that no two buffers have one name."""
    names = [b.name for b in plan.buffers]
    twice = sorted({name for name in names if names.count(name) > 1})
    yield _holds(not twice, "each buffer has its own name", f"{twice} are there twice")


def _in_arena(plan: Plan) -> Iterator[Verdict]:
    """The verdicts that temporaries alone are in the arena, each at an offset that devices
    allow."""
    for b in plan.buffers:
        if b.role is Role.TEMPORARY or b.offset is not None:
            start = -1 if b.offset is None else b.offset
            fine = start % ALIGNMENT == 0 <= start <= plan.workspace_bytes - b.bytes
            words = f"{b.bytes} bytes from {b.offset} on of {plan.workspace_bytes}"
            inside = f"{b.name} lies in the arena, at a multiple of {ALIGNMENT}"
            yield _holds(fine and b.role is Role.TEMPORARY, inside, words)


def _written_first(
    plan: Plan, packing: dict[str, Use], running: dict[str, Use]
) -> Iterator[Verdict]:
    """The verdicts that each buffer is written before it is read, among the kernels of prepack
    (`packing`) and of a run (`running`); constants and inputs are given."""
    for b in plan.buffers:
        for uses, given in ((packing, {Role.CONST}), (running, {Role.CONST, Role.INPUT})):
            use = uses.get(b.name)
            if use is None or b.role in given:
                continue
            packed = b.role is Role.PACKED and uses is running and b.name in packing
            fine = packed or use.writes[:1] == use.uses[:1]
            yield _holds(fine, f"{b.name} is written first", "a kernel reads it before any writes")
        if b.role is Role.OUTPUT:
            made = b.name in running and bool(running[b.name].writes)
            yield _holds(made, f"the output {b.name} is written", "no kernel writes it")


def _kept(plan: Plan, running: dict[str, Use]) -> Iterator[Verdict]:
    """The verdicts that temporaries which share bytes are not in use (`running`) at the same
    time."""
    for a, b in combinations(plan.buffers, 2):
        if share(a, b) and a.name in running and b.name in running:
            first, second = running[a.name].uses, running[b.name].uses
            fine = first[-1] < second[0] or second[-1] < first[0]
            words = f"kernels {first[0]} … {first[-1]} and {second[0]} … {second[-1]}"
            yield _holds(fine, f"{a.name} and {b.name} take turns", words)


def _holds(fine: bool, what: str, found: str) -> Verdict:
    obligation = Obligation(Kind.PLAN, "", what)
    return Proved(obligation, RANGES) if fine else Refuted(obligation, found)

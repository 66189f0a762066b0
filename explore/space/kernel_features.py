"""The features of a candidate's kernels, known before they are built, from which the cost model
learns.

They are computed from the sizes of a lowered program alone, so that every family has all of them. A
feature that does not matter on a device, such as how many groups share a unit of a CPU, is the same
number for all kernels there.
"""

from collections.abc import Mapping
from math import ceil

from constraints.devices import Profile
from constraints.quantities.quantities import KernelQuantities, Quantities, peak_at
from constraints.quantities.work import Factor, total_at
from constraints.relations.relations import value_at
from explore.results.records import Features
from explore.space.occupancy import Use, use_at
from explore.space.rough_cost import ESTIMATE, IN_PAIRS, estimate
from ir.core.frozen import frozen


def code_at(known: Quantities, point: Mapping[str, int]) -> int:
    """The number of operations of the longest kernel at a point, with unrolled loops spelled
    out."""
    return max(peak_at((k.code,), point) for k in known.kernels)


Seen = dict[tuple[int, ...], Features]  # by a kernel's number and the parameters it depends on


def features_at(
    known: Quantities, point: Mapping[str, int], device: Profile, seen: Seen
) -> tuple[Features, ...]:
    """The features at a point of each kernel that an inference runs; `seen` caches those of kernels
    at other points."""
    found = []
    for number, k in enumerate(known.kernels):
        if not k.prepack:
            place = (number, *(point[p] for p in k.parameters))
            if place not in seen:
                seen[place] = tuple(sorted(kernel_at(k, point, device).items()))
            found.append(seen[place])
    return tuple(found)


def kernel_at(k: KernelQuantities, point: Mapping[str, int], device: Profile) -> dict[str, float]:
    """The features of one kernel at a point, among them the values of the parameters that it
    depends on."""
    features = {
        "code": float(value_at(k.code.size, point)),
        "padded sides": float(sum(value_at(side, point) > 0 for side in k.padded)),
        "bytes of arrays": float(value_at(k.arrays, point)),
        **done_at(k, point).features(),
        **_in_pairs(k, point, device),
        **filled(use_at(k, point, device), device),
    }
    own = {f"parameter {p}": float(n) for p, n in point.items() if p in k.parameters}
    return features | own | {ESTIMATE: estimate(features, device)}


def _in_pairs(k: KernelQuantities, point: Mapping[str, int], device: Profile) -> dict[str, float]:
    """The operations of a kernel that a device makes two by two, if it makes any so."""
    return {IN_PAIRS: float(total_at(k.work.paired, point, {}))} if device.pairs_halves else {}


@frozen
class Done:
    """The totals of the work that a kernel does: operations on floats, instructions (an operation
    on a vector is one), bytes of a factor of each product that sub-groups make by an instruction
    (`multiplied`), words that are loaded, loads, bytes that groups move, and the times that groups
    fill local memory (`staged`)."""

    operations: int
    instructions: int
    multiplied: int
    words: int
    loads: int
    moved: int
    staged: int

    def features(self) -> dict[str, float]:
        return {
            "operations": float(self.operations),
            "instructions": float(self.instructions),
            "multiplied": float(self.multiplied),
            "vector width": self.operations / max(1, self.instructions),
            "words": float(self.words),
            "loads": float(self.loads),
            "bytes moved": float(self.moved),
            "staged": float(self.staged),
            "intensity": (self.operations + self.multiplied) / max(1, self.moved),
            "reuse of words": (self.operations + self.multiplied) / max(1, self.words),
            "reuse of loads": (self.instructions + self.multiplied) / max(1, self.loads),
        }


def done_at(k: KernelQuantities, point: Mapping[str, int]) -> Done:
    """The totals of the work of one kernel at a point."""
    known, w = dict[Factor, int](), k.work
    totals = (w.operations, w.instructions, w.multiplied, w.words, w.loads, w.moved, w.staged)
    return Done(*(total_at(total, point, known) for total in totals))


def filled(use: Use, device: Profile) -> dict[str, float]:
    """The features that tell how a kernel's work-groups fill a device, from the kernel's use of
    it."""
    each = use.groups / device.cores
    return {
        "group items": float(use.items),
        "groups": float(use.groups),
        "threads": float(use.items * use.groups),
        "local bytes": float(use.local_bytes),
        "private bytes": float(use.private_bytes),
        "resident groups": float(use.resident),
        "occupancy": min(1.0, use.resident * use.items / device.resident_items),
        "rounds": each / use.resident,
        "tail": each / ceil(each),
    }

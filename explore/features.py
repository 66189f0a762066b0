"""What is known of a candidate before it is built: what the search's cost model learns from."""

from collections.abc import Mapping
from math import prod

from constraints.quantities import Dims, KernelQuantities, Peak, Quantities, peak_at
from constraints.terms import value_at


def memory_at(known: Quantities, point: Mapping[str, int]) -> int:
    """Peak bytes of global memory."""
    return peak_at(known.memory_bytes, point)


def code_at(known: Quantities, point: Mapping[str, int]) -> int:
    """Operations of the longest kernel, once unrolled."""
    return max(peak_at((k.code,), point) for k in known.kernels)


def features_at(known: Quantities, point: Mapping[str, int]) -> dict[str, float]:
    """Of the whole program, and of its main kernel: the one with most code."""
    runs = [k for k in known.kernels if not k.prepack]
    main = max(runs, key=lambda k: value_at(k.code.size, point))
    items, groups = _items(main, point), _groups(main, point)
    return {
        "kernels": float(len(runs)),
        "memory": float(memory_at(known, point)),
        "workspace": float(peak_at(known.workspace_bytes, point)),
        "group items": float(items),
        "groups": float(groups),
        "threads": float(items * groups),
        "local bytes": float(peak_at(main.local_bytes, point)),
        "private bytes": float(peak_at(main.private_bytes, point)),
        "code": float(value_at(main.code.size, point)),
    }


def _items(k: KernelQuantities, point: Mapping[str, int]) -> int:
    return _volume(k.items, point)


def _groups(k: KernelQuantities, point: Mapping[str, int]) -> int:
    return _volume(k.groups, point) * _volume(k.global_items, point)


def _volume(dims: Dims, point: Mapping[str, int]) -> int:
    return prod(_length(peak, point) for peak in dims)


def _length(peak: Peak, point: Mapping[str, int]) -> int:
    return max(1, peak_at(peak, point))

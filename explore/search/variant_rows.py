"""Variants as rows of numbers for the cost model, and as strata for the first rounds."""

import math
from collections.abc import Sequence

import numpy as np

from explore.results.records import Features, Variant
from explore.search.kernel_table import Floats, KernelTable, absent
from explore.space.rough_cost import ESTIMATE

LEAST = 2.0**-10  # added to a feature, so that none has a logarithm of 0


def kernel_table(variants: Sequence[Variant], memory: Sequence[float] | None = None) -> KernelTable:
    """The table of variants: their kernels, rough times of these, and the memory of each
    variant."""
    found = [_row(variant, kernel) for variant in variants for kernel in variant.features]
    names = sorted({name for row in found for name in row})
    columns = [(name, absent(name)) for name in names]
    values = [[row.get(name, none) for name, none in columns] for row in found]
    times = [dict(kernel).get(ESTIMATE, 1.0) for v in variants for kernel in v.features]
    counts = [len(variant.features) for variant in variants]
    rows = np.array(values, dtype=np.float64).reshape(len(found), len(names))
    return KernelTable.of(names, _tame(rows), memory, np.log(np.array(times)), counts)


def strata(
    variants: Sequence[Variant], memory: Sequence[float], levels: int = 4
) -> list[tuple[str, int, str]]:
    """The family, level of memory and form of each variant; levels are equally wide in log
    memory."""
    logs = np.log2(np.maximum(np.asarray(memory, dtype=np.float64), 1.0))
    if not len(logs):
        return []
    edges = np.linspace(logs.min(), logs.max(), levels + 1)[1:-1]
    found = zip(variants, np.searchsorted(edges, logs), strict=True)
    return [(v.family, int(level), v.form) for v, level in found]


def _row(variant: Variant, kernel: Features) -> dict[str, float]:
    """The row of a kernel: features in log2, and 1 for each word of its variant's family, views and
    form."""
    return {
        f"family={variant.family}": 1.0,
        **{f"stored={view}": 1.0 for view in variant.stored},
        **{f"form={word}": 1.0 for word in variant.traits},
        **{name: math.log2(LEAST + value) for name, value in kernel},
    }


def _tame(values: Floats) -> Floats:
    """The values with numbers that trees do not accept replaced: missing ones by -1, infinite and
    very large ones by numbers that 32-bit floats hold."""
    return np.clip(np.nan_to_num(values, nan=-1.0), -1e30, 1e30)

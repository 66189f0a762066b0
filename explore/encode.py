"""Variants as rows of numbers, for what learns from them; strata, for what must see all kinds."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from explore.records import Variant

Floats = NDArray[np.float64]
LEAST = 2.0**-10  # added to a feature, so that none has a logarithm of 0


def matrix(variants: Sequence[Variant]) -> tuple[list[str], Floats]:
    """Column names and rows: parameters and features in log2 (the trees draw their thresholds
    evenly), what is stored and the family as 0 or 1.

    A parameter that a variant does not have is -1, which trees split off.
    """
    names = sorted({name for variant in variants for name in _row(variant)})
    return names, rows(names, variants)


def rows(names: Sequence[str], variants: Sequence[Variant]) -> Floats:
    """Variants as rows with these columns."""
    found = [_row(variant) for variant in variants]
    columns = [(name, 0.0 if _is_flag(name) else -1.0) for name in names]
    values = [[row.get(name, none) for name, none in columns] for row in found]
    return _tame(np.array(values, dtype=np.float64).reshape(len(found), len(names)))


def strata(
    variants: Sequence[Variant], memory: Sequence[float], levels: int = 4
) -> list[tuple[str, int, str]]:
    """Family, level of memory and form; the levels are equally wide in log memory."""
    logs = np.log2(np.maximum(np.asarray(memory, dtype=np.float64), 1.0))
    if not len(logs):
        return []
    edges = np.linspace(logs.min(), logs.max(), levels + 1)[1:-1]
    found = zip(variants, np.searchsorted(edges, logs), strict=True)
    return [(v.family, int(level), v.form) for v, level in found]


def _row(variant: Variant) -> dict[str, float]:
    return {
        f"family={variant.family}": 1.0,
        **{f"stored={view}": 1.0 for view in variant.stored},
        **{f"form={word}": 1.0 for word in variant.form.split()},
        **{f"parameter {name}": math.log2(1 + abs(n)) for name, n in variant.parameters},
        **{f"feature {name}": math.log2(LEAST + value) for name, value in variant.features},
    }


def _is_flag(name: str) -> bool:
    return name.startswith(("family=", "stored=", "form="))


def _tame(values: Floats) -> Floats:
    """Trees take any scale, but not infinities nor what overflows their 32-bit floats."""
    return np.clip(np.nan_to_num(values, nan=-1.0), -1e30, 1e30)

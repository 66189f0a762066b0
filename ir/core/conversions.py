"""Conversions between number types that programs write: `float(x)`, `char_sat_rte(x)`.

They mean what OpenCL's `convert_` functions mean, and are also defined where OpenCL leaves the
result open. A real number converted to a whole type is rounded to an int first (NaN becomes 0); in
narrower types that int then wraps around or saturates. Whole numbers become halves and bfloats by
way of a float, which is rounded in the same way.
"""

from collections.abc import Mapping

from ir.core.frozen import frozen
from ir.core.types import RANGES, SCALARS, Scalar

WAYS = ("", "rte", "rtz")


@frozen
class Conversion:
    """A conversion of numbers to the scalar type `target`, as a program writes it.

    If it `saturates`, a number beyond the target becomes its least or largest number. `rounding` is
    to nearest, ties to even (rte), or towards zero (rtz).
    """

    target: Scalar
    saturates: bool
    rounding: str


def _named(target: Scalar) -> Mapping[str, Conversion]:
    whole = target.name in RANGES
    usual = "rtz" if whole else "rte"
    return {
        "_".join([target.name, *(["sat"] if saturates else []), *([way] if way else [])]): (
            Conversion(target, saturates, way or usual)
        )
        for saturates in ((False, True) if whole else (False,))
        for way in WAYS
    }


CONVERSIONS: Mapping[str, Conversion] = {
    name: made for target in SCALARS.values() for name, made in _named(target).items()
}

"""The table of all families by name, and the lowering of a program by a family's forms."""

# key: p program

from functools import lru_cache

from ir.core.nodes import Program
from ir.text.suggest import no_such
from rewrites.engine.refused import Refused
from rewrites.families import (
    blocked,
    by_storage,
    fgfft,
    fused,
    io_optimal,
    lanes,
    lift,
    matrix,
    naive,
    registers,
    strassen,
    toeplitz,
    winograd,
)
from rewrites.tuning.family import Family, Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from rewrites.tuning.prepared_forms import with_preparations

FAMILIES: dict[str, Family] = {
    family.name: with_preparations(family)
    for family in (
        naive.FAMILY,
        lift.FAMILY,
        registers.FAMILY,
        blocked.FAMILY,
        io_optimal.FAMILY,
        fused.FAMILY,
        matrix.FAMILY,
        lanes.FAMILY,
        winograd.FAMILY,
        strassen.FAMILY,
        fgfft.FAMILY,
        fgfft.FFT,
        *by_storage.FAMILIES,
        toeplitz.FAMILY,
    )
}
BY_DEFAULT = tuple(name for name, family in FAMILIES.items() if family.by_default)


def family_named(name: str) -> str:
    """The name itself if a family has it; else UserError, which lists the families."""
    if name not in FAMILIES:
        raise no_such("family", name, FAMILIES)
    return name


def form_named(p: Program, family: str, name: str) -> Form:
    """The form of a family that has this name; else UserError, which lists the forms."""
    found = {form.name: form for form in forms(p, family_named(family))}
    if name not in found:
        raise no_such("form", name, found, of=f"family {family}")
    return found[name]


@lru_cache(maxsize=64)
def forms(p: Program, family: str) -> tuple[Form, ...]:
    """The forms in which a family may lower a program; not all of them need apply."""
    return tuple(FAMILIES[family].forms(p))


def first(p: Program, family: str) -> Lowering:
    """The program lowered by the first form of a family that applies; Refused, with the first
    reason, if none does."""
    reason: Refused | None = None
    for form in forms(p, family_named(family)):
        try:
            return lower(p, form)
        except Refused as refused:
            reason = reason or refused
    raise reason or Refused(
        f"expected a program for which the family {family} has a form, found {p.name}"
    )

"""The ways to lower a program: a family in a form, at a point of its parameters."""

# key: r random numbers

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from constraints.devices import PROFILES
from explore.space.derive_form import points
from explore.space.lowering import bound
from ir.core.nodes import Program
from rewrites.families.all_families import FAMILIES, form_named, forms
from rewrites.tuning.lower import lower
from tests.support.families import BILINEAR, LOWERING

AS_WRITTEN = "as written"  # lowered already
USUAL = (*LOWERING, *LOWERING, *BILINEAR)
UNUSUAL = tuple(name for name in FAMILIES if name not in USUAL)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to lower programs for a device: a family, a form, and a point of its parameters (None:
    any legal point)."""

    family: str
    form: str = ""
    target: str = "cpu"
    point: tuple[tuple[str, int], ...] | None = None

    def __str__(self) -> str:
        point = " ".join(f"{name}={value}" for name, value in self.point or ())
        return f"family {self.family}, form '{self.form}', for {self.target}, point {point}"


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program lowered at a point, so that its sizes are numbers; the way that lowered it; and
    `rounding`, the machine epsilons that its results may lose thereby."""

    program: Program
    way: Way
    rounding: float = 0.0


def plain(program: Program) -> Way:
    """The way that lowers a program by `naive`: without tiles, with a work-item for each result. A
    program that is lowered already stays as it is written."""
    return Way("naive", forms(program, "naive")[0].name)


def others(program: Program, r: Random) -> Iterator[Way]:
    """An endless stream of random ways from all families, forms and devices for a program; most of
    them refuse it."""
    while True:
        family = r.choice(USUAL if r.random() < 0.85 else UNUSUAL)
        target = r.choice(("cpu", "mali-g72"))
        if every := forms(program, family):
            yield Way(family, r.choice(every).name, target)


def lowered(program: Program, way: Way, count: int, seed: int) -> Iterator[Lowered]:
    """The program lowered by `way` at the way's point, or, if it has none, at `count` random legal
    points; raises Refused if the form does not apply."""
    if way.family == AS_WRITTEN:
        yield Lowered(program, way)
        return
    low = lower(program, form_named(program, way.family, way.form))
    found = [dict(way.point)] if way.point is not None else None
    for point in found or points(low, PROFILES[way.target], count, seed)[1]:
        at = replace(way, point=tuple(sorted(point.items())))
        yield Lowered(bound(low.program, point), at, low.derivation.rounding)

"""The lowering of a program by a form: its derivation, and the values of its parameters worth
trying."""

# key: p program, e term

from collections.abc import Iterator, Sequence
from math import prod

from ir.core.nodes import Expr, Program
from ir.core.size import named
from ir.core.terms import size_names
from rewrites.engine.derivation import Derivation
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Step
from rewrites.kernels.copy_kernels import shares
from rewrites.tuning.family import Form, Tuning
from rewrites.tuning.lowering import Block, Choice, Kept, Lowering
from rewrites.tuning.rounding import rounded_dimensions, rounding

TURNS = tuple(2**n for n in range(13))  # groups that share a kernel's rows, each in turns


def lower(p: Program, form: Form) -> Lowering:
    """The program lowered by a form; Refused where the form does not apply."""
    try:
        found = form.strategy(p.body)
    except Refused as refused:
        raise refused.at(p.body) from None
    if found is None:
        form_name = f"{form.family} {form.name}".rstrip()
        why = f"expected a program that the laws of {form_name} lower, found {shown(p.body)}"
        raise Refused(why).at(p.body)
    e, steps = found
    made = Lowering(
        form.family,
        form.name,
        Program(p.name, p.params, e, tuple(sorted(size_names(e)))),
        Derivation(p.body, steps),
        requirements=tuple(rounding(steps)),
        choices=tuple(_tried(e, steps, form.tuning)),
        kept=_kept(e, form.tuning),
        block=_block(e, form.tuning),
    )
    return form.tuning.refine(p, made)


def _tried(e: Expr, steps: Sequence[Step], tuning: Tuning) -> Iterator[Choice]:
    """The values that are tried for the parameters of the lowered term e, to which `steps` led."""
    free, why = size_names(e), f"family {tuning.name} tries these"
    for name, parameter in tuning.parameters.items():
        if name in free and parameter.values:
            yield Choice(name, parameter.values, why)
    if "u" in free:
        yield Choice("u", shares(e, steps), why)
    if "num_blocks" in free:
        yield _turns(steps)


def _turns(steps: Sequence[Step]) -> Choice:
    """The values that are tried for `num_blocks`, the number of groups that share the rows which
    `steps` divide. Of several values with which the busiest group gets equally many rows, only the
    least is tried."""
    rows = set(rounded_dimensions(steps, "num_blocks")) or {1}
    counts = sorted({*rows, *(n for n in TURNS if n < max(rows))}, reverse=True)
    shares = {tuple(-(-each // n) for each in rows): n for n in counts}
    return Choice("num_blocks", tuple(sorted(shares.values())), "no more groups than rows")


def _kept(e: Expr, tuning: Tuning) -> Kept | None:
    """The number of results that a work-item keeps in the lowered term e, and the width of its
    vectors; None where it has no vectors."""
    present = [named(p) for p in tuning.kept if p in size_names(e)]
    return Kept(prod(present, start=1), named("v")) if named("v") in present else None


def _block(e: Expr, tuning: Tuning) -> Block | None:
    """The numbers of pixels and of channels in a work-group's block in the lowered term e; None
    where the tuning has none."""
    if tuning.sides is None:
        return None
    free, sides = size_names(e), (tuning.sides.pixels, tuning.sides.channels)
    pixels, channels = (prod((named(p) for p in side if p in free), start=1) for side in sides)
    return pixels, channels

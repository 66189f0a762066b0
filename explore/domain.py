"""Search domains: what narrows any family's parameters to those worth trying for a reason."""

# key: z channels of a block, xy pixels of a block

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from constraints.devices import Profile
from explore.bounds import products
from ir.errors import UserError
from ir.nodes import Program
from rewrites.families import Lowering
from rewrites.worth import Requirement

DOMAINS = ("io-optimal",)
# A block with x y = a R z reads (√a + 1 / √a) / 2 times what the best of its size does: at most a
# quarter more.
APART = 4
WORD = 4


def narrowed(lowering: Lowering, source: Program, device: Profile, domain: str | None) -> Lowering:
    """A lowering that asks what its domain asks too. What makes no blocks is left as it is."""
    if domain is None or lowering.block is None:
        return lowering
    if domain not in DOMAINS:
        raise UserError(f"no domain {domain!r}: expected one of {', '.join(DOMAINS)}")
    more = tuple(_io_optimal(lowering, source, device))
    return replace(lowering, requirements=(*lowering.requirements, *more))


def _io_optimal(lowering: Lowering, source: Program, device: Profile) -> Iterator[Requirement]:
    """Zhang et al. (PPoPP 2021): blocks with x y near R z, at most half of the chip."""
    known = products(source)
    if known is None or lowering.block is None:
        raise UserError("the domain io-optimal is of one sum of products of two shared operands")
    xy, z = lowering.block
    r = Fraction(known.reuse).limit_denominator(1000)
    near = f"x y within {APART} times R z, R = {r}"
    yield Requirement(r.denominator * xy, APART * r.numerator * z, near)
    yield Requirement(r.numerator * z, APART * r.denominator * xy, near)
    half = device.local_bytes // (2 * WORD)
    yield Requirement(xy * z, half, f"x y z at most {half}, half of what is on chip")

"""Search domains: narrower sets of points of any family, worth trying for a known reason."""

# key: z channels of a block, xy pixels of a block

from collections.abc import Iterable, Iterator
from dataclasses import replace

from explore.options.options import Domain
from ir.core.frozen import frozen
from ir.core.nodes import Program
from ir.errors import UserError
from rewrites.engine.skeleton import skeleton
from rewrites.families.all_families import FAMILIES
from rewrites.nest.work_amounts import Amounts, amounts
from rewrites.tuning.family import Products, parameter_names
from rewrites.tuning.io_optimal_blocks import AT_ONCE, balanced
from rewrites.tuning.lowering import Lowering, Requirement


@frozen
class Narrowed:
    """The number of points of a family's forms in the domain that is asked for (`left`), and the
    number of all their points (`whole`)."""

    family: str
    left: int
    whole: int | None  # None where the domain asks nothing of the family


def shares(forms: Iterable[tuple[str, int, int | None]]) -> tuple[Narrowed, ...]:
    """The number of points of each family in a domain, and the number of all its points, summed
    over its forms. Forms are given as (family, points in the domain, all points)."""
    found: dict[str, Narrowed] = {}
    for family, left, whole in forms:
        old = found.get(family, Narrowed(family, 0, None))
        every = old.whole if whole is None else (old.whole or 0) + whole
        found[family] = Narrowed(family, old.left + left, every)
    return tuple(found.values())


def narrowing(domain: str, families: Iterable[Narrowed]) -> str:
    """The message on the share of the points of each family that a domain leaves, and on the
    families that it does not narrow."""
    families = tuple(families)
    some = [f"{f.left / f.whole:.0%} of {f.family}" for f in families if f.whole]
    free = [f.family for f in families if f.whole is None]
    said = f"the domain {domain} leaves of all points {', '.join(some)}" if some else ""
    rest = f"{', '.join(free)}: no blocks, left whole" if free else ""
    return "; ".join(filter(None, (said, rest)))


def narrows(lowering: Lowering, domain: Domain | None) -> bool:
    """True if a domain is asked for and the lowering makes blocks, which it narrows."""
    return domain is not None and lowering.block is not None


def narrowed(lowering: Lowering, source: Program, domain: Domain | None) -> Lowering:
    """The lowering with the requirements of a domain; one that makes no blocks stays as it is."""
    if not narrows(lowering, domain):
        return lowering
    more = tuple(_io_optimal(lowering, source))
    return replace(lowering, requirements=(*lowering.requirements, *more), at_once=AT_ONCE)


def _io_optimal(lowering: Lowering, source: Program) -> Iterator[Requirement]:
    """The requirements of the io-optimal domain (Zhang et al., PPoPP 2021): blocks with x y near R
    z."""
    known = amounts(source.body, parameter_names(source))
    if known is None or lowering.block is None:
        raise UserError(
            "the domain io-optimal expects one sum of products of shared operands, "
            f"found {skeleton(source.body) or 'a program without maps and sums'}"
        )
    yield from balanced(lowering.block, _summed(known, lowering))


def _summed(known: Amounts, lowering: Lowering) -> Amounts:
    """The amounts of a program's products (`known`), as they are after a lowering: if its family
    transforms operands, the products are those of matrices, without windows."""
    fewer = FAMILIES[lowering.family].products is Products.FEWER
    return replace(known, windows=()) if fewer else known

"""The family `strassen`: a matrix product by seven products of half its size, or of each of these.

What is added of the blocks of an operand is stored, the products are matrix products in a batch,
and what is added of them is the result.
"""

# key: e term, s strategy, level how often the law was used around

from dataclasses import dataclass
from functools import partial

from ir.nat import named
from ir.nodes import Expr, Map
from ir.typing import size_of
from rewrites.block import trips
from rewrites.dims import Refused, reduction
from rewrites.laws_bilinear import fewer_blocks
from rewrites.laws_lower import store
from rewrites.laws_map import fission
from rewrites.laws_pad import fission_zip
from rewrites.matrices import tidied, transform_kernel
from rewrites.naive import wherever
from rewrites.normal import flat, perfect
from rewrites.registers import Registers, kernel
from rewrites.reshape import swap
from rewrites.rule import Rewritten, Strategy
from rewrites.spine import inside, nest
from rewrites.strategy import at, child, seq
from rewrites.transforms import products, stored_as


@dataclass(frozen=True, slots=True)
class Strassen:
    """What distinguishes the lowered forms of the family; numbers are parameters instead."""

    levels: int  # how often a product becomes seven
    products: Registers  # how these are made


def strassen(params: frozenset[str], form: Strassen) -> Strategy:
    """Lower a program this way."""

    def run(e: Expr) -> Rewritten | None:
        _refuse(e, form.levels)
        place = products(_cut(e)[0])
        return seq(_cut, at(place, _stages(form.levels, 1)), transform_kernel(2, VO))(e)

    return seq(flat, run, wherever(partial(kernel, params, form.products)))


def _refuse(e: Expr, levels: int) -> None:
    maps, sums = nest(e), trips(reduction(e))
    if len(maps) != 2 or len(sums) != 1 or maps[1].f.body != reduction(e):
        raise Refused("expected a matrix product: a map of a map of sums of products")
    parts = 2**levels
    sides = [*(size_of(m.xs) for m in maps), *sums]
    if any(not isinstance(n, int) or n % parts for n in sides):
        raise Refused(f"expected every side to be a multiple of {parts}, to be cut in halves")


def _cut(e: Expr) -> Rewritten:
    """The law at a matrix product."""
    done = fewer_blocks()(e)
    if done is None:
        raise Refused("expected a matrix product whose operands do not depend on each other")
    return done


VI, VO = named("vi"), named("vo")


def _stages(levels: int, deep: int) -> Strategy:
    """At the map of products: sums of blocks stored, and products made of smaller ones if asked;
    `deep`: how many maps over seven products there are."""
    left = seq(store(), child(0, transform_kernel(deep + 1, VI)))
    across = seq(perfect, tidied, swap(deep - 1), transform_kernel(deep + 1, VI))
    operands = child(1, seq(child(0, left), child(1, stored_as([deep], across))))
    if levels == 1:
        return seq(operands, tidied, swap(deep), inside(stored_as([deep], tidied)))
    return seq(operands, _nested(levels, deep))


def _nested(levels: int, deep: int) -> Strategy:
    """Each product by seven smaller ones, and what is added of these stored."""

    def apart(e: Expr) -> Rewritten | None:
        assert isinstance(e, Map)
        place = products(e.f.body)
        parts = [fission_zip(place=(*place, 1, i)) for i in (0, 1)]
        return seq(*parts, fission(place=place))(e)

    return seq(
        child(0, child(0, _cut)),
        apart,
        child(1, _stages(levels - 1, deep + 1)),
        store(),
        child(0, transform_kernel(deep + 2, VO)),
    )

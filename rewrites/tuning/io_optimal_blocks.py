"""Requirements of the io-optimal dataflow on blocks: balanced sides, little more data moved.

Zhang et al. (PPoPP 2021, section 4): a program of T products, with each element of its input in R
windows, is made in blocks of x y pixels and z channels, where x y = R z. Then it moves 2 T / √(R S)
elements, S = x y z; besides, it moves each result once, and once what else results need, such as
biases. What tiles read beyond their windows, rounding adds and copies take must not double that.
Two groups share a core, so that one works while the other waits for its channel: what a group
stages takes half of local memory at most.
"""

# key: e term, t type, n how often, z channels of a block, xy pixels of a block

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add

from ir.core.nodes import Expr, Level, MapPar, MapSeq, ReduceSeq, Store, ToLocal
from ir.core.size import Size
from ir.core.terms import children, free, subterms
from ir.core.type_rules import size_of, type_of
from ir.core.types import Array, Type, Vector
from rewrites.nest.work_amounts import Amounts
from rewrites.tuning.lowering import Requirement

# A block with x y = a R z reads (√a + 1 / √a) / 2 times what the best of its size does: at most a
# quarter more.
APART = 4
MOST = 2  # times the volume
AT_ONCE = 2  # groups that share a core

Block = tuple[Size, Size]


def balanced(block: Block, known: Amounts) -> Iterator[Requirement]:
    """The requirements that a block's sides are near the ratio that moves the least data."""
    (xy, z), r = block, known.reuse
    near = f"x y within {APART} times R z, R = {r}"
    yield Requirement(r.denominator * xy, APART * r.numerator * z, near)
    yield Requirement(r.numerator * z, APART * r.denominator * xy, near)


def near_volume(e: Expr, constants: frozenset[str], block: Block, known: Amounts) -> Requirement:
    """The requirement that the lowered term e, in blocks of the sizes `block`, moves little more
    data than the dataflow does for the amounts of work `known`; both sides of the inequality are
    squared. Copies of the `constants` do not count."""
    (xy, z), r = block, known.reuse
    moved = staged(e) + stored(e, constants) + beside(blocks(e) * xy * z, known)
    most = 2 * MOST * known.products
    why = f"what is staged and stored is at most {MOST} times the volume of the dataflow"
    return Requirement(r.numerator * xy * z * moved * moved, r.denominator * most * most, why)


def beside(made: Size, known: Amounts) -> Size:
    """The number of elements that results need besides the operands of their sums, such as biases,
    less those for which the volume of the dataflow, times `MOST`, leaves room; `made` is the number
    of results, with those that rounding adds."""
    spare = (MOST - 1) * known.results + MOST * known.others
    over = max(0, known.beside * known.results - spare)
    return known.beside * (made - known.results) + over


def staged(e: Expr, n: Size = 1) -> Size:
    """The number of elements that all work-groups copy to local memory in e, which is carried out n
    times."""
    match e:
        case ToLocal(xs):
            return n * cells(type_of(xs))
        case MapPar(Level.GROUP, _, f, xs) | MapSeq(f, xs) | ReduceSeq(_, f, xs):
            return staged(xs, n) + staged(f.body, n * size_of(xs))
    return total(staged(c, n) for c in children(e))


def blocks(e: Expr, n: Size = 1) -> Size:
    """The number of work-groups that make sums in e, which is carried out n times."""
    match e:
        case ReduceSeq():
            return n
        case MapPar(Level.GROUP, _, f, xs):
            return blocks(f.body, n * size_of(xs))
    return total(blocks(c, n) for c in children(e))


def stored(e: Expr, constants: frozenset[str]) -> Size:
    """The number of elements that are written and read again because e stores them, constants not
    counted."""
    stores = (s for s in subterms(e) if isinstance(s, Store) and not free(s) <= constants)
    return total(2 * cells(type_of(s)) for s in stores)


def cells(t: Type) -> Size:
    """The number of scalars in a value of type t."""
    match t:
        case Array(elem, n) | Vector(elem, n):
            return n * cells(elem)
    return 1


def total(sizes: Iterable[Size]) -> Size:
    """The sum of these sizes."""
    return reduce(add, sizes, 0)

"""The work of an instruction that the lanes of a sub-group carry out together."""

# key: e term, f function

from functools import lru_cache

from ir.core.instruction import Instruction
from ir.core.nodes import Binary, Expr, Lam, Map, Reduce
from ir.core.terms import children, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import BYTES, leaves, scalar_of


@lru_cache(maxsize=64)
def multiplied_by(instruction: Instruction) -> int:
    """The bytes of the factors on one side of all products that an instruction makes: the number of
    its products times the bytes of one such factor. The time of an instruction is in proportion to
    them."""
    first = variables(instruction.meaning.pattern)[0]
    (leaf,) = leaves(type_of(first))
    scalar = scalar_of(leaf)
    assert scalar is not None
    return products(instruction.meaning.body) * BYTES[scalar.name]


def products(e: Expr) -> int:
    """The number of products of two numbers that a term of known sizes makes."""
    match e:
        case Map(f, xs):
            return products(xs) + _turns(xs) * products(f.body)
        case Reduce(z, Lam() as f, xs):
            return products(z) + products(xs) + _turns(xs) * products(f.body)
        case Binary("*", a, b):
            return products(a) + products(b) + 1
    return sum(products(c) for c in children(e))


def _turns(xs: Expr) -> int:
    n = size_of(xs)
    assert isinstance(n, int)
    return n

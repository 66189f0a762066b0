"""Sums of four products of unsigned and signed bytes, in vectors of 16: CPUs have an instruction
that multiplies four pairs of bytes and adds up the products, for 16 sums at once.
"""

# key: e value

from codegen.numbers.byte_pairs import narrow_factors
from codegen.tree.kernel_values import Apply, Broadcast, Kind, Number, Value, kind_of
from ir.core.frozen import frozen

FOURS = "fours_of_uchar_char"
WIDTH = 16  # of vectors, for which alone there is the instruction
PRODUCTS = 4


@frozen
class ByteFour:
    """The sum s + a * b + c * d + e * f + g * h, s an int and the others bytes, as the arguments of
    a function: the factors, an unsigned one before each signed one, and s."""

    arguments: tuple[Value, ...]


def byte_four(e: Apply) -> ByteFour | None:
    """The vector e of 16 ints as a sum of three or four products of unsigned and signed bytes,
    added to another int; None if it is no such sum. Three products and one of zeros are four."""
    if e.op != "+" or e.kind != Kind("int", WIDTH):
        return None
    start, added = e.arguments
    products = list(_terms(added))
    if len(products) not in (PRODUCTS - 1, PRODUCTS):
        return None
    factors = [_unsigned_first(narrow_factors(product)) for product in products]
    if not all(factors):
        return None
    zeros = (_zeros("uchar"), _zeros("char"))
    factors += [zeros] * (PRODUCTS - len(factors))
    return ByteFour((*(x for pair in factors for x in pair), start))


def _terms(e: Value) -> tuple[Value, ...]:
    """The terms of the sum e, a vector of ints; e alone if it is no sum."""
    if isinstance(e, Apply) and e.op == "+":
        return tuple(term for part in e.arguments for term in _terms(part))
    return (e,)


def _unsigned_first(factors: tuple[Value | None, ...]) -> tuple[Value, ...]:
    """The two factors of a product with the unsigned byte first; empty if they are not of one
    unsigned and one signed byte."""
    found = [x for x in factors if x is not None]
    by_type = {kind_of(x).scalar: x for x in found}
    if len(found) == 2 and by_type.keys() == {"uchar", "char"}:
        return by_type["uchar"], by_type["char"]
    return ()


def _zeros(scalar: str) -> Value:
    return Broadcast(Number(0, scalar), Kind(scalar, WIDTH))

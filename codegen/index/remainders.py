"""Remainders by one number that differ whatever their variables are."""

# key: a b indices, n divisor

from codegen.index.atoms import Rem
from codegen.index.index import Index


def never_equal(a: Index, b: Index) -> bool:
    """True if a and b are two different numbers, or remainders by one divisor of indices whose
    difference is never a multiple of it; False if that is not seen."""
    if a.is_constant and b.is_constant:
        return a.constant != b.constant
    match a.terms, b.terms:
        case ((Rem(index=x, divisor=n), 1),), ((Rem(index=y, divisor=m), 1),) if n == m:
            apart = x - y
            whole = all(k % n == 0 for _, k in apart.terms)
            return a.constant == b.constant == 0 and whole and apart.constant % n != 0
    return False

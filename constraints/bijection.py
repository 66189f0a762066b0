"""Whether an index function is a bijection, as relations between sizes."""

# key: f index function, n size

from constraints.terms import NEVER, Relation
from ir.bijection import check_bijection
from ir.errors import IllTyped
from ir.nat import Size
from ir.nodes import Lam


def bijection(f: Lam, n: Size) -> tuple[Relation, ...]:
    """Nothing if f is a bijection on 0 … n - 1 whatever the parameters are (what `stride(s)` owes
    stands in its own sizes); what can never hold if it is none."""
    try:
        check_bijection(f, n)
    except IllTyped:
        return (NEVER,)
    return ()

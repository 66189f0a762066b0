"""The relations between sizes under which an index function is a bijection."""

# key: f index function, n size

from constraints.relations.relations import NEVER, Relation
from ir.core.nodes import Lam
from ir.core.size import Size
from ir.elaborate.bijection import check_bijection
from ir.errors import IllTyped


def bijection(f: Lam, n: Size) -> tuple[Relation, ...]:
    """Nothing if f is a bijection on 0 … n - 1 whatever the parameters are (what `stride(s)` owes
    stands in its own sizes); what can never hold if it is none."""
    try:
        check_bijection(f, n)
    except IllTyped:
        return (NEVER,)
    return ()

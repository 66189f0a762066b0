"""The relations between sizes under which an index function is a bijection."""

# key: f index function, n size

from constraints.relations.relations import NEVER, Relation
from ir.core.nodes import Lam
from ir.core.size import Size
from ir.elaborate.bijection import check_bijection
from ir.errors import IllTyped


def bijection(f: Lam, n: Size) -> tuple[Relation, ...]:
    """The relations under which f is a bijection on 0 … n - 1: none if it always is; if it never
    is, one that never holds.

    The relations that `stride(s)` demands are not among them: they come from the sizes that are
    written in f.
    """
    try:
        check_bijection(f, n)
    except IllTyped:
        return (NEVER,)
    return ()

"""Stores of f of each number in the place of stores of the numbers, where nothing but f of them is
read: f is applied once, when a number is stored, not where it is read."""

# key: e term, f function of a number

from ir.core.nodes import Expr, Lam, MapPar, Store
from ir.core.terms import children
from rewrites.analysis.kernel_terms import own_terms
from rewrites.engine.places import of_value
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, seq
from rewrites.laws.functions_of_elements import let_mapped, map_into_store
from rewrites.laws.lower import share
from rewrites.laws.maps import inline_view


def stored_mapped(f: Lam) -> Strategy:
    """The strategy that applies f to all numbers of a kernel's stored operands as they are stored.
    It does so only where the kernel reads f of each of these numbers, and nothing else of them, and
    where the kernel that stores them is not lowered yet."""

    def run(e: Expr) -> Rewritten | None:
        return seq(*(attempt(_mapped(f, stored)) for stored in _operands(e)))(e)

    return run


def _mapped(f: Lam, stored: Store) -> Strategy:
    shared = seq(share(term=stored, name="stored"), let_mapped(f=f))
    return seq(shared, of_value(map_into_store()), inline_view())


def _operands(e: Expr) -> list[Store]:
    """The outermost stored terms in e, each once, without those whose kernels are lowered."""
    if isinstance(e, Store):
        return [] if any(isinstance(t, MapPar) for t in own_terms(e.e)) else [e]
    found = [s for part in children(e) for s in _operands(part)]
    return [s for n, s in enumerate(found) if s not in found[:n]]

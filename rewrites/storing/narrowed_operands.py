"""Operands of products stored as the numbers of few bits that are nearest to them."""

# key: e term

from collections.abc import Iterator

from ir.core.nodes import Expr, Var
from ir.core.terms import subterms
from rewrites.analysis.kernel_terms import has_reduction
from rewrites.analysis.number_parts import high_part
from rewrites.engine.places import of_function, of_value
from rewrites.engine.refused import Refused, shown
from rewrites.engine.rule import Rewritten, Strategy
from rewrites.engine.strategy import attempt, outermost, seq, skip
from rewrites.kernels.register_block import innermost_reduction
from rewrites.laws.lower import share, store
from rewrites.laws.maps import inline_view
from rewrites.nest.dimensions import operands, reduction, sources
from rewrites.nest.spine import kernels, nest
from rewrites.number_laws.precision import narrowed_factors, operand_type
from rewrites.storing.mapped_stores import stored_mapped


def narrowed_operands(params: frozenset[str], name: str) -> Strategy:
    """The strategy that stores the factors of each sum of products, before it is made, as the
    bfloats or halves nearest to them, which the instruction `name` multiplies. Refused if there is
    no such sum. `params` are the names of the program's parameters."""
    narrow = innermost_reduction(of_function(outermost(narrowed_factors(name=name))))
    kept = stored_mapped(high_part(operand_type(name)))

    def run(e: Expr) -> Rewritten:
        done = kernels(each)(e)
        if done is None or not done[1]:
            raise Refused(f"expected a sum of products of floats, found {shown(e)}")
        return done

    def each(e: Expr) -> Rewritten | None:
        if not has_reduction(e):
            return skip(e)
        return attempt(seq(narrow, *map(_stored, _read(e, params)), kept))(e)

    return run


def _stored(given: Var) -> Strategy:
    """The strategy that stores the parameter `given`, and reads the copy in its place."""
    return seq(share(term=given, name="stored"), of_value(store()), inline_view())


def _read(e: Expr, params: frozenset[str]) -> Iterator[Var]:
    """Those of the program's parameters, whose names are `params`, that the operands of the only
    sum in the nest e read, each once."""
    found = dict[str, Var]()
    for part in operands(reduction(e)):
        for array in (part, *sources(nest(e), part)):
            found |= {t.name: t for t in subterms(array) if isinstance(t, Var)}
    yield from (v for name, v in found.items() if name in params)

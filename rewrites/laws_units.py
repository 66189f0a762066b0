"""Laws of units: elements that a fold does not notice, so that its length may be rounded up."""

# key: e term, z initial value, f folding function, g what it folds, u unit, k size

import numpy as np

from ir.interpret import evaluate
from ir.nat import Size, round_up
from ir.nodes import Expr, Lam, Lit, MakeTuple, Pad, Program, Reduce, Zip
from ir.terms import apply, free
from ir.typing import elem_of, size_of, type_of
from rewrites.rule import rule
from rewrites.shape import fold_of, unit


@rule("reduce z ⊕ g xs  =  reduce z ⊕ g (pad (0, round_up(n, k) - n) u xs),  g u = u, ⊕'s unit")
def round_fold(e: Reduce, k: Size) -> Expr | None:
    """Sums of products go on over zeros."""
    match e:
        case Reduce(z, f, xs):
            more = round_up(size_of(xs), k) - size_of(xs)
            folded = fold_of(f)
            if more == 0 or folded is None or not isinstance(f.pattern, tuple):
                return None
            parts = xs.parts if isinstance(xs, Zip) else (xs,)
            units = [unit(folded.op, elem_of(part)) for part in parts]
            found = [u for u in units if u is not None]
            whole = MakeTuple(tuple(found)) if isinstance(xs, Zip) else found[0] if found else None
            if len(found) < len(units) or whole is None:
                return None
            if not _is_unit(Lam(f.pattern[1], folded.term), whole, unit(folded.op, type_of(z))):
                return None
            longer = tuple(Pad(0, more, u, part) for u, part in zip(found, parts, strict=True))
            return Reduce(z, f, Zip(longer) if isinstance(xs, Zip) else longer[0])
    return None


def _is_unit(g: Lam, u: Expr, zero: Expr | None) -> bool:
    """Whether g looks at nothing but its element, and makes zero of u."""
    if free(g) or not isinstance(zero, Lit):
        return False
    with np.errstate(all="ignore"):
        return bool(evaluate(Program("g", (), apply(g, u)), {}) == zero.value)

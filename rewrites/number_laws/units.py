"""Laws of units: elements that a fold does not notice are added, so that its length may be rounded
up."""

# key: z initial value, f folding function, u unit, k size, t type

import numpy as np

from ir.core.nodes import Expr, Generate, Lam, Lit, MakeTuple, Pad, Program, Reduce, Zip
from ir.core.size import Size, round_up
from ir.core.terms import apply, free, lam, size_names
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import INT, Array, Type
from ir.meaning.interpret import evaluate
from rewrites.analysis.folds import operator, unit
from rewrites.engine.rule import rule


@rule("reduce z f xs  =  reduce z f (pad (0, round_up(n, k) - n) u xs),  f acc u = acc,  f a fold")
def round_fold(e: Reduce, k: Size) -> Expr | None:
    """A fold becomes one of a multiple of k steps, by elements that leave the accumulator as it is,
    such as zeros."""
    match e:
        case Reduce(z, f, xs):
            more = round_up(size_of(xs), k) - size_of(xs)
            op = operator(f)
            if more == 0 or op is None:
                return None
            parts = xs.parts if isinstance(xs, Zip) else (xs,)
            units = [unit(op, _innermost(elem_of(part))) for part in parts]
            found = [u for u in units if u is not None]
            if len(found) < len(units):
                return None
            added = [_filled(elem_of(part), u) for part, u in zip(parts, found, strict=True)]
            whole = MakeTuple(tuple(added)) if isinstance(xs, Zip) else added[0]
            if not _keeps(f, unit(op, type_of(z)), whole):
                return None
            longer = tuple(Pad(0, more, u, part) for u, part in zip(found, parts, strict=True))
            return Reduce(z, f, Zip(longer) if isinstance(xs, Zip) else longer[0])
    return None


def _innermost(t: Type) -> Type:
    return _innermost(t.elem) if isinstance(t, Array) else t


def _filled(t: Type, u: Expr) -> Expr:
    """The element of type t all of whose numbers are u."""
    if not isinstance(t, Array):
        return u
    return Generate(t.size, lam("index", INT, lambda _: _filled(t.elem, u)))


def _keeps(f: Lam, zero: Expr | None, element: Expr) -> bool:
    """True if the function f of a fold uses nothing but its operands, and gives `zero` for the
    accumulator `zero` and this element; False if `zero` is None."""
    step = apply(f, MakeTuple((zero, element))) if isinstance(zero, Lit) else f.body
    if not isinstance(zero, Lit) or free(step) or size_names(step):
        return False
    with np.errstate(all="ignore"):
        return bool(evaluate(Program("f", (), step), {}) == zero.value)

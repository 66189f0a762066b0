"""A law of variables that a reduction's function captures: they become operands beside the
elements."""

# key: e term, z initial value, f folding function, p pattern of an element, x what is captured

from ir.core.nodes import Expr, Generate, Lam, MakeTuple, Pattern, Reduce, Var, Zip
from ir.core.terms import apply, bound_names, free, fresh, lam
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Tuple
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.binder_names import parts_of, value_of
from rewrites.engine.rule import rule
from rewrites.laws.lower import replaced


@rule("reduce z f_x xs  =  reduce z (acc, (x', y) -> f_y acc x') (zip xs (generate n (i -> x)))")
def carry(e: Reduce, x: Expr) -> Expr | None:
    """The reduction e as one over its elements zipped with copies of x, a term in e's function with
    the same value at every step; None if the function does not use x."""
    match e:
        case Reduce(z, Lam((acc, p), body) as f, xs):
            if not free(x) or not free(x) <= free(f):
                return None
            hint = x.name if isinstance(x, Var) else value_of(x)
            y = Var(fresh(hint, free(body) | bound(f) | bound_names(body)), type_of(x))
            if (carried := replaced(body, x, y)) == body:
                return None
            parts = xs.parts if isinstance(xs, Zip) else (xs,)
            same = Generate(size_of(xs), lam("index", INT, lambda _: x))
            q, inner = _beside(p, isinstance(xs, Zip), y, carried)
            return Reduce(z, Lam((acc, q), inner), Zip((*parts, same)))
    return None


def _beside(p: Pattern, zipped: bool, y: Var, body: Expr) -> tuple[Pattern, Expr]:
    """The pattern of an element with the variable y beside it, and `body` for this pattern. The
    pattern is (p, y), or, if the array is `zipped`, p's parts followed by y; `body` is then as it
    was. But if p is one variable for all parts of a zip, its parts get new variables, and `body`
    uses the tuple of these in the place of p."""
    if not zipped:
        return (p, y), body
    if isinstance(p, tuple):
        return (*p, y), body
    assert isinstance(p.type, Tuple)
    avoid = free(body) | {y.name} | bound_names(body)
    fields: list[Var] = []
    for name, t in zip(parts_of(p, len(p.type.parts)), p.type.parts, strict=True):
        fields.append(Var(fresh(name, avoid | {v.name for v in fields}), t))
    return (*fields, y), apply(Lam(p, body), MakeTuple(tuple(fields)))

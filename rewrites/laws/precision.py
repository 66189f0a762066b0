"""Laws of precision: a number as the sum of two with fewer bits, whose products are kept or not.

The high part of a float is the bfloat nearest to it, which has eight bits; the low part is the
rest, exactly. An instruction that keeps eleven bits of its operands loses nothing of high parts; of
a low part it loses 2^-9 of what it would lose of the float.
"""

# key: h high part, l low part, x y operands, z initial value, f folding function

from ir.core.nodes import Binary, Expr, Lam, MakeTuple, Reduce, Var
from ir.core.terms import apply, free, substitute, variables
from ir.instructions.table import TABLE
from rewrites.analysis.folds import fold_of, unit
from rewrites.analysis.matching import instance
from rewrites.analysis.number_parts import HIGH, LOW, LOW_SHARE, part_of
from rewrites.engine.rule import rule

DROPPED = LOW_SHARE**2 * 2.0**23  # machine epsilons of a product that those of low parts are


@rule(
    "Σ x y  =  Σ h(x) h(y) + Σ h(x) l(y) + Σ l(x) h(y),  x = h(x) + l(x); Σ l(x) l(y) dropped",
    rounding=DROPPED,
)
def in_parts(e: Expr, name: str) -> Expr | None:
    """A term x y + z, as the named instruction computes it, becomes three uses of the instruction's
    program: for low x and high y, high x and low y, and high x and high y. Small terms are added
    first; products of two low parts are left out."""
    program = TABLE[name].program
    holes = {v.name: Var(f"?{v.name}", v.type) for v in variables(program.pattern)}
    pattern = substitute(program.body, holes)
    found = instance(pattern, frozenset(hole.name for hole in holes.values()), e)
    if found is None:
        return None
    x, y, z = (found[hole.name] for hole in holes.values())
    for part, other in ((LOW, HIGH), (HIGH, LOW), (HIGH, HIGH)):
        z = apply(program, MakeTuple((part_of(part, x), part_of(other, y), z)))
    return z


@rule("reduce z (acc -> reduce acc ⊕ g)  =  reduce z (acc -> reduce 0 ⊕ g ⊕ acc)")
def afresh(e: Reduce) -> Expr | None:
    """A sum each of whose steps itself sums up onto the accumulator becomes one whose steps sum up
    from the unit, and then add their result to the accumulator."""
    match e:
        case Reduce(z, Lam((Var(acc, t) as a, p), Reduce(Var(first), f, xs)), ys) if first == acc:
            found = _innermost(f)
            start = None if found is None else unit(found, t)
            if start is None or acc in free(f) | free(xs):
                return None
            assert found is not None
            return Reduce(z, Lam((a, p), Binary(found, Reduce(start, f, xs), a)), ys)
    return None


def _innermost(f: Lam) -> str | None:
    """The operator of the innermost of the nested folds whose outermost function is f; None if f is
    no fold."""
    match f:
        case Lam((Var(acc), _), Reduce(Var(first), inner, xs)) if first == acc:
            return _innermost(inner) if acc not in free(inner) | free(xs) else None
    found = fold_of(f)
    return None if found is None else found.op

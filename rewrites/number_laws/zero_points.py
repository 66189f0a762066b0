"""The law of zero points: what is subtracted from a factor in every term of a sum is subtracted
from the sum instead, once."""

# key: z initial value, x w factors, a b zero points, n length, own names of a fold's elements

from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Lam, Lit, Pattern, Reduce, SizeOf, Var, Zip
from ir.core.terms import free, fresh, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, LONG, Scalar, Type, equal, is_whole
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule


@frozen
class Factor:
    """A factor x − zero of a sum's terms; without a zero point, x alone."""

    x: Expr
    zero: Expr | None


@frozen
class Fold:
    """The array xs that a fold goes over, the pattern that an element is bound to, and the type t
    of the fold's sum."""

    element: Pattern
    xs: Expr
    t: Scalar


@rule(
    "reduce z (acc + (x - a) (w - b))  =  reduce (z - b Σ x - a Σ w + n a b) (acc + x w),"
    "  of whole numbers"
)
def zero_points_out(e: Reduce) -> Expr | None:
    """A sum of products of bytes less their zero points becomes a sum of products of bytes, which
    starts from what the zero points add. The sum of the weights can be made once.

    Whole numbers wrap around alike on both sides.
    """
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs):
            fold = fold_of(f)
            if fold is None or fold.op != "+" or t not in (INT, LONG) or type_of(z) != t:
                return None
            assert isinstance(t, Scalar)
            own = frozenset(v.name for v in variables(element))
            found = _factors(fold.term, own, acc, t)
            if found is None:
                return None
            p, q = found
            start = _start(z, p, q, Fold(element, xs, t))
            product = Binary("*", p.x, q.x)
            return Reduce(start, Lam((Var(acc, t), element), Binary("+", Var(acc, t), product)), xs)
    return None


def _factors(term: Expr, own: frozenset[str], acc: str, t: Type) -> tuple[Factor, Factor] | None:
    """The two factors of the product `term`, at least one of which has a zero point; None for other
    terms. The fold binds the names `own` to an element, and `acc` to its sum, of type t."""
    match term:
        case Binary("*", p, q) if is_whole(type_of(p)) and is_whole(type_of(q)):
            both = _factor(p, own, acc, t), _factor(q, own, acc, t)
            return both if any(factor.zero is not None for factor in both) else None
    return None


def _factor(e: Expr, own: frozenset[str], acc: str, t: Type) -> Factor:
    """The factor e as x − zero, if zero does not depend on the fold (on `own` or `acc`) and the
    difference is in the fold's type t, as in a narrower type it could wrap around; else e without a
    zero point."""
    match e:
        case Binary("-", x, zero) if free(x) & own and not free(zero) & {*own, acc}:
            return Factor(x, zero) if equal(type_of(e), t) else Factor(e, None)
    return Factor(e, None)


def _start(z: Expr, p: Factor, q: Factor, over: Fold) -> Expr:
    """The initial value z of a fold, plus what the zero points of its factors p and q add to its
    sum."""
    for this, other in ((q, p), (p, q)):
        if this.zero is not None:
            z = start_of(z, this.zero, other.x, over)
    if p.zero is not None and q.zero is not None:
        n = size_of(over.xs)
        count = Lit(n, INT) if isinstance(n, int) else SizeOf(n)
        z = Binary("+", z, Binary("*", count, Binary("*", p.zero, q.zero)))
    return z


def start_of(z: Expr, zero: Expr, x: Expr, over: Fold) -> Expr:
    """The initial value z of a fold less what the zero point of one factor of its terms adds to the
    sum; x is the other factor."""
    return Binary("-", z, Binary("*", zero, _sum(x, over)))


def _sum(x: Expr, over: Fold) -> Expr:
    """The sum of the factor x over the elements of the fold `over`; zipped arrays that x does not
    use are left out."""
    element, xs = _used(x, over)
    acc = Var(fresh("sum", free(x) | {v.name for v in variables(element)}), over.t)
    return Reduce(Lit(0, over.t), Lam((acc, element), Binary("+", acc, x)), xs)


def _used(x: Expr, over: Fold) -> tuple[Pattern, Expr]:
    match over.element, over.xs:
        case tuple() as patterns, Zip(parts):
            pairs = list(zip(patterns, parts, strict=True))
            mine = [pair for pair in pairs if {v.name for v in variables(pair[0])} & free(x)]
            if len(mine) == 1:
                return mine[0]
            return tuple(p for p, _ in mine), Zip(tuple(part for _, part in mine))
    return over.element, over.xs

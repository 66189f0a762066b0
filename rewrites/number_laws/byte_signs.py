"""The law of signs of bytes: an unsigned byte is a signed one plus 128, and what that adds to a sum
of products is added once. CPUs have an instruction that adds up four products of an unsigned and a
signed byte."""

# key: e term, z initial value, x w factors

from ir.core.nodes import Binary, Expr, Get, Lam, Lit, Pattern, Reduce, Unary, Var
from ir.core.terms import free, subterms, variables
from ir.core.type_rules import type_of
from ir.core.types import CHAR, INT, UCHAR, Type
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule
from rewrites.number_laws.zero_points import Fold, start_of

OTHER: dict[Type, tuple[str, int]] = {CHAR: ("uchar", 128), UCHAR: ("char", -128)}
"""For each type of bytes the other one, and what is added to bytes so that they are of that."""


@rule(
    "reduce z (acc + x w)  =  reduce (z - 128 Σ w) (acc + uchar (x + 128) w),"
    "  of ints, x w : char, x of the part chosen of what is zipped;"
    "  of x w : uchar, with -128 and char"
)
def other_sign(e: Reduce, part: int) -> Expr | None:
    """A sum of products of two signed or two unsigned bytes becomes a sum of products of an
    unsigned and a signed one, which starts from less, as much as was added. The sum of the weights
    can be made once.

    Whole numbers wrap around alike on both sides.
    """
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs) if t == INT == type_of(z):
            fold = fold_of(f)
            both = _alike(fold.term, element) if fold is not None and fold.op == "+" else ()
            if not both or _reads(both[0], element, part) == _reads(both[1], element, part):
                return None
            x, w = both if _reads(both[0], element, part) else both[::-1]
            other, n = OTHER[type_of(x)]
            start = start_of(z, Lit(n, INT), w, Fold(element, xs, INT))
            product = Binary("*", Unary(other, Binary("+", x, Lit(n, INT))), w)
            step = Binary("+", Var(acc, INT), product)
            return Reduce(start, Lam((Var(acc, INT), element), step), xs)
    return None


def _alike(term: Expr, element: Pattern) -> tuple[Expr, ...]:
    """The two bytes of one type, each of them read from the element of a fold, whose product `term`
    is; empty for other terms."""
    own = {v.name for v in variables(element)}
    match term:
        case Binary("*", p, q) if type_of(p) == type_of(q) and type_of(p) in OTHER:
            return (p, q) if free(p) & own and free(q) & own else ()
    return ()


def _reads(e: Expr, element: Pattern, part: int) -> bool:
    """True if e reads one part, of this number, of a fold's element, which is a tuple."""
    match element:
        case tuple():
            names = {v.name for v in variables(element[part])} if part < len(element) else set()
            return bool(names & free(e))
        case Var(name):
            own = (s.e for s in subterms(e) if isinstance(s, Get) and s.index == part)
            return any(isinstance(x, Var) and x.name == name for x in own)
    raise AssertionError(f"expected a pattern, found {element}")

"""The law of unsigned bytes: signed bytes are 128 less than unsigned ones, and what that adds to a
sum of products is subtracted once. CPUs have an instruction that adds up four products of an
unsigned and a signed byte."""

# key: e term, z initial value, x w factors

from ir.core.nodes import Binary, Expr, Get, Lam, Lit, Pattern, Reduce, Unary, Var
from ir.core.terms import free, subterms, variables
from ir.core.type_rules import type_of
from ir.core.types import CHAR, INT
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule
from rewrites.number_laws.zero_points import Fold, start_of

OFFSET = 128  # what makes a signed byte an unsigned one


@rule(
    "reduce z (acc + x w)  =  reduce (z - 128 Σ w) (acc + uchar (x + 128) w),"
    "  of ints, x w : char, x of the part chosen of what is zipped"
)
def unsigned_factor(e: Reduce, part: int) -> Expr | None:
    """A sum of products of signed bytes becomes a sum of products of unsigned and signed ones,
    which starts from less, as much as was added. The sum of the weights can be made once.

    Whole numbers wrap around alike on both sides.
    """
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs) if t == INT == type_of(z):
            fold = fold_of(f)
            both = _signed(fold.term, element) if fold is not None and fold.op == "+" else ()
            if not both or _reads(both[0], element, part) == _reads(both[1], element, part):
                return None
            x, w = both if _reads(both[0], element, part) else both[::-1]
            unsigned = Unary("uchar", Binary("+", x, Lit(OFFSET, INT)))
            start = start_of(z, Lit(OFFSET, INT), w, Fold(element, xs, INT))
            step = Binary("+", Var(acc, INT), Binary("*", unsigned, w))
            return Reduce(start, Lam((Var(acc, INT), element), step), xs)
    return None


def _signed(term: Expr, element: Pattern) -> tuple[Expr, ...]:
    """The two signed bytes, each of them read from the element of a fold, whose product `term` is;
    empty for other terms."""
    own = {v.name for v in variables(element)}
    match term:
        case Binary("*", p, q) if type_of(p) == type_of(q) == CHAR:
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

"""The law of sums of two: two terms of a sum of ints are added before they go into it. CPUs
multiply two pairs of 16-bit numbers and add both products in one instruction."""

# key: e term, z initial value, g the terms of a sum, x y the elements of an array

from ir.core.nodes import At, Binary, Expr, Lam, MakeTuple, Reduce, Zip
from ir.core.terms import apply
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Vector
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule


@rule("reduce z (acc + g) [x, y]  =  z + (g x + g y),  of ints")
def sum_of_two(e: Reduce) -> Expr | None:
    """A sum of ints over two elements is spelled out, the two terms first. Ints wrap around, so
    their order does not matter."""
    match e:
        case Reduce(z, Lam((_, element)) as f, xs) if size_of(xs) == 2:
            fold, t = fold_of(f), type_of(e)
            number = t.scalar if isinstance(t, Vector) else t
            if fold is None or fold.op != "+" or number != INT:
                return None
            first, second = (apply(Lam(element, fold.term), _at(k, xs)) for k in range(2))
            return Binary("+", z, Binary("+", first, second))
    return None


def _at(k: int, xs: Expr) -> Expr:
    """The element k of an array, or of zipped arrays."""
    return MakeTuple(tuple(At(k, x) for x in xs.parts)) if isinstance(xs, Zip) else At(k, xs)

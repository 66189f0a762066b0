"""The laws of pairs and of fours: two or four terms of a sum of ints are added to each other before
they are added to the sum. CPUs multiply two pairs of 16-bit numbers, or four pairs of bytes, and
add up the products in one instruction."""

# key: e term, n length, t type, z initial value, g the terms of a sum, x y the elements of an array

from functools import reduce

from ir.core.nodes import At, Binary, Expr, Lam, MakeTuple, Reduce, Zip
from ir.core.terms import apply
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Vector
from rewrites.analysis.folds import fold_of
from rewrites.engine.rule import rule

MOST = 5  # elements of a sum that is spelled out


@rule("reduce z (acc + g) [x, y, …]  =  z + (g x + g y) + …,  of few ints")
def sum_in_pairs(e: Reduce) -> Expr | None:
    """A sum of ints over two to five elements is spelled out, with the terms added in pairs first.
    Ints wrap around, so their order does not matter."""
    return _spelled_out(e, 2)


@rule("reduce z (acc + g) [x, y, …]  =  z + (g x + g y + …) + …,  of few ints, in fours")
def sum_in_fours(e: Reduce) -> Expr | None:
    """A sum of ints over two to five elements is spelled out, with the terms added in fours first.
    Ints wrap around, so their order does not matter."""
    return _spelled_out(e, 4)


def _spelled_out(e: Reduce, k: int) -> Expr | None:
    """The sum e, of two to five ints, spelled out, with k terms at a time added to each other
    first; None for another reduction."""
    match e:
        case Reduce(z, Lam((_, element)) as f, xs) if size_of(xs) in range(2, MOST + 1):
            n, fold, t = size_of(xs), fold_of(f), type_of(e)
            number = t.scalar if isinstance(t, Vector) else t
            if fold is None or fold.op != "+" or number != INT or not isinstance(n, int):
                return None
            terms = [apply(Lam(element, fold.term), _at(i, xs)) for i in range(n)]
            parts = [reduce(_plus, terms[i : i + k]) for i in range(0, n, k)]
            return reduce(_plus, parts, z)
    return None


def _plus(a: Expr, b: Expr) -> Expr:
    return Binary("+", a, b)


def _at(k: int, xs: Expr) -> Expr:
    """The element k of the array xs, or the tuple of elements k if xs is a zip of arrays."""
    return MakeTuple(tuple(At(k, x) for x in xs.parts)) if isinstance(xs, Zip) else At(k, xs)

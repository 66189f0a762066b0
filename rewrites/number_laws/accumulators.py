"""Laws of accumulators: the type in which a sum of halves or bfloats is kept is a choice.

They hold of numbers. Each addition in a narrow type rounds by half a unit of it at most; whole
numbers that it holds are added exactly.
"""

# key: z initial value, g the terms of a sum, k terms of a chunk, t a narrow type

from ir.core.nodes import Binary, Expr, Lam, Lit, Reduce, Split, Unary, Var
from ir.core.size import Size
from ir.core.terms import free, fresh
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import FLOAT, NARROW_REALS, Scalar
from rewrites.analysis.folds import fold_of
from rewrites.analysis.size_signs import divides
from rewrites.engine.rule import rule

UNIT = 2.0**16  # of a bfloat, the coarser type, in machine epsilons


@rule("reduce z (acc + g)  =  t (reduce (float z) (acc + float g)),  of halves or bfloats", UNIT)
def sum_in_float(e: Reduce) -> Expr | None:
    """A sum in a narrow type is kept in a float, and rounded once."""
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs) if t in NARROW_REALS:
            fold = fold_of(f)
            if fold is None or fold.op != "+" or type_of(fold.term) != t or type_of(z) != t:
                return None
            assert isinstance(t, Scalar)
            total = Var(acc, FLOAT)
            step = Lam((total, element), Binary("+", total, Unary("float", fold.term)))
            return Unary(t.name, Reduce(Unary("float", z), step, xs))
    return None


@rule("reduce z (acc + float g)  =  reduce z (acc + float (reduce 0 (a + g))) . split k", UNIT)
def sum_in_chunks(e: Reduce, k: Size) -> Expr | None:
    """A sum of narrow numbers that is kept in a float becomes one, in the float, of partial sums of
    k terms each, which are kept in the narrow type."""
    match e:
        case Reduce(z, Lam((Var(acc, t), element), _) as f, xs) if divides(k, size_of(xs)):
            fold = fold_of(f)
            if fold is None or fold.op != "+" or t != FLOAT or type_of(z) != FLOAT:
                return None
            match fold.term:
                case Unary("float", g) if (narrow := type_of(g)) in NARROW_REALS:
                    assert isinstance(narrow, Scalar)
                    part = Var(fresh("part", free(g)), narrow)
                    chunks = Split(k, xs)
                    chunk = Var(fresh("chunk", free(g) | {acc, part.name}), elem_of(chunks))
                    step = Lam((part, element), Binary("+", part, g))
                    total = Var(acc, FLOAT)
                    inner = Unary("float", Reduce(Lit(0.0, narrow), step, chunk))
                    return Reduce(z, Lam((total, chunk), Binary("+", total, inner)), chunks)
    return None

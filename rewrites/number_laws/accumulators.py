"""Laws of accumulators: the type in which a sum of halves or bfloats is kept is a choice.

The laws hold of exact numbers. Each addition in a narrow type rounds by at most half a unit in that
type's last place; whole numbers that the type holds are added exactly.
"""

# key: z initial value, g the terms of a sum, k terms of a chunk, t a narrow type

from ir.core.nodes import (
    Binary,
    Expr,
    Lam,
    Let,
    Lit,
    MapSeq,
    Reduce,
    ReduceSeq,
    Split,
    Unary,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import free, fresh, lam, lam2, let, variables
from ir.core.type_rules import elem_of, size_of, type_of
from ir.core.types import (
    BFLOAT,
    FLOAT,
    HALF,
    NARROW_REALS,
    Array,
    Scalar,
    Type,
    narrowed,
    only_scalar,
)
from rewrites.analysis.binder_names import several
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


@rule("float (t x)  =  x,  t a narrow type, x a float", UNIT)
def rounded_later(e: Unary) -> Expr | None:
    """The float x, in place of x rounded to a half or bfloat and then made a float again."""
    match e:
        case Unary("float", Unary("half" | "bfloat", x)):
            return x if type_of(x) == type_of(e) else None
    return None


@rule("reduceSeq z f  =  reduceSeq z (acc chunk -> reduceSeq acc f chunk) . split k")
def split_loop(e: ReduceSeq, k: Size) -> Expr | None:
    match e:
        case ReduceSeq(z, Lam((Var() as acc, p), _) as f, xs, unrolled) if divides(k, size_of(xs)):
            chunks = Split(k, xs)
            chunk = Var(fresh(several(p), free(f) | {acc.name}), elem_of(chunks))
            outer = Var(fresh(acc.name, free(f) | {chunk.name}), acc.type)
            inner = ReduceSeq(outer, f, chunk, unrolled)
            return ReduceSeq(z, Lam((outer, chunk), inner), chunks)
    return None


@rule(
    "reduceSeq acc (a + float g)  =  acc + float (reduceSeq 0 (a + g)),  of numbers or arrays", UNIT
)
def sum_afresh(e: ReduceSeq) -> Expr | None:
    """A loop that adds narrow numbers to sums in floats adds them to sums of its own instead, in
    the narrow type and from zero; after the loop, these are added to the floats."""
    match e:
        case ReduceSeq(Var() as sums, Lam((Var() as acc, x), body), xs, unrolled):
            for t in (HALF, BFLOAT):
                part = Var(acc.name, narrowed(acc.type, t))
                step = None if part.type == acc.type else _narrow(body, acc, part, t)
                if step is not None:
                    loop = ReduceSeq(_zeros(sums, t), Lam((part, x), step), xs, unrolled)
                    return let(several(acc), loop, part.type, lambda done: _added(sums, done))
    return None


@rule("reduceSeq acc (a + g)  =  acc + reduceSeq 0 (a + g),  of halves or bfloats, or arrays", UNIT)
def sum_apart(e: ReduceSeq) -> Expr | None:
    """A loop that adds narrow numbers to sums in their type adds them to sums of its own instead,
    from zero; after the loop, these are added to the others."""
    match e:
        case ReduceSeq(Var() as sums, Lam((Var() as acc, _), body) as f, xs, unrolled):
            t = only_scalar(acc.type)
            if t not in NARROW_REALS or _narrow(body, acc, acc, t) is None:
                return None
            loop = ReduceSeq(_zeros(sums, t), f, xs, unrolled)
            return let(several(acc), loop, acc.type, lambda done: _added(sums, done))
    return None


def _narrow(e: Expr, acc: Var, part: Var, t: Scalar) -> Expr | None:
    """The step e of a loop, which adds numbers of type t to the accumulator `acc`, converted if
    this is of floats, as a step that adds them, not converted, to `part`; None if e is no such
    step."""
    match e:
        case Let(p, value, body) if acc.name not in free(value) | {v.name for v in variables(p)}:
            inner = _narrow(body, acc, part, t)
            return inner and Let(p, value, inner)
        case MapSeq(Lam((Var() as each, p), body), Zip((Var(name), *others)), unrolled) if (
            name == acc.name
            and acc.name not in free(Zip(tuple(others)))
            and (each.name == acc.name or acc.name not in free(body))
        ):
            own = Var(each.name, elem_of(part))
            inner = _narrow(body, each, own, t)
            return inner and MapSeq(Lam((own, p), inner), Zip((part, *others)), unrolled)
        case Binary("+", Var(name), term) if name == acc.name:
            g = term if acc.type == part.type else _converted(term)
            fits = g and acc.name not in free(g) and type_of(g) == narrowed(type_of(g), t)
            return Binary("+", part, g) if g and fits and type_of(g) == part.type else None
    return None


def _converted(e: Expr) -> Expr | None:
    """The number that e converts to a float; None if it converts none."""
    return e.e if isinstance(e, Unary) and e.op == "float" else None


def _zeros(sums: Expr, t: Scalar) -> Expr:
    """An array of zeros of type t, one for each number or vector of `sums`, in the same shape."""
    match type_of(sums):
        case Array(elem, _):
            each = lam("acc", elem, lambda x: _zeros(x, t))
            return MapSeq(each, sums, unrolled=True)
    return Lit(0.0, t)


def _added(sums: Expr, parts: Expr) -> Expr:
    """The array of the numbers `sums` plus the narrow ones `parts`, number by number."""
    match type_of(sums), type_of(parts):
        case Array(elem, _), Array(part, _):
            types: tuple[Type, Type] = (elem, part)
            return MapSeq(lam2(("acc", "part"), types, _added), Zip((sums, parts)), unrolled=True)
    same = type_of(sums) == type_of(parts)
    return Binary("+", sums, parts if same else Unary("float", parts))

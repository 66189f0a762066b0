"""Laws of precision: a number as the sum of two or three with fewer bits, whose products are kept
or not, or as one with fewer bits.

The high part of a float is the bfloat nearest to it, which has eight bits; the low part is the
rest. An instruction that keeps eleven bits of its operands loses nothing of high parts; of a low
part it loses 2^-9 of what it would lose of the float. For an instruction of bfloats, low parts are
rounded to bfloats, which loses 2^-9 of them; three bfloats make up the whole float. For an
instruction of halves, the high part is the half nearest to the float, of eleven bits, and the low
part a half, 2^11 times the rest. Products with low parts of halves, and those with the lower two of
three bfloats, are summed up by themselves, and divided by 2^11, of halves, when they are added.
"""

# key: h high part, l low part, x y operands, z initial value, f folding function

from ir.core.nodes import Binary, Expr, Generate, Lam, Lit, MakeTuple, Map, Reduce, Unary, Var, Zip
from ir.core.size import Size
from ir.core.terms import apply, free, lam, over, substitute, variables
from ir.core.type_rules import array_of, elem_of, type_of
from ir.core.types import BFLOAT, FLOAT, HALF, INT, Array, Scalar, Type, leaves
from ir.instructions.table import CALLED
from rewrites.analysis.folds import fold_of, unit
from rewrites.analysis.matching import Found, instance
from rewrites.analysis.number_parts import high, high_part, low_scale, low_share, mapped, parts
from rewrites.engine.rule import rule
from rewrites.laws.vectors import retyped

UNIT = 2.0**23  # machine epsilons of a number


def operand_type(name: str, operand: int = 0) -> Scalar:
    """The type of the numbers that the named instruction multiplies, in its first operand or in the
    one of this number."""
    (t,) = leaves(type_of(variables(CALLED[name].program.pattern)[operand]))
    assert isinstance(t, Scalar)
    return t


def lost_in_parts(name: str, count: int = 2) -> float:
    """The number of machine epsilons that a product loses when the named instruction makes it of
    two parts, or three, as `count` says: by leaving out products of low parts and, where two parts
    are not floats, by rounding the two low parts. Three bfloats hold all bits of a float."""
    t = operand_type(name)
    if count == 3:
        return (2 + low_share(t)) * low_share(t) ** 3 * UNIT
    return low_share(t) ** 2 * UNIT * (1.0 if t == FLOAT else 3.0)


def lost_narrowed(name: str) -> float:
    """The number of machine epsilons that a product loses when the named instruction multiplies the
    high parts of two numbers alone."""
    return 2 * low_share(operand_type(name)) * UNIT


@rule(
    "Σ x y  =  sum over i + j < n of Σ xᵢ yⱼ,  x = x₀ + … + xₙ₋₁, each a part of few bits; the "
    "other products of parts dropped",
    rounding=lost_in_parts,
    of_products=True,
)
def in_parts(e: Expr, name: str, count: int = 2) -> Expr | None:
    """A term x y + z that the instruction `name` would compute, but for the type of its numbers,
    floats, becomes several uses of the instruction's program, of parts of x and y: `count` parts of
    each, two (high and low) or, of bfloats, three.

    Of two there are three products: low x and high y, high x and low y, and high x and high y; of
    three there are six. The smaller products are added first, or by themselves where `apart` says
    so; those of still lower parts are left out."""
    found, t = _operands(name, e), operand_type(name)
    if found is None or t not in (FLOAT, BFLOAT, HALF) or (count > 2 and t != BFLOAT):
        return None
    (x, y, z), every = found, parts(t, count)

    def added(to: Expr, i: int, j: int) -> Expr:
        left, right = mapped(every[i], x), mapped(every[j], y)
        return apply(CALLED[name].program, MakeTuple((left, right, to)))

    small = zeros(z) if apart(t, count) else z
    for i, j in kept_products(count)[:-1]:
        small = added(small, i, j)
    if not apart(t, count):
        return added(small, 0, 0)
    return _plus(added(z, 0, 0), small, 1.0 / low_scale(t))


def kept_products(count: int) -> list[tuple[int, int]]:
    """The numbers of the parts of two numbers, in `count` parts each, whose products are kept: the
    smallest product first, that of the high parts last."""
    every = [(i, n - i) for n in range(count) for i in range(n + 1)]
    return every[::-1]


def apart(t: Scalar, count: int) -> bool:
    """True if products with parts that are not high are summed up by themselves, and added by an
    ordinary addition: where low parts are larger than the rests that they stand for, and where
    `count`, the number of parts, is three, as additions by instructions would lose more than the
    third part holds."""
    return low_scale(t) != 1.0 or count > 2


def zeros(like: Expr) -> Expr:
    """The matrix of zeros of the shape of a given one."""
    rows = array_of(like)
    columns = array_of(Var("row", rows.elem))
    row = Generate(columns.size, lam("j", INT, lambda _: Lit(0.0, FLOAT)))
    return Generate(rows.size, lam("i", INT, lambda _: row))


def _plus(xs: Expr, ys: Expr, share: float) -> Expr:
    """The matrix xs + `share` ys, of matrices of floats of one shape."""
    row = elem_of(xs)
    r, s = Var("sums", row), Var("small", row)
    x, y = Var("sum", FLOAT), Var("part", FLOAT)
    one = Binary("+", x, Binary("*", y, Lit(share, FLOAT)))
    return Map(Lam((r, s), Map(Lam((x, y), one), Zip((r, s)))), Zip((xs, ys)))


@rule(
    "Σ x y  =  Σ float (h(x)) float (h(y)),  h the nearest number of few bits",
    lost_narrowed,
    of_products=True,
)
def narrowed(e: Expr, name: str) -> Expr | None:
    """A term x y + z that the instruction `name`, of bfloats or halves, would compute, but for the
    type of its numbers, floats, becomes the instruction's program of the bfloats or halves nearest
    to x and y."""
    found, t = _operands(name, e), operand_type(name)
    if found is None or t not in (BFLOAT, HALF):
        return None
    x, y, z = found
    narrow = high_part(t)
    return apply(CALLED[name].program, MakeTuple((mapped(narrow, x), mapped(narrow, y), z)))


@rule(
    "x y  =  float (h(x)) float (h(y)),  h the nearest number of few bits",
    lost_narrowed,
    of_products=True,
)
def narrowed_factors(e: Binary, name: str) -> Expr | None:
    """The product of two floats becomes that of the bfloats or halves nearest to them, which the
    instruction `name` multiplies."""
    t = operand_type(name)
    if e.op != "*" or type_of(e) != FLOAT or t not in (BFLOAT, HALF):
        return None
    return Binary("*", *(Unary("float", high(x, t)) for x in (e.a, e.b)))


def _operands(name: str, e: Expr) -> tuple[Expr, Expr, Expr] | None:
    """The operands x, y and z if e is the program of the named instruction with floats in place of
    the numbers that the instruction multiplies; else None."""
    program = of_floats(CALLED[name].program)
    holes = {v.name: Var(f"?{v.name}", v.type) for v in variables(program.pattern)}
    pattern = substitute(program.body, holes)
    found: Found | None = instance(pattern, frozenset(hole.name for hole in holes.values()), e)
    if found is None:
        return None
    x, y, z = (found[hole.name] for hole in holes.values())
    return x, y, z


def of_floats(program: Lam) -> Lam:
    """The function `program` with all its numbers, whatever their type, made floats."""
    given = [Var(v.name, _with_floats(v.type)) for v in variables(program.pattern)]
    f = retyped(program, _tuple_of(given))
    return Lam(f.pattern, _plain(f.body))


def _tuple_of(parts: list[Var]) -> Type:
    return type_of(MakeTuple(tuple(parts)))


def _with_floats(t: Type) -> Type:
    size: Size
    match t:
        case Array(elem, size):
            return Array(_with_floats(elem), size)
    return FLOAT


def _plain(e: Expr) -> Expr:
    """The term e without conversions of floats to floats."""
    e = over(_plain, e)
    match e:
        case Unary("float", inner) if type_of(inner) == FLOAT:
            return inner
    return e


@rule("reduce z (acc -> reduce acc ⊕ g)  =  reduce z (acc -> reduce 0 ⊕ g ⊕ acc)")
def afresh(e: Reduce) -> Expr | None:
    """A sum whose steps are sums themselves, each going on from the accumulator, becomes one in
    which each inner sum begins with the unit, and its result is added to the accumulator."""
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

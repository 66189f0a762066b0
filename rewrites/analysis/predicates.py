"""What rules ask of terms: is it a pure view, which operator does a reduction fold with."""

# key: e term, f function, op operator, u unit

from collections.abc import Iterator
from dataclasses import dataclass

from ir.core.nodes import (
    AsScalar,
    At,
    Binary,
    Edge,
    Expr,
    Generate,
    Join,
    Lam,
    Let,
    Lit,
    Map,
    Pad,
    PadEdge,
    Pattern,
    Reduce,
    ReduceSeq,
    Reorder,
    Slide,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children, free, once, over, rename, substitute, subterms, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import INT, Array, Scalar, Type, Vector
from ir.core.views import LAYOUT, is_view
from rewrites.analysis.size_signs import non_negative

LEAST = {"float": -float("inf"), "half": -float("inf"), "int": -(2**31)}
LARGEST = {"float": float("inf"), "half": float("inf"), "int": 2**31 - 1}


def is_out_view(e: Expr) -> bool:
    """A view that a result is written through, the result being the last child."""
    return _invertible(e) and not (isinstance(e, Map) and is_view(e.xs))


@once
def _invertible(e: Expr) -> bool:
    match e:
        case Join() | Split() | Transpose() | AsScalar() | Reorder():
            return True
        case Pad() | PadEdge():
            return is_crop(e)
        case Map(f, _):
            return rearranges(f)
    return False


def crops(left: Size, right: Size) -> bool:
    """Amounts that only take away, whatever value the parameters have."""
    return extends(-left, -right)


def extends(left: Size, right: Size) -> bool:
    """Amounts that never take away, whatever value the parameters have."""
    return non_negative(left) and non_negative(right)


def is_crop(e: Pad | PadEdge) -> bool:
    """Whether it only takes away: by its amounts, or as one element is left and one there was."""
    one_side = e.left == 0 or e.right == 0
    return crops(e.left, e.right) or (one_side and size_of(e) == 1)


def adds(e: Expr) -> bool:
    """Elements added for tiles to fit, which nobody looks at."""
    return isinstance(e, PadEdge) and e.edge is Edge.ANY and not is_crop(e)


def adds_anything(e: Expr) -> bool:
    """Whether e may hold what is not a number, so that 0 times it is not 0: what pad_any adds."""
    return any(map(adds, subterms(e)))


def rearranges(f: Lam) -> bool:
    """x -> view(x), where the view can be written through, and is one."""
    e = f.body
    while _invertible(e):
        e = children(e)[-1]
    return f.body is not e and isinstance(f.pattern, Var) and e == f.pattern


def uses(e: Expr, name: str) -> int:
    """How often a variable occurs free in e."""
    if name not in free(e):
        return 0
    if isinstance(e, Var):
        return 1
    if isinstance(e, Let) and name in {v.name for v in variables(e.pattern)}:
        return uses(e.value, name)
    return sum(uses(c, name) for c in children(e))


def closed(e: Expr, params: frozenset[str]) -> bool:
    """Whether e depends on nothing but the parameters of the program."""
    return free(e) <= params


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction's body seen as acc `op` term."""

    op: str
    term: Expr


def fold_of(f: Lam) -> Fold | None:
    """acc + g(x), acc * g(x), max(acc, g(x)) or min(acc, g(x)), either way round, in any order."""
    if not isinstance(f.pattern, tuple) or not isinstance(f.pattern[0], Var):
        return None
    return _folded(f.body, f.pattern[0].name)


def _folded(e: Expr, acc: str) -> Fold | None:
    match e:
        case Let(p, value, body) if acc not in free(value) | {v.name for v in variables(p)}:
            inner = _folded(body, acc)
            return inner and Fold(inner.op, Let(p, value, inner.term))
        case Binary("+" | "*" | "max" | "min" as op, a, b):
            mine, term = (a, b) if acc in free(a) else (b, a)
            if acc in free(term):
                return None
            if isinstance(mine, Var):
                return Fold(op, term) if mine.name == acc else None
            inner = _folded(mine, acc)
            return Fold(op, Binary(op, inner.term, term)) if inner and inner.op == op else None
    return None


def operator(f: Lam) -> str | None:
    """The ⊕ of a fold, or of a nest of reductions whose innermost is one: acc goes through all."""
    match f:
        case Lam((Var(acc, _), _), Reduce(Var(a, _), g, xs)) if a == acc:
            return operator(g) if acc not in free(g) | free(xs) else None
    folded = fold_of(f)
    return folded.op if folded else None


def divides(k: Size, n: Size) -> bool:
    """Whether k may divide n: certain where both are numbers, else an obligation of the type."""
    if not isinstance(k, int):
        return True
    return k > 0 and (n % k == 0 if isinstance(n, int) else True)


def at_most(a: Size, b: Size) -> bool:
    """Whether a <= b may hold: certain where both are numbers."""
    return a <= b if isinstance(a, int) and isinstance(b, int) else True


def unit(op: str, t: Type) -> Expr | None:
    """e with e op x = x, for scalars; vectors repeat it."""
    scalar = t.scalar if isinstance(t, Vector) else t
    if not isinstance(scalar, Scalar):
        return None
    match op:
        case "+":
            return number(0, scalar)
        case "*":
            return number(1, scalar)
        case "max":
            return number(LEAST[scalar.name], scalar)
        case "min":
            return number(LARGEST[scalar.name], scalar)
    return None


def number(value: float, scalar: Scalar) -> Lit:
    """A literal of a scalar type."""
    return Lit(int(value) if scalar == INT else float(value), scalar)


@once
def has_reduction(e: Expr) -> bool:
    """Whether e contains a reduction; what is stored is made by another kernel."""
    if isinstance(e, Store):
        return False
    return isinstance(e, Reduce | ReduceSeq) or any(map(has_reduction, children(e)))


def own_terms(e: Expr) -> Iterator[Expr]:
    """The terms of a kernel; what is stored is made by another."""
    if not isinstance(e, Store):
        yield e
        for c in children(e):
            yield from own_terms(c)


@once
def is_pointwise(e: Expr) -> bool:
    """Whether e is a view of arrays, or of what is computed of them one element at a time."""
    if is_view(e):
        return True
    match e:
        case Map(f, xs):
            return is_pointwise(xs) and is_pointwise(f.body) and not _picks(f)
        case Generate(_, f):
            return is_pointwise(f.body)
        case Reorder(_, xs):
            return is_pointwise(xs)
        case Let(_, value, body):
            number = not isinstance(type_of(value), Array)
            return (number or is_view(value)) and is_pointwise(value) and is_pointwise(body)
    return isinstance(e, (*LAYOUT, Unary, Binary)) and all(map(is_pointwise, children(e)))


def _picks(f: Lam) -> bool:
    """Whether f computes something of single elements of its argument, as a stencil does."""
    picked = (s.xs for s in subterms(f.body) if isinstance(s, At))
    return not is_view(f.body) and any(bound(f) & free(xs) for xs in picked)


def depth(t: Type) -> int:
    """How many array dimensions a type has."""
    return 1 + depth(t.elem) if isinstance(t, Array) else 0


def apart(f: Lam, taken: frozenset[str]) -> Lam:
    """f, with none of the names that it binds among those taken."""
    clashes = set(bound(f) & taken)
    if not clashes:
        return f
    p, renaming = rename(f.pattern, taken | bound(f) | free(f.body), clashes)
    return Lam(p, substitute(f.body, renaming))


def bound(f: Lam | Let) -> frozenset[str]:
    """The names that a function, or a let, binds."""
    return frozenset(v.name for v in variables(f.pattern))


def alike(a: Expr, b: Expr) -> bool:
    """Whether two terms differ in nothing but the names that they bind."""
    return a == b or (type(a) is type(b) and numbered(a) == numbered(b))


def numbered(e: Expr, depth: int = 0) -> Expr:
    """e, its binders named by how deep they are."""
    match e:
        case Lam(p, body):
            return Lam(*_number(p, body, depth))
        case Let(p, value, body):
            q, inner = _number(p, body, depth)
            return Let(q, numbered(value, depth), inner)
    return over(lambda c: numbered(c, depth), e)


def _number(p: Pattern, body: Expr, depth: int) -> tuple[Pattern, Expr]:
    marks = {v.name: Var(f"#{depth + i}", v.type) for i, v in enumerate(variables(p))}

    def named(q: Pattern) -> Pattern:
        return marks[q.name] if isinstance(q, Var) else tuple(map(named, q))

    return named(p), numbered(substitute(body, marks), depth + len(marks))


def has_windows(e: Expr) -> bool:
    """Whether a slide is among the views that make e, those stored for it left out."""
    return slides(e) > 0


def slides(e: Expr) -> int:
    """How many of them."""
    return 0 if isinstance(e, Store) else isinstance(e, Slide) + sum(map(slides, children(e)))

"""Laws of instructions: a program that one carries out, and accumulators that stay in lanes."""

# key: z initial value, f folding function, x v variables

from collections.abc import Callable

from ir.core.nodes import AsScalar, AsVector, Expr, Join, Lam, Map, Reduce, Split, Transpose, Var
from ir.core.size import Size
from ir.core.terms import free, fresh, lam, substitute, variables
from ir.core.type_rules import array_of, elem_of, type_of
from ir.core.types import unlift
from ir.instructions.fragments import Fragment, as_lanes, as_matrix
from ir.instructions.table import TABLE
from rewrites.analysis.matching import instance
from rewrites.engine.rule import rule


def _rounding(name: str) -> float:
    return TABLE[name].rounding


@rule(
    "f a b …  =  fromLanes (instruction (toLanes a) (toLanes b) …),  f what it computes",
    rounding=_rounding,
)
def instruct(e: Expr, name: str) -> Expr | None:
    """An instance of the program of an instruction is carried out by it."""
    entry = TABLE[name]
    holes = {v.name: Var(f"?{v.name}", v.type) for v in variables(entry.program.pattern)}
    program = substitute(entry.program.body, holes)
    found = instance(program, frozenset(hole.name for hole in holes.values()), e)
    if found is None:
        return None
    return entry.carried_out(*(found[hole.name] for hole in holes.values()))


@rule("toLanes . fromLanes  =  id")
def still_in_lanes(e: AsVector) -> Expr | None:
    fragments = (fragment for entry in TABLE.values() for fragment in entry.fragments)
    known = (_again(fragment, e) for fragment in fragments)
    return next((x for x in known if x is not None), None)


def _again(f: Fragment, e: AsVector) -> Expr | None:
    """The x of toLanes (fromLanes x)."""
    if e.width != f.count(f.registers):
        return None
    held = Var("?held", type_of(e))
    found = instance(as_lanes(f, as_matrix(f, held)), frozenset({held.name}), e)
    return None if found is None else found[held.name]


@rule("reduce z (view . f)  =  view . reduce (view⁻¹ z) (f . view),  view a bijection")
def reduce_inside_view(e: Reduce) -> Expr | None:
    """The accumulator stays as f makes it."""
    match e:
        case Reduce(z, Lam((Var(acc, _), p), body), xs):
            view, back, made = _views(body)
            if made is body:
                return None
            inner = {v.name for v in variables(p)}
            kept = Var(fresh(acc, inner | free(made) - {acc}), type_of(made))
            values = {} if acc in inner else {acc: view(kept)}
            f = Lam((kept, p), substitute(made, values))
            return view(Reduce(back(z), f, xs))
    return None


View = Callable[[Expr], Expr]


def _views(e: Expr) -> tuple[View, View, Expr]:
    """The bijective views at the root of e as one, its inverse, and what it shows."""
    step = _view(e)
    if step is None:
        return _same, _same, e
    view, back, shown = step
    inner, inner_back, made = _views(shown)
    return (lambda x: view(inner(x))), (lambda x: inner_back(back(x))), made


def _same(x: Expr) -> Expr:
    return x


def _view(e: Expr) -> tuple[View, View, Expr] | None:
    """One view, its inverse, and what it shows."""
    match e:
        case Join(xs):
            return Join, _split(_width(xs)), xs
        case Split(size, xs):
            return _split(size), Join, xs
        case Transpose(xs):
            return Transpose, Transpose, xs
        case AsScalar(xs):
            width = unlift(elem_of(xs))[1]
            return AsScalar, (lambda x: AsVector(width, x)), xs
        case Map(Lam(Var() as row, body), xs):
            view, back, made = _views(body)
            return (_each(view), _each(back), xs) if made == row else None
    return None


def _width(rows: Expr) -> Size:
    """The length of each row."""
    return array_of(Var("row", elem_of(rows))).size


def _split(size: Size) -> View:
    return lambda x: Split(size, x)


def _each(view: View) -> View:
    return lambda xs: Map(lam("x", elem_of(xs), view), xs)

"""Laws of instructions. A term that computes the same as an instruction becomes that instruction,
and accumulators stay in the lanes of a sub-group."""

# key: z initial value, f folding function, x v variables

from collections.abc import Callable
from functools import lru_cache, partial

from ir.core.frozen import frozen
from ir.core.nodes import (
    AsScalar,
    AsVector,
    Expr,
    Join,
    Lam,
    Map,
    Pattern,
    Reduce,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.size import Size
from ir.core.terms import free, fresh, lam, substitute, variables
from ir.core.type_rules import array_of, elem_of, type_of
from ir.core.types import FLOAT, Array, Scalar, Type, unlift
from ir.instructions.entry import Entry
from ir.instructions.fragments import as_lanes, as_matrix
from ir.instructions.table import CALLED, MATRIX
from rewrites.analysis.binder_names import element_of
from rewrites.analysis.matching import instance, taken_apart
from rewrites.analysis.number_parts import HIGH, LOW, LOW_SHARE, is_part
from rewrites.engine.rule import rule
from rewrites.laws.vectors import retype
from rewrites.laws.views import beneath_maps

HELD = "?held"


def _rounding(name: str, parts: bool = False, in_order: bool = False) -> float:
    """The known error of a sum by the instruction `name`, in machine epsilons. With `parts`,
    operands are high and low parts of numbers: the instruction rounds only the low ones, a small
    share. The order of steps (`in_order`) changes nothing."""
    return CALLED[name].rounding * (LOW_SHARE if parts else 1.0)


@rule(
    "f a b …  =  fromLanes (instruction (toLanes a) (toLanes b) …),  f what it computes",
    rounding=_rounding,
    of_products=True,
)
def instruct(e: Expr, name: str, parts: bool = False, in_order: bool = False) -> Expr | None:
    """A term that computes the same as the instruction `name` becomes the instruction, with its
    operands and its result in lanes. With `parts`, the operands are high and low parts of numbers.
    With `in_order`, a matrix instruction's steps are in the order of its own layouts, and not in
    that in which families bring operands."""
    entry = CALLED[name]
    holes = {v.name: Var(f"?{v.name}", v.type) for v in variables(entry.program.pattern)}
    program = substitute(entry.program.body, holes)
    found = instance(program, frozenset(hole.name for hole in holes.values()), e)
    if found is None:
        return None
    operands = [found[hole.name] for hole in holes.values()]
    if parts and not _of_parts(*operands[:2]):
        return None
    if in_order:
        return entry.in_order(*operands) if isinstance(entry, Entry) else None
    return entry.carried_out(*operands)


def _of_parts(left: Expr, right: Expr) -> bool:
    """True if each of the operands `left` and `right` is an array of high or of low parts of
    numbers, and at least one of high parts."""
    lows, highs = ([is_part(p, e) for e in (left, right)] for p in (LOW, HIGH))
    return any(highs) and all(a or b for a, b in zip(lows, highs, strict=True))


@rule("toLanes . fromLanes  =  id")
def still_in_lanes(e: AsVector) -> Expr | None:
    holes = frozenset({HELD})
    found = (instance(again, holes, e) for again in _there_and_back(type_of(e)))
    return next((terms[HELD] for terms in found if terms is not None), None)


@rule("id  =  map^level fromLanes . map^level toLanes")
def lanes_open(e: Expr, name: str, level: Size) -> Expr | None:
    """The matrices in e, `level` dimensions inside, are viewed as the lanes hold them, and then as
    matrices again. None if they do not have the shape and type of results of the instruction
    `name`."""
    assert isinstance(level, int)
    result, sums = MATRIX[name].brought[-1], variables(MATRIX[name].program.pattern)[-1]
    t = type_of(e)
    for _ in range(level):
        t = t.elem if isinstance(t, Array) else t
    if t != sums.type:
        return None
    held = beneath_maps(level, partial(as_lanes, result), e)
    return beneath_maps(level, partial(as_matrix, result), held)


@lru_cache(maxsize=256)
def _there_and_back(t: Type) -> tuple[Expr, ...]:
    """The terms toLanes (fromLanes x), each once, for the layouts of all matrix instructions whose
    lanes may hold numbers as t says; x is the variable HELD, of the type t."""
    held = Var(HELD, t)
    _, width = unlift(elem_of(held))
    fragments = (f for entry in MATRIX.values() for f in entry.brought)
    fitting = (f for f in fragments if f.count(f.registers) == width)
    return tuple(dict.fromkeys(as_lanes(f, as_matrix(f, held)) for f in fitting))


@rule("reduce z (view . f)  =  view . reduce (view⁻¹ z) (f . view),  view a bijection")
def reduce_inside_view(e: Reduce) -> Expr | None:
    """A reduction whose function ends in a bijective view becomes that view of a reduction without
    it."""
    match e:
        case Reduce(z, Lam((Var(acc, _), p), body), xs):
            view, back, made = bijective_views(body)
            if made is body:
                return None
            inner = {v.name for v in variables(p)}
            kept = Var(fresh(acc, inner | free(made) - {acc}), type_of(made))
            values = {} if acc in inner else {acc: view(kept)}
            f = Lam((kept, p), substitute(made, values))
            return view(Reduce(back(z), f, xs))
    return None


@rule("map (… (map g)) . zip ys (view xs) …  =  view . map (… (map g)) . zip (view⁻¹ ys) xs …")
def map_inside_view(e: Map) -> Expr | None:
    """A function of single elements of a bijective view is applied before the view instead of after
    it."""
    found = one_by_one(e)
    if found is None:
        return None
    for n, array in enumerate(found.arrays):
        view, back, made = bijective_views(array)
        if made is not array:
            arrays = (*map(back, found.arrays[:n]), made, *map(back, found.arrays[n + 1 :]))
            return view(on_elements(arrays, found.variables, found.g))
    return None


@frozen
class Elementwise:
    """A function g of the elements of several arrays, which the variables stand for."""

    arrays: tuple[Expr, ...]
    variables: tuple[Var, ...]
    g: Expr


def one_by_one(e: Expr) -> Elementwise | None:
    """The nest of maps e over all dimensions of arrays of one shape, as a function of their
    elements; else None."""
    if not isinstance(e, Map):
        return None
    arrays = e.xs.parts if isinstance(e.xs, Zip) else (e.xs,)
    f = taken_apart(e.f, tuple(Var("_", FLOAT) for _ in arrays)) if len(arrays) > 1 else e.f
    found = variables(f.pattern)
    if len(found) != len(arrays):
        return None
    if isinstance(type_of(f.body), Scalar):
        return Elementwise(arrays, found, f.body)
    inner = one_by_one(f.body)
    if inner is None or inner.arrays != found:
        return None
    outer = free(inner.g) - _names(inner.variables)
    if not outer.isdisjoint(_names(found)):
        return None
    return Elementwise(arrays, inner.variables, inner.g)


def _names(found: tuple[Var, ...]) -> frozenset[str]:
    return frozenset(v.name for v in found)


def on_elements(arrays: tuple[Expr, ...], old: tuple[Var, ...], g: Expr) -> Expr:
    """The nest of maps of g over all dimensions of arrays; the variables `old` of g stand for their
    elements, which may become vectors."""
    avoid, new = set(free(g)) | {v.name for v in old}, list[Var]()
    for v, xs in zip(old, arrays, strict=True):
        new.append(Var(fresh(v.name, avoid), elem_of(xs)))
        avoid.add(new[-1].name)
    if isinstance(elem_of(arrays[0]), Array):
        body = on_elements(tuple(new), old, g)
    else:
        renamed = substitute(g, {v.name: w for v, w in zip(old, new, strict=True)})
        body = retype(renamed, {w.name: w.type for w in new})
    pattern: Pattern = new[0] if len(new) == 1 else tuple(new)
    return Map(Lam(pattern, body), arrays[0] if len(arrays) == 1 else Zip(arrays))


View = Callable[[Expr], Expr]


def bijective_views(e: Expr) -> tuple[View, View, Expr]:
    """The bijective views at the root of e as one function, its inverse, and the term that they
    show."""
    step = _view(e)
    if step is None:
        return _same, _same, e
    view, back, shown = step
    inner, inner_back, made = bijective_views(shown)
    return (lambda x: view(inner(x))), (lambda x: inner_back(back(x))), made


def _same(x: Expr) -> Expr:
    return x


def _view(e: Expr) -> tuple[View, View, Expr] | None:
    """The bijective view at the root of e as a function, its inverse, and the term that it shows;
    None if e is no such view."""
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
            view, back, made = bijective_views(body)
            return (_each(view), _each(back), xs) if made == row else None
    return None


def _width(rows: Expr) -> Size:
    """The length of each row of an array of rows."""
    return array_of(Var("row", elem_of(rows))).size


def _split(size: Size) -> View:
    return lambda x: Split(size, x)


def _each(view: View) -> View:
    return lambda xs: Map(lam(element_of(xs), elem_of(xs), view), xs)

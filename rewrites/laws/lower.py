"""Laws of lowering: how each map and reduction is carried out, and where data is made real."""

# key: e term, xs array, f function

from ir.core.nodes import (
    Expr,
    Lam,
    Let,
    Level,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Store,
    ToLocal,
    ToPrivate,
    Var,
)
from ir.core.size import Size
from ir.core.terms import free, lam, let, over, rebuild, variables
from ir.core.type_rules import type_of
from ir.core.types import Array
from rewrites.analysis.binder_names import element_of
from rewrites.engine.rule import rule


@rule("map f  =  mapGlobal/mapWorkgroup/mapLocal(d) f")
def to_parallel(e: Map, level: Level, dim: Size) -> Expr | None:
    match e:
        case Map(f, xs) if dim in (0, 1, 2):
            assert isinstance(dim, int)
            return MapPar(level, dim, f, xs)
    return None


@rule("map f  =  mapSeq f")
def to_seq(e: Map, unrolled: bool = False) -> Expr | None:
    match e:
        case Map(f, xs):
            return MapSeq(f, xs, unrolled)
    return None


@rule("reduce z f  =  reduceSeq z f")
def to_reduce_seq(e: Reduce, unrolled: bool = False, ahead: bool = False) -> Expr | None:
    match e:
        case Reduce(z, f, xs):
            return ReduceSeq(z, f, xs, unrolled, ahead)
    return None


@rule("xs  =  map id xs")
def copy(e: Expr) -> Expr | None:
    """An array becomes the map of the identity over it: something that is computed, element by
    element."""
    t = type_of(e)
    return Map(lam(element_of(e), t.elem, lambda x: x), e) if isinstance(t, Array) else None


def copied(e: Expr) -> Expr:
    """The term e with a map of the identity for each of its array dimensions."""
    t = type_of(e)
    return Map(lam(element_of(e), t.elem, copied), e) if isinstance(t, Array) else e


@rule("xs  =  map (… (map id)) xs")
def copy_deep(e: Expr) -> Expr | None:
    return copied(e) if isinstance(type_of(e), Array) else None


@rule("e  =  store e")
def store(e: Expr) -> Expr | None:
    return None if isinstance(e, Store) else Store(e)


@rule("store e  =  e")
def not_stored(e: Store) -> Expr | None:
    """A `store` is removed: its array is computed where it is read, not by a kernel of its own
    before."""
    return e.e


@rule("e  =  toPrivate e")
def to_private(e: Expr) -> Expr | None:
    return ToPrivate(e)


@rule("e  =  toLocal e")
def to_local(e: Expr, ahead: Size = 0, in_flight: bool = False) -> Expr | None:
    assert isinstance(ahead, int)
    return ToLocal(e, ahead, in_flight)


@rule("f x  =  let y = x in f y")
def share(e: Expr, term: Expr, name: str = "x") -> Expr | None:
    """The term e in a let that binds `name` to `term`, with `name` in the place of every `term`;
    None if e does not contain `term`, or only where its variables mean something else."""
    if not free(term) <= free(e) or replaced(e, term, Var("?", type_of(term))) == e:
        return None
    return let(name, term, type_of(term), lambda y: replaced(e, term, y))


def replaced(e: Expr, old: Expr, new: Expr) -> Expr:
    """The term e with `new` in the place of every `old`, except where e binds a variable of
    `old`."""
    if e == old:
        return new
    if not free(old) <= free(e):
        return e
    if isinstance(e, Let) and _hides(e, old):
        return rebuild(e, (replaced(e.value, old, new), e.body))
    if isinstance(e, Lam) and _hides(e, old):
        return e
    return over(lambda c: replaced(c, old, new), e)


def _hides(e: Lam | Let, term: Expr) -> bool:
    """True if e binds a variable of `term`, so that `term` means something else inside e."""
    return any(v.name in free(term) for v in variables(e.pattern))

"""The spine of a term: the nest of maps whose results are the program's, seen through views."""

# key: e term, s strategy, n depth

from collections.abc import Callable, Iterator

from ir.core.nodes import (
    Concat,
    Expr,
    Lam,
    Let,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Store,
    Zip,
)
from ir.core.terms import children, free, once
from ir.core.type_rules import type_of
from ir.core.types import Array
from ir.core.views import is_view
from rewrites.analysis.alpha_equality import bound
from rewrites.analysis.kernel_terms import has_reduction, is_pointwise
from rewrites.analysis.out_views import is_out_view
from rewrites.engine.places import OF_FUNCTION, of_array, of_function, of_made, of_rest, of_value
from rewrites.engine.rule import Place, Rewritten, Step, Strategy, get
from rewrites.engine.strategy import around, at, attempt, child, choice, seq, skip
from rewrites.laws.lower import copy_deep, store, to_reduce_seq, to_seq


def inside(s: Strategy) -> Strategy:
    """The strategy that applies s to the first term on the spine that is neither a view of the
    result nor a let."""

    def run(e: Expr) -> Rewritten | None:
        if isinstance(e, Let):
            return of_rest(run)(e)
        if is_out_view(e):
            return of_array(run)(e)
        return s(e)

    return run


def body(s: Strategy) -> Strategy:
    """The strategy that applies s to the body of the function of a map at the root."""

    def run(e: Expr) -> Rewritten | None:
        return at(OF_FUNCTION, s)(e) if isinstance(e, Map | MapPar | MapSeq) else None

    return run


def within(n: int, s: Strategy) -> Strategy:
    """The strategy that applies s to the body of the n-th map of the spine, or to the whole term if
    n is 0. s gets all of the body, with the views and lets around what it computes."""
    for _ in range(n):
        s = inside(body(s))
    return s


def nested(n: int, s: Strategy) -> Strategy:
    """The strategy that applies s inside n maps of the spine, to the first term there that is
    neither a view of the result nor a let."""
    return within(n, inside(s))


def strip(e: Expr) -> Expr:
    """The first term on the spine of e that is neither a view of the result nor a let."""
    while isinstance(e, Let) or is_out_view(e):
        e = children(e)[-1]
    return e


def nest(e: Expr) -> list[Map]:
    """The maps on the spine of e, outermost first."""
    e = strip(e)
    return [e, *nest(e.f.body)] if isinstance(e, Map) else []


def core(e: Expr) -> Expr:
    """The body of the innermost map on the spine of e, with its views and lets; e itself if there
    is no map."""
    inner = strip(e)
    return core(inner.f.body) if isinstance(inner, Map) else e


def computed(e: Expr) -> Rewritten | None:
    """The result e of a kernel as a copy of itself if it is a view, so that the kernel computes
    something; else e unchanged.

    Elements that are computed are copied too, if the maps on the spine make arrays of them and not
    single numbers.
    """
    shown = is_pointwise(strip(e)) and isinstance(type_of(core(e)), Array)
    if (shown or is_view(strip(e))) and isinstance(type_of(e), Array):
        return copy_deep()(e)
    return skip(e)


def is_computed(e: Expr) -> bool:
    """True if e is a reduction, or a map that does more than rearrange its elements."""
    return isinstance(e, Reduce) or (isinstance(e, Map) and not is_view(e.f.body))


def is_beside(e: Expr) -> bool:
    """True if e is a tuple, zip or concatenation of results, and something is computed for one of
    them."""
    return isinstance(e, MakeTuple | Concat | Zip) and not is_view(e)


def each(s: Strategy) -> Strategy:
    """The strategy that applies s to each child of a term."""

    def run(e: Expr) -> Rewritten | None:
        return seq(*[child(i, s) for i in range(len(children(e)))])(e)

    return run


def store_operands(params: frozenset[str], beside: bool = False) -> Strategy:
    """The strategy that stores each operand that depends on the program's parameters alone and
    holds a reduction.

    With `beside`, the parts of a result that is a tuple, zip or concatenation are no operands, and
    are not stored. `params` are the names of the program's parameters.
    """

    def on_spine(e: Expr) -> Rewritten | None:
        if beside and is_beside(e):
            return each(on_spine)(e)
        if isinstance(e, Let):
            return seq(of_value(operand), of_rest(_under(e, params, beside)))(e)
        if is_out_view(e):
            return of_array(on_spine)(e)
        if isinstance(e, Map):
            return seq(body(_under(e.f, params, False)), of_array(operand))(e)
        if isinstance(e, Store):
            return of_made(on_spine)(e)
        return each(operand)(e)

    operand = _operands(params, on_spine)
    return on_spine


def _under(binder: Lam | Let, params: frozenset[str], beside: bool) -> Strategy:
    """The strategy `store_operands`, with these arguments, for a term inside a function or let
    (`binder`): names that this binds are no parameters of the program there."""
    return store_operands(params - bound(binder), beside)


def _operands(params: frozenset[str], on_spine: Strategy) -> Strategy:
    """The strategy for a term that is not on the spine: it stores the parts that depend on `params`
    alone and hold a reduction, and applies `on_spine` to what is stored."""

    def operand(e: Expr) -> Rewritten | None:
        if isinstance(e, Store):
            return of_made(on_spine)(e)
        if is_computed(e) and free(e) <= params and has_reduction(e):
            return seq(store(), of_made(on_spine))(e)
        if isinstance(e, Lam | Let) and (hidden := params & bound(e)):
            rest = params - hidden
            inside = child(len(children(e)) - 1, _operands(rest, store_operands(rest)))
            return seq(of_value(operand), inside)(e) if isinstance(e, Let) else inside(e)
        return each(operand)(e)

    return operand


def kernels(s: Strategy) -> Strategy:
    """The strategy that applies s to the program's result and to each term that is stored for it,
    outermost first; it fails if s fails on one of them."""
    return _kernels(lambda stored: seq(s, stored))


def kernels_inside_out(s: Strategy) -> Strategy:
    """The strategy that applies s to all terms that are stored for the result, then to the result;
    terms that s itself stores are left out."""
    return _kernels(lambda stored: seq(stored, s))


def _kernels(both: Callable[[Strategy], Strategy]) -> Strategy:
    known: dict[Expr, Rewritten | None] = {}  # what is read in two places is made once

    def run(e: Expr) -> Rewritten | None:
        if e not in known:
            known[e] = both(stored)(e)
        return known[e]

    def stored(e: Expr) -> Rewritten | None:
        steps: tuple[Step, ...] = ()
        for place in list(_stored(e)):
            done = run(get(e, place))
            if done is None:
                return None
            e, more = around(e, place, done)
            steps += more
        return e, steps

    return run


def _stored(e: Expr, place: Place = ()) -> Iterator[Place]:
    """The places of the outermost `store` nodes below the root of e."""
    for i, c in enumerate(children(e)):
        if isinstance(e, Store):
            yield (*place, i)
        else:
            yield from _stored(c, (*place, i))


@once
def loops(e: Expr) -> Rewritten:
    """The term e with every reduction and every map that makes an accumulator a sequential loop."""
    if isinstance(e, Store):
        return skip(e)
    done = seq(_inner_loops, attempt(to_reduce_seq()), attempt(_accumulate))(e)
    assert done is not None
    return done


def _inner_loops(e: Expr) -> Rewritten:
    steps: tuple[Step, ...] = ()
    for i in range(len(children(e))):
        done = child(i, loops)(e)
        assert done is not None
        e, more = done
        steps += more
    return e, steps


def _accumulate(e: Expr) -> Rewritten | None:
    """The loop e with the maps of its function, which make the next accumulator, as loops."""
    return of_function(sequential)(e) if isinstance(e, ReduceSeq) else None


def sequential(e: Expr) -> Rewritten | None:
    """The term e with every map on its spine a loop."""
    return inside(choice(seq(body(sequential), to_seq()), skip))(e)

"""Places by name: a place is a path from a term to a part of it, made of the constants of this
file.

    part 0 of what is summed up in a map's function:  OF_FUNCTION + OF_SUMMED + part(0)

`of_function(s)`, `of_array(s)`, … are strategies that apply s at such a place, and fail where the
term has no such part.
"""

# key: e term, s strategy

from ir.core.nodes import (
    Concat,
    Expr,
    Let,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Reduce,
    ReduceSeq,
    Store,
    ToLocal,
    ToPrivate,
    Zip,
)
from ir.core.terms import children
from rewrites.engine.rule import Place, Rewritten, Strategy
from rewrites.engine.strategy import at

HERE: Place = ()
OF_FUNCTION: Place = (0, 0)  # the body of a map's function
OF_ARRAY: Place = (1,)  # what a map goes over
OF_START: Place = (0,)  # what a reduction starts from
OF_STEP: Place = (1, 0)  # the body of a reduction's function
OF_SUMMED: Place = (2,)  # what a reduction goes over
OF_VALUE: Place = (0,)  # what a let gives a name to
OF_REST: Place = (1,)  # what a let's name is used in
OF_STORED: Place = (0,)  # what is stored, or kept in local or private memory
OF_VIEWED: Place = (0,)  # what a view of one array looks at


def part(i: int) -> Place:
    """The place of the i-th child of a term, such as the i-th array of a zip."""
    return (i,)


def array_of(e: Expr) -> Place:
    """The place of the array that a map, a reduction or a view goes over: its last child."""
    return part(len(children(e)) - 1)


def of_function(s: Strategy) -> Strategy:
    """The strategy that applies s to the body of the function of a map or a reduction."""

    def run(e: Expr) -> Rewritten | None:
        match e:
            case Map() | MapPar() | MapSeq():
                return at(OF_FUNCTION, s)(e)
            case Reduce() | ReduceSeq():
                return at(OF_STEP, s)(e)
        return None

    return run


def of_array(s: Strategy) -> Strategy:
    """The strategy that applies s to the array that a map, a reduction or a view goes over."""
    return lambda e: at(array_of(e), s)(e)


def of_start(s: Strategy) -> Strategy:
    """The strategy that applies s to the initial value of a reduction."""
    return lambda e: at(OF_START, s)(e) if isinstance(e, Reduce | ReduceSeq) else None


def of_value(s: Strategy) -> Strategy:
    """The strategy that applies s to the value of a let."""
    return lambda e: at(OF_VALUE, s)(e) if isinstance(e, Let) else None


def of_rest(s: Strategy) -> Strategy:
    """The strategy that applies s to the body of a let."""
    return lambda e: at(OF_REST, s)(e) if isinstance(e, Let) else None


def of_made(s: Strategy) -> Strategy:
    """The strategy that applies s to the argument of `store`, `toLocal` or `toPrivate`."""
    return lambda e: at(OF_STORED, s)(e) if isinstance(e, Store | ToLocal | ToPrivate) else None


def of_part(i: int, s: Strategy) -> Strategy:
    """The strategy that applies s to the i-th part of a zip, a tuple or a concatenation."""
    return lambda e: at(part(i), s)(e) if isinstance(e, Zip | MakeTuple | Concat) else None

"""Places by name: a place is a path from a term to a part of it, made of these.

    part 0 of what is summed up in a map's function:  OF_FUNCTION + OF_SUMMED + part(0)

`of_function`, `of_array` and the others are strategies at such a place, which fail where the term
has no such part.
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
    """The place of the i-th of what is directly inside a term: of what is zipped, for example."""
    return (i,)


def array_of(e: Expr) -> Place:
    """The place of what a map, a reduction or a view goes over: the last of what is inside it."""
    return part(len(children(e)) - 1)


def of_function(s: Strategy) -> Strategy:
    """s in the body of the function of a map or a reduction."""

    def run(e: Expr) -> Rewritten | None:
        match e:
            case Map() | MapPar() | MapSeq():
                return at(OF_FUNCTION, s)(e)
            case Reduce() | ReduceSeq():
                return at(OF_STEP, s)(e)
        return None

    return run


def of_array(s: Strategy) -> Strategy:
    """s on what a map, a reduction or a view goes over."""
    return lambda e: at(array_of(e), s)(e)


def of_start(s: Strategy) -> Strategy:
    """s on what a reduction starts from."""
    return lambda e: at(OF_START, s)(e) if isinstance(e, Reduce | ReduceSeq) else None


def of_value(s: Strategy) -> Strategy:
    """s on what a let gives a name to."""
    return lambda e: at(OF_VALUE, s)(e) if isinstance(e, Let) else None


def of_rest(s: Strategy) -> Strategy:
    """s on what a let's name is used in."""
    return lambda e: at(OF_REST, s)(e) if isinstance(e, Let) else None


def of_made(s: Strategy) -> Strategy:
    """s on what is made real: stored, or kept in local or private memory."""
    return lambda e: at(OF_STORED, s)(e) if isinstance(e, Store | ToLocal | ToPrivate) else None


def of_part(i: int, s: Strategy) -> Strategy:
    """s on the i-th of what is zipped, or of several results."""
    return lambda e: at(part(i), s)(e) if isinstance(e, Zip | MakeTuple | Concat) else None

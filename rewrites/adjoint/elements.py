"""The value of a term at given indices, as a number made of reads of arrays: the factors by which
operations multiply a cotangent are such values."""

# key: e term, at coordinates of an element, path of a leaf

from dataclasses import replace

from ir.core.nodes import (
    At,
    Binary,
    Edge,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import free, identity, variables
from ir.core.type_rules import array_of, elem_of
from ir.core.types import INT
from rewrites.adjoint.contributions import (
    Counted,
    Element,
    Named,
    Path,
    Running,
    Scope,
    constant,
    found,
)
from rewrites.adjoint.notebook import Notebook, leaf
from rewrites.analysis.affine_access import Affine, NoAccess
from rewrites.engine.refused import Refused

Place = tuple[Affine, ...]


def value(e: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    """The number that the leaf `path` of e has at the coordinates `at`, as a term. What is neither
    arithmetic nor a view is read from an array that is made before (`kept`)."""
    try:
        return _value(e, scope, at, path, book)
    except NoAccess:
        return kept(e, scope, at, path, book)


def _value(e: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    match e:
        case Var():
            return _variable(e, scope, at, path, book)
        case Lit() | SizeOf():
            return e
        case Unary(op, a):
            return Unary(op, value(a, scope, (), (), book))
        case Binary(op, a, b):
            return Binary(op, value(a, scope, (), (), book), value(b, scope, (), (), book))
        case Select(c, a, b):
            return Select(*(value(x, scope, (), (), book) for x in (c, a, b)))
        case MakeTuple(parts) | Zip(parts):
            return value(parts[path[0]], scope, at, path[1:], book)
        case Get(i, a):
            return value(a, scope, at, (i, *path), book)
        case Let(p, a, body):
            return value(body, Named(p, a, scope), at, path, book)
        case Store(a):
            return value(a, scope, at, path, book)
        case Map(Lam(p, body), xs):
            return value(body, Element(p, xs, at[0], scope), at[1:], path, book)
        case Generate(int() as n, Lam(p, body)):
            return value(body, Counted(p, n, at[0], scope), at[1:], path, book)
    return _view(e, scope, at, path, book)


def _variable(e: Var, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    bound = found(scope, e.name)
    if bound is None:
        return book.read(leaf(e, path), at)
    frame, inner = bound
    match frame:
        case Element(_, xs, index, outside):
            return value(xs, outside, (index, *at), inner + path, book)
        case Named(_, a, outside):
            return value(a, outside, at, inner + path, book)
        case Counted(_, n, index, _):
            return book.read(Generate(n, identity(INT)), (index,))
        case Running():
            raise Refused(
                f"expected a reduction that only adds to its accumulator {e.name}, found one that "
                "computes with its value"
            )


def _view(e: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    match e:
        case Split(int() as m, xs):
            (i, j), rest = map(_inside, at[:2]), at[2:]
            return value(xs, scope, (i.times(m).plus(j), *rest), path, book)
        case Join(xs):
            n = array_of(Var("_", elem_of(xs))).size
            assert isinstance(n, int)
            return value(xs, scope, (*book.divided(at[0], n), *at[1:]), path, book)
        case Slide(_, int() as step, xs, _):
            (i, j), rest = map(_inside, at[:2]), at[2:]
            return value(xs, scope, (i.times(step).plus(j), *rest), path, book)
        case Transpose(xs):
            return value(xs, scope, (at[1], at[0], *at[2:]), path, book)
        case At(int() as k, xs):
            return value(xs, scope, (constant(k), *at), path, book)
        case Pad(int() as l, int() as r, _, xs) if max(l, r) <= 0:
            return _cropped(l, xs, scope, at, path, book)
        case PadEdge(Edge.ANY, int() as l, int() as r, xs) if max(l, r) <= 0:
            return _cropped(l, xs, scope, at, path, book)
        case Pad(int() as l, int() as r, Lit(0, _), xs) if min(l, r) >= 0:
            return _padded(l, xs, scope, at, path, book)
    raise NoAccess(f"expected a view or arithmetic, found {type(e).__name__}")


def _inside(a: Affine) -> Affine:
    if a.loose:
        raise NoAccess("expected padding around an array, found padding around chunks or windows")
    return a


def _cropped(l: int, xs: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    return value(xs, scope, (_inside(at[0]).shifted(-l), *at[1:]), path, book)


def _padded(l: int, xs: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    """The number of an array padded with zeros, l of them before xs, at the coordinates `at` (of
    its leaf `path`): a read at a coordinate that may lie outside of xs, where it gives 0. NoAccess
    if xs is not simply read from an array."""
    loose = replace(at[0].shifted(-l), loose=True)
    number = value(xs, scope, (loose, *at[1:]), path, book)
    reads = book.accesses(number)
    around = sum(a.loose for a in (loose, *at[1:]))
    if not isinstance(number, Var) or number.name not in reads:
        raise NoAccess("expected padding around an array, found padding around a computed number")
    if sum(a.loose for a in reads[number.name].coordinates) != around:
        raise NoAccess("expected padding around an array, found padding around its windows")
    return number


def kept(e: Expr, scope: Scope, at: Place, path: Path, book: Notebook) -> Expr:
    """The number that the leaf `path` of e has at the coordinates `at`, as a read of an array. That
    array is made before, and holds the values of e for all values of the variables in scope."""
    base, place = outward(e, scope)
    return book.read(leaf(book.named("kept", base), path), (*place, *at))


def outward(e: Expr, scope: Scope) -> tuple[Expr, Place]:
    """An array that depends on parameters only, and a place in it. The array has the values of e
    for all elements that the variables in scope can stand for; at the place is the value for the
    elements that they stand for now."""
    place: Place = ()
    while scope is not None:
        if free(e) & {v.name for v in variables(scope.pattern)}:
            match scope:
                case Element(p, xs, index, _):
                    e, place = Map(Lam(p, e), xs), (index, *place)
                case Counted(p, n, index, _):
                    e, place = Generate(n, Lam(p, e)), (index, *place)
                case Named(p, a, _):
                    e = Let(p, a, e)
                case Running():
                    raise Refused(
                        "expected a reduction that only adds to its accumulator, found one that "
                        "computes with its value"
                    )
        scope = scope.outside
    return e, place

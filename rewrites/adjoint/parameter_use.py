"""The question whether a value depends on a parameter, component by component."""

# key: e term, scope what variables are bound to, path of a leaf

from ir.core.nodes import (
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    MakeTuple,
    Map,
    Reduce,
    Reorder,
    Slide,
    Split,
    Transpose,
    Var,
    Zip,
)
from ir.core.terms import children, free
from rewrites.adjoint.contributions import Counted, Element, Named, Path, Running, Scope, found
from rewrites.analysis.affine_access import Affine

ANYWHERE = Affine((), 0)


def depends(e: Expr, scope: Scope, parameter: str, path: Path = ()) -> bool:
    """True if the leaf of e at a path depends on the parameter, directly or through variables in
    scope. A reduction's accumulator counts as depending on it."""
    if scope is None:
        if parameter not in free(e):
            return False
        if not path:
            return True
    match e:
        case Var(name, _):
            return _variable(name, scope, parameter, path)
        case Zip(parts) | MakeTuple(parts) if path:
            return depends(parts[path[0]], scope, parameter, path[1:])
        case Get(i, a):
            return depends(a, scope, parameter, (i, *path))
        case Map(Lam(p, body), xs):
            return depends(body, Element(p, xs, ANYWHERE, scope), parameter, path)
        case Let(p, a, body):
            return depends(body, Named(p, a, scope), parameter, path)
        case Generate(_, Lam(p, body)):
            return depends(body, Counted(p, 1, ANYWHERE, scope), parameter, path)
        case Split(_, xs) | Slide(_, _, xs) | Transpose(xs) | Reorder(_, xs):
            return depends(xs, scope, parameter, path)
        case Reduce(z, Lam((acc, p), body), xs):
            inner = Counted(acc, 1, ANYWHERE, Element(p, xs, ANYWHERE, scope))
            return depends(z, scope, parameter) or depends(body, inner, parameter)
        case Lam():
            return False  # the index function of a reorder
    return any(depends(part, scope, parameter) for part in children(e))


def _variable(name: str, scope: Scope, parameter: str, path: Path) -> bool:
    bound = found(scope, name)
    match bound:
        case None:
            return name == parameter
        case Element(_, xs, _, outside), inner:
            return depends(xs, outside, parameter, inner + path)
        case Named(_, a, outside), inner:
            return depends(a, outside, parameter, inner + path)
        case Running(), _:
            return True
    return False

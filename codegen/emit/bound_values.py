"""Values bound to variables, and the choice of those that get a variable in the text."""

from collections.abc import Mapping
from itertools import islice

from codegen.emit.read_views import TupleView, View
from codegen.emit.scope import Scope
from codegen.index.index import constant
from codegen.tree.kernel_values import Apply, Load, Select, Value, kind_of, subvalues
from codegen.tree.memories import Space
from ir.core.nodes import (
    AsVector,
    Expr,
    Lam,
    Let,
    MapPar,
    MapSeq,
    Pattern,
    Reduce,
    ReduceSeq,
    Store,
    ToLocal,
    ToPrivate,
    Var,
)
from ir.core.terms import children, free, once, variables

Env = Mapping[str, View]
MADE = Store | ToLocal | ToPrivate


def bound(env: Env, p: Pattern, view: View) -> Env:
    """The environment `env` with the variables of a pattern bound to their parts of a view."""
    new = dict(env)
    _bind(new, p, view)
    return new


def _bind(env: dict[str, View], p: Pattern, view: View) -> None:
    if isinstance(p, Var):
        env[p.name] = view
        return
    assert isinstance(view, TupleView)
    for part, inner in zip(p, view.parts, strict=True):
        _bind(env, part, inner)


def hint_of(p: Pattern) -> str:
    """The name suggested for what a pattern binds: that of its first variable."""
    names = variables(p)
    return names[0].name if names else "x"


def uses(p: Pattern, body: Expr) -> int:
    """The number of reads in `body` of a pattern's most-read variable; a use inside a function
    counts twice."""
    return max((_uses(v.name, body) for v in variables(p)), default=0)


def _uses(name: str, e: Expr) -> int:
    if name not in free(e):
        return 0
    if isinstance(e, Var):
        return 1
    total = sum(_uses(name, child) for child in children(e))
    return 2 * total if isinstance(e, Lam) else total


def is_heavy(e: Value) -> bool:
    """True if reading the value e again costs something: an operation, or a load from global or
    local memory."""
    return any(
        isinstance(inner, Apply | Select)
        or (isinstance(inner, Load) and inner.memory.space in (Space.GLOBAL, Space.LOCAL))
        for inner in subvalues(e)
    )


def is_big(e: Value, most: int) -> bool:
    """True if the value e has more than `most` parts, so that its text is long."""
    return next(islice(subvalues(e), most, None), None) is not None


def has_choice(e: Value) -> bool:
    return any(isinstance(inner, Select) for inner in subvalues(e))


def named(scope: Scope, hint: str, e: Value) -> Value:
    """The value e, after statements that put it in a private variable of its own, named after
    `hint`."""
    kind = kind_of(e)
    memory = scope.memory(hint, Space.PRIVATE, kind.scalar, kind.width)
    scope.store(memory, constant(0), e)
    return Load(memory, constant(0), kind.width)


def forms_vectors(e: Expr) -> bool:
    """True if e packs values that are computed on demand into vectors; it is cheapest to read it a
    vector at a time."""
    return _has_vectors(e) and not _makes(e)


@once
def _has_vectors(e: Expr) -> bool:
    return isinstance(e, AsVector) or any(map(_has_vectors, children(e)))


@once
def _makes(e: Expr) -> bool:
    made = isinstance(e, MapPar | MapSeq | Reduce | ReduceSeq | Let | MADE)
    return made or any(map(_makes, children(e)))

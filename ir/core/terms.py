"""Terms as trees: children, rebuilding, free variables, substitution, fresh names."""

# key: e term, p pattern, f function on terms

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from itertools import count
from operator import is_
from threading import local
from typing import TypeVar, cast

from ir.core.nodes import Expr, Get, Lam, Let, MakeTuple, Pattern, Var
from ir.core.size import Nat, names
from ir.core.term_fields import terms_in, with_terms
from ir.core.types import Type

R = TypeVar("R")


def once(f: Callable[[Expr], R]) -> Callable[[Expr], R]:
    """The function f with its results remembered in the terms themselves: steps of a derivation
    share terms."""

    @wraps(f)
    def remembered(e: Expr) -> R:
        try:
            said = e._said
        except AttributeError:
            said = {}
            object.__setattr__(e, "_said", said)
        try:
            return cast(R, said[f])
        except KeyError:
            said[f] = found = f(e)
            return found

    return remembered


def fields_of(e: Expr) -> tuple[str, ...]:
    """The names of the fields of e's node, in order."""
    names: tuple[str, ...] = getattr(type(e), "__match_args__", ())
    return names


def children(e: Expr) -> tuple[Expr, ...]:
    """The terms directly inside e, in order."""
    try:
        return e._children
    except AttributeError:
        found = terms_in(e)
        object.__setattr__(e, "_children", found)
        return found


@lru_cache(maxsize=1 << 16)
def shared(e: Expr) -> Expr:
    """The one object that stands for all terms equal to e, so that what is cached in it is found
    wherever an equal term is built."""
    return e


def rebuild(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """The term e with its children replaced by `new`, in the order of `children`; e itself if
    nothing changed."""
    if all(map(is_, children(e), new)):
        return e
    return shared(with_terms(e, new))


def over(f: Callable[[Expr], Expr], e: Expr) -> Expr:
    """The term e with f applied to each of its children."""
    return rebuild(e, tuple(map(f, children(e))))


def subterms(e: Expr) -> Iterator[Expr]:
    """The term e and everything inside it, outermost first."""
    left = [e]
    while left:
        inner = left.pop()
        yield inner
        left.extend(reversed(children(inner)))


def variables(p: Pattern) -> tuple[Var, ...]:
    """The variables that a pattern binds, left to right."""
    return (p,) if isinstance(p, Var) else tuple(v for part in p for v in variables(part))


def free(e: Expr) -> frozenset[str]:
    """The names of the variables that e uses and does not bind."""
    try:
        return e._free
    except AttributeError:
        found = _free(e)
        object.__setattr__(e, "_free", found)
        return found


def _free(e: Expr) -> frozenset[str]:
    match e:
        case Var(name, _):
            return frozenset({name})
        case Lam(p, body):
            return free(body) - {v.name for v in variables(p)}
        case Let(p, value, body):
            return free(value) | (free(body) - {v.name for v in variables(p)})
    return frozenset().union(*map(free, children(e)))


def free_variables(e: Expr) -> dict[str, Var]:
    """The variables that e uses and does not bind, by name; others may be bound inside under the
    same names."""
    match e:
        case Var(name, _):
            return {name: e}
        case Lam(p, body):
            return _without(p, free_variables(body))
        case Let(p, value, body):
            return _without(p, free_variables(body)) | free_variables(value)
    inside = (free_variables(c) for c in children(e) if free(c))
    return {name: v for found in inside for name, v in found.items()}


def _without(p: Pattern, found: dict[str, Var]) -> dict[str, Var]:
    """The variables `found` but those that p binds."""
    bound = {v.name for v in variables(p)}
    return {name: v for name, v in found.items() if name not in bound}


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """The term e with the terms `values` in place of free variables, by name; binders that would
    capture are renamed."""
    values = {name: v for name, v in values.items() if name in free(e)}
    if not values:
        return e
    match e:
        case Var(name, _):
            return values[name]
        case Lam(p, body):
            q, inner = _enter(p, body, values)
            return shared(Lam(q, inner))
        case Let(p, value, body):
            q, inner = _enter(p, body, values)
            return shared(Let(q, substitute(value, values), inner))
        case Get(i, inside):
            return component(i, substitute(inside, values))
    return over(lambda c: substitute(c, values), e)


def _enter(p: Pattern, body: Expr, values: Mapping[str, Expr]) -> tuple[Pattern, Expr]:
    bound = {v.name for v in variables(p)}
    inner = {name: v for name, v in values.items() if name not in bound and name in free(body)}
    if not inner:
        return p, body
    taken = frozenset().union(*map(free, inner.values()))
    clashes = bound & taken
    if clashes:
        avoid = taken | bound | free(body)
        p, renaming = rename(p, avoid, clashes)
        inner.update(renaming)
    return p, substitute(body, inner)


def rename(
    p: Pattern, avoid: frozenset[str] | set[str], only: set[str] | None = None
) -> tuple[Pattern, dict[str, Expr]]:
    """A copy of p in which no name is in `avoid` (only names in `only` are changed; None: any), and
    the new variable for each changed name."""
    taken, renaming = set(avoid), dict[str, Expr]()

    def copy(q: Pattern) -> Pattern:
        if not isinstance(q, Var):
            return tuple(copy(part) for part in q)
        if only is not None and q.name not in only:
            return q
        name = fresh(q.name, taken)
        taken.add(name)
        renaming[q.name] = Var(name, q.type)
        return Var(name, q.type)

    return copy(p), renaming


def fresh(hint: str, avoid: frozenset[str] | set[str]) -> str:
    """The name `hint`, or `hint` with the first number that makes it differ from `avoid`."""
    if hint not in avoid:
        return hint
    stem = hint.rstrip("0123456789").rstrip("_") or "x"
    return next(name for i in count(1) if (name := f"{stem}{i}") not in avoid)


class _Open(local):
    """A count, for each thread, of the placeholder variables ("marks") in use: those of functions
    whose bodies are still being built."""

    marks = 0


_open = _Open()


def _marked(ts: Sequence[Type], body: Callable[..., Expr]) -> tuple[list[str], Expr]:
    """The names of new placeholder variables, one for each type in ts, and the term
    `body(*variables)`.

    The names are the same each time, so that a body built again is a term already known (`shared`).
    """
    outside = _open.marks
    marks = [f"?{outside + i}" for i in range(len(ts))]
    _open.marks += len(ts)
    try:
        return marks, body(*map(Var, marks, ts))
    finally:
        _open.marks = outside


def lam(hint: str, t: Type, body: Callable[[Expr], Expr]) -> Lam:
    """The function x -> body(x), x of type t. Its variable is called `hint`, with a number if the
    body uses that name otherwise."""
    [mark], inner = _marked((t,), body)
    name = fresh(hint, free(inner) | bound_names(inner))
    return Lam(Var(name, t), substitute(inner, {mark: Var(name, t)}))


def lam2(hints: tuple[str, str], ts: tuple[Type, Type], body: Callable[[Expr, Expr], Expr]) -> Lam:
    """The function (x, y) -> body(x, y), with x and y of the types ts. Its variables are called by
    `hints`, with numbers if the body uses these names otherwise."""
    marks, inner = _marked(ts, body)
    avoid = free(inner) | bound_names(inner)
    first = fresh(hints[0], avoid)
    second = fresh(hints[1], avoid | {first})
    pair = Var(first, ts[0]), Var(second, ts[1])
    return Lam(pair, substitute(inner, dict(zip(marks, pair, strict=True))))


def let(hint: str, value: Expr, t: Type, body: Callable[[Expr], Expr]) -> Let:
    """The term let x = value; body(x), where the value has type t. Its variable is called `hint`,
    with a number if the body uses that name otherwise."""
    f = lam(hint, t, body)
    return Let(f.pattern, value, f.body)


@once
def bound_names(e: Expr) -> frozenset[str]:
    """The names that e and the terms inside it bind."""
    own = [v.name for v in variables(e.pattern)] if isinstance(e, Lam | Let) else []
    return frozenset(own).union(*map(bound_names, children(e)))


def apply(f: Lam, argument: Expr) -> Expr:
    """The term f(argument), with the argument substituted; a tuple pattern takes a tuple apart."""
    return substitute(f.body, _match(f.pattern, argument))


def _match(p: Pattern, e: Expr) -> dict[str, Expr]:
    if isinstance(p, Var):
        return {p.name: e}
    bound: dict[str, Expr] = {}
    for i, part in enumerate(p):
        bound |= _match(part, component(i, e))
    return bound


def component(i: int, e: Expr) -> Expr:
    """The term e.i; if e is a MakeTuple, its part i."""
    return e.parts[i] if isinstance(e, MakeTuple) else Get(i, e)


def pattern_value(p: Pattern) -> Expr:
    """The term whose value the pattern p takes apart: its variables, in tuples."""
    return p if isinstance(p, Var) else MakeTuple(tuple(map(pattern_value, p)))


def identity(t: Type) -> Lam:
    """The function x -> x on values of type t."""
    return Lam(Var("x", t), Var("x", t))


@once
def size_names(e: Expr) -> frozenset[str]:
    """The tuning parameters in the sizes that are written in e and the terms inside it, such as the
    width of a split."""
    sizes = (value for name in fields_of(e) if isinstance(value := getattr(e, name), Nat))
    return frozenset().union(*map(names, sizes), *map(size_names, children(e)))

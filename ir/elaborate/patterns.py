"""The arguments of calls, and the patterns that take values apart."""

# key: c the elaborator, p pattern, a argument

from collections.abc import Iterator, Sequence

from ir.core.nodes import Expr, Let, Lit, Pattern, SizeOf, Var
from ir.core.terms import component, free, substitute, variables
from ir.core.type_rules import type_of
from ir.core.types import Tuple, Type, show_type
from ir.core.views import is_plain_view
from ir.elaborate.environment import PRELUDE, Argument, Env, Made, Sized, Written, place
from ir.elaborate.primitives import PRIMITIVES
from ir.elaborate.recursion import Recursion
from ir.elaborate.used_once import used_once
from ir.errors import Span, UserError
from ir.text.surface import (
    Apply,
    Done,
    Group,
    Lambda,
    LetIn,
    Name,
    Native,
    Number,
    Operator,
    Surface,
    SurfacePattern,
    Vectorized,
    pattern_names,
)
from ir.text.written_sizes import FUNCTIONS

Kept = list[tuple[Pattern, Expr]]
"""What is computed before a body, and the variables that hold it."""


def is_global(name: str, env: Env) -> bool:
    """True if a definition or a primitive has this name."""
    return name in env.known or name in PRIMITIVES


def arity(name: str, env: Env) -> tuple[int, int]:
    """The least and the most arguments that a definition or primitive takes."""
    if name in env.known:
        count = len(env.known[name].definition.params)
        return count, count
    return PRIMITIVES[name].low, PRIMITIVES[name].high


def settle(c: Recursion, a: Argument, env: Env) -> Argument:
    """The argument a, elaborated to a term now, unless it may be a size, a function or a number:
    then it stays as written."""
    if not isinstance(a, Written):
        return a
    if isinstance(a.text, Name) and (bound := a.env.bindings.get(a.text.text)) is not None:
        if isinstance(bound, Made):
            return Made(bound.term, place(a))
        return bound if a.text.span.name == PRELUDE else Written(a.text, a.env)
    if is_open(c, a.text, a.env):
        return a
    return Made(c.value(a, env), a.text.span)


def is_open(c: Recursion, e: Surface, env: Env) -> bool:
    """True if e may be a size, a number, a function, or a tuple of these, so that its use must
    decide which."""
    match e:
        case Number() | Lambda() | Vectorized() | Native() | Done(Lit() | SizeOf()):
            return True
        case Name(name, _) if name in env.bindings:
            return not isinstance(env.bindings[name], Made)
        case Name(name, _):
            return name in c.sizes or is_global(name, env)
        case Operator(_, parts, _) | Group(parts, _) | Apply(Name("floor" | "ceil"), parts, _):
            return all(is_open(c, part, env) for part in parts)
        case Apply(Name(name, _), args, _) if name not in FUNCTIONS:
            if is_global(name, env) and name not in env.bindings:
                return len(args) < arity(name, env)[0]
    return False


def take(c: Recursion, p: SurfacePattern, t: Type, env: Env) -> tuple[Pattern, Env]:
    """A pattern of new variables of the shape p for a value of type t, and env with the names of p
    bound to them."""
    if isinstance(p, Name):
        x = Var(env.fresh(p.text), t)
        return x, env.bind(p.text, Made(x, p.span))
    if not isinstance(t, Tuple) or len(t.parts) != len(p.parts):
        raise UserError(
            f"this pattern takes apart a tuple of {len(p.parts)}, found a value of type "
            f"{show_type(t)}",
            p.span,
        )
    found: list[Pattern] = []
    for part, u in zip(p.parts, t.parts, strict=True):
        q, env = take(c, pattern_of(part), u, env)
        found.append(q)
    return tuple(found), env


def bind(
    c: Recursion, p: SurfacePattern, a: Argument, env: Env, kept: Kept, keep: bool = False
) -> Env:
    """The environment env with the names in p bound to the argument a. An argument that must be
    computed, or any term if `keep` is true, is appended to `kept`, as a pattern with its value."""
    if isinstance(a, Made) and (keep or not is_plain_view(a.term)):
        q, env = take(c, p, type_of(a.term), env)
        kept.append((q, a.term))
        return env
    if isinstance(p, Name):
        return env.bind(p.text, a)
    for part, each in zip(p.parts, take_apart(c, p, a), strict=True):
        env = bind(c, pattern_of(part), each, env, kept)
    return env


def take_apart(c: Recursion, p: Group, a: Argument) -> list[Argument]:
    """The components of the argument a, one for each part of the pattern p; a single size serves
    for all parts."""
    n = len(p.parts)
    match a:
        case Sized():
            return [a] * n
        case Made(term, span):
            t = type_of(term)
            if isinstance(t, Tuple) and len(t.parts) == n:
                return [Made(component(i, term), span) for i in range(n)]
            raise UserError(f"expected a tuple of {n}, found {show_type(t)}", span)
        case Written(Group(parts, span), env):
            return [Written(part, env) for part in _shared_out(p, parts, span)]
        case Written(Name(name, _), env) if name in env.bindings:
            return take_apart(c, p, env.bindings[name])
        case Written(Lambda() | Vectorized() | Native() | LetIn(), _):
            raise UserError(f"expected a tuple of {n}, found a function", place(a))
    return [a] * n


def _shared_out(p: Group, parts: Sequence[Surface], span: Span) -> Sequence[Surface]:
    """The written values for the parts of the pattern p, one each. `parts` has these, or a value
    for each name in p: then they are grouped as the names are. A UserError at `span` for another
    number of values."""
    names, n = pattern_names(p), len(p.parts)
    if len(parts) == n:
        return parts
    if len(parts) == len(names):
        rest = iter(parts)
        return [_grouped(part, rest, span) for part in p.parts]
    counts = [str(count) for count in sorted({1, n, len(names)})]
    told = ", ".join(name.text for name in names)
    wanted = f"{', '.join(counts[:-1])} or {counts[-1]} values ({told})"
    raise UserError(f"expected {wanted}, found {len(parts)}", span)


def _grouped(p: Surface, values: Iterator[Surface], span: Span) -> Surface:
    """The next of the values, grouped as the names of the pattern p are."""
    if isinstance(p, Group):
        return Group(tuple(_grouped(part, values, span) for part in p.parts), span)
    return next(values)


def finish(c: Recursion, kept: Kept, body: Expr) -> Expr:
    """The term `body` with each value in `kept` substituted if it is used once, and in a let before
    the body otherwise."""
    for p, value in reversed(kept):
        if not free(body) & {x.name for x in variables(p)}:
            continue
        if isinstance(p, Var) and used_once(body, p.name):
            body = substitute(body, {p.name: value})
        else:
            body = Let(p, value, body)
    return body


def pattern_of(p: Surface) -> SurfacePattern:
    assert isinstance(p, Name | Group)
    return p


def keep(kept: Kept, body: Expr) -> Expr:
    """The body inside a let for every value in `kept`."""
    for p, value in reversed(kept):
        body = Let(p, value, body)
    return body

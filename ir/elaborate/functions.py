"""Functions of the language, as a map is given them or a call applies them: lambdas, definitions,
primitives, Python functions."""

# key: c the elaborator, f g functions, a argument, t type

from ir.core.frozen import distinct
from ir.core.nodes import Expr, Lam, Let, Pattern, Var
from ir.core.size import Size
from ir.core.terms import apply as substituted
from ir.core.terms import fresh, variables
from ir.core.type_rules import type_of
from ir.core.types import Tuple, Type, Vector, leaves, show_type
from ir.core.views import is_plain_view
from ir.elaborate.environment import Argument, Env, Helper, Made, Written, place
from ir.elaborate.expand_call import expand
from ir.elaborate.patterns import Kept, arity, bind, finish, is_global, pattern_of, settle, take
from ir.elaborate.primitive_call import Call
from ir.elaborate.primitives import PRIMITIVES
from ir.elaborate.python_functions import native_pattern
from ir.elaborate.recursion import Recursion
from ir.errors import Span, UserError
from ir.text.surface import (
    Apply,
    Done,
    Group,
    Lambda,
    Name,
    Native,
    Number,
    Surface,
    SurfacePattern,
    Vectorized,
)
from ir.text.written_sizes import at_least_one

OF_ONE_ARRAY = {  # what those mean who give one array to a function of two numbers
    "max": "; `maximum(xs)` is the largest element",
    "min": "; `minimum(xs)` is the smallest element",
}


@distinct
class Closure:
    """A lambda with the environment around it."""

    lam: Lambda
    env: Env


@distinct
class Global:
    """A definition (`helper`) or, if that is None, the primitive `name`, with the arguments already
    given to it; `takes` are the least and the most arguments that it takes in all."""

    name: Name
    helper: Helper | None
    given: tuple[Argument, ...]
    takes: tuple[int, int]

    def arity(self) -> tuple[int, int]:
        """The least and the most arguments that the function still takes."""
        return self.takes[0] - len(self.given), self.takes[1] - len(self.given)


@distinct
class OnVectors:
    """The function `vectorized f`: f on each lane."""

    f: "Function"
    span: Span


Function = Closure | Global | OnVectors | Native


def function(c: Recursion, e: Surface, env: Env) -> Function:
    """The function that the surface tree e stands for."""
    match e:
        case Lambda():
            return Closure(e, env)
        case Native():
            return e
        case Vectorized(f, span):
            return OnVectors(function(c, f, env), span)
        case Name(name, _):
            bound = env.bindings.get(name)
            if isinstance(bound, Written) and not isinstance(bound.text, Number):
                return function(c, bound.text, bound.env)
            if is_global(name, env):
                return Global(e, env.known.get(name), (), arity(name, env))
            if bound is None and name not in c.sizes:
                raise c.unknown(e, env)
            raise UserError(f"`{name}` is a value, expected a function", e.span)
        case Apply(head, args, _):
            g = function(c, head, env)
            if isinstance(g, Global) and len(args) < g.arity()[0]:
                more = tuple(settle(c, Written(a, env), env) for a in args)
                return Global(g.name, g.helper, g.given + more, g.takes)
    raise UserError("expected a function: a lambda, a definition or a primitive", e.span)


def function_of(c: Recursion, a: Argument) -> Function:
    """The argument a as a function."""
    if isinstance(a, Written):
        return function(c, a.text, a.env)
    raise UserError("expected a function, found a value", place(a))


def stride_of(c: Recursion, a: Argument) -> Size | None:
    """The size s, if the argument is stride(s); else None."""
    f = function_of(c, a)
    if isinstance(f, Global) and f.name.text == "stride" and f.helper is None and f.given:
        return at_least_one(c.size(f.given[0]), place(f.given[0]), "a stride")
    return None


def as_lam(c: Recursion, f: Function, t: Type, env: Env, span: Span) -> Lam:
    """The function f as a lambda on elements of type t."""
    match f:
        case Closure(written, around):
            p, inner = take(c, written.pattern, t, around.within(env.scope))
            return Lam(p, c.expr(written.body, inner))
        case OnVectors(g, at):
            if not any(isinstance(leaf, Vector) for leaf in leaves(t)):
                raise UserError(f"expected elements with vectors, found {show_type(t)}", at)
            return as_lam(c, g, t, env, span)
        case Native(python, names, _):
            p, shown = native_pattern(names, t, env.scope, f.span)
            inner = env.within(env.scope | {x.name for x in variables(p)})
            return Lam(p, c.expr(python(*(Done(x, span) for x in shown)), inner))
        case Global():
            args, p = spread(c, f, t, env, span)
            inner = env.within(env.scope | {arg.name for arg in args})
            made = tuple(Made(arg, span) for arg in args)
            return Lam(p, c.checked(apply(c, f, made, span, inner), span))
    raise AssertionError(f"no lambda of {f}")


def spread(
    c: Recursion, f: Global, t: Type, env: Env, span: Span
) -> tuple[tuple[Var, ...], Pattern]:
    """New variables for the parameters of f, and a pattern of them for an element of type t: one
    variable for the whole element if f may take one argument, else one for each component. A
    UserError at `span` if f does not take so many."""
    low, high = f.arity()
    if low <= 1 <= high:
        x = Var(fresh(_hint(f, 0), env.scope), t)
        return (x,), x
    if not isinstance(t, Tuple) or not low <= len(t.parts) <= high:
        raise UserError(
            f"{f.name.text} takes {_many(low, high)}, but is applied to elements of the type "
            f"{show_type(t)}",
            span,
        )
    scope, found = env.scope, list[Var]()
    for i, part in enumerate(t.parts):
        found.append(Var(fresh(_hint(f, i), scope), part))
        scope |= {found[-1].name}
    return tuple(found), tuple(found)


def apply(c: Recursion, f: Function, args: tuple[Argument, ...], span: Span, env: Env) -> Expr:
    """The term f(args)."""
    match f:
        case OnVectors(g, _):
            return apply(c, g, args, span, env)
        case Closure(written, around):
            parts = _parts(written.pattern, len(args), span)
            inner, kept = around.within(env.scope), Kept()
            for p, a in zip(parts, args, strict=True):
                inner = bind(c, p, settle(c, a, env), inner, kept)
            return finish(c, kept, c.expr(written.body, inner))
        case Native():
            return _apply_native(c, f, args, env)
        case Global(name, helper, given):
            check_count(c, f, args, span)
            if helper is None:
                call = Call(c, name, given + args, span, env)
                return PRIMITIVES[name.text].make(call)
            return expand(c, helper, given + args, span, env)
    raise AssertionError(f"no application of {f}")


def _apply_native(c: Recursion, f: Native, args: tuple[Argument, ...], env: Env) -> Expr:
    """The body of a Python function with its parameters standing for args; computed arguments go
    into lets before it."""
    each = (f.names,) if len(args) == 1 else tuple((name,) for name in f.names)
    if len(each) != len(args):
        raise UserError(
            f"this function takes {_many(len(f.names), len(f.names))}, found {len(args)}", f.span
        )
    scope, taken = env.scope, list[tuple[Pattern, Expr]]()
    for names, a in zip(each, args, strict=True):
        value = c.value(settle(c, a, env), env)
        p, xs = native_pattern(names, type_of(value), scope, f.span)
        scope |= {x.name for x in xs}
        taken.append((p, value))
    shown = (Done(x, f.span) for p, _ in taken for x in variables(p))
    body = c.expr(f.f(*shown), env.within(scope))
    for p, value in reversed(taken):
        body = substituted(Lam(p, body), value) if is_plain_view(value) else Let(p, value, body)
    return body


def check_count(c: Recursion, f: Global, args: tuple[Argument, ...], span: Span) -> None:
    """Raise a UserError at `span` unless f takes as many arguments as `args` has."""
    low, high = f.arity()
    if low <= len(args) <= high or f.name.text == "stride":  # which says where it belongs
        return
    usage = _usage(f)
    at = place(args[high]) if len(args) > high else span
    hint = OF_ONE_ARRAY.get(f.name.text, "") if len(args) == 1 else ""
    raise UserError(f"{usage} takes {_many(low, high)}, found {len(args)}{hint}", at)


def _parts(p: SurfacePattern, count: int, span: Span) -> tuple[SurfacePattern, ...]:
    """The pattern p as `count` patterns, one for each argument of a call; a UserError if it has
    another number of parts."""
    if count == 1:
        return (p,)
    if isinstance(p, Group) and len(p.parts) == count:
        return tuple(map(pattern_of, p.parts))
    takes = len(p.parts) if isinstance(p, Group) else 1
    raise UserError(f"this function takes {_many(takes, takes)}, found {count}", span)


def _hint(f: Global, i: int) -> str:
    if f.helper is None:
        return "x" if f.arity()[0] <= 1 else "abcdefgh"[i % 8]
    p = f.helper.definition.params[len(f.given) + i].pattern
    return p.text if isinstance(p, Name) else "x"


def _usage(f: Global) -> str:
    if f.helper is None:
        return PRIMITIVES[f.name.text].usage
    d = f.helper.definition
    names = (p.pattern.text if isinstance(p.pattern, Name) else "(…)" for p in d.params)
    return f"{d.name.text}({', '.join(names)})"


def _many(low: int, high: int) -> str:
    word = "argument" if high == 1 else "arguments"
    if low == high:
        return f"{low} {word}"
    return f"at least {low} {word}" if high > 99 else f"{low} to {high} {word}"

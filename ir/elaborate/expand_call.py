"""The expansion of a call of a definition: its body, with the parameters standing for the
arguments."""

# key: c the elaborator, h the definition, p parameter, a argument

from collections.abc import Callable, Mapping
from functools import partial

from ir.core.nodes import Expr, Lit
from ir.core.size import Size
from ir.core.type_rules import type_of
from ir.core.types import SCALARS
from ir.elaborate.environment import PRELUDE, Argument, Env, Helper, Made, Sized, Written, place
from ir.elaborate.literal_types import cast
from ir.elaborate.patterns import Kept, bind, finish, settle
from ir.elaborate.recursion import Recursion
from ir.errors import Span, UserError
from ir.text.surface import Group, Parameter, TypeName, pattern_names
from ir.text.written_types import agree, infer, infer_rest


def expand(c: Recursion, h: Helper, args: tuple[Argument, ...], span: Span, env: Env) -> Expr:
    """The term of a call: the body of the definition h, its parameters standing for the arguments
    `args`."""
    c.step(span)
    d = h.definition
    try:
        inner, kept = enter(c, h, tuple(settle(c, a, env) for a in args), span, env)
        return finish(c, kept, c.expr(d.body, inner))
    except UserError as error:
        if error.span is None or error.span.name != PRELUDE or span.name == PRELUDE:
            raise
        raise UserError(f"in {d.name.text}: {error.message}", span) from None


def enter(
    c: Recursion, h: Helper, args: tuple[Argument, ...], span: Span, env: Env
) -> tuple[Env, Kept]:
    """The environment for the body of h, with its parameters bound to `args`. Besides, those
    arguments that are computed, each with its pattern: they are for lets around the body."""
    params, kept = h.definition.params, Kept()
    given = [typed(c, p, a, env) for p, a in zip(params, args, strict=True)]
    inner = inferred(c, params, given, Env({}, env.scope, h.known), span)
    for p, a in zip(params, given, strict=True):
        inner = bind(c, p.pattern, a, inner, kept)
    for p, a in zip(params, given, strict=True):
        if p.type is not None and isinstance(a, Made):
            t = type_of(a.term)
            agree(p.type, t, partial(c.written_size, env=inner), place(a), t)
    return inner, kept


def typed(c: Recursion, p: Parameter, a: Argument, env: Env) -> Argument:
    """The argument a for the parameter p: if p has a type, as a value of that type, with literals
    converted; else unchanged."""
    if p.type is None or isinstance(p.pattern, Group):
        return a
    scalar = p.type.text if isinstance(p.type, TypeName) else ""
    if scalar == "int" and isinstance(a, Written | Sized):  # perhaps used as a size
        return a
    term = c.value(a, env)
    wanted = SCALARS.get(scalar)
    adapted = cast(term, wanted) if wanted and isinstance(term, Lit) else None
    return Made(adapted or term, place(a))


def inferred(
    c: Recursion, params: tuple[Parameter, ...], args: list[Argument], env: Env, span: Span
) -> Env:
    """The environment env with more sizes bound: those that the declared types of params name, and
    that env does not bind yet. They are inferred from the types of the arguments `args`."""
    own = {name.text for p in params for name in pattern_names(p.pattern)}
    typed = [
        (p.type, type_of(a.term))
        for p, a in zip(params, args, strict=True)
        if p.type is not None and isinstance(a, Made)
    ]
    found: dict[str, Size] = {}
    for t, u in typed:
        found = infer(t, u, lambda n: n not in own and n not in c.sizes) | found
    env = bound(env, found, span)
    for t, u in typed:
        is_open = _open_in(env, own | c.sizes.keys())
        env = bound(env, infer_rest(t, u, is_open, partial(c.written_size, env=env)), span)
    return env


def bound(env: Env, found: Mapping[str, Size], span: Span) -> Env:
    """The environment env with each name in `found` bound to its size; `span` is that of the
    call."""
    for name, size in found.items():
        env = env.bind(name, Sized(size, span))
    return env


def _open_in(env: Env, own: set[str]) -> Callable[[str], bool]:
    return lambda n: n not in own and n not in env.bindings

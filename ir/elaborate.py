"""Surface to core: names are resolved, calls of definitions expanded, types inferred."""

# key: e what is written, env the names around it, t u types, p pattern

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from ir.arguments import PRELUDE, Argument, Env, Helper, Made, Sized, Written, place
from ir.bounds import check_type
from ir.errors import IllTyped, Span, UserError
from ir.infer import agree, infer, meaning
from ir.literals import cast, scalar_of
from ir.nat import Size
from ir.nodes import (
    Binary,
    Expr,
    Get,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Param,
    Pattern,
    Program,
    SizeOf,
    Unary,
    Var,
)
from ir.primitives import PRIMITIVES, Call
from ir.sizes import FUNCTIONS, at_least_one, evaluate
from ir.suggest import did_you_mean
from ir.surface import (
    Apply,
    Component,
    Definition,
    Group,
    Lambda,
    LetIn,
    Name,
    Number,
    Operator,
    Parameter,
    Surface,
    SurfacePattern,
    Vectorized,
    pattern_names,
)
from ir.terms import children, component, free, fresh, substitute, variables
from ir.types import FLOAT, HALF, INT, Tuple, Type, Vector, leaves, show_type
from ir.typing import type_of
from ir.uses import used_once
from ir.views import is_view

STEPS = 100_000  # of elaboration; what a program may expand to

SUFFIXES = {"h": HALF, "f": FLOAT, "i": INT}


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda and the names around it."""

    lam: Lambda
    env: Env


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A definition or primitive, given its first arguments."""

    name: Name
    helper: Helper | None
    given: tuple[Argument, ...]

    def arity(self) -> tuple[int, int]:
        """The least and the most arguments that it still takes."""
        if self.helper is not None:
            low = high = len(self.helper.definition.params)
        else:
            low, high = PRIMITIVES[self.name.text].low, PRIMITIVES[self.name.text].high
        return low - len(self.given), high - len(self.given)


@dataclass(frozen=True, slots=True, eq=False)
class OnVectors:
    """vectorized f"""

    f: "Function"
    span: Span


Function = Closure | Global | OnVectors
Kept = list[tuple[Pattern, Expr]]


class Elaborator:
    """Makes terms, counting its steps so that no program takes for ever."""

    def __init__(self, sizes: Mapping[str, Size]) -> None:
        self.sizes = sizes
        self.steps = 0
        self.weights: dict[int, tuple[Expr, int]] = {}

    def program(
        self, d: Definition, known: Mapping[str, Helper], unknown: tuple[str, ...]
    ) -> Program:
        """The last definition of a file."""
        env = Env({}, frozenset(), known)
        params = tuple(self.parameter(p) for p in d.params)
        for p, param in zip(d.params, params, strict=True):
            env = env.bind(param.var.name, Made(param.var, p.span))
        return Program(d.name.text, params, self.expr(d.body, env), unknown)

    def parameter(self, p: Parameter) -> Param:
        if not isinstance(p.pattern, Name):
            raise UserError("expected one name: a program's parameter is an array", p.pattern.span)
        if p.type is None:
            raise UserError(f"expected a type: `{p.pattern.text} : …`", p.span)
        env = Env({}, frozenset(), {})
        t = meaning(p.type, lambda e: self.written_size(e, env))
        check_type(t, p.span)
        return Param(Var(p.pattern.text, t), p.const)

    def step(self, span: Span, count: int = 1) -> None:
        """Count what is done."""
        self.steps += count
        if self.steps > STEPS:
            raise UserError(f"the program expands to more than {STEPS:,} nodes", span)

    # ---- expressions

    def expr(self, e: Surface, env: Env) -> Expr:
        """The term that e stands for, known to be well typed."""
        self.step(e.span)
        made = self._expr(e, env)
        try:
            check_type(type_of(made), e.span)
        except IllTyped as error:
            raise UserError(str(error), e.span) from None
        return made

    def _expr(self, e: Surface, env: Env) -> Expr:
        match e:
            case Name():
                return self.name(e, env)
            case Number(value, suffix, _):
                default = FLOAT if isinstance(value, float) else INT
                return Lit(value, SUFFIXES.get(suffix, default))
            case Operator("neg", (a,), _):
                return Unary("neg", self.number("-", Written(a, env), env))
            case Operator(op, (a, b), _):
                return self.binary(op, Written(a, env), Written(b, env), env)
            case Group(parts, _):
                return MakeTuple(tuple(self.expr(part, env) for part in parts))
            case Component(i, a, _):
                return Get(i, self.expr(a, env))
            case Apply(head, args, span):
                f = self.function(head, env)
                return self.apply(f, tuple(Written(a, env) for a in args), span, env)
            case LetIn():
                return self.let(e, env)
        raise UserError("found a function, expected a value", e.span)

    def name(self, e: Name, env: Env) -> Expr:
        if e.text in env.bindings:
            return self.value(env.bindings[e.text], env)
        if e.text in self.sizes:
            return _size_value(self.sizes[e.text])
        if self.is_global(e.text, env):
            raise UserError(f"`{e.text}` is a function, expected a value", e.span)
        raise self.unknown(e, env)

    def unknown(self, e: Name, env: Env) -> UserError:
        known = {*env.bindings, *self.sizes, *env.known, *PRIMITIVES}
        return UserError(f"unknown name `{e.text}`{did_you_mean(e.text, known)}", e.span)

    def let(self, e: LetIn, env: Env) -> Expr:
        """A view is put where its name stands; anything computed stays a Let."""
        kept: Kept = []
        argument = self.settle(Written(e.value, env), env)
        if e.keep and not isinstance(argument, Made):
            argument = Made(self.value(argument, env), e.value.span)
        inner = self.bind(e.pattern, argument, env, kept, e.keep)
        return _keep(kept, self.expr(e.body, inner))

    def binary(self, op: str, a: Argument, b: Argument, env: Env) -> Expr:
        """a op b; a number written here is a half where it meets one."""
        word = op if op in ("max", "min") else f"`{op}`"
        x, y = self.number(word, a, env), self.number(word, b, env)
        t, u = type_of(x), type_of(y)
        if t == FLOAT and scalar_of(u) == HALF and self.is_weak(a):
            x = cast(x, HALF) or x
        if u == FLOAT and scalar_of(t) == HALF and self.is_weak(b):
            y = cast(y, HALF) or y
        return Binary(op, x, y)

    def number(self, word: str, a: Argument, env: Env) -> Expr:
        """The value of an argument that must be a scalar or a vector."""
        x = self.value(a, env)
        if scalar_of(type_of(x)) is None:
            raise UserError(f"{word} needs numbers, found {show_type(type_of(x))}", place(a))
        return x

    def is_weak(self, a: Argument) -> bool:
        """Numbers without a suffix, and arithmetic on them: they adapt to what they meet."""
        if not isinstance(a, Written):
            return False
        self.step(a.text.span)
        match a.text:
            case Number(_, suffix, _):
                return not suffix
            case Operator(_, parts, _) | Group(parts, _):
                return all(self.is_weak(Written(part, a.env)) for part in parts)
            case Name(name, _) if name in a.env.bindings:
                return self.is_weak(a.env.bindings[name])
            case Apply(Name("generate", _), (_, Lambda(_, body, _)), _):
                return self.is_weak(Written(body, a.env))
        return False

    # ---- arguments

    def value(self, a: Argument, env: Env) -> Expr:
        """An argument as a term."""
        match a:
            case Made(term, span):
                self.step(span, self.weight(term))
                return term
            case Sized(size, _):
                return _size_value(size)
            case Written(text, around):
                return self.expr(text, around.within(env.scope))
        raise AssertionError(f"no value of {a}")

    def size(self, a: Argument) -> Size:
        """An argument as a size."""
        match a:
            case Sized(size, _):
                return size
            case Written(text, env):
                return self.written_size(text, env)
        raise UserError("expected a size, found a value that is computed", place(a))

    def written_size(self, e: Surface, env: Env) -> Size:
        def lookup(name: Name) -> Size:
            self.step(name.span)
            local = env.bindings.get(name.text)
            if local is not None and not (isinstance(local, Made) and name.text in self.sizes):
                if isinstance(local, Made):
                    raise UserError(f"`{name.text}` is a value, expected a size", name.span)
                return self.size(local)
            if name.text in self.sizes:
                return self.sizes[name.text]
            hint = did_you_mean(name.text, {*self.sizes, *env.bindings})
            hint = hint or "; bind it after `where`"
            raise UserError(f"unbound size `{name.text}`{hint}", name.span)

        self.step(e.span)
        return evaluate(e, lookup)

    def settle(self, a: Argument, env: Env) -> Argument:
        """What an argument is, once: still as written if its use decides, else a term."""
        if not isinstance(a, Written):
            return a
        if isinstance(a.text, Name) and (bound := a.env.bindings.get(a.text.text)) is not None:
            if isinstance(bound, Made):
                return Made(bound.term, place(a))
            return bound if a.text.span.name == PRELUDE else Written(a.text, a.env)
        if self.is_open(a.text, a.env):
            return a
        return Made(self.value(a, env), a.text.span)

    def is_open(self, e: Surface, env: Env) -> bool:
        """Sizes, numbers, functions, and tuples of them."""
        match e:
            case Number() | Lambda() | Vectorized():
                return True
            case Name(name, _) if name in env.bindings:
                return not isinstance(env.bindings[name], Made)
            case Name(name, _):
                return name in self.sizes or self.is_global(name, env)
            case Operator(_, parts, _) | Group(parts, _) | Apply(Name("floor" | "ceil"), parts, _):
                return all(self.is_open(part, env) for part in parts)
            case Apply(Name(name, _) as head, args, _) if name not in FUNCTIONS:
                if self.is_global(name, env) and name not in env.bindings:
                    return len(args) < Global(head, env.known.get(name), ()).arity()[0]
        return False

    def weight(self, e: Expr) -> int:
        """How many nodes e has, written out."""
        if id(e) not in self.weights:
            self.weights[id(e)] = (e, 1 + sum(map(self.weight, children(e))))
        return self.weights[id(e)][1]

    # ---- functions

    def is_global(self, name: str, env: Env) -> bool:
        return name in env.known or name in PRIMITIVES

    def function(self, e: Surface, env: Env) -> Function:
        """What stands where a function is expected."""
        match e:
            case Lambda():
                return Closure(e, env)
            case Vectorized(f, span):
                return OnVectors(self.function(f, env), span)
            case Name(name, _):
                bound = env.bindings.get(name)
                if isinstance(bound, Written) and not isinstance(bound.text, Number):
                    return self.function(bound.text, bound.env)
                if self.is_global(name, env):
                    return Global(e, env.known.get(name), ())
                if bound is None and name not in self.sizes:
                    raise self.unknown(e, env)
            case Apply(head, args, _):
                g = self.function(head, env)
                if isinstance(g, Global) and len(args) < g.arity()[0]:
                    more = tuple(self.settle(Written(a, env), env) for a in args)
                    return Global(g.name, g.helper, g.given + more)
        raise UserError("expected a function: a lambda, a definition or a primitive", e.span)

    def function_of(self, a: Argument) -> Function:
        """An argument as a function."""
        if isinstance(a, Written):
            return self.function(a.text, a.env)
        raise UserError("expected a function, found a value", place(a))

    def stride_of(self, a: Argument) -> Size | None:
        """s, if an argument is stride(s)."""
        f = self.function_of(a)
        if isinstance(f, Global) and f.name.text == "stride" and f.helper is None and f.given:
            return at_least_one(self.size(f.given[0]), place(f.given[0]), "a stride")
        return None

    def lam(self, f: Function, t: Type, env: Env, span: Span) -> Lam:
        """f as a lambda on elements of type t."""
        match f:
            case Closure(lam, around):
                p, inner = self.take(lam.pattern, t, around.within(env.scope))
                return Lam(p, self.expr(lam.body, inner))
            case OnVectors(g, at):
                if not any(isinstance(leaf, Vector) for leaf in leaves(t)):
                    raise UserError(f"expected vectors, found elements {show_type(t)}", at)
                return self.lam(g, t, env, span)
            case Global():
                args, p = self.spread(f, t, env, span)
                inner = env.within(env.scope | {arg.name for arg in args})
                made = tuple(Made(arg, span) for arg in args)
                return Lam(p, self.apply(f, made, span, inner))
        raise AssertionError(f"no lambda of {f}")

    def spread(self, f: Global, t: Type, env: Env, span: Span) -> tuple[tuple[Var, ...], Pattern]:
        """Variables for the parameters of f: one for the element, or one for each component."""
        low, high = f.arity()
        if low <= 1 <= high:
            x = Var(fresh(_hint(f, 0), env.scope), t)
            return (x,), x
        if not isinstance(t, Tuple) or not low <= len(t.parts) <= high:
            raise UserError(
                f"{f.name.text} takes {_many(low, high)}, but an element is {show_type(t)}", span
            )
        scope, found = env.scope, list[Var]()
        for i, part in enumerate(t.parts):
            found.append(Var(fresh(_hint(f, i), scope), part))
            scope |= {found[-1].name}
        return tuple(found), tuple(found)

    def apply(self, f: Function, args: tuple[Argument, ...], span: Span, env: Env) -> Expr:
        """f(args)"""
        match f:
            case OnVectors(g, _):
                return self.apply(g, args, span, env)
            case Closure(lam, around):
                parts = _parts(lam.pattern, len(args), span)
                inner, kept = around.within(env.scope), Kept()
                for p, a in zip(parts, args, strict=True):
                    inner = self.bind(p, self.settle(a, env), inner, kept)
                return self.finish(kept, self.expr(lam.body, inner))
            case Global(name, helper, given):
                self.check_count(f, args, span)
                if helper is None:
                    call = Call(self, name, given + args, span, env)
                    return PRIMITIVES[name.text].make(call)
                return self.expand(helper, given + args, span, env)
        raise AssertionError(f"no application of {f}")

    def check_count(self, f: Global, args: tuple[Argument, ...], span: Span) -> None:
        low, high = f.arity()
        if low <= len(args) <= high:
            return
        usage = _usage(f)
        at = place(args[high]) if len(args) > high else span
        raise UserError(f"{usage} takes {_many(low, high)}, found {len(args)}", at)

    # ---- calls of definitions

    def expand(self, h: Helper, args: tuple[Argument, ...], span: Span, env: Env) -> Expr:
        """The body of a definition, its parameters standing for the arguments."""
        self.step(span)
        d = h.definition
        try:
            inner, kept = self.enter(h, tuple(self.settle(a, env) for a in args), span, env)
            return self.finish(kept, self.expr(d.body, inner))
        except UserError as error:
            if error.span is None or error.span.name != PRELUDE or span.name == PRELUDE:
                raise
            raise UserError(f"in {d.name.text}: {error.message}", span) from None

    def enter(
        self, h: Helper, args: tuple[Argument, ...], span: Span, env: Env
    ) -> tuple[Env, Kept]:
        """The names that a definition's body sees."""
        params, kept = h.definition.params, Kept()
        typed = [self.typed(p, a, env) for p, a in zip(params, args, strict=True)]
        inner = self.inferred(params, typed, Env({}, env.scope, h.known), span)
        for p, a in zip(params, typed, strict=True):
            inner = self.bind(p.pattern, a, inner, kept)
        for p, a in zip(params, typed, strict=True):
            if p.type is not None and isinstance(a, Made):
                t = type_of(a.term)
                agree(p.type, t, partial(self.written_size, env=inner), place(a), t)
        return inner, kept

    def typed(self, p: Parameter, a: Argument, env: Env) -> Argument:
        """An argument for a parameter with a type is a value, its numbers of that type."""
        if p.type is None or isinstance(p.pattern, Group):
            return a
        term = self.value(a, env)
        scalars = {"float": FLOAT, "half": HALF}
        wanted = scalars.get(getattr(p.type, "text", ""))
        adapts = wanted is not None and isinstance(term, Lit)
        return Made((adapts and wanted and cast(term, wanted)) or term, place(a))

    def inferred(
        self, params: tuple[Parameter, ...], args: list[Argument], env: Env, span: Span
    ) -> Env:
        """Sizes that occur in a definition's types and are bound nowhere else."""
        own = {name.text for p in params for name in pattern_names(p.pattern)}
        found: dict[str, Size] = {}
        for p, a in zip(params, args, strict=True):
            if p.type is not None and isinstance(a, Made):
                new = infer(p.type, type_of(a.term), lambda n: n not in own and n not in self.sizes)
                found = new | found
        for name, size in found.items():
            env = env.bind(name, Sized(size, span))
        return env

    # ---- patterns

    def take(self, p: SurfacePattern, t: Type, env: Env) -> tuple[Pattern, Env]:
        """New variables for a pattern that takes apart a t."""
        if isinstance(p, Name):
            x = Var(env.fresh(p.text), t)
            return x, env.bind(p.text, Made(x, p.span))
        if not isinstance(t, Tuple) or len(t.parts) != len(p.parts):
            raise UserError(
                f"this takes apart a tuple of {len(p.parts)}, found {show_type(t)}", p.span
            )
        found: list[Pattern] = []
        for part, u in zip(p.parts, t.parts, strict=True):
            q, env = self.take(_pattern(part), u, env)
            found.append(q)
        return tuple(found), env

    def bind(self, p: SurfacePattern, a: Argument, env: Env, kept: Kept, keep: bool = False) -> Env:
        """Let a pattern stand for an argument; what is computed is kept under a variable."""
        if isinstance(a, Made) and (keep or not is_view(a.term)):
            q, env = self.take(p, type_of(a.term), env)
            kept.append((q, a.term))
            return env
        if isinstance(p, Name):
            return env.bind(p.text, a)
        for part, component_ in zip(p.parts, self.take_apart(p, a), strict=True):
            env = self.bind(_pattern(part), component_, env, kept)
        return env

    def take_apart(self, p: Group, a: Argument) -> list[Argument]:
        """The components of an argument; one size stands for each of a tuple of them."""
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
                if len(parts) != n:
                    raise UserError(f"expected one or {n} of them, found {len(parts)}", span)
                return [Written(part, env) for part in parts]
            case Written(Name(name, _), env) if name in env.bindings:
                return self.take_apart(p, env.bindings[name])
            case Written(Lambda() | Vectorized() | LetIn(), _):
                raise UserError(f"expected a tuple of {n}", place(a))
        return [a] * n

    def finish(self, kept: Kept, body: Expr) -> Expr:
        """Put back what is used once, where it is used; the rest is computed before the body."""
        for p, value in reversed(kept):
            if not free(body) & {x.name for x in variables(p)}:
                continue
            if isinstance(p, Var) and used_once(body, p.name):
                body = substitute(body, {p.name: value})
            else:
                body = Let(p, value, body)
        return body


def _keep(kept: Kept, body: Expr) -> Expr:
    for p, value in reversed(kept):
        body = Let(p, value, body)
    return body


def _size_value(size: Size) -> Expr:
    return Lit(size, INT) if isinstance(size, int) else SizeOf(size)


def _pattern(p: Surface) -> SurfacePattern:
    assert isinstance(p, Name | Group)
    return p


def _parts(p: SurfacePattern, count: int, span: Span) -> tuple[SurfacePattern, ...]:
    """A lambda's parameters for so many arguments."""
    if count == 1:
        return (p,)
    if isinstance(p, Group) and len(p.parts) == count:
        return tuple(map(_pattern, p.parts))
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

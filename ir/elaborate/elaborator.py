"""The elaborator, from surface trees to core terms: it resolves names, expands calls and infers
types."""

# key: e what is written, env the names around it, t u types, p pattern

from collections.abc import Mapping

from ir.core.nodes import (
    Binary,
    Expr,
    Get,
    Lam,
    Lit,
    MakeArray,
    MakeTuple,
    Param,
    Program,
    Select,
    SizeOf,
    Unary,
    Var,
)
from ir.core.size import Size
from ir.core.terms import children, component
from ir.core.type_rules import type_of
from ir.core.types import (
    BFLOAT,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONG,
    SHORT,
    UCHAR,
    USHORT,
    Array,
    Tuple,
    Type,
    equal,
    narrow_real,
    scalar_of,
    show_type,
)
from ir.elaborate.environment import EACH, Argument, Env, Helper, Made, Sized, Written, place
from ir.elaborate.functions import apply, as_lam, function, function_of, stride_of
from ir.elaborate.literal_types import cast
from ir.elaborate.patterns import Kept, bind, is_global, keep, settle
from ir.elaborate.primitives import PRIMITIVES
from ir.elaborate.type_limits import check_type
from ir.errors import IllTyped, Span, UserError
from ir.text.suggest import did_you_mean
from ir.text.surface import (
    Apply,
    Component,
    Definition,
    Done,
    Group,
    Lambda,
    LetIn,
    List,
    Name,
    Number,
    Operator,
    Parameter,
    Surface,
)
from ir.text.written_sizes import evaluate
from ir.text.written_types import meaning

STEPS = 100_000  # of elaboration; what a program may expand to

SUFFIXES = {"h": HALF, "b": BFLOAT, "f": FLOAT, "i": INT}
SUFFIXES |= {"L": LONG, "s": SHORT, "us": USHORT, "c": CHAR, "uc": UCHAR}


class Elaborator:
    """The elaborator: it makes terms from surface trees, and counts its steps, so that it always
    ends."""

    def __init__(self, sizes: Mapping[str, Size]) -> None:
        self.sizes = sizes
        self.steps = 0
        self.weights: dict[int, tuple[Expr, int]] = {}

    def program(
        self, d: Definition, known: Mapping[str, Helper], unknown: tuple[str, ...]
    ) -> Program:
        """The program that the definition d means, the last of a file; `known` are the definitions
        before it, `unknown` the names of tuning parameters."""
        env = Env({}, frozenset(), known)
        params = tuple(self.parameter(p) for p in d.params)
        for p, param in zip(d.params, params, strict=True):
            env = env.bind(param.var.name, Made(param.var, p.span))
        return Program(d.name.text, params, self.expr(d.body, env), unknown)

    def parameter(self, p: Parameter) -> Param:
        if not isinstance(p.pattern, Name):
            raise UserError(
                "expected one name for a parameter of a program, found a tuple of names",
                p.pattern.span,
            )
        if p.type is None:
            raise UserError(f"expected a type: `{p.pattern.text} : …`", p.span)
        env = Env({}, frozenset(), {})
        t = meaning(p.type, lambda e: self.written_size(e, env))
        check_type(t, p.span)
        return Param(Var(p.pattern.text, t), p.const)

    def step(self, span: Span, count: int = 1) -> None:
        """Add `count` to the steps; a UserError at `span` if they are too many."""
        self.steps += count
        if self.steps > STEPS:
            raise UserError(
                f"expected a program of at most {STEPS:,} nodes when expanded, found more", span
            )

    # ---- expressions

    def expr(self, e: Surface, env: Env) -> Expr:
        """The term that the surface tree e means, checked to be well typed."""
        self.step(e.span)
        return self.checked(self._expr(e, env), e.span)

    def checked(self, made: Expr, span: Span) -> Expr:
        """The term `made` itself, after a check that it is well typed and its type not too large;
        else a UserError at `span`."""
        try:
            check_type(type_of(made), span)
        except IllTyped as error:
            raise UserError(str(error), span) from None
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
            case List(parts, span):
                return self.listed(tuple(self.expr(part, env) for part in parts), span)
            case Component(i, a, _):
                return Get(i, self.expr(a, env))
            case Apply(head, args, span):
                f = function(self, head, env)
                return apply(self, f, tuple(Written(a, env) for a in args), span, env)
            case LetIn():
                return self.let(e, env)
            case Done(term, _):
                self.step(e.span, self.weight(term))
                return term
        raise UserError("found a function, expected a value", e.span)

    def listed(self, parts: tuple[Expr, ...], span: Span) -> Expr:
        """The array of these parts, which must have one type; number literals are converted to the
        type of the other parts."""
        for target in dict.fromkeys(map(type_of, parts)):
            made = [cast(part, target) for part in parts]
            whole = tuple(part for part in made if part is not None)
            if len(whole) == len(parts) and all(equal(type_of(p), target) for p in whole):
                return MakeArray(whole)
        found = " and ".join(dict.fromkeys(show_type(type_of(part)) for part in parts))
        raise UserError(f"expected elements of one type in an array, found {found}", span)

    def name(self, e: Name, env: Env) -> Expr:
        if e.text in env.bindings:
            return self.value(env.bindings[e.text], env)
        if e.text in self.sizes:
            return _size_value(self.sizes[e.text])
        if is_global(e.text, env):
            raise UserError(f"`{e.text}` is a function, expected a value", e.span)
        raise self.unknown(e, env)

    def unknown(self, e: Name, env: Env) -> UserError:
        known = {*env.bindings, *self.sizes, *env.known, *PRIMITIVES}
        return UserError(f"unknown name `{e.text}`{did_you_mean(e.text, known)}", e.span)

    def let(self, e: LetIn, env: Env) -> Expr:
        """The term that a let means: a view is put where its name stands, anything computed stays a
        Let."""
        kept: Kept = []
        argument = settle(self, Written(e.value, env), env)
        if e.keep and not isinstance(argument, Made):
            argument = Made(self.value(argument, env), e.value.span)
        inner = bind(self, e.pattern, argument, env, kept, e.keep)
        return keep(kept, self.expr(e.body, inner))

    def binary(self, op: str, a: Argument, b: Argument, env: Env) -> Expr:
        """The term a op b; a float literal becomes half or bfloat if the other operand is one, and
        the larger or smaller of a number and a whole literal that its type holds is of that
        type."""
        word = op if op in ("max", "min") else f"`{op}`"
        x, y = self.number(word, a, env), self.number(word, b, env)
        if op in ("max", "min"):
            x, y = self._alike(x, y, a), self._alike(y, x, b)
        return Binary(op, *self.met(x, y, a, b))

    def _alike(self, x: Expr, other: Expr, a: Argument) -> Expr:
        """The operand x, which was written as the argument a; if it is a whole literal without a
        suffix, of the type of the numbers of `other`, if that type holds it."""
        scalar = scalar_of(type_of(other))
        if scalar is None or not isinstance(x, Lit) or x.scalar != INT or not self.is_weak(a):
            return x
        return cast(x, scalar) or x

    def select(self, c: Argument, a: Argument, b: Argument, env: Env) -> Expr:
        """The term select(c, a, b); tuples are chosen component by component."""
        condition = self.number("select", c, env)
        x, y = self.value(a, env), self.value(b, env)
        return self.choice(condition, x, y, (a, b))

    def choice(self, c: Expr, x: Expr, y: Expr, given: tuple[Argument, Argument]) -> Expr:
        """The term that chooses between x and y under the condition c; tuples are chosen component
        by component. `given` are the arguments that x and y are, or are components of: messages
        point at them."""
        t, u = type_of(x), type_of(y)
        if isinstance(t, Tuple) and isinstance(u, Tuple) and len(t.parts) == len(u.parts):
            pairs = ((component(i, x), component(i, y)) for i in range(len(t.parts)))
            return MakeTuple(tuple(self.choice(c, p, q, given) for p, q in pairs))
        odd = next((k for k, v in enumerate((t, u)) if scalar_of(v) is None), None)
        if odd is not None:
            hint = "; map it over arrays" if isinstance((t, u)[odd], Array) else ""
            found = f"{show_type(t)} and {show_type(u)}"
            raise UserError(
                f"select chooses between two numbers, or tuples of them, found {found}{hint}",
                place(given[odd]),
            )
        return Select(c, *self.met(x, y, *given))

    def met(self, x: Expr, y: Expr, a: Argument, b: Argument) -> tuple[Expr, Expr]:
        """The operands x and y, which were written as the arguments a and b. If one of them is made
        of float literals without a suffix, and the other is a half or bfloat, the first is
        converted to that type."""
        t, u = type_of(x), type_of(y)
        if t == FLOAT and (to := narrow_real(u)) and self.is_weak(a):
            x = cast(x, to) or x
        if u == FLOAT and (to := narrow_real(t)) and self.is_weak(b):
            y = cast(y, to) or y
        return x, y

    def number(self, word: str, a: Argument, env: Env) -> Expr:
        """The argument a as a term, which must be a scalar or a vector; `word` names the operation
        in messages."""
        x = self.value(a, env)
        if scalar_of(type_of(x)) is None:
            hint = EACH if isinstance(type_of(x), Array) else ""
            raise UserError(f"{word} needs numbers, found {show_type(type_of(x))}{hint}", place(a))
        return x

    def is_weak(self, a: Argument) -> bool:
        """True if a is a number without a suffix, or arithmetic on such numbers: its type adapts to
        the other operand."""
        if not isinstance(a, Written):
            return False
        self.step(a.text.span)
        match a.text:
            case Number(_, suffix, _):
                return not suffix
            case Operator(_, parts, _) | Group(parts, _) | List(parts, _):
                return all(self.is_weak(Written(part, a.env)) for part in parts)
            case Name(name, _) if name in a.env.bindings:
                return self.is_weak(a.env.bindings[name])
            case Apply(Name("generate", _), (_, Lambda(_, body, _)), _):
                return self.is_weak(Written(body, a.env))
        return False

    # ---- arguments

    def lam(self, a: Argument, t: Type, env: Env) -> Lam:
        """The argument a as a function on elements of type t."""
        return as_lam(self, function_of(self, a), t, env, place(a))

    def stride_of(self, a: Argument) -> Size | None:
        """The size s, if the argument is stride(s); else None."""
        return stride_of(self, a)

    def value(self, a: Argument, env: Env) -> Expr:
        """The argument a as a term."""
        match a:
            case Made(term, span):
                self.step(span, self.weight(term))
                return term
            case Sized(size, _):
                return _size_value(size)
            case Written(text, around):
                return self.expr(text, around.within(env.scope))
        raise AssertionError(f"expected an argument, found {a}")

    def size(self, a: Argument) -> Size:
        """The argument a as a size."""
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

    def weight(self, e: Expr) -> int:
        """The number of nodes of the term e, with a shared node counted at each occurrence."""
        if id(e) not in self.weights:
            self.weights[id(e)] = (e, 1 + sum(map(self.weight, children(e))))
        return self.weights[id(e)][1]


def _size_value(size: Size) -> Expr:
    return Lit(size, INT) if isinstance(size, int) else SizeOf(size)

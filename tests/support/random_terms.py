"""Random typed terms, small enough to interpret. Their variables have few names, so that a rule
that confuses two variables is found."""

# key: g generator, t u types, n k sizes, scope the variables that may be used, f function

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from ir.core.nodes import (
    At,
    Binary,
    Edge,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeTuple,
    Map,
    Pad,
    PadEdge,
    Param,
    Pattern,
    Program,
    Reduce,
    Reorder,
    Split,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.terms import children, free, variables
from ir.core.type_rules import size_of, type_of
from ir.core.types import FLOAT, INT, Array, Scalar, Tuple, Type, equal, is_whole
from ir.elaborate.bijection import stride
from ir.errors import IllTyped
from rewrites.analysis.alpha_equality import numbered
from tests.support.narrowed import number

NAMES = ("x", "y", "acc", "r", "v", "t", "row", "chunk", "p", "f", "tile", "a", "b")  # as rules use
OPERATORS = ("+", "*", "max", "min")

T = TypeVar("T")
Scope = Mapping[str, Type]


@dataclass
class Terms:
    """A source of random terms, drawn by `rng`, all of which may stand in one program: they share
    its parameters, whose types are kept in `params` by name."""

    rng: Random
    params: dict[str, Type] = field(default_factory=dict)

    def one_of(self, *choices: T) -> T:
        return self.rng.choice(choices)

    def some_type(self, *choices: Type) -> Type:
        """One of the types `choices`, drawn at random."""
        return self.rng.choice(choices)

    def made_by(self, *makers: Callable[[], Expr]) -> Expr:
        """A term made by one of the functions `makers`, drawn at random."""
        return self.rng.choice(makers)()

    def size(self, least: int = 1, most: int = 4) -> int:
        return self.rng.randint(least, most)

    def scalar(self) -> Scalar:
        return self.one_of(FLOAT, FLOAT, FLOAT, INT)

    def type(self, depth: int | None = None) -> Type:
        depth = self.one_of(1, 1, 1, 2) if depth is None else depth
        kind = self.one_of("scalar", "scalar", "array", "tuple") if depth else "scalar"
        match kind:
            case "array":
                return Array(self.type(depth - 1), self.size())
            case "tuple":
                return Tuple(tuple(self.type(depth - 1) for _ in range(self.size(2, 3))))
        return self.scalar()

    # ---- values

    def param(self, t: Type, scope: Scope | None = None) -> Expr:
        """A parameter of type t of the program: a new one, or one that it has already."""
        scope = scope or {}
        found = [n for n, u in self.params.items() if equal(t, u) and n not in scope]
        if found and self.rng.random() < 0.5:
            return Var(self.rng.choice(found), t)
        names = [n for n in (*NAMES, *(f"p{i}" for i in range(40))) if n not in self.params]
        name = next(n for n in names if n not in scope)
        self.params[name] = t
        return Var(name, t)

    def value(self, t: Type, scope: Scope | None = None, depth: int = 2) -> Expr:
        """A random term of type t over the variables in `scope` and the program's parameters;
        operations in it are nested up to about `depth` deep."""
        scope = scope or {}
        at_hand = [e for e in self.parts(scope) if equal(type_of(e), t)]
        if at_hand and (depth <= 0 or self.rng.random() < 0.6):
            return self.rng.choice(at_hand)
        if depth <= 0 or self.rng.random() < 0.2:
            return self.param(t, scope)
        match t:
            case Scalar():
                return self.number(t, scope, depth)
            case Array():
                return self.array(t, scope, depth)
            case Tuple(parts):
                return MakeTuple(tuple(self.value(p, scope, depth - 1) for p in parts))
        return self.param(t, scope)

    def parts(self, scope: Scope) -> list[Expr]:
        """The variables in scope, and all components of those that are tuples."""
        found: list[Expr] = [Var(name, t) for name, t in scope.items()]
        for e in found:
            t = type_of(e)
            if isinstance(t, Tuple):
                found.extend(Get(i, e) for i in range(len(t.parts)))
        return found

    def number(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        arrays = [
            e for e in self.parts(scope) if isinstance(u := type_of(e), Array) and equal(u.elem, t)
        ]
        match self.one_of("literal", "binary", "binary", "negative", "array", "array"):
            case "binary":
                op = self.one_of("+", "-", "*", "max", "min")
                return Binary(op, self.value(t, scope, depth - 1), self.value(t, scope, depth - 1))
            case "negative":
                return Unary("neg", self.value(t, scope, depth - 1))
            case "array" if arrays:
                xs = self.rng.choice(arrays)
                n = number(size_of(xs))
                if self.rng.random() < 0.5:
                    return At(self.rng.randrange(n), xs)
                return Reduce(self.literal(t), self.fold(t, t, "+", scope), xs)
        return self.literal(t)

    def literal(self, t: Scalar) -> Lit:
        n = self.rng.randint(0 if t.name.startswith("u") else -3, 3)
        return Lit(n if is_whole(t) else float(n), t)

    def array(self, t: Array, scope: Scope | None = None, depth: int = 2) -> Expr:
        """A random array of type t: a map, a view, or a parameter, with terms of up to `depth`
        nested operations inside."""
        scope, n = scope or {}, number(t.size)
        match self.one_of("map", "map", "pad", "crop", "reorder", "join", "split", "transpose"):
            case "map":
                u = self.type()
                return Map(self.function(u, t.elem, scope), self.value(Array(u, n), scope, 0))
            case "pad" if n > 1 and isinstance(t.elem, Scalar):
                inner = self.value(Array(t.elem, n - 1), scope, depth - 1)
                return Pad(*self.one_of((0, 1), (1, 0)), self.literal(t.elem), inner)
            case "crop":
                inner = self.value(Array(t.elem, n + 1), scope, depth - 1)
                return PadEdge(self.edge(), *self.one_of((0, -1), (-1, 0)), inner)
            case "reorder":
                s = self.rng.choice([k for k in range(1, n + 1) if n % k == 0])
                return Reorder(stride(s, n), self.value(t, scope, depth - 1))
            case "join":
                k = self.rng.choice([k for k in range(1, n + 1) if n % k == 0])
                return Join(self.value(Array(Array(t.elem, k), n // k), scope, depth - 1))
            case "split" if isinstance(t.elem, Array):
                whole = Array(t.elem.elem, n * t.elem.size)
                return Split(t.elem.size, self.value(whole, scope, depth - 1))
            case "transpose" if isinstance(t.elem, Array):
                other = Array(Array(t.elem.elem, n), t.elem.size)
                return Transpose(self.value(other, scope, depth - 1))
        return self.value(t, scope, 0)

    def xs(self, elem: Type | None = None, n: int | None = None) -> Expr:
        """A random array of n elements of type `elem`; what is None is random."""
        return self.value(Array(elem or self.type(), n or self.size()), depth=1)

    def edge(self) -> Edge:
        return self.one_of(Edge.CLAMP, Edge.MIRROR, Edge.WRAP)

    # ---- functions

    def pattern(self, t: Type, taken: frozenset[str] = frozenset()) -> Pattern:
        """A pattern for a value of type t: one name, or names for its parts; none of the names in
        `taken`."""
        if isinstance(t, Tuple) and self.rng.random() < 0.6:
            patterns: list[Pattern] = []
            for part in t.parts:
                patterns.append(self.pattern(part, taken))
                taken |= {v.name for v in variables(patterns[-1])}
            return tuple(patterns)
        return Var(self.rng.choice([n for n in NAMES if n not in taken]), t)

    def function(self, t: Type, u: Type, scope: Scope | None = None, depth: int = 2) -> Lam:
        """A random function t -> u. It usually uses its argument, and sometimes variables in
        `scope`; operations in it are nested up to about `depth` deep."""
        p = self.pattern(t)
        return Lam(p, self.value(u, inside(scope, p), depth))

    def fold(self, acc: Scalar, t: Type, op: str, scope: Scope | None = None) -> Lam:
        """A random function (a, x) -> a op g(x), or (a, x) -> g(x) op a: the accumulator a has type
        `acc`, the element x type t."""
        a = Var(self.rng.choice(NAMES), acc)
        p = self.pattern(t, frozenset({a.name}))
        mine = {n: u for n, u in (scope or {}).items() if n != a.name}
        bound = {v.name: v.type for v in variables(p)}
        term = self._without(a.name, lambda: self.value(acc, {**mine, **bound}, 2))
        return Lam((a, p), Binary(op, *self.one_of((a, term), (term, a))))

    def _without(self, name: str, draw: Callable[[], Expr]) -> Expr:
        """A random term that the function `draw` makes and in which the variable `name` is not
        free."""
        for _ in range(1000):
            e = draw()
            if name not in free(e):
                return e
        raise AssertionError(f"everything drawn uses {name}")

    def step(self, acc: Type, t: Type) -> Lam:
        """A random function (acc, x) -> e for a reduction, where x has type t, and acc and e have
        type acc."""
        p = self.pattern(Tuple((acc, t)))
        while not isinstance(p, tuple):
            p = self.pattern(Tuple((acc, t)))
        return Lam(p, self.value(acc, inside(None, p)))

    def zipped(self, n: int, parts: int = 2) -> Expr:
        """A random zip of `parts` arrays of n elements."""
        return Zip(tuple(self.xs(n=n) for _ in range(parts)))

    def program(self, e: Expr) -> Program:
        """The program whose body is e and whose parameters are the free variables of e."""
        return Program("test", tuple(Param(v) for v in free_variables(e)), e)


def inside(scope: Scope | None, p: Pattern) -> Scope:
    """The variables in scope inside a function with the pattern p: those of `scope`, around the
    function (None: no variables), and those of p."""
    return {**(scope or {}), **{v.name: v.type for v in variables(p)}}


def free_variables(e: Expr) -> list[Var]:
    """The free variables of a term, each once; fails if a variable has another type than where it
    is bound."""
    found: dict[str, Type] = {}

    def go(x: Expr, bound: Scope) -> None:
        if isinstance(x, Var):
            t = bound[x.name] if x.name in bound else found.setdefault(x.name, x.type)
            if not equal(t, x.type):
                raise IllTyped(f"{x.name} has two types")
        for i, c in enumerate(children(x)):
            binds = isinstance(x, Lam) or (isinstance(x, Let) and i == 1)
            go(c, inside(bound, x.pattern) if binds else bound)  # type: ignore[attr-defined]

    go(e, {})
    return [Var(name, t) for name, t in found.items()]


def nameless(e: Expr) -> Expr:
    """The term e with bound names replaced by the order of their binders, so that terms that differ
    in these names alone become equal."""
    return numbered(Lam(tuple(free_variables(e)), e))


def well_formed(e: Expr) -> bool:
    """True if e has a type, and each variable in it has the type with which it is bound."""
    try:
        free_variables(e)
        type_of(e)
    except IllTyped:
        return False
    return True

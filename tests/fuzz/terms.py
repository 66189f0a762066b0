"""Random typed terms of every primitive of the language, and programs of several kernels made of
them."""

# key: t u types, n sizes, e term, scope the variables that may be used

from random import Random

from ir.core.conversions import CONVERSIONS
from ir.core.nodes import (
    At,
    Binary,
    Expr,
    Generate,
    Get,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    PadEdge,
    Param,
    Program,
    Reduce,
    Select,
    Store,
    Unary,
    Var,
    Zip,
)
from ir.core.type_rules import COMPARISONS, type_of
from ir.core.types import (
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONG,
    NARROW_REALS,
    RANGES,
    SCALARS,
    SHORT,
    UCHAR,
    USHORT,
    Array,
    Scalar,
    Tuple,
    Type,
    equal,
    is_whole,
)
from tests.fuzz.view_terms import size_known, view
from tests.support.random_terms import Scope, Terms, free_variables, inside, well_formed

STORED = "stored"  # how the names of stored arrays begin
NARROW = frozenset({CHAR, UCHAR, SHORT, USHORT})  # whole numbers that are computed as ints
WHOLE = ("neg", "abs")
REAL = ("exp", "tanh", "sqrt", "log", "cospi", "sinpi")
COMPUTED = ("unary", "reduce", "reduce", "let", "element", "fold of a tuple", "choice")
MADE = (
    *("map", "map", "zip", "split", "join", "slide", "slide_strict", "pad", "edge", "crop"),
    *("transpose", "reorder", "reversed", "concat", "generate", "at", "table", "let", "reduce"),
)


class EveryTerm(Terms):
    """A source of random terms in which every primitive of the language occurs. Its methods make
    terms of a type t over the variables of `scope` and the program's parameters; operations in them
    are nested up to about `depth` deep."""

    def scalar(self) -> Scalar:
        if self.rng.random() < 0.5:
            return self.one_of(FLOAT, FLOAT, FLOAT, INT, INT, HALF)
        return self.one_of(*SCALARS.values())

    def type(self, depth: int | None = None) -> Type:
        return super().type(self.one_of(1, 1, 2, 3) if depth is None else depth)

    def param(self, t: Type, scope: Scope | None = None) -> Expr:
        """A term of type t: a parameter; or, if t is an array type, sometimes an array that an
        earlier kernel stored, with elements of the same type, cropped or padded to t's length."""
        stored = [
            Var(name, u)
            for name, u in (scope or {}).items()
            if name.startswith(STORED) and isinstance(t, Array) and equal(elem_type(u), t.elem)
        ]
        if stored and isinstance(t, Array) and self.rng.random() < 0.8:
            return self.fitted(self.rng.choice(stored), size_known(t))
        return super().param(t, scope)

    def fitted(self, xs: Expr, n: int) -> Expr:
        """The array xs made n elements long: by a crop, or by padding with its own elements."""
        more = n - size_known(type_of(xs))
        return PadEdge(self.edge(), 0, more, xs) if more else xs

    # ---- numbers

    def number(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        if self.rng.random() < 0.15:
            return self.converted(t, scope, depth)
        if t in NARROW:
            return self.narrow(t, scope, depth)
        if t in (INT, LONG) and self.rng.random() < 0.3:
            return self.divided(t, scope, depth)
        match self.one_of("as in laws", *COMPUTED):
            case "unary":
                return self.unary(t, scope, depth)
            case "reduce":
                return self.reduction(t, scope, depth)
            case "let":
                return self.let(t, scope, depth)
            case "element":
                n = self.size()
                xs = self.value(Array(t, n), scope, depth - 1)
                return At(self.rng.randrange(n), xs)
            case "choice":
                return self.choice(t, scope, depth)
            case "fold of a tuple" if t not in NARROW_REALS:
                return self.fold_of_a_tuple(t, scope, depth)
        return super().number(t, scope, depth)

    def converted(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random number of any type, up to `depth` operations deep, converted to t. If t is a
        whole type, a real number to convert is a parameter: computed ones differ between
        devices."""
        u = self.one_of(*SCALARS.values())
        ways = [op for op, c in CONVERSIONS.items() if c.target == t]
        if is_whole(t) and not is_whole(u):
            return Unary(self.rng.choice(ways), self.param(u, scope))
        return Unary(self.rng.choice(ways), self.value(u, scope, depth - 1))

    def narrow(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random number of a narrow whole type t, made without a conversion from another type; it
        is up to `depth` operations deep."""
        match self.one_of("literal", "binary", "reduce", "let", "element"):
            case "binary":
                a, b = (self.value(t, scope, depth - 1) for _ in range(2))
                return Binary(self.one_of("max", "min"), a, b)
            case "reduce":
                return self.reduction(t, scope, depth)
            case "let":
                return self.let(t, scope, depth)
            case "element":
                n = self.size()
                return At(self.rng.randrange(n), self.value(Array(t, n), scope, depth - 1))
        return self.literal(t)

    def unary(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random unary function of a random number x of type t; where the function is not defined
        for every number, it is applied to |x| or |x| + 1 instead."""
        x = self.value(t, scope, depth - 1)
        op = self.one_of(*WHOLE, *(REAL if t == FLOAT else ()))
        match op:
            case "sqrt":
                return Unary(op, Unary("abs", x))
            case "log":
                return Unary(op, Binary("+", Unary("abs", x), Lit(1.0, FLOAT)))
            case "exp":
                return Unary(op, Unary("tanh", x))
        return Unary(op, x)

    def divided(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random operation on two random integers of type t: a quotient, remainder, shift or
        another one. Divisors may be 0 or -1, and operands the least or largest numbers of the
        type."""
        a, b = (self.value(t, scope, depth - 1) for _ in range(2))
        if self.rng.random() < 0.3:
            b = Lit(self.one_of(0, -1, 7, *RANGES[t.name]), t)
        op = self.one_of("/", "%", "*", "+", "-", "max", "<<", ">>", "&", "|")
        return Binary(op, *self.one_of((a, b), (b, a)))

    def reduction(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random fold over a random array, to a number of type t, from a random initial value."""
        u = self.type(1)
        sums = () if t in NARROW else ("+", "+") if t in NARROW_REALS else ("+", "+", "*")
        op = self.one_of("max", "min", *sums)
        xs = self.value(Array(u, self.size(1, 5)), scope, depth - 1)
        return Reduce(self.value(t, scope, 0), self.fold(t, u, op, scope), xs)

    def fold_of_a_tuple(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A number of type t: one component of the result of a reduction, at random. The
        reduction's accumulator is a pair of numbers of type t, a sum and a maximum."""
        u = Tuple((t, t))
        acc, x = Var("sums", u), Var("item", t)
        step = MakeTuple((Binary("+", Get(0, acc), x), Binary("max", Get(1, acc), x)))
        xs = self.value(Array(t, self.size()), scope, depth - 1)
        init = MakeTuple((self.literal(t), self.literal(t)))
        return Get(self.rng.randrange(2), Reduce(init, Lam((acc, x), step), xs))

    def choice(self, t: Scalar, scope: Scope, depth: int) -> Expr:
        """A random choice (`Select`) between two terms of type t; for an int, sometimes the random
        condition itself, which is 0 or 1."""
        c = self.condition(scope, depth)
        if t == INT and self.rng.random() < 0.3:
            return c
        return Select(c, *(self.value(t, scope, depth - 1) for _ in range(2)))

    def condition(self, scope: Scope, depth: int) -> Expr:
        """A random comparison: of two whole numbers, or of a real parameter with a parameter or a
        literal. Computed real numbers are not compared, as they differ between devices."""
        op = self.one_of(*sorted(COMPARISONS))
        u = self.one_of(*SCALARS.values())
        if is_whole(u):
            return Binary(op, *(self.value(u, scope, depth - 1) for _ in range(2)))
        a = self.param(u, scope)
        return Binary(op, a, self.one_of(self.literal(u), self.param(u, scope)))

    # ---- arrays

    def array(self, t: Array, scope: Scope | None = None, depth: int = 2) -> Expr:
        scope = scope or {}
        made = self.computed(t, scope, depth, self.one_of(*MADE))
        return super().array(t, scope, depth) if made is None else made

    def computed(self, t: Array, scope: Scope, depth: int, kind: str) -> Expr | None:
        """An array of type t made by the primitive that `kind` names; None if that primitive cannot
        make the type."""
        n, inner = t.size, t.elem
        assert isinstance(n, int)
        match kind:
            case "map":
                u = self.type(1)
                xs = self.value(Array(u, n), scope, depth - 1)
                return Map(self.function(u, inner, scope, depth - 1), xs)
            case "generate":
                i = Var("i", INT)
                return Generate(n, Lam(i, self.value(inner, {**scope, "i": INT}, depth - 1)))
            case "table" if n <= 4:
                return MakeArray(tuple(self.value(inner, scope, depth - 2) for _ in range(n)))
            case "let":
                return self.let(t, scope, depth)
            case "at":
                many = self.size(1, 3)
                xs = self.value(Array(t, many), scope, depth - 1)
                return At(self.rng.randrange(many), xs)
            case "reduce" if isinstance(inner, Scalar):
                return self.sum_of_rows(t, scope, depth)
        return view(self, t, n, scope, depth, kind)

    def sum_of_rows(self, t: Array, scope: Scope, depth: int) -> Expr:
        """An array of type t: the sum or the maximum, number by number, of the rows of a random
        array, by a reduction whose accumulator is an array."""
        acc, row = Var("sums", t), Var("row", t)
        pair = Zip((acc, row))
        a, x = Var("a", t.elem), Var("x", t.elem)
        op = self.one_of("max", *(() if t.elem in NARROW else ("+",)))
        rows = self.value(Array(t, self.size(1, 3)), scope, depth - 1)
        body = Map(Lam((a, x), Binary(op, a, x)), pair)
        return Reduce(self.value(t, scope, 0), Lam((acc, row), body), rows)

    # ---- names

    def let(self, t: Type, scope: Scope, depth: int) -> Expr:
        """A term `let p = value in body` of type t, with a random value and body; the pattern p is
        one name, or a name for each part of the value."""
        u = self.type(1)
        value, p = self.value(u, scope, depth - 1), self.pattern(u)
        return Let(p, value, self.value(t, inside(scope, p), depth - 1))

    def staged(self, most: int) -> Expr:
        """A random term of up to `most` kernels besides the last; what a kernel stores has a name,
        which later terms may use."""
        scope: dict[str, Type] = {}
        stored: list[tuple[Var, Expr]] = []
        for k in range(min(most, self.one_of(0, 0, 0, 1, 1, 2))):
            t = Array(self.type(2), self.size(1, 6))
            name = Var(f"{STORED}{k}", t)
            stored.append((name, Store(self.value(t, scope, self.size(2, 4)))))
            scope[name.name] = t
        e = self.value(self.result(stored), scope, 4)
        for name, value in reversed(stored):
            e = Let(name, value, e)
        return e

    def result(self, stored: list[tuple[Var, Expr]]) -> Type:
        """A random type for a program's result. Mostly it is an array, often of elements such as
        those of the last array in `stored`, the pairs (variable, term) of what kernels store."""
        if stored and self.rng.random() < 0.6:
            return Array(elem_type(stored[-1][0].type), self.size(1, 6))
        t = self.type(2)
        return t if self.rng.random() < 0.2 else Array(t, self.size(1, 6))


def elem_type(t: Type) -> Type:
    """The type of an array's elements; t itself if it is no array."""
    return t.elem if isinstance(t, Array) else t


def program(rng: Random, stored: int = 2) -> Program:
    """A random program that stores up to `stored` arrays, by kernels of their own, before it
    computes its result; some of its parameters are constants."""
    while True:
        e = EveryTerm(rng).staged(stored)
        if well_formed(e):
            params = (Param(v, const=rng.random() < 0.2) for v in free_variables(e))
            return Program("f", tuple(params), e)

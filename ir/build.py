"""Programs written as ordinary Python expressions, which make the same `Program` as text does.

    conv = fun(
        lambda weights, biases, image: map2d(
            lambda window: map_(
                lambda kernel, bias: relu(
                    reduce_(bias, lambda acc, x, w: acc + x * w,
                            zip_(flatten(window), flatten(kernel)))),
                zip_(weights, biases)),
            slide2d(3, 1, pad2d(1, 0.0, image))),
        const(float_[128, 3, 3, 128]), const(float_[128]), float_[112, 112, 128],
        name="conv")

Names are the language's own, with a `_` where Python has another use for them. A function's
parameters take tuples apart: `lambda acc, x, w` is `(acc, (x, w)) -> …`. Helpers are Python
functions; what is computed once and used again is `let(value, lambda x: …)`.
"""

# key: f Python function, e what is written, t type

import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

from ir.core.frozen import distinct, frozen
from ir.core.nodes import Param, Program, SizeOf, Var
from ir.core.size import Nat, Size
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
    Scalar,
    Tuple,
    Type,
    show_type,
)
from ir.elaborate.elaborator import Elaborator
from ir.elaborate.environment import Env
from ir.elaborate.type_limits import check_type
from ir.errors import Span, UserError
from ir.parse import prelude
from ir.text.surface import (
    Apply,
    Component,
    Done,
    Group,
    Name,
    Native,
    Number,
    Operator,
    Surface,
    Vectorized,
)


@distinct
class Value:
    """An expression of the language, as a Python value."""

    written: Surface

    def __add__(self, other: "Operand") -> "Value":
        return _operator("+", self, other)

    def __radd__(self, other: "Operand") -> "Value":
        return _operator("+", other, self)

    def __sub__(self, other: "Operand") -> "Value":
        return _operator("-", self, other)

    def __rsub__(self, other: "Operand") -> "Value":
        return _operator("-", other, self)

    def __mul__(self, other: "Operand") -> "Value":
        return _operator("*", self, other)

    def __rmul__(self, other: "Operand") -> "Value":
        return _operator("*", other, self)

    def __truediv__(self, other: "Operand") -> "Value":
        return _operator("/", self, other)

    def __rtruediv__(self, other: "Operand") -> "Value":
        return _operator("/", other, self)

    def __mod__(self, other: "Operand") -> "Value":
        return _operator("%", self, other)

    def __rmod__(self, other: "Operand") -> "Value":
        return _operator("%", other, self)

    def __lshift__(self, other: "Operand") -> "Value":
        return _operator("<<", self, other)

    def __rshift__(self, other: "Operand") -> "Value":
        return _operator(">>", self, other)

    def __and__(self, other: "Operand") -> "Value":
        return _operator("&", self, other)

    def __or__(self, other: "Operand") -> "Value":
        return _operator("|", self, other)

    def __neg__(self) -> "Value":
        return _operator("neg", self)

    def __abs__(self) -> "Value":
        return call("abs", self)

    def __call__(self, *args: "Operand") -> "Value":
        """The call of this primitive or definition with more arguments, as in `mapGlobal(0)(f,
        xs)`."""
        if not isinstance(self.written, Apply):
            raise UserError("found a value, expected a function", here())
        more = tuple(map(surface, args))
        return Value(Apply(self.written.head, self.written.args + more, here()))

    def __getitem__(self, index: int) -> "Value":
        """The component of a tuple that has this index."""
        return Value(Component(index, self.written, here()))

    def __iter__(self) -> Iterator["Value"]:
        """The components of a function's parameter that is a tuple."""
        t = type_of(self.written.term) if isinstance(self.written, Done) else None
        if not isinstance(t, Tuple):
            raise UserError(
                "expected a parameter that is a tuple, to be taken apart; found "
                f"{'a value that is computed' if t is None else show_type(t)}",
                here(),
            )
        return iter([self[i] for i in range(len(t.parts))])

    def __bool__(self) -> bool:
        raise UserError(
            "expected a value that Python knows, as a condition of Python needs it; found one that "
            "the program computes: `select` chooses by such a value",
            here(),
        )


Operand: TypeAlias = "Value | int | float | Nat | tuple[Operand, ...] | Callable[..., Operand]"


def surface(e: Operand) -> Surface:
    """The surface tree that a Python value stands for in the language."""
    match e:
        case Value(Done(term)):
            return Done(term, here())
        case Value(written):
            return written
        case Word(name):
            return Name(name, here())
        case int() | float():
            return Number(e, "", here())
        case Nat():
            return Done(SizeOf(e), here())
        case tuple():
            return Group(tuple(map(surface, e)), here())
    if not callable(e):
        raise UserError(
            f"expected a value of the language or a number, found a {type(e).__name__}", here()
        )
    function = e
    return Native(lambda *xs: surface(function(*map(Value, xs))), _parameters(function), here())


def _parameters(f: Callable[..., Operand]) -> tuple[str, ...]:
    return tuple(inspect.signature(f).parameters)


def here() -> Span:
    """The span of the caller's line of Python text."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ir."):
        frame = frame.f_back
    file, number = frame.f_code.co_filename, frame.f_lineno
    lines = linecache.getlines(file)
    if not lines:
        return Span("", 0, 0, f"{file}, line {number}")
    line = lines[number - 1]
    start = sum(map(len, lines[: number - 1])) + len(line) - len(line.lstrip())
    return Span("".join(lines), start, start + max(1, len(line.strip())), file)


def _operator(op: str, *parts: Operand) -> Value:
    return Value(Operator(op, tuple(map(surface, parts)), here()))


def call(name: str, *args: Operand) -> Value:
    """The value name(args), where the name is that of a primitive or a definition of the
    prelude."""
    return Value(Apply(Name(name, here()), tuple(map(surface, args)), here()))


def let(value: Operand, body: Callable[[Value], Operand]) -> Value:
    """The value body(x), where x is `value`, computed once."""
    return Value(Apply(surface(body), (surface(value),), here()))


def vectorized(f: Callable[..., Operand]) -> Value:
    """The function f on vectors, lane by lane."""
    return Value(Vectorized(surface(f), here()))


@frozen
class Word:
    """A primitive, or a definition of the prelude, as a Python value that can be called, or given
    to a map."""

    name: str

    def __call__(self, *args: Operand) -> Value:
        return call(self.name, *args)


# ---- types and programs


@frozen
class ScalarType:
    """A scalar type in Python: `float_` is a scalar, `float_[H, W, C]` an array indexed
    [h][w][c]; `float_(x)` converts x."""

    scalar: Scalar

    def __call__(self, x: Operand) -> Value:
        """The value x converted to this type: `half_(x)`."""
        return call(self.scalar.name, x)

    def __getitem__(self, sizes: Size | tuple[Size, ...]) -> Type:
        t: Type = self.scalar
        for n in reversed(sizes if isinstance(sizes, tuple) else (sizes,)):
            t = Array(t, n)
        return t


@frozen
class Const:
    """The type of a parameter that stays the same from run to run."""

    type: Type | ScalarType


float_, half_, bfloat_ = ScalarType(FLOAT), ScalarType(HALF), ScalarType(BFLOAT)
int_, short_, ushort_ = ScalarType(INT), ScalarType(SHORT), ScalarType(USHORT)
char_, uchar_, long_ = ScalarType(CHAR), ScalarType(UCHAR), ScalarType(LONG)

Declared = Type | ScalarType | Const


def const(t: Type | ScalarType) -> Const:
    """A parameter of type t that stays the same from run to run, as weights do."""
    return Const(t)


def fun(
    f: Callable[..., Operand], *types: Declared, name: str = "", free: tuple[str, ...] = ()
) -> Program:
    """The program `name` whose body is f. `types` are those of its parameters, in order; without
    them, the annotations of f's parameters are.

    `free` names the tuning parameters among the sizes (`named("k")`).
    """
    names = _parameters(f)
    declared = types or tuple(t for n in names if (t := f.__annotations__.get(n)) is not None)
    if len(declared) != len(names):
        raise UserError(
            f"expected a type for each of {', '.join(names)}, found {len(declared)}", here()
        )
    params = tuple(_param(n, t) for n, t in zip(names, declared, strict=True))
    env = Env({}, frozenset(names), prelude())
    written = f(*(Value(Done(p.var, here())) for p in params))
    body = Elaborator({}).expr(surface(written), env)
    return Program(name or f.__name__.replace("<lambda>", "program"), params, body, free)


def _param(name: str, declared: Declared) -> Param:
    t = declared.type if isinstance(declared, Const) else declared
    t = t.scalar if isinstance(t, ScalarType) else t
    if not isinstance(t, Type):
        raise UserError(f"expected a type for {name}, found {t!r}", here())
    check_type(t, here())
    return Param(Var(name, t), isinstance(declared, Const))


# ---- the language's own names


map_, reduce_, zip_, generate = Word("map"), Word("reduce"), Word("zip"), Word("generate")
split, join, flatten, transpose = map(Word, ("split", "join", "flatten", "transpose"))
slide, slide_strict, reorder, stride = map(Word, ("slide", "slide_strict", "reorder", "stride"))
pad, pad_any, pad_clamp = map(Word, ("pad", "pad_any", "pad_clamp"))
pad_mirror, pad_wrap, concat, at = map(Word, ("pad_mirror", "pad_wrap", "concat", "at"))
exp, log, sqrt, tanh, abs_ = map(Word, ("exp", "log", "sqrt", "tanh", "abs"))
cospi, sinpi = map(Word, ("cospi", "sinpi"))
float_rtz, half_rtz, bfloat_rtz = map(Word, ("float_rtz", "half_rtz", "bfloat_rtz"))
int_rte, int_sat, int_sat_rte = map(Word, ("int_rte", "int_sat", "int_sat_rte"))
short_rte, short_sat, short_sat_rte = map(Word, ("short_rte", "short_sat", "short_sat_rte"))
ushort_rte, ushort_sat, ushort_sat_rte = map(Word, ("ushort_rte", "ushort_sat", "ushort_sat_rte"))
char_rte, char_sat, char_sat_rte = map(Word, ("char_rte", "char_sat", "char_sat_rte"))
uchar_rte, uchar_sat, uchar_sat_rte = map(Word, ("uchar_rte", "uchar_sat", "uchar_sat_rte"))
max_, min_, size = map(Word, ("max", "min", "size"))

relu, square, dot, sum_ = map(Word, ("relu", "square", "dot", "sum"))
maximum, minimum, average = map(Word, ("maximum", "minimum", "average"))
map2d, zip2d, slide2d, pad2d = map(Word, ("map2d", "zip2d", "slide2d", "pad2d"))
pad2d_clamp, pad2d_mirror = map(Word, ("pad2d_clamp", "pad2d_mirror"))
pad2d_wrap, generate2d, dilate2d = map(Word, ("pad2d_wrap", "generate2d", "dilate2d"))
map3d, zip3d, slide3d, pad3d = map(Word, ("map3d", "zip3d", "slide3d", "pad3d"))
conv_transpose2d, grouped2d = Word("conv_transpose2d"), Word("grouped2d")
reversed_, spread, spread2d = map(Word, ("reversed", "spread", "spread2d"))
phases, phases2d, in_phases2d = map(Word, ("phases", "phases2d", "in_phases2d"))

mapGlobal, mapWorkgroup, mapLocal = map(Word, ("mapGlobal", "mapWorkgroup", "mapLocal"))
mapSeq, reduceSeq = Word("mapSeq"), Word("reduceSeq")
mapUnrolled, reduceUnrolled = Word("unrolled mapSeq"), Word("unrolled reduceSeq")
toLocal, toLocalAhead, toPrivate = map(Word, ("toLocal", "toLocalAhead", "toPrivate"))
store, asVector, asScalar = map(Word, ("store", "asVector", "asScalar"))

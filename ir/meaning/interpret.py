"""The meaning of programs: the interpreter, on NumPy. It is the oracle for everything else.

`map` is carried as axes of the arrays it computes with, never a loop (see `ir.meaning.values`).
A reduction whose body proves to be `acc + g(x)` (or `* max min`) evaluates g once for all elements,
and a sum of products is contracted without its products; any other reduction loops over its own
elements only. Where an intermediate array would be too big, the map or reduction around it goes in
halves.
"""

# key: e term, f function, xs array, env the values of variables

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import DTypeLike

from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.instruction import Instruct, Instruction
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Expr,
    Generate,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
    Pattern,
    Program,
    Reduce,
    ReduceSeq,
    Reorder,
    Select,
    SizeOf,
    Slide,
    Split,
    Store,
    ToLocal,
    ToPrivate,
    Transpose,
    Unary,
    Var,
    Zip,
)
from ir.core.type_rules import COMPARISONS, pattern_type, type_of
from ir.core.types import INT, LONG, NARROW_REALS, Tuple, Type, is_whole
from ir.core.types import scalar_of as only_scalar
from ir.errors import UserError
from ir.meaning import layout
from ir.meaning.arithmetic import UNARY, as_real, chosen, compared, pointwise, widened
from ir.meaning.conversions import WHOLE, converted, cut_off
from ir.meaning.inputs import STORED, Data, check_inputs, components, known, scalar_of
from ir.meaning.named_axes import Axis
from ir.meaning.reductions import binary, fold
from ir.meaning.values import (
    Acc,
    Leaf,
    NotAFold,
    TooBig,
    Value,
    check_ceiling,
    constant,
    count,
    each,
    enter,
    force_small,
    from_array,
    halves,
    leave,
    split,
    to_array,
)

INT64 = np.dtype(np.int64)


@frozen
class Env:
    """The environment of a term: the values of variables, the types in which real numbers and ints
    are computed, and whether instructions cut numbers off as devices do (`cuts`)."""

    values: Mapping[str, Value]
    real: "np.dtype[np.generic]"
    whole: "np.dtype[np.generic]" = WHOLE["int"]
    cuts: bool = False

    def bind(self, p: Pattern, value: Value) -> "Env":
        """This environment with the variables of a pattern bound to the parts of a value."""
        return replace(self, values={**self.values, **_taken_apart(p, value)})


def _taken_apart(p: Pattern, value: Value) -> dict[str, Value]:
    if isinstance(p, Var):
        return {p.name: value}
    assert isinstance(value, tuple)
    bound: dict[str, Value] = {}
    for q, component in zip(p, value, strict=True):
        bound |= _taken_apart(q, component)
    return bound


def evaluate(
    program: Program,
    inputs: Mapping[str, Data],
    dtype: DTypeLike = np.float64,
    *,
    cuts: bool = False,
) -> Data:
    """The program's result: an array, or for tuples a tuple of what each component holds.

    Floats and narrower real numbers are computed in `dtype`, and rounded where a conversion says
    so; ints in 32 bits, in which they wrap around. Halves and bfloats have 16 bits where they are
    stored, results, too. With `cuts`, instructions read and keep only as many bits of floats as
    devices do.
    """
    return _interpreted(program, inputs, Env({}, np.dtype(dtype), cuts=cuts), kept=True)


def computed(program: Program, inputs: Mapping[str, Data], dtype: DTypeLike = np.float64) -> Data:
    """The numbers that the program computes, as `evaluate` gives them before halves and bfloats
    among the results are rounded to the 16 bits in which they are stored."""
    return _interpreted(program, inputs, Env({}, np.dtype(dtype)), kept=False)


def _interpreted(program: Program, inputs: Mapping[str, Data], env: Env, kept: bool) -> Data:
    """The numbers of the program's result in the environment `env`, as they are stored if `kept`,
    else as they are computed."""
    check_inputs(program, inputs)
    try:
        with np.errstate(all="ignore"):
            given = {
                p.var.name: _given(p.var.type, inputs[p.var.name], env.real) for p in program.params
            }
            made = _eval(program.body, replace(env, values=given))
            return _result(_kept(type_of(program.body), made, env) if kept else made)
    except RecursionError:
        raise UserError(
            f"{program.name} is nested too deeply to evaluate: expected fewer levels of terms"
        ) from None
    except MemoryError as error:
        raise UserError(
            f"{program.name} needs more memory than there is: {error}; try smaller sizes with --set"
        ) from None


def _given(t: Type, data: Data, real: "np.dtype[np.generic]") -> Value:
    """The value of a parameter of type t from the array `data`, converted to the type in which it
    is computed; numbers of 16 bits are rounded to these first, as they are where they are
    stored."""
    if isinstance(data, tuple):
        parts = components(t)
        assert parts is not None
        return tuple(_given(part, x, real) for part, x in zip(parts, data, strict=True))
    scalar = scalar_of(t)
    if scalar in NARROW_REALS:
        data = data.astype(STORED[scalar.name])
    return from_array(data.astype(WHOLE.get(scalar.name, real)))


def _result(value: Value) -> Data:
    if isinstance(value, Leaf):
        return np.array(to_array(value), order="C")
    assert isinstance(value, tuple)
    return tuple(map(_result, value))


def _eval(e: Expr, env: Env) -> Value:
    match e:
        case Var(name, _):
            return env.values[name]
        case Lit(value, scalar):
            kind = env.whole if scalar == INT else WHOLE.get(scalar.name, env.real)
            return constant(np.asarray(value, kind))
        case SizeOf(n):
            return constant(np.asarray(known(n), env.whole))
        case Unary(op, a):
            return _unary(op, _eval(a, env), env)
        case Binary(op, a, b):
            return _binary(e, op, _eval(a, env), _eval(b, env), env)
        case Select(c, a, b):
            return _select(e, _eval(c, env), _eval(a, env), _eval(b, env), env)
        case MakeTuple(parts) | Zip(parts):
            return tuple(_eval(part, env) for part in parts)
        case MakeArray(parts):
            return _array(parts, env)
        case Get(i, a):
            found = _eval(a, env)
            assert isinstance(found, tuple)
            return found[i]
        case Let(p, a, body):
            return _eval(body, env.bind(p, each(force_small, _eval(a, env))))
        case Store(a) | ToLocal(a, _):
            return each(force_small, _kept(type_of(a), _eval(a, env), env))
        case ToPrivate(a):
            return each(force_small, _eval(a, env))
        case Map(f, xs) | MapPar(_, _, f, xs) | MapSeq(f, xs, _):
            return _map(f, _eval(xs, env), env)
        case Generate(n, f):
            return _map(f, _numbers(known(n), env.whole), env)
        case Instruct(instruction, parts):
            given = tuple(_eval(part, env) for part in parts)
            if env.cuts and instruction.kept is not None:
                return _cut(instruction, given, env)
            return each(force_small, _call(instruction.meaning, given, env))
        case Reduce(init, f, xs) | ReduceSeq(init, f, xs, _):
            return _reduce(f, _eval(init, env), _eval(xs, env), env)
    return _view(e, env)


def _kept(t: Type, value: Value, env: Env) -> Value:
    """The value of the type t as it is kept in memory that several work-items see, in which halves
    and bfloats have 16 bits."""
    parts = components(t)
    if parts is not None and isinstance(value, tuple):
        return tuple(_kept(part, x, env) for part, x in zip(parts, value, strict=True))
    scalar = None if parts is not None else scalar_of(t)
    if scalar not in NARROW_REALS:
        return value
    return _unary(scalar.name, value, env)


def _array(parts: tuple[Expr, ...], env: Env) -> Value:
    """The value of the array whose elements are these parts."""
    ones = [leave(_eval(part, env), (Axis(1),)) for part in parts]
    return reduce(layout.concat, ones)


def _view(e: Expr, env: Env) -> Value:
    match e:
        case Split(n, xs):
            m = known(n)
            return each(lambda leaf: split(leaf, m), _eval(xs, env))
        case Join(xs):
            return each(layout.join, _eval(xs, env))
        case Slide(n, s, xs, strict):
            size, step = known(n), known(s)
            return each(lambda leaf: layout.slide(leaf, size, step, strict), _eval(xs, env))
        case Transpose(xs):
            return each(layout.transpose, _eval(xs, env))
        case AsVector(n, xs):
            width = known(n)
            return each(lambda leaf: layout.as_vector(leaf, width), _eval(xs, env))
        case AsScalar(xs):
            return each(layout.as_scalar, _eval(xs, env))
        case At(n, xs):
            k = known(n)
            return each(lambda leaf: layout.at(leaf, k), _eval(xs, env))
        case Pad(l, r, value, xs):
            return layout.pad(known(l), known(r), _eval(value, env), _eval(xs, env))
        case PadEdge(edge, l, r, xs):
            left, right = known(l), known(r)
            return each(lambda leaf: layout.pad_edge(edge, left, right, leaf), _eval(xs, env))
        case Reorder(f, xs):
            array = _eval(xs, env)
            exact = replace(env, whole=INT64)  # an index function's numbers have no bounds
            index = _map(f, _numbers(count(array), INT64), exact)
            assert isinstance(index, Leaf)
            return each(lambda leaf: layout.reorder(leaf, index), array)
        case Concat(a, b):
            return layout.concat(_eval(a, env), _eval(b, env))
    raise AssertionError(f"no meaning for {type(e).__name__}")


def _numbers(n: int, whole: "np.dtype[np.generic]") -> Value:
    if n < 1:
        raise UserError(f"generate: expected an array of at least 1 element, found {n}")
    check_ceiling(n * 8)
    return from_array(np.arange(n, dtype=whole))


def _unary(op: str, a: Value, env: Env) -> Value:
    if not isinstance(a, Leaf):
        raise NotAFold
    if op in CONVERSIONS:
        return pointwise(lambda x: converted(x, CONVERSIONS[op], env.real), (a,))
    wide = a if any(x.data.dtype == INT64 for x in a.factors) else widened(a, env.whole)
    return pointwise(UNARY[op], (wide,))


def _binary(e: Expr, op: str, a: Value, b: Value, env: Env) -> Value:
    """The value of the operation e, a op b. Narrower whole numbers are widened first if the result
    is int or long; what a reduction adds to a real accumulator is made real first."""
    if op in COMPARISONS:
        if not (isinstance(a, Leaf) and isinstance(b, Leaf)):
            raise NotAFold
        return pointwise(compared(op, env.whole), (a, b))
    scalar = only_scalar(type_of(e))
    if scalar in (INT, LONG):
        whole = env.whole if scalar == INT else INT64
        a, b = (widened(x, whole) if isinstance(x, Leaf) else x for x in (a, b))
    elif not is_whole(type_of(e)) and (isinstance(a, Acc) or isinstance(b, Acc)):
        a, b = (as_real(x, env.real) if isinstance(x, Leaf) else x for x in (a, b))
    return binary(op, a, b)


def _select(e: Expr, c: Value, a: Value, b: Value, env: Env) -> Value:
    """The value of the choice e between a and b under the condition c; whole numbers are converted
    to e's type."""
    if not (isinstance(c, Leaf) and isinstance(a, Leaf) and isinstance(b, Leaf)):
        raise NotAFold
    scalar = only_scalar(type_of(e))
    if scalar in (INT, LONG):
        whole = env.whole if scalar == INT else INT64
        a, b = widened(a, whole), widened(b, whole)
    return pointwise(chosen, (c, a, b))


def _cut(instruction: Instruction, given: tuple[Value, ...], env: Env) -> Value:
    """The result of an instruction, of which the device reads only some bits of the operands and
    keeps only some of the sums; the last of the values `given` is what it adds to."""
    *factors, sums = given
    read = (_leading(instruction.read, x) for x in factors)
    return _leading(
        instruction.kept, _call(instruction.meaning, (*read, _leading(None, sums)), env)
    )


def _leading(digits: int | None, value: Value) -> Value:
    """The number or array of numbers with as many leading digits; all of them if None."""
    if not isinstance(value, Leaf):
        raise NotAFold
    return value if digits is None else pointwise(lambda x: cut_off(x, digits), (value,))


def _call(f: Lam, argument: Value, env: Env) -> Value:
    return _eval(f.body, env.bind(f.pattern, argument))


def _map(f: Lam, xs: Value, env: Env) -> Value:
    """The value of `map f xs`: all elements at once, or one half after the other if that is too
    big."""
    try:
        elements, group = enter(xs)
        return leave(_call(f, elements, env), group)
    except TooBig:
        if count(xs) == 1:
            raise
    first, second = halves(xs)
    return layout.concat(_map(f, first, env), _map(f, second, env))


def _reduce(f: Lam, init: Value, xs: Value, env: Env) -> Value:
    taken = pattern_type(f.pattern)
    assert isinstance(taken, Tuple)
    return fold(lambda acc, x: _call(f, (acc, x), env), taken.parts[0], init, xs)

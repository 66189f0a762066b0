"""The inputs of a run, and the right results for them, computed by the interpreter: one array, or
those that a tuple is made of."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explore.measure.differences import largest_difference, norm, norm_of_differences
from ir.core.conversions import CONVERSIONS
from ir.core.frozen import frozen
from ir.core.nodes import Binary, Expr, Lit, Program, Select, Unary
from ir.core.terms import over, subterms
from ir.core.type_rules import COMPARISONS, type_of
from ir.core.types import LARGEST, Scalar, is_whole, narrow_real
from ir.errors import UserError
from ir.meaning.conversions import FORMATS, Format
from ir.meaning.inputs import (
    STORED,
    Data,
    arrays_of,
    components,
    makes_whole_of_reals,
    parts_of,
    random_inputs,
    scalar_of,
)
from ir.meaning.interpret import computed, evaluate

Array = NDArray[Any]

EPSILON = float(np.finfo(np.float32).eps)
EXACT = 2.0**24  # whole numbers below this are exact in single precision
# Relative errors of right results, if nobody says otherwise: of floats, and of whole numbers that
# floats are rounded to, which may be the next one.
IN_FLOATS, ROUNDED = 1e-5, 1e-4
ROUNDINGS = 100  # of results in narrower numbers: so many roundings of one
EXACT_OPS = frozenset({"+", "-", "*", "max", "min"})


@frozen
class Expected:
    """The right output of a program for some inputs, or one array of it if it is a tuple, and the
    scale of its rounding errors.

    The scale is the largest number that the program would make if every number of an input were as
    large as that input's largest, and nothing were subtracted. Rounding errors are proportional to
    it, also where terms of a sum cancel; and there is one scale for all results, as a transform
    spreads its rounding errors over many of them. `rounding` is the number of machine epsilons that
    may be lost by arithmetic in halves or bfloats, which the interpreter rounds only where they are
    stored.
    """

    output: Array
    scale: float
    rounding: float = 0.0

    def lost(self, out: Array) -> float:
        """The largest error of `out`, relative to the scale, or to the largest right output if that
        is larger."""
        off = largest_difference(np.asarray(out), self.output)
        return _relative(off, max(self.scale, _largest(self.output))) if off else 0.0

    def agrees(self, out: Array, rounding: float) -> bool:
        """True if `out` has lost at most `rounding` machine epsilons of the scale, beside what
        narrow arithmetic loses.

        The number is meant for inputs that were drawn at random: for these, roundings partly
        cancel.
        """
        return self.lost(out) <= (rounding + self.rounding) * EPSILON


@frozen
class Reference:
    """The right results of a run: the arrays of `outputs` for random inputs, and `exact`, as many,
    for whole numbers where these are exact."""

    outputs: tuple[Array, ...]
    exact: tuple[Expected, ...] | None = None

    @property
    def alone(self) -> Array | None:
        """The result for random inputs if it is one array, else None."""
        return self.outputs[0] if len(self.outputs) == 1 else None

    def error(self, results: Data) -> float:
        """The relative error of a variant's results for the random inputs; of several arrays, the
        largest."""
        made = zip(arrays_of(results), self.outputs, strict=True)
        return max(relative_error(out, ref) for out, ref in made)


def demand_arrays(program: Program) -> Program:
    """The program itself; a UserError if one of its parameters is a tuple."""
    for p in program.params:
        if components(p.var.type) is not None:
            name = p.var.name
            raise UserError(
                f"input {name} is made of tuples, and arrays are expected: make each component a "
                "parameter of its own"
            )
    return program


def inputs_of(program: Program, seed: int, integers: bool = False) -> dict[str, Array]:
    """The inputs of a program for a seed, by the names of its parameters: reals spread evenly over
    -1 to 1, and any whole numbers; or small whole numbers if `integers`."""
    drawn = random_inputs(program, seed, integers)
    return {name: np.asarray(data) for name, data in drawn.items()}


def reference(program: Program, seed: int) -> Reference:
    """The reference of a program for a seed, by the interpreter in double precision."""
    return reference_for(program, inputs_of(program, seed), inputs_of(program, seed, integers=True))


def reference_for(
    program: Program, inputs: Mapping[str, Array], whole: Mapping[str, Array]
) -> Reference:
    """The reference of a program for two sets of its inputs: `inputs` of real numbers, and `whole`
    of whole numbers. Two threads compute them, as NumPy's operations on large arrays take one core
    each."""
    if not whole_numbers_stay_whole(program.body):
        return Reference(_held(program, _outputs(program, inputs, np.float64)))
    with ThreadPoolExecutor(2) as threads:
        real = threads.submit(_outputs, program, inputs, np.float64)
        parts = threads.submit(expected_parts, program, whole)
        single = threads.submit(_outputs, program, whole, np.float32)
    exact = parts.result()
    outputs = _held(program, real.result())
    return Reference(outputs, exact if all(map(_is_exact, exact, single.result())) else None)


def _is_exact(exact: Expected, single: Array) -> bool:
    """True if the right results `exact` for whole numbers are exact in single precision: `single`,
    which was computed in it, equals them, and no number is so large that single precision lacks
    whole numbers below it."""
    return np.array_equal(exact.output, single) and bool(_largest(single) < EXACT)


def expected(program: Program, inputs: Mapping[str, Array]) -> Expected:
    """The right output of a program that gives one array, for these inputs, with the scale of its
    rounding errors."""
    (only,) = expected_parts(program, inputs)
    return only


def expected_parts(program: Program, inputs: Mapping[str, Array]) -> tuple[Expected, ...]:
    """The right arrays of a program's result for these inputs (one, or those of a tuple), each with
    the scale of its rounding errors; the interpreter computes them in double precision."""
    alike = {name: np.full_like(data, _largest(data)) for name, data in inputs.items()}
    sizes = arrays_of(computed(replace(program, body=signless(program.body)), alike))
    narrow = _narrowest(program.body)
    outputs = _outputs(program, inputs, np.float64)
    return tuple(_scaled(out, size, narrow) for out, size in zip(outputs, sizes, strict=True))


def _scaled(output: Array, size: Array, narrow: Format | None) -> Expected:
    """The expected output `output`, with its scale: the largest number in `size`, which is the
    output if each input held its largest number everywhere and nothing were subtracted. `narrow` is
    the narrowest format that it is computed in (None: none narrower than float)."""
    scale = _largest(size)
    scale = scale if np.isfinite(scale) else 0.0
    if narrow is None or scale <= 2.0**narrow.digits:
        return Expected(output, scale)
    return Expected(
        output, scale, 2 * _unit(narrow) / EPSILON
    )  # of what is made, and what is right


def largest_error(program: Program, asked: float | None) -> float:
    """The largest relative error with which a program's result counts as right: `asked` if given,
    else what the narrowest numbers that the program computes with allow."""
    if asked:
        return asked
    narrow = _narrowest(program.body)
    if narrow is not None:
        return ROUNDINGS * _unit(narrow)
    return ROUNDED if makes_whole_of_reals(program) else IN_FLOATS


def _unit(narrow: Format) -> float:
    """The largest relative error of one rounding to numbers of this format."""
    return 2.0**-narrow.digits


def _narrowest(e: Expr) -> Format | None:
    """The format of the narrowest real numbers that e computes; None if they are not narrower than
    floats."""
    computed = (type_of(s) for s in subterms(e) if isinstance(s, Unary | Binary))
    narrow = {t.name for t in map(narrow_real, computed) if t is not None}
    return min((FORMATS[name] for name in narrow), key=lambda f: f.digits, default=None)


def signless(e: Expr) -> Expr:
    """The term e with all signs dropped, so that nothing in it cancels.

    Whole numbers may be used as indices: they keep their signs until they are combined with other
    numbers.
    """
    match e:
        case Binary() | Unary() | Select() | Lit() if is_whole(type_of(e)):
            return e
        case Select(_, a, b):
            return Binary("max", _size(a), _size(b))
        case Binary(op, a, b):
            return Binary("+" if op == "-" else op, _size(a), _size(b))
        case Unary("neg", a):
            return signless(a)
        case Lit(value, kind) if np.isfinite(value):
            return Lit(abs(value), kind)
    return over(signless, e)


def _size(operand: Expr) -> Expr:
    return Unary("abs", operand) if is_whole(type_of(operand)) else signless(operand)


def _outputs(program: Program, inputs: Mapping[str, Array], dtype: type) -> tuple[Array, ...]:
    return arrays_of(evaluate(program, inputs, dtype))


def _held(program: Program, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
    """The outputs of a program with infinities in place of what is beyond the largest number of
    their types."""
    types = [scalar_of(t) for _, t in parts_of(type_of(program.body))]
    return tuple(map(_within, outputs, types))


def _within(output: Array, kind: Scalar) -> Array:
    most = LARGEST.get(kind.name)
    if most is None or not (np.abs(output) > most).any():
        return output
    with np.errstate(over="ignore"):
        beyond = np.isinf(output.astype(STORED[kind.name]).astype(np.float64))
    return np.where(beyond, np.copysign(np.inf, output), output)


def whole_numbers_stay_whole(e: Expr) -> bool:
    """True if e has only sums, products, maxima and whole literals, so that whole inputs give whole
    results."""
    return all(map(_stays_whole, subterms(e)))


def _stays_whole(e: Expr) -> bool:
    match e:
        case Binary(op, _, _):
            return op in EXACT_OPS or op in COMPARISONS
        case Unary(op, _):
            return op in ("neg", "abs") or op in CONVERSIONS
        case Lit(value, _):
            return float(value).is_integer()
        case _:
            return True


def relative_error(out: Array, ref: Array) -> float:
    """The relative error norm(out - ref) / norm(ref); norm(out) where the reference is zero. Equal
    infinities, and what is no number in both, are no error; in one of them alone an infinite
    one."""
    return _relative(norm_of_differences(np.asarray(out), np.asarray(ref)), norm(ref))


def _relative(difference: float, scale: float) -> float:
    return difference / scale if scale > 0 else difference


def _largest(xs: Array) -> float:
    """The largest absolute number of an array, of those that are finite."""
    sizes = np.abs(xs, dtype=np.float64)
    most = float(sizes.max(initial=0))
    return most if np.isfinite(most) else float(sizes[np.isfinite(sizes)].max(initial=0))

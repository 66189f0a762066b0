"""The inputs of a program: what its parameters expect, checked or drawn at random."""

# key: t type, dims sizes of the arrays around it

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.core.conversions import CONVERSIONS
from ir.core.nodes import Program, Unary
from ir.core.size import Size, show_size
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import (
    RANGES,
    Array,
    Scalar,
    Tuple,
    Type,
    Vector,
    is_whole,
    show_type,
)
from ir.errors import UserError
from ir.meaning.conversions import WHOLE
from ir.text.suggest import no_such

Numbers = NDArray[np.generic]
Data = Numbers | tuple["Data", ...]
"""An array, or for tuples a tuple of what each component holds: `[(T, U)]n` is `([T]n, [U]n)`."""

DRAWN = 1 << 30  # how many random numbers are drawn at most
ENDS = 1 / 16  # of numbers from a whole range are the least or the largest
STORED: "dict[str, np.dtype[np.generic]]" = {
    **WHOLE,
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
}
if find_spec("ml_dtypes") is not None:  # a board that measures for others may lack it
    from ml_dtypes import bfloat16

    STORED["bfloat"] = np.dtype(bfloat16)


def known(n: Size) -> int:
    """The size n as an int; a UserError if tuning parameters in it have no value yet."""
    if isinstance(n, int):
        return n
    raise UserError(f"the size {show_size(n)} has no value yet: give one with --set")


def shape_of(t: Type) -> tuple[int, ...]:
    """The shape of the NumPy array for a value of type t, which must hold no tuples."""
    match t:
        case Array(elem, n):
            return (known(n), *shape_of(elem))
        case Vector(_, n):
            return (known(n),)
    return ()


def components(t: Type) -> tuple[Type, ...] | None:
    """The types of the components into which an array of tuples, or a tuple, of type t falls; None
    if t holds no tuple."""
    match t:
        case Tuple(parts):
            return parts
        case Array(elem, n):
            inner = components(elem)
            return None if inner is None else tuple(Array(part, n) for part in inner)
    return None


def parts_of(t: Type, where: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Type]]:
    """The types of the tuple-free arrays into which a value of type t falls, each with its path:
    `where`, then the numbers of the components that lead to it."""
    parts = components(t)
    if parts is None:
        yield where, t
        return
    for k, part in enumerate(parts):
        yield from parts_of(part, (*where, k))


def arrays_of(data: Data) -> tuple[Numbers, ...]:
    """The arrays that a value is made of, in the order of `parts_of`: itself, or those of its
    components."""
    if isinstance(data, tuple):
        return tuple(array for part in data for array in arrays_of(part))
    return (np.asarray(data),)


def scalar_of(t: Type) -> Scalar:
    """The scalar type of the elements of t, which must hold no tuples."""
    match t:
        case Array(elem, _):
            return scalar_of(elem)
        case Vector(scalar, _) | (Scalar() as scalar):
            return scalar
    raise AssertionError(f"{show_type(t)} holds tuples")


def cells_of(t: Type) -> int:
    """The number of scalars in a value of type t."""
    match t:
        case Array(elem, n):
            return known(n) * cells_of(elem)
        case Tuple(parts):
            return sum(map(cells_of, parts))
        case Vector(_, n):
            return known(n)
    return 1


def check_inputs(program: Program, inputs: Mapping[str, Data]) -> None:
    """Raise a UserError unless `inputs` has, for each parameter of the program and for no other
    name, an array (or a tuple of arrays) of the right shape and kind of numbers."""
    wanted = {p.var.name: p.var.type for p in program.params}
    for name in inputs:
        if name not in wanted:
            raise no_such("input", name, wanted, of=program.name)
    for name, t in wanted.items():
        if name not in inputs:
            raise UserError(f"no input given for {name} : {show_type(t)}")
        _check(name, t, inputs[name])


def _check(name: str, t: Type, found: Data) -> None:
    parts = components(t)
    if parts is not None:
        if not isinstance(found, tuple) or len(found) != len(parts):
            kind = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
            raise UserError(
                f"input {name} : {show_type(t)} needs a tuple of {len(parts)} arrays, one for each "
                f"component; found {kind}"
            )
        for i, (part, data) in enumerate(zip(parts, found, strict=True)):
            _check(f"{name}.{i}", part, data)
        return
    if not isinstance(found, np.ndarray | np.generic):
        raise UserError(
            f"input {name} : {show_type(t)} needs an array, found {type(found).__name__}"
        )
    if found.shape != shape_of(t):
        raise UserError(
            f"input {name} : {show_type(t)} has shape {shape_of(t)}, found an array of shape "
            f"{found.shape}"
        )
    scalar = scalar_of(t)
    kinds = "iu" if scalar.name in RANGES else "fiu"
    if found.dtype.kind not in kinds and (kinds == "iu" or found.dtype != STORED["bfloat"]):
        wanted = "whole" if kinds == "iu" else "real or whole"
        raise UserError(
            f"input {name} : {show_type(t)} cannot be given as {found.dtype}: expected {wanted} "
            "numbers"
        )
    if scalar.name in RANGES:
        _check_range(name, t, found)


def _check_range(name: str, t: Type, found: Numbers) -> None:
    """Raise a UserError if a number in `found`, the array for the parameter `name`, is outside the
    range of the type t."""
    least, most = RANGES[scalar_of(t).name]
    for end in (int(found.min(initial=0)), int(found.max(initial=0))):
        if not least <= end <= most:
            raise UserError(
                f"input {name} : {show_type(t)} holds {end}, "
                f"expected numbers from {least} to {most}"
            )


def random_inputs(
    program: Program, seed: int, integers: bool = True, small: bool | None = None
) -> dict[str, Data]:
    """Random inputs for a program, by parameter, the same for the same seed, rounded as a device
    would store them.

    If `integers`, whole numbers from -3 to 3 (from 0 for types without a sign), so that sums are
    exact in any order; else reals spread evenly over -1 to 1. Whole types get such `small` numbers,
    too (if None: where reals do), or any numbers of their ranges. Where reals become whole numbers,
    bytes alone are drawn so: sums of larger ones are rounded, not by all kernels in the same way,
    and might become other whole numbers.
    """
    demand_few(program)
    rng = np.random.default_rng(seed)
    few = integers if small is None else small
    widest = 0 if few else 1 if makes_whole_of_reals(program) else 8
    return {p.var.name: _draw(p.var.type, rng, integers, widest) for p in program.params}


def makes_whole_of_reals(program: Program) -> bool:
    """True if a program makes whole numbers of real ones."""
    every = (e for e in subterms(program.body) if isinstance(e, Unary) and e.op in CONVERSIONS)
    return any(is_whole(CONVERSIONS[e.op].target) and not is_whole(type_of(e.e)) for e in every)


def demand_few(program: Program) -> None:
    """Raise a UserError for a program whose inputs have more numbers than `random_inputs` draws."""
    cells = sum(cells_of(p.var.type) for p in program.params)
    if cells > DRAWN:
        raise UserError(
            f"the inputs of {program.name} have {cells:,} numbers: at most {DRAWN:,} are drawn at "
            "random"
        )


def _draw(t: Type, rng: np.random.Generator, integers: bool, widest: int) -> Data:
    """Random data of type t; whole types of at most `widest` bytes get any numbers, others small
    ones."""
    parts = components(t)
    if parts is not None:
        return tuple(_draw(part, rng, integers, widest) for part in parts)
    scalar, shape = scalar_of(t), shape_of(t)
    dtype = STORED[scalar.name]
    if scalar.name in RANGES and dtype.itemsize <= widest:
        return any_numbers(dtype, shape, rng, ENDS)
    if integers or scalar.name in RANGES:
        unsigned = scalar.name.startswith("u")
        drawn: Numbers = rng.integers(0 if unsigned else -3, 4, shape)
    else:
        drawn = rng.uniform(-1, 1, shape)
    return np.asarray(drawn).astype(dtype)


def any_numbers(
    dtype: "np.dtype[Any]", shape: tuple[int, ...], rng: np.random.Generator, ends: float
) -> Numbers:
    """Random numbers of a whole type, from its whole range; a share of them, `ends`, are the least
    or the largest."""
    held = np.iinfo(dtype)
    drawn = rng.integers(held.min, held.max, shape, dtype, endpoint=True)
    outermost = np.where(rng.random(shape) < 0.5, held.min, held.max).astype(dtype)
    return np.where(rng.random(shape) < ends, outermost, drawn).astype(dtype)


def stored(program: Program, given: Mapping[str, Data]) -> dict[str, Data]:
    """The inputs `given`, by name, converted to the types of numbers that a device stores."""
    return {p.var.name: _stored(p.var.type, given[p.var.name]) for p in program.params}


def _stored(t: Type, data: Data) -> Data:
    parts = components(t)
    if parts is not None:
        assert isinstance(data, tuple)
        return tuple(_stored(part, x) for part, x in zip(parts, data, strict=True))
    with np.errstate(over="ignore"):  # what a half does not hold is infinite
        return np.asarray(data).astype(STORED[scalar_of(t).name])

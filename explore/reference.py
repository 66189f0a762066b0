"""What is right: inputs of a run, and the interpreter's outputs for them, kept in its folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ir.errors import UserError
from ir.inputs import components, random_inputs
from ir.interpret import evaluate
from ir.nodes import Binary, Expr, Lit, Program, Unary
from ir.terms import subterms
from ir.typing import type_of

Array = NDArray[Any]

FILE = "reference.npz"
EXACT = 2.0**24  # whole numbers below this are exact in single precision
EXACT_OPS = frozenset({"+", "-", "*", "max", "min"})


@dataclass(frozen=True, slots=True)
class Reference:
    """`output` of the random inputs; `exact` of whole-number inputs, where that is exact.

    `scale`: the norm of what the program makes of the sizes of those whole numbers, with no signs
    left to cancel each other. What rounding may lose is in proportion to the terms of a sum, and
    not to the sum, which may be near zero.
    """

    output: Array
    exact: Array | None
    scale: float = 0.0

    def lost(self, out: Array) -> float:
        """norm(out - exact), relative to `scale`, or to the norm of `exact` where that is more."""
        assert self.exact is not None
        return _relative(_norm(_off(out, self.exact)), max(self.scale, _norm(self.exact)))


def demand_arrays(program: Program) -> Program:
    """The program, unless it takes or gives tuples: what is measured has arrays on both sides."""
    for p in program.params:
        if components(p.var.type) is not None:
            name = p.var.name
            raise UserError(
                f"input {name} is made of tuples: give each component an array of its own"
            )
    if components(type_of(program.body)) is not None:
        raise UserError(f"{program.name} gives a tuple: expected one array")
    return program


def inputs_of(program: Program, seed: int, integers: bool = False) -> dict[str, Array]:
    """Numbers spread evenly over -1 to 1, or whole numbers; the same for the same seed."""
    drawn = random_inputs(program, seed, integers)
    return {name: np.asarray(data) for name, data in drawn.items()}


def reference(program: Program, seed: int) -> Reference:
    """By the interpreter, in double precision."""
    output = _output(program, inputs_of(program, seed), np.float64)
    if not whole_numbers_stay_whole(program.body):
        return Reference(output, None)
    given = inputs_of(program, seed, integers=True)
    exact = _output(program, given, np.float64)
    single = _output(program, given, np.float32)
    fits = np.array_equal(exact, single) and bool(np.abs(exact).max(initial=0) < EXACT)
    if not fits:
        return Reference(output, None)
    sizes = {name: np.abs(data) for name, data in given.items()}
    return Reference(output, exact, _norm(_output(program, sizes, np.float64)))


def _output(program: Program, inputs: Mapping[str, Array], dtype: type) -> Array:
    return np.asarray(evaluate(program, inputs, dtype))


def whole_numbers_stay_whole(e: Expr) -> bool:
    """Whether only sums, products, maxima and whole literals make the result."""
    return all(map(_stays_whole, subterms(e)))


def _stays_whole(e: Expr) -> bool:
    match e:
        case Binary(op, _, _):
            return op in EXACT_OPS
        case Unary(op, _):
            return op in ("neg", "abs")
        case Lit(value, _):
            return float(value).is_integer()
        case _:
            return True


def stored_reference(program: Program, seed: int, folder: Path) -> Path:
    """The file with the reference, computed if it is not there yet."""
    file = folder / FILE
    if not _holds_reference(file):
        found = reference(program, seed)
        if not np.isfinite(found.output).all():
            raise UserError(
                f"{program.name} gives numbers that are not finite for inputs from -1 to 1: "
                "no variant could be checked against them"
            )
        part = file.with_name(".part-" + FILE)
        arrays = {"output": found.output, "scale": np.float64(found.scale)}
        if found.exact is not None:
            arrays["exact"] = found.exact
        try:
            with part.open("wb") as out:
                np.savez(out, **arrays)  # type: ignore[arg-type]
            os.replace(part, file)
        except OSError as error:
            raise UserError(f"cannot write {file}: {error.strerror}") from error
    return file


def _holds_reference(file: Path) -> bool:
    """Whether it is there and can be read."""
    try:
        load_reference(file)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return False
    return True


def load_reference(file: Path) -> Reference:
    """What `stored_reference` wrote."""
    with np.load(file, allow_pickle=False) as arrays:
        return Reference(arrays["output"], arrays.get("exact"), float(arrays["scale"]))


def relative_error(out: Array, ref: Array) -> float:
    """norm(out - ref) / norm(ref); of a zero reference, the norm itself."""
    return _relative(_norm(_off(out, ref)), _norm(ref))


def _off(out: Array, ref: Array) -> Array:
    return np.asarray(out, np.float64).ravel() - ref.ravel()


def _relative(difference: float, scale: float) -> float:
    return difference / scale if scale > 0 else difference


def _norm(xs: Array) -> float:
    """Not BLAS's: the threads that it keeps awake cost more, and disturb what is timed next."""
    return float(np.sqrt(np.square(xs).sum()))

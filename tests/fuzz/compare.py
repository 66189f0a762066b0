"""The comparison of numbers from a device with those of the interpreter."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from explore.measure.reference import EPSILON, EXACT, signless
from ir.core.nodes import Lit, Program, Unary, Var
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import BFLOAT, HALF, Scalar, is_whole, leaves
from ir.meaning.inputs import Data, makes_whole_of_reals
from ir.meaning.interpret import evaluate
from tests.fuzz.wide_inputs import wide_inputs
from tests.support.agreement import alike, arrays

LARGEST_HALF = 65504.0
HELD = {"half": 2.0**11, "bfloat": 2.0**8}  # whole numbers below this are exact
LOST = {"float": 1e-5, "half": 2e-2, "bfloat": 0.16}  # of the largest, by functions and sums
SHAKEN = 100.0  # times what single precision loses in the interpreter

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The right results of a program for its inputs: the arrays, the largest absolute number that
    occurs in computing them (`scale`), and for each array how far results in single precision are
    off (`shaken`).

    `ints` says which arrays have whole numbers for elements; `exact`, that every number is whole,
    and small enough that nothing is rounded.
    """

    inputs: Mapping[str, Data]
    arrays: tuple[Numbers, ...]
    scale: float
    shaken: tuple[float, ...]
    ints: tuple[bool, ...]
    of_reals: bool  # whole numbers are made of real ones: what is rounded may become the next
    narrowest: str  # of the real types that occur

    @property
    def exact(self) -> bool:
        whole = all(bool((x == np.round(x)).all()) for x in self.arrays)
        return whole and not any(self.shaken) and self.scale < self.most

    def allowed(self, k: int, rounding: float) -> float:
        """The largest error that is allowed in the k-th array, if kernels may lose up to `rounding`
        machine epsilons."""
        known = rounding * EPSILON * self.scale
        if self.ints[k]:
            return 1.0 if rounding and self.of_reals else 0.0
        if self.exact:
            return known
        return known + LOST[self.narrowest] * self.scale + SHAKEN * self.shaken[k]

    @property
    def most(self) -> float:
        return HELD.get(self.narrowest, EXACT)


@lru_cache(maxsize=1)
def wanted(program: Program, seed: int) -> Wanted | None:
    """The right results of a program, by the interpreter, for random inputs drawn with `seed`; None
    if a number in them, or their scale, is infinite or NaN, or would be in a program of halves."""
    inputs = wide_inputs(program, seed)
    sizes = replace(program, body=signless(program.body))
    with np.errstate(all="ignore"):
        meant = arrays(evaluate(program, inputs))
        single = arrays(evaluate(program, inputs, np.float32))
        large = arrays(evaluate(sizes, {name: alike(x) for name, x in inputs.items()}))
    scale = max(largest([*large, *meant]), 1.0)
    if not np.isfinite(scale) or (holds(program, HALF) and scale > LARGEST_HALF):
        return None
    shaken = tuple(largest([a - b]) for a, b in zip(meant, single, strict=True))
    ints = tuple(is_whole(leaf) for leaf in leaves(type_of(program.body)))
    of_reals = makes_whole_of_reals(program)
    return Wanted(inputs, tuple(meant), scale, shaken, ints, of_reals, narrowest(program))


def largest(found: list[Numbers]) -> float:
    return max((float(np.abs(x).max(initial=0)) for x in found), default=0.0)


def narrowest(program: Program) -> str:
    """The name of the least precise real type that occurs in a program: bfloat, half or float."""
    return next((t.name for t in (BFLOAT, HALF) if holds(program, t)), "float")


def holds(program: Program, scalar: Scalar) -> bool:
    """True if a number of this scalar type occurs in a program: in a variable, a literal or a
    conversion."""
    named = (e for e in subterms(program.body) if isinstance(e, Var | Lit | Unary))
    return any(leaf == scalar for e in named for leaf in leaves(type_of(e)))


def disagreement(found: Data, meant: Wanted, rounding: float) -> str | None:
    """A message that says how far the numbers `found` are off from the right ones, if they are
    further off than allowed; else None. `rounding` is the known error, in machine epsilons, of the
    way they were made.

    Whole numbers that are exact may be off by the known error alone.
    """
    for k, (out, right) in enumerate(zip(arrays(found), meant.arrays, strict=True)):
        if out.shape != right.shape:
            return f"has shape {out.shape}, expected {right.shape}"
        off, allowed = largest([out - right]), meant.allowed(k, rounding)
        if not off <= allowed:
            at = np.unravel_index(int(np.argmax(~(np.abs(out - right) <= allowed))), out.shape)
            place = list(map(int, at))
            return f"is {out[at]:.9g} at {place}, expected {right[at]:.9g} (± {allowed:.2g})"
    return None

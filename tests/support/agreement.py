"""Programs to run on devices, and the check that their results are those of the interpreter.

`oclgrind --data-races python -m tests.support.agreement` runs them on the simulator and prints what
does not agree; the simulator reports its own findings. A first argument chooses other programs:
`single` those of one kernel, `faulty` three kernels with a fault each.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import numpy as np

from codegen.compile import Generated, generate
from codegen.plan import Buffer, Kernel, Plan, Role
from codegen.runtime.session import Session, choose, open_device
from constraints.devices import profile
from explore.measure.reference import EPSILON, IN_FLOATS, Expected, largest_error
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.nodes import Program
from ir.meaning.inputs import Data, makes_whole_of_reals, random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse, parse_file
from rewrites.engine.refused import Refused
from rewrites.families.all_families import forms
from rewrites.tuning.family import Form
from rewrites.tuning.lower import lower
from rewrites.tuning.lowering import Lowering
from tests.support.families import BILINEAR, CHAINS, LOWERING
from tests.support.lowered_programs import PROGRAMS

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = {
    "alexnet": {"C": 2, "W": 19, "M": 3},
    "attention": {"N": 5, "L": 6, "D": 4, "E": 3},
    "avgpool": {"C": 3, "W": 6, "H": 8},
    "batched": {"N": 2, "C": 3, "W": 4, "H": 5, "M": 2},
    "blur": {"W": 9, "H": 7},
    "blur_separable": {"W": 9, "H": 7},
    "causal_attention": {"N": 5, "D": 4, "E": 3},
    "conv_transpose2d": {"C": 3, "W": 4, "H": 3, "M": 4},
    "conv1d": {"C": 3, "N": 12, "M": 4},
    "conv1x1": {"C": 6, "W": 4, "H": 3, "M": 5},
    "conv2d": {"C": 3, "W": 9, "H": 7, "M": 4},
    "conv3d": {"C": 2, "W": 4, "H": 3, "D": 3, "M": 2},
    "depthwise": {"C": 3, "W": 5, "H": 4},
    "dilated": {"C": 2, "W": 7, "H": 6, "M": 3},
    "dot": {"N": 40},
    "fully_connected": {"N": 24, "M": 10},
    "grouped": {"C": 4, "W": 4, "H": 5, "M": 6, "G": 2},
    "half_conv": {"C": 3, "W": 5, "H": 4, "M": 4},
    "half_depthwise": {"C": 3, "W": 5, "H": 4},
    "inverted_residual": {"C": 3, "W": 8, "E": 6, "M": 4},
    "matmul": {"M": 6, "N": 10, "K": 8},
    "maxpool": {"C": 3, "W": 9, "H": 7},
    "mec": {"C": 4, "W": 5, "M": 6},
    "qlinear_conv": {"C": 3, "W": 5, "H": 4, "M": 4},
    "quickstart": {"C": 3, "W": 5, "H": 4, "M": 4},
    "resize_conv": {"C": 2, "W": 4, "H": 3, "M": 3},
    "resnet": {"C": 2, "W": 12, "M": 3},
    "separable": {"C": 4, "W": 6, "M": 5},
    "softmax": {"M": 3, "N": 10},
    "stencil5": {"W": 9, "H": 7},
    "tflite_conv": {"C": 3, "W": 5, "H": 4, "M": 4},
    "vgg": {"C": 3, "W": 6, "M": 4},
}
FAMILIES = (*LOWERING, *CHAINS, *BILINEAR)  # the others are made of these
EXACT = 1e-12  # less than any digit of single precision; cos(pi / 2) is no zero
APART = "zero-points"  # forms of quantised programs without zero points in their sums
WRITTEN = (*SMALL, *FAMILIES, APART)
CONVOLUTION = ("vgg", {"C": 4, "W": 8, "M": 8})
OTHERWISE = {  # of families that are not for one convolution
    "strassen": ("matmul", {"M": 8, "N": 16, "K": 8}),
    "fused": ("inverted_residual", {"C": 3, "W": 8, "E": 6, "M": 4}),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A program called `name`, its kernels `made` by a way of lowering, and `rounding`: by how many
    machine epsilons their results may be off."""

    name: str
    program: Program
    made: Generated
    rounding: float = 0.0  # machine epsilons that the way may lose on whole numbers


def example(name: str, sizes: dict[str, int]) -> Program:
    return parse_file(EXAMPLES / f"{name}.lift", sizes)


def written(name: str) -> Iterator[Case]:
    """The cases that `name` stands for: for an example, one, by the family `naive`; for a family,
    those of a small program that it is meant for; for `zero-points`, those of the quantised
    examples, by forms that have this word in their names."""
    if name in FAMILIES:
        yield from lowered(name)
    elif name == APART:
        yield from without_zero_points()
    else:
        program = example(name, SMALL[name])
        yield Case(name, program, generate(lowering(program, "naive").program, max_work_group=64))


def lowered(family: str) -> Iterator[Case]:
    """The cases of a family for one small program, each at one point: by the first and by the last
    of the family's forms that apply to the program. The last one has more traits."""
    program = example(*OTHERWISE.get(family, CONVOLUTION))
    every = forms(program, family)
    first, last = (next(_lowered(program, family, some)) for some in (every, every[::-1]))
    for form, low in {form.name: (form, low) for form, low in (first, last)}.values():
        yield from _cases(family, program, form, low, 1)


def shortest(family: str) -> Case:
    """The case of a family for one small program whose kernels have the shortest text: by the first
    form that applies, at one of eight points."""
    program = example(*OTHERWISE.get(family, CONVOLUTION))
    form, low = next(_lowered(program, family, forms(program, family)))
    return min(_cases(family, program, form, low, 8), key=lambda case: len(case.made.plan.source))


def _cases(family: str, program: Program, form: Form, low: Lowering, count: int) -> Iterator[Case]:
    """The cases of a program lowered by a form of a family, at up to `count` points."""
    _, drawn = points(low, profile("cpu"), count, seed=0)
    for point in drawn:
        made = generate(bound(low.program, point), max_work_group=64)
        yield Case(f"{family} {form.name}".strip(), program, made, low.derivation.rounding)


def without_zero_points() -> Iterator[Case]:
    """The cases of the quantised examples, each example by four forms that take zero points out of
    sums: the first such form of `lift`, of `registers` and of `blocked`, and the first one of
    `registers` by dot products."""
    wanted = (("lift", ""), ("registers", ""), ("blocked", ""), ("registers", "dot-"))
    for name, (family, word) in product(("qlinear_conv", "tflite_conv"), wanted):
        program = example(name, SMALL[name] | {"C": 4})
        every = (form for form in forms(program, family) if APART in form.words)
        some = [form for form in every if form.name.startswith(word)]
        form, low = next(_lowered(program, family, some))
        _, (point,) = points(low, profile("cpu"), 1, seed=0)
        made = generate(bound(low.program, point), max_work_group=64)
        yield Case(f"{name} {family} {form.name}", program, made)


def _lowered(
    program: Program, family: str, some: Sequence[Form]
) -> Iterator[tuple[Form, Lowering]]:
    for form in some:
        with suppress(Refused):
            yield form, lower(program, form)


def by_hand() -> Iterator[Case]:
    """A case for each of the hand-written lowered programs of lowered_programs.py."""
    for name, text in PROGRAMS.items():
        program = parse(text)
        made = generate(program, max_work_group=64)
        yield Case(name, program, made)


def every() -> tuple[Case, ...]:
    return (*chain.from_iterable(map(written, WRITTEN)), *by_hand())


def disagreement(session: Session, case: Case, integers: bool) -> str | None:
    """A message if a device's result of a case is too far from the interpreter's, otherwise None.
    With `integers`, inputs are whole numbers."""
    inputs = random_inputs(case.program, 1, integers)
    found = session.build(case.made.plan, checking=True)(inputs)
    return difference(case, inputs, found, session.device.platform)


def difference(case: Case, inputs: dict[str, Data], result: Data, where: str) -> str | None:
    """A message if the result of a case for these inputs, made on the device called `where`, is too
    far from the interpreter's, otherwise None. Whole numbers may be off only by the case's rounding
    (by one more if its program makes whole numbers of reals), others by as much as `_near` says."""
    found, expected = arrays(result), arrays(evaluate(case.program, inputs))
    sizes = arrays(evaluate(case.program, {name: alike(x) for name, x in inputs.items()}))
    for out, meant, size in zip(found, expected, sizes, strict=True):
        right = Expected(meant, float(np.abs(size).max(initial=0)))
        away = right.lost(out)
        exact = bool((meant == np.round(meant)).all())
        lost = EXACT + case.rounding * EPSILON if exact else _near(case.program)
        if case.rounding and makes_whole_of_reals(case.program):
            lost += right.lost(meant + 1)
        if out.shape != meant.shape or not away <= lost:
            return f"{case.name} is {away:.2g} away on {where}"
    return None


def _near(program: Program) -> float:
    """The largest relative error that is allowed in results of the program that are not whole
    numbers: what runs allow for floats; for narrower numbers, a tenth of what runs allow."""
    return max(IN_FLOATS, largest_error(program, None) / 10)


def alike(x: Data) -> Data:
    """The data with every number replaced by the largest absolute value in its array."""
    if isinstance(x, tuple):
        return tuple(map(alike, x))
    largest = np.abs(x.astype(np.float64)).max()
    if x.dtype.kind in "iu":  # the least of a signed type has no opposite there
        most = 2 ** (8 * x.dtype.itemsize - (x.dtype.kind == "i")) - 1
        return np.full_like(x, min(int(largest), most))
    return np.full_like(x, largest)


def arrays(result: Data) -> list[np.ndarray]:
    """The arrays of a result, which may be nested tuples, in double precision."""
    if isinstance(result, tuple):
        return [array for part in result for array in arrays(part)]
    return [np.asarray(result).astype(np.float64)]


FAULTS = {
    "race": "t[i] = x[i]; z[i] = t[15 - i];",
    "outside": "z[i + 1] = x[i];",
    "uninitialized": "z[i] = t[i] > 0 ? x[i] : 1;",
}


def faulty(name: str) -> Plan:
    """A plan of one kernel with the fault called `name`: a race, an access outside of a buffer, or
    a read of memory that was not written. Its one work-group of 16 work-items has a local array
    t."""
    source = f"""kernel void {name}(global const float *x, global float *z) {{
      local float t[16]; int i = get_local_id(0); {FAULTS[name]} }}"""
    x, z = (Buffer(n, "float", (16,), 64, r) for n, r in (("x", Role.INPUT), ("z", Role.OUTPUT)))
    launch = Kernel(name, (16, 1, 1), (16, 1, 1), ("x", "z"), False, source)
    return Plan((launch,), (x, z), 128, 0)


def main(which: str = "all") -> None:
    session = open_device(choose(None))
    print(session.device.name)
    if which == "faulty":
        for name in FAULTS:
            session.build(faulty(name))({"x": np.ones(16, np.float32)})
        return
    for case in every():
        if which == "all" or len(case.made.kernels) == 1:
            print(disagreement(session, case, integers=True) or "", end="")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Tests that the kernels which inference finds in a program are those that its plan launches."""

from pathlib import Path

import pytest

from codegen.compile import generate
from constraints.devices import CPU
from constraints.quantities.kernels import kernels
from explore.space.derive_form import points
from explore.space.lowering import bound, lowering
from ir.core.cut_kernels import stages
from ir.core.nodes import Program
from ir.parse import parse, parse_file

EXAMPLES = Path(__file__).parents[2] / "examples"
EVERY = ("lift", "lift vectors unrolled", "registers", "blocked", "blocked split")
CASES = {
    "attention": (*EVERY, "lift stored-sums"),
    "matmul": EVERY,
    "quickstart": (*EVERY, "registers padded relaid"),
    "softmax": EVERY[:-1],
}


def launched(program: Program) -> list[tuple[int, bool]]:
    """For each kernel of the program's plan, the number of buffers that it reads, and whether it is
    prepack."""
    return [(len(stage.reads), stage.prepack) for stage in stages(program)]


@pytest.mark.parametrize(("name", "way"), [(n, w) for n, ways in CASES.items() for w in ways])
def test_a_form_has_the_kernels_of_each_of_its_points(name: str, way: str) -> None:
    """The kernels inferred for a form, whose parameters are open, are those of the plan at each of
    some points."""
    family, _, form = way.partition(" ")
    low = lowering(parse_file(EXAMPLES / f"{name}.lift"), family, form)
    inferred = [(len(k.reads), k.prepack) for k in kernels(low.program)]
    _, found = points(low, CPU, 3, seed=1)
    assert found
    for point in found:
        assert launched(bound(low.program, point)) == inferred


TWICE = """f(xs : [float]8) =
  let! ys = store(mapGlobal(0)(x -> x * 2.0, xs))
  let! zs = transpose(split(4, ys))
  zip(join(store(mapGlobal(0)(z -> mapSeq(x -> x + 1.0, z), zs))),
      join(store(mapGlobal(0)(z -> mapSeq(x -> x + 1.0, z), transpose(split(4, ys))))))
"""


def test_a_store_is_one_kernel_however_a_view_of_it_is_named() -> None:
    program = parse(TWICE)
    assert len(kernels(program)) == len(generate(program).kernels) == 3

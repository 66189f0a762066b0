"""Tests of operands that several calls of an instruction have in common: they are computed once,
before the loops in which they stay the same."""

from codegen.compile import generate
from codegen.demand_proofs import demand_proofs
from codegen.memory.shared_operands import with_shared_operands
from codegen.tree.kernel_values import loads
from codegen.tree.statements import Declare, For, Kernel, Store, calls, statements
from explore.space.lowering import bound
from ir.parse import parse
from rewrites.families.all_families import form_named
from rewrites.tuning.lower import lower
from tests.rewrites.test_matrix import program

POINT = {"tx": 3, "ty": 3, "tp": 8, "tr": 3, "sr": 1, "sc": 1, "k": 1, "rp": 0, "s": 16}


def gradient() -> Kernel:
    """The kernel of a weight gradient whose lanes gather eight numbers of the cotangent for each of
    three tiles, and multiply their parts by 9 tiles of an image at 16 places."""
    p = program("gradients/vgg_weights.lift", {"C": 8, "W": 32, "M": 48})
    low = lower(p, form_named(p, "matrix", "mma-bf16 patch sums-of-4 split parts"))
    generated = generate(bound(low.program, POINT))
    demand_proofs(generated)
    return generated.kernels[0]


def test_what_lanes_gather_is_gathered_once_for_all_products_with_it() -> None:
    kernel = gradient()
    assert all(len([*loads(e)]) == 1 for call in calls(kernel) for e in call.arguments)
    stores = [s for s in statements(kernel.body) if isinstance(s, Store)]
    gathered = [s for s in stores if _reads(s, "cotangent_")]
    assert [s.memory.shape for s in gathered] == [(3, 8), (3, 8)]  # high and low parts of the tiles


def _reads(s: Store, name: str) -> bool:
    return any(load.memory.name == name for load in loads(s.value))


def test_shared_operands_stand_before_the_innermost_loops_that_leave_them_alone() -> None:
    """Around the products are two loops over places, one over nine tiles of columns and one over
    three tiles of rows. What lanes gather changes with places and rows: it stands before the loop
    over columns."""
    nests = [s for s in statements(gradient().body) if isinstance(s, For) and _gathers(s)]
    inner = nests[-1]  # the loop over the second coordinate of places
    kinds = [type(s).__name__ for s in inner.body.statements]
    assert (inner.count, kinds) == (4, ["Declare", "Declare", "For", "For"])
    assert [s.count for s in inner.body.statements if isinstance(s, For)] == [3, 9]


def _gathers(s: For) -> bool:
    """True if s declares a variable for what lanes gather, directly in its body."""
    declared = (each for each in s.body.statements if isinstance(each, Declare))
    return any(each.memory.name.startswith("cotangent_") for each in declared)


def test_a_kernel_without_instructions_stays_as_it_is() -> None:
    plain = generate(parse("f(xs : [float]8) = mapGlobal(0)(x -> x * 2.0, xs)")).kernels[0]
    assert with_shared_operands(plain) is plain

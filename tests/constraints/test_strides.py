"""Tests of the distances between neighbouring elements in memory, which are followed through views;
and of the loads that vectors take by them, compared with the accesses of generated kernels."""

from math import prod
from pathlib import Path

import pytest

from codegen.compile import generate
from codegen.proof.footprint import footprint
from codegen.tree.memories import Space
from codegen.tree.statements import Kernel
from constraints.devices import CPU
from constraints.quantities.quantities import quantities
from constraints.quantities.strides import Run, Strides, row_major, viewed
from explore.space.derive_form import points
from explore.space.kernel_features import done_at
from explore.space.lowering import bound
from explore.space.lowering import lowering as lowered
from ir.core.nodes import AsScalar, AsVector, Expr, Join, Slide, Split, Transpose, Var
from ir.core.size import named
from ir.core.types import FLOAT, Array
from ir.parse import parse, parse_file

ROOT = Path(__file__).resolve().parents[2]
LAYER = parse_file(ROOT / "examples/vgg.lift", {"C": 8, "W": 14, "H": 14, "M": 16})
N, M = named("n"), named("m")
ROWS = Var("rows", Array(Array(FLOAT, N), 12))


def strides(*views: type[Transpose] | type[Join]) -> Strides:
    """The places of 12 rows of n floats, seen through these views, the last one first."""
    return _places(_through(views))


def _through(views: tuple[type[Transpose] | type[Join], ...]) -> Expr:
    return views[0](_through(views[1:])) if views else ROWS


def _places(e: Expr) -> Strides:
    match e:
        case Var():
            return row_major(e.type)
        case (
            Transpose(xs)
            | Join(xs)
            | Split(_, xs)
            | Slide(_, _, xs)
            | AsVector(_, xs)
            | AsScalar(xs)
        ):
            return viewed(e, _places(xs))
    raise AssertionError(e)


def test_rows_lie_one_after_the_other() -> None:
    assert strides().axes == ((Run(12, N),), (Run(N, 1),))
    assert strides(Transpose).axes == ((Run(N, 1),), (Run(12, N),))
    assert strides(Join).axes == ((Run(12 * N, 1),),)


def test_columns_one_after_the_other_are_two_runs() -> None:
    assert strides(Join, Transpose).axes == ((Run(N, 1), Run(12, N)),)


def test_chunks_of_joined_columns_are_the_columns_again() -> None:
    again = _places(Split(12, Join(Transpose(ROWS))))
    assert again.axes == ((Run(N, 1),), (Run(12, N),))
    assert _places(Split(4, Join(Transpose(ROWS)))).axes == (
        (Run(N, 1), Run(3, 4 * N)),
        (Run(4, N),),
    )
    assert _places(Split(24, Join(Transpose(ROWS)))).axes[1] == (Run(2, 1), Run(12, N))


def test_windows_overlap() -> None:
    assert _places(Slide(3, 2, Join(ROWS))).axes[1:] == ((Run(3, 1),),)
    assert _places(Slide(3, 2, Join(ROWS))).axes[0][0].step == 2


@pytest.mark.parametrize(
    ("vectors", "lane"),
    [
        (AsVector(4, Join(ROWS)), 1),
        (AsVector(4, ROWS), N),
        (AsVector(4, Join(Transpose(ROWS))), N),
        (AsVector(24, Join(Transpose(ROWS))), None),
        (AsVector(2, AsScalar(AsVector(4, Join(ROWS)))), 1),
    ],
)
def test_lanes_of_a_vector_are_neighbours_along_its_array(vectors: Expr, lane: object) -> None:
    assert _places(vectors).lane == lane


@pytest.mark.parametrize(
    ("vectors", "loads"),
    [
        ("join(xs)", 32),
        ("join(transpose(xs))", 128),
        ("join(join(transpose(map(row -> split(4, row), xs))))", 32),
        ("join(map(row -> reorder(i -> 15 - i, row), xs))", 128),
        ("join(map(row -> pad_clamp(2, 2, row), map(row -> pad_clamp(-2, -2, row), xs)))", 32),
        ("map(row -> at(3, row), map(row -> join(transpose(split(2, row))), zs))", 128),
    ],
)
def test_a_vector_takes_one_load_where_its_numbers_lie_side_by_side(
    vectors: str, loads: int
) -> None:
    p = parse(f"""f(xs : [[float]16]8, zs : [[float]16]128) =
      asScalar(mapGlobal(0)(vectorized x -> x + x, asVector(4, {vectors})))""")
    assert done_at(quantities(p).kernels[-1], {}).loads == loads


def test_whether_numbers_lie_side_by_side_may_depend_on_a_parameter() -> None:
    p = parse("""f(xs : [[float]n]8) =
      asScalar(mapGlobal(0)(vectorized x -> x + x, asVector(4, join(transpose(xs)))))
    where n = ?""")
    kernel = quantities(p).kernels[-1]
    assert [done_at(kernel, {"n": n}).loads for n in (1, 2)] == [2, 16]


FORMS = [
    ("registers", ""),
    ("registers", "relaid"),
    ("registers", "items vector-loads"),
    ("registers", "padded relaid items vector-loads"),
    ("registers", "padded relaid tall"),
    ("registers", "im2win"),
    ("blocked", ""),
    ("blocked", "padded split"),
    ("io-optimal", "relaid"),
    ("winograd", "F4 fused"),
]


@pytest.mark.parametrize(("family", "form"), FORMS)
def test_loads_counted_on_terms_are_those_of_the_kernels(family: str, form: str) -> None:
    """The loads of a vector are counted apart where the kernel makes it of numbers that it loads
    one by one."""
    low = lowered(LAYER, family, form)
    known = quantities(low.program).kernels
    for point in points(low, CPU, 2, 0)[1]:
        made = generate(bound(low.program, point), max_work_group=CPU.group_items)
        for counted, kernel, launch in zip(known, made.kernels, made.plan.kernels, strict=True):
            if not launch.prepack:
                loads = done_at(counted, point).loads
                assert 0.9 <= loads / (_loads(kernel) * prod(launch.global_size)) <= 1.25


def _loads(kernel: Kernel) -> int:
    """The number of loads that a work-item of a kernel makes from global and local memory."""
    return sum(
        prod(turns for _, turns in access.where.loops)
        for access in footprint(kernel).accesses
        if not access.writes and access.memory.space is not Space.PRIVATE
    )

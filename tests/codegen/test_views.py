"""Tests of views without a device: through random chains of layouts, elements are read and written
where the interpreter says.

Each chain is read twice: at indices that are numbers, and at variables whose values are put in
afterwards, which also tests the simplification of indices.
"""

# key: e term, t type, rng random numbers, n sizes

import random
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from codegen.emit.emitter import Emitter
from codegen.emit.read_views import ArrayView, TupleView, View
from codegen.emit.scope import Scope
from codegen.emit.write_places import NOWHERE, ArrayPlace, Cell, Place, laid, view_of
from codegen.emit.write_views import outward
from codegen.index.condition import holds
from codegen.index.index import as_index, var
from codegen.index.substitute import evaluate as number
from codegen.tree.array_axes import someones
from codegen.tree.kernel_values import Broadcast, Build, Load, Number, Select, Value
from codegen.tree.memories import Memory, Space
from ir.core.nodes import (
    AsScalar,
    AsVector,
    At,
    Concat,
    Edge,
    Expr,
    Join,
    Lam,
    Lit,
    Map,
    Pad,
    PadEdge,
    Param,
    Program,
    Reorder,
    SizeOf,
    Slide,
    Split,
    Transpose,
    Var,
)
from ir.core.nodes import Binary as BinaryOp
from ir.core.terms import lam, substitute
from ir.core.type_rules import type_of
from ir.core.types import FLOAT, INT, Array, Type
from ir.core.types import Vector as VectorType
from ir.meaning.inputs import shape_of
from ir.meaning.interpret import evaluate

XS = Var("xs", Array(Array(FLOAT, 12), 8))


def steps(e: Expr, rng: random.Random) -> Iterator[Expr]:
    """A term for each of several layout primitives, applied to e with random sizes."""
    t = type_of(e)
    assert isinstance(t, Array)
    n, inner = t.size, t.elem
    assert isinstance(n, int)
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    yield Split(rng.choice(divisors), e)
    size = rng.randint(1, min(n, 4))
    yield Slide(size, rng.randint(1, 3), e)
    yield Pad(rng.randint(-1, 2), rng.randint(0, 2), Lit(7.0, FLOAT), e)
    edge = rng.choice([Edge.CLAMP, Edge.MIRROR, Edge.WRAP])
    yield PadEdge(edge, rng.randint(-1, n), rng.randint(0, n), e)
    yield Concat(e, e)
    yield Reorder(permutation(n, rng), e)
    yield At(rng.randrange(n), e) if isinstance(inner, Array) else e
    if isinstance(inner, Array):
        yield Join(e)
        yield Transpose(e)
        row = rng.choice(list(steps(Var("row", inner), rng)))
        yield Map(lam("row", inner, lambda x: under(row, x)), e)
    if n % 4 == 0 and not _has_vectors(t):
        yield AsScalar(AsVector(rng.choice([2, 4]), e))


def under(row: Expr, x: Expr) -> Expr:
    return substitute(row, {"row": x})


def permutation(n: int, rng: random.Random) -> Lam:
    """A random index function for `reorder` of n elements: a stride, a reversal or a rotation."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    s, k = rng.choice(divisors), rng.randrange(n)

    def times(a: Expr, b: int) -> Expr:
        return BinaryOp("*", a, SizeOf(b))

    def stride(i: Expr) -> Expr:
        across = BinaryOp("/", i, SizeOf(n // s))
        return BinaryOp("+", across, times(BinaryOp("%", i, SizeOf(n // s)), s))

    kinds: list[Callable[[Expr], Expr]] = [
        stride,
        lambda i: BinaryOp("-", SizeOf(n - 1), i),
        lambda i: BinaryOp("%", BinaryOp("+", i, SizeOf(k)), SizeOf(n)),
    ]
    return lam("i", INT, rng.choice(kinds))


def _has_vectors(t: Type) -> bool:
    return isinstance(t, VectorType) or (isinstance(t, Array) and _has_vectors(t.elem))


def chain(seed: int, most: int = 5) -> Expr:
    """A random chain of up to `most` layouts of an array, whose result is small."""
    rng = random.Random(seed)
    e: Expr = XS
    for _ in range(rng.randint(1, most)):
        options = [s for s in steps(e, rng) if fits(s)]
        e = rng.choice(options)
    return e


def fits(e: Expr) -> bool:
    t, cells = type_of(e), 1
    if not isinstance(t, Array):
        return False
    while isinstance(t, Array):
        assert isinstance(t.size, int)
        if t.size < 1:
            return False
        cells, t = cells * t.size, t.elem
    return cells <= 3000


def source(scope: Scope) -> tuple[View, Memory]:
    memory = Memory("xs", Space.GLOBAL, "float", 96)
    return view_of(laid(XS.type, NOWHERE, lambda *_: lambda i: Cell(memory, i))), memory


def elements(view: View, path: tuple[int, ...], at: dict[str, int], data: np.ndarray) -> float:
    """The number that a view shows at the indices `path`: `at` gives variables in these indices
    their values, and `data` has the numbers of the array that the view is of."""
    for i in path:
        assert isinstance(view, ArrayView)
        view = view.at(as_index(i))
    assert not isinstance(view, ArrayView | TupleView)
    return compute(view, at, data)


def compute(e: Value, at: dict[str, int], data: np.ndarray) -> float:
    match e:
        case Load(_, index, 1, _):
            return float(data[number(index, at)])
        case Number(n, _):
            return float(n)
        case Select(condition, a, b):
            return compute(a if holds(condition, at) else b, at, data)
    raise AssertionError(f"not a layout: {e}")


@pytest.mark.parametrize("seed", range(150))
def test_a_random_chain_of_layouts_reads_what_the_interpreter_reads(seed: int) -> None:
    e = chain(seed)
    data = np.arange(96.0)
    expected = np.asarray(evaluate(Program("f", (Param(XS),), e), {"xs": data.reshape(8, 12)}))
    scope = Scope({})
    view = Emitter(scope).read(e, {"xs": source(scope)[0]})
    dims = shape_of(type_of(e))
    rng = random.Random(seed)
    places = list(product(*map(range, dims)))
    some = rng.sample(places, min(60, len(places)))
    names = [f"i{k}" for k in range(len(dims))]
    symbolic: View = view
    for name, n in zip(names, dims, strict=True):
        assert isinstance(symbolic, ArrayView)
        symbolic = symbolic.at(var(name, 0, n - 1))
    for place in some:
        assert elements(view, place, {}, data) == expected[place]
        at = dict(zip(names, place, strict=True))
        assert elements(symbolic, (), at, data) == expected[place]


def invertible(seed: int) -> Expr:
    """A random chain of layouts through which a result can be written."""
    rng = random.Random(seed)
    e: Expr = XS
    for _ in range(rng.randint(1, 5)):
        options = [s for s in steps(e, rng) if fits(s) and writes(s)]
        e = rng.choice(options or [Transpose(Split(1, e))])
    return e


def writes(e: Expr) -> bool:
    match e:
        case Split() | Join() | Transpose() | Reorder() | AsScalar():
            return True
        case Pad(left, right, _, _):
            return isinstance(left, int) and isinstance(right, int) and left <= 0 and right <= 0
        case Map(f, _):
            return writes(f.body)
    return False


@pytest.mark.parametrize("seed", range(150))
def test_a_random_chain_on_the_way_out_writes_where_the_interpreter_reads(seed: int) -> None:
    e = invertible(seed)
    data = np.arange(96.0)
    expected = np.asarray(evaluate(Program("f", (Param(XS),), e), {"xs": data.reshape(8, 12)}))
    scope = Scope({})
    out = Memory("out", Space.GLOBAL, "float", expected.size)
    place: Place = laid(type_of(e), NOWHERE, lambda *_: lambda i: Cell(out, i))
    while e is not XS:
        step = outward(Emitter(scope), e, {}, place)
        assert step is not None
        e, place = step
    written = np.full(expected.size, np.nan)
    for i, j in product(range(8), range(12)):
        cell = _cell(_cell_array(place, i), j)
        if holds(cell.guard, {}):
            written[number(cell.index, {})] = data[12 * i + j]
    assert np.array_equal(written.reshape(expected.shape), expected)


def _cell_array(place: Place, i: int) -> Place:
    assert isinstance(place, ArrayPlace)
    return place.at(as_index(i))


def _cell(place: Place, j: int) -> Cell:
    found = _cell_array(place, j)
    assert isinstance(found, Cell)
    return found


# ---- vectors


def vectors(e: Expr) -> Value:
    """The value of e, an array of up to two dimensions of vectors, read at the indices i and j,
    which are variables."""
    scope = Scope({})
    view = Emitter(scope).read(e, {"xs": source(scope)[0]})
    for name in ("i", "j"):
        if isinstance(view, ArrayView):
            view = view.at(var(name, 0, view.axis.size - 1))
    assert not isinstance(view, ArrayView | TupleView)
    return view


def row_vectors(width: int, xs: Expr) -> Expr:
    inner = type_of(xs)
    assert isinstance(inner, Array)
    return Map(lam("row", inner.elem, lambda row: AsVector(width, row)), xs)


def test_neighbours_are_loaded_as_one_vector() -> None:
    found = vectors(row_vectors(4, XS))
    assert isinstance(found, Load)
    assert found.width == 4


def test_neighbours_of_a_joined_array_are_loaded_as_one_vector_where_rows_allow() -> None:
    assert isinstance(vectors(AsVector(4, Join(XS))), Load)
    assert isinstance(vectors(AsVector(4, Join(Slide(4, 1, Join(XS))))), Load)


def test_columns_are_gathered() -> None:
    assert isinstance(vectors(row_vectors(4, Transpose(XS))), Build)


def test_one_element_repeated_is_broadcast() -> None:
    repeated = PadEdge(Edge.CLAMP, 0, 7, Split(12, At(0, XS)))
    found = vectors(row_vectors(4, Transpose(repeated)))
    assert isinstance(found, Broadcast)


def test_a_vector_is_loaded_behind_a_pad_that_is_the_same_for_all_lanes() -> None:
    found = vectors(row_vectors(4, Pad(1, 1, Lit(0.0, FLOAT), XS)))
    assert isinstance(found, Select)
    assert isinstance(found.a, Load)
    assert found.a.width == 4


def test_an_axis_that_nobody_shares_is_owned_at_its_first_element() -> None:
    scope = Scope({})
    place = laid(XS.type, NOWHERE, lambda *_: lambda i: Cell(source(scope)[1], i))
    assert isinstance(place, ArrayPlace)
    assert someones(place.axis) == as_index(0)

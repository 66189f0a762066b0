"""Tests that every node has the type that its signature says, and that terms which break a
signature have none."""

import pytest

from ir import (
    FLOAT,
    HALF,
    INT,
    Array,
    AsScalar,
    AsVector,
    At,
    Binary,
    Concat,
    Edge,
    Expr,
    Generate,
    Get,
    IllTyped,
    Join,
    Lam,
    Let,
    Level,
    Lit,
    MakeArray,
    MakeTuple,
    Map,
    MapPar,
    MapSeq,
    Pad,
    PadEdge,
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
    Tuple,
    Type,
    Unary,
    Var,
    Vector,
    Zip,
    exact,
    named,
    show,
    show_type,
    type_of,
)
from ir.core.size import Size, floor_div
from ir.core.types import CHAR


def arr(t: Type, *sizes: Size) -> Type:
    for n in reversed(sizes):
        t = Array(t, n)
    return t


N, M, K = named("n"), named("m"), named("k")
F4 = Vector(FLOAT, 4)
XS, YS = Var("xs", arr(FLOAT, N)), Var("ys", arr(INT, N))
GRID = Var("grid", arr(FLOAT, M, N))
VS = Var("vs", arr(F4, N))
X, H, I, V = Var("x", FLOAT), Var("h", HALF), Var("i", INT), Var("v", F4)
C = Var("c", CHAR)
ACC = Var("acc", FLOAT)
PAIR = Tuple((FLOAT, INT))
EXP = Lam(X, Unary("exp", X))
ADD = Lam((ACC, X), Binary("+", ACC, X))
ZERO = Lit(0.0, FLOAT)

SIGNATURES = [
    (Lit(1, INT), INT),
    (SizeOf(N), INT),
    (Unary("exp", H), HALF),
    (Unary("neg", V), F4),
    (Binary("+", I, X), FLOAT),
    (Binary("+", I, H), HALF),
    (Binary("*", H, X), FLOAT),
    (Binary("*", V, X), F4),
    (Binary("/", I, I), INT),
    (Binary("<", H, X), INT),
    (Binary("!=", V, X), Vector(INT, 4)),
    (Select(I, X, X), FLOAT),
    (Select(I, H, I), HALF),
    (Select(I, C, C), CHAR),
    (Select(I, C, I), INT),
    (Select(I, V, X), F4),
    (Select(Binary("<", V, X), X, I), F4),
    (MakeTuple((X, I)), PAIR),
    (MakeArray((X, ZERO)), arr(FLOAT, 2)),
    (MakeArray((XS, XS, XS)), arr(FLOAT, 3, N)),
    (Get(1, MakeTuple((X, I))), INT),
    (Let(X, ZERO, Binary("+", X, X)), FLOAT),
    (Let((X, I), MakeTuple((X, I)), I), INT),
    (Map(EXP, XS), arr(FLOAT, N)),
    (Map(Lam(X, MakeTuple((X, X))), XS), arr(Tuple((FLOAT, FLOAT)), N)),
    (Reduce(ZERO, ADD, XS), FLOAT),
    (ReduceSeq(ZERO, Lam((V, X), Binary("+", V, X)), XS), F4),
    (Generate(N, Lam(I, I)), arr(INT, N)),
    (Zip((XS, YS)), arr(PAIR, N)),
    (Split(K, XS), arr(FLOAT, exact(N, K), K)),
    (Join(GRID), arr(FLOAT, M * N)),
    (Join(Split(K, XS)), arr(FLOAT, N)),
    (Slide(3, 2, XS), arr(FLOAT, floor_div(N - 3, 2) + 1, 3)),
    (Slide(3, 1, XS), arr(FLOAT, N - 2, 3)),
    (Slide(3, 2, XS, True), arr(FLOAT, exact(N - 3, 2) + 1, 3)),
    (Pad(1, 2, ZERO, XS), arr(FLOAT, N + 3)),
    (Pad(1, 2, ZERO, GRID), arr(FLOAT, M + 3, N)),
    (Pad(1, 2, XS, GRID), arr(FLOAT, M + 3, N)),
    (PadEdge(Edge.WRAP, -1, K, XS), arr(FLOAT, N + K - 1)),
    (Transpose(GRID), arr(FLOAT, N, M)),
    (Reorder(Lam(I, I), XS), arr(FLOAT, N)),
    (Concat(XS, XS), arr(FLOAT, 2 * N)),
    (At(2, GRID), arr(FLOAT, N)),
    (AsVector(4, XS), arr(F4, exact(N, 4))),
    (AsVector(4, Zip((XS, YS))), arr(Tuple((F4, Vector(INT, 4))), exact(N, 4))),
    (AsScalar(VS), arr(FLOAT, 4 * N)),
    (MapPar(Level.GLOBAL, 0, EXP, XS), arr(FLOAT, N)),
    (MapSeq(EXP, XS, True), arr(FLOAT, N)),
    (ToLocal(GRID), GRID.type),
    (ToPrivate(X), FLOAT),
    (Store(XS), XS.type),
]


@pytest.mark.parametrize(
    ("e", "t"), SIGNATURES, ids=lambda x: show(x) if isinstance(x, Expr) else ""
)
def test_a_node_has_the_type_of_its_signature(e: Expr, t: Type) -> None:
    assert type_of(e) == t


ILL_TYPED = [
    (Binary("+", XS, X), "expected two numbers"),
    (Binary("+", V, Var("w", Vector(FLOAT, 2))), "expected two numbers"),
    (Binary("<", X, XS), "expected two numbers"),
    (Select(X, X, X), "select needs an int as its condition, found float"),
    (Select(Binary("<", V, X), Var("w", Vector(FLOAT, 2)), X), "expected two numbers"),
    (Unary("exp", I), "exp needs a float, found int"),
    (Unary("neg", XS), "neg needs a number"),
    (MakeArray((X, I)), "an array's element: expected float, found int"),
    (Get(2, MakeTuple((X, I))), "expected a tuple with a component 2"),
    (Get(0, X), "expected a tuple with a component 0, found float"),
    (Let(I, X, I), "let: expected int, found float"),
    (Map(EXP, X), "expected an array, found float"),
    (Map(EXP, YS), "a function's parameter: expected float, found int"),
    (Map(Lam((X, I), X), XS), r"expected \(float, int\), found float"),
    (Reduce(ZERO, EXP, XS), "takes .accumulator, element."),
    (Reduce(Lit(0, INT), ADD, XS), "as its accumulator, float, found that it starts as int"),
    (Reduce(ZERO, ADD, YS), "a reduction's element"),
    (Reduce(ZERO, Lam((ACC, X), I), XS), "a reduction's result"),
    (Zip((XS, GRID)), "zip needs equal sizes, found n and m"),
    (Join(XS), "join needs an array of arrays"),
    (Transpose(XS), "transpose needs an array of arrays"),
    (Pad(1, 1, Lit(0, INT), XS), "pad needs a value like the elements, float, found int"),
    (Reorder(EXP, XS), "a function's parameter"),
    (Concat(XS, YS), "concat: expected float, found int"),
    (AsVector(4, VS), "expected scalars to form vectors of"),
    (AsScalar(XS), "expected vectors of one width"),
    (EXP, "expected a value, found a function"),
]


@pytest.mark.parametrize(("e", "message"), ILL_TYPED, ids=lambda x: x if isinstance(x, str) else "")
def test_what_has_no_type_is_refused(e: Expr, message: str) -> None:
    with pytest.raises(IllTyped, match=message):
        type_of(e)


def test_sizes_are_compared_by_proved_normal_form() -> None:
    tiles = Join(Split(K, XS))
    padded = PadEdge(Edge.ANY, -1, 1, XS)
    assert type_of(Zip((tiles, padded))) == arr(Tuple((FLOAT, FLOAT)), N)


def test_types_read_as_they_are_written() -> None:
    assert show_type(arr(Tuple((F4, INT)), M, N + 1)) == "[[(float<4>, int)](n + 1)]m"

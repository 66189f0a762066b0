"""Tests that the parser makes the terms that a text means."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir import (
    FLOAT,
    HALF,
    INT,
    Array,
    AsVector,
    At,
    Binary,
    Expr,
    Get,
    Join,
    Lam,
    Let,
    Lit,
    Map,
    MapPar,
    MapSeq,
    Pad,
    Program,
    Reduce,
    Reorder,
    SizeOf,
    Slide,
    Split,
    ToLocal,
    Transpose,
    Tuple,
    Unary,
    UserError,
    Var,
    Vector,
    Zip,
    named,
    parse,
    show,
    show_type,
    type_of,
)
from ir.build import (
    const,
    exp,
    flatten,
    float_,
    fun,
    generate,
    join,
    let,
    map2d,
    map_,
    mapGlobal,
    mapSeq,
    pad2d,
    reduce_,
    relu,
    reorder,
    slide2d,
    split,
    stride,
    sum_,
    zip_,
)
from ir.core.terms import subterms
from ir.meaning.interpret import evaluate
from ir.text.read_tree import read
from ir.text.rebind_sizes import rebound

CONV = """
-- VGG-16, layer 7: one convolution, bias and ReLU
conv(const weights : [[[[float]C]K]K]M,
     const biases  : [float]M,
     image         : [[[float]C]W]H) =
  let windows = slide2d(K, 1, pad2d(1, 0.0, image))
  map2d(window ->
      map((kernel, bias) ->
          relu(reduce(bias, (acc, (x, w)) -> acc + x * w,
                      zip(flatten(window), flatten(kernel)))),
        zip(weights, biases)),
    windows)
where C = 128, W = 112, H = 112, K = 3, M = 128
"""

XS = Var("xs", Array(FLOAT, 12))


def body(text: str, params: str = "xs : [float]12", where: str = "") -> Expr:
    return parse(f"f({params}) = {text} {where}").body


def run(program: Program, **inputs: np.ndarray) -> np.ndarray:
    result = evaluate(program, inputs)
    assert isinstance(result, np.ndarray)
    return result


# ---- the program of DESIGN's section 2


def test_the_first_program_has_its_types_and_parameters() -> None:
    program = parse(CONV)
    assert [(p.var.name, p.const) for p in program.params] == [
        ("weights", True),
        ("biases", True),
        ("image", False),
    ]
    assert type_of(program.body) == Array(Array(Array(FLOAT, 128), 112), 112)
    assert program.free == ()


def test_core_terms_hold_only_primitives_and_numbers() -> None:
    for e in subterms(parse(CONV).body):
        assert not isinstance(e, SizeOf | Let)


def test_set_rebinds_a_size() -> None:
    program = parse(CONV, set={"C": 5, "W": 20})
    assert program.params[2].var.type == Array(Array(Array(FLOAT, 5), 20), 112)


@pytest.mark.parametrize(
    "text",
    [
        "f(x : [float]C, y : [float](C + Q)) = x\nwhere Q = 2 * --\n  (C + 1), C = (4), -- end",
        "f(x : [float]C, y : [float](C + Q)) = x where C = ?, -- Q = 5\nQ = C\n",
        "f(x : [float]C, y : [float](C + Q)) = x -- where C = 2, Q = 3",
        "f(x : [float]C, y : [float](C + Q)) = x where C = 3",
    ],
)
def test_a_text_with_other_sizes_is_the_program_with_those_set(text: str) -> None:
    for sizes in ({"C": 7, "Q": 9}, {"Q": 12}, {"C": 5}, {}):
        if {"C", "Q"} <= sizes.keys() | {b.name.text for b in read(text).where}:
            assert parse(rebound(text, sizes)) == parse(text, set=sizes)
    assert rebound("f(x : [float]C) = x\nwhere C = 4\n", {"C": 5}).endswith("\nwhere C = 5\n")


# ---- expressions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0 + 2.0 * 3.0", 7),
        ("(1.0 + 2.0) * 3.0", 9),
        ("8.0 - 4.0 - 2.0", 2),
        ("8.0 / 4.0 / 2.0", 1),
        ("-2.0 * -3.0", 6),
        ("- -2.0", 2),
        ("2 - -3", 5),
        ("7 / 2 * 2", 6),
        ("-7 / 2", -4),
        ("-7 % 3", 2),
        ("max(2.0, min(3.0, 1.0))", 2),
        ("sqrt(abs(-16.0))", 4),
        ("let a = exp(0.0) a + a", 2),
        ("let (a, b) = (exp(0.0), 5.0) a - b", -4),
        ("let two = 2 let f = x -> x * two f(f(3))", 12),
        ("(1.0, (2.0, 3.0)).1.0", 2),
        ("3 < 2 + 2", 1),
        ("1 + (2 >= 3)", 1),
        ("6 & 3 == 2", 1),
        ("(1 < 2) & (2 != 2) | (4 <= 4)", 1),
        ("select(1.0 > 2.0, 3.0, 4.0)", 4),
        ("select(2 - 1, 3, 4.5)", 3),
        ("select(1 == 1, (1.0, (2.0, 3.0)), (4.0, (5.0, 6.0))).1.0", 2),
        ("leaky_relu(0.5, -3.0) + clip(-1.0, 1.0, 7.0)", -0.5),
        ("K / 2", 3),
        ("(K - 1) / 2 * 1.5", 4.5),
        ("((a, b) -> a * 10.0 + b)(1.0, 2.0)", 12),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    assert run(parse(f"f() = {text} where K = 7")) == value


def test_a_bracket_on_a_new_line_after_a_let_is_the_body() -> None:
    assert run(parse("f() =\n let y = exp(0.0)\n (y + 1.0) * 2.0")) == 4


def test_an_init_takes_the_type_that_the_body_has() -> None:
    for init in ("0.0", "0"):
        fold = f"reduce({init}, (acc, x) -> acc + x, xs)"
        assert type_of(body(fold, "xs : [half]4")) == HALF
        assert type_of(body(fold)) == FLOAT
        assert type_of(body(fold, "xs : [float<4>]3")) == Vector(FLOAT, 4)
    assert type_of(body("reduce(0, (acc, x) -> acc + x, xs)", "xs : [int]4")) == INT
    assert type_of(body("reduce(0.0f, (acc, x) -> acc + x, xs)", "xs : [half]4")) == FLOAT


def test_numbers_adapt_to_halves() -> None:
    assert type_of(body("x * 2.0 + 1.0 / 3.0", "x : half")) == HALF
    assert type_of(body("x * 2.0f", "x : half")) == FLOAT
    assert type_of(body("relu(x)", "x : half")) == HALF
    padded = body("pad(1, 1, 0, xs)", "xs : [half]4")
    assert isinstance(padded, Pad)
    assert padded.value == Lit(0.0, HALF)


def test_a_size_is_an_int_value() -> None:
    assert body("sum(xs) / N", "xs : [float]N", "where N = 4") == Binary(
        "/", body("sum(xs)", "xs : [float]4"), Lit(4, INT)
    )


def test_functions_may_be_named_written_or_given_their_first_arguments() -> None:
    xs = Var("xs", Array(Array(FLOAT, 4), 3))
    x = Var("x", Array(FLOAT, 4))
    nested = "xs : [[float]4]3"
    assert body("map(split(2), xs)", nested) == Map(Lam(x, Split(2, x)), xs)
    assert body("map(x -> split(2, x), xs)", nested) == Map(Lam(x, Split(2, x)), xs)
    assert body("map(sum, xs)", nested) == body("map(xs1 -> sum(xs1), xs)", nested)
    total = body("reduce(0.0, max, xs)")
    assert isinstance(total, Reduce)
    assert total.f.body == Binary("max", Var("a", FLOAT), Var("b", FLOAT))


def test_the_lowered_nodes() -> None:
    x = Var("x", FLOAT)
    f = Lam(x, Unary("exp", x))
    assert body("mapGlobal(1)(exp, xs)") == body("mapGlobal(1, x -> exp(x), xs)")
    mapped = body("mapGlobal(1)(exp, xs)")
    assert isinstance(mapped, MapPar)
    assert (mapped.dim, mapped.f) == (1, f)
    assert body("unrolled mapSeq(exp, xs)") == MapSeq(f, XS, True)
    assert body("toLocalAhead(xs)") == ToLocal(XS, True)
    vectors = body("map(vectorized v -> exp(v), asVector(4, xs))")
    v = Var("v", Vector(FLOAT, 4))
    assert vectors == Map(Lam(v, Unary("exp", v)), AsVector(4, XS))


# ---- definitions


def test_helpers_infer_their_sizes_at_each_call() -> None:
    program = parse("""
        mean(row : [float]n) = sum(row) / n
        f(xs : [[float]4]3) = (mean(at(0, xs)), mean(map(mean, xs)))
    """)
    assert "4" in show(program)
    assert "3" in show(program)


def test_helpers_infer_the_one_unknown_of_a_size_that_is_arithmetic() -> None:
    text = (
        "f(k : [float]m, xs : [float](m * n), ys : [[float](1 + 2 * l - m)](n / 2)) =\n"
        "  (split(n, xs), generate(n + l, i -> i))\n"
        "main(k : [float]3, a : [float]12, b : [[float]6]2) = f(k, a, b)"
    )
    assert type_of(parse(text).body) == Tuple((Array(Array(FLOAT, 4), 3), Array(INT, 8)))
    with pytest.raises(UserError, match="an array of 13, which 3 does not divide"):
        parse(text.replace("[float]12", "[float]13"))


def test_one_size_stands_for_each_side() -> None:
    params = "xs : [[float]8]8"
    assert body("slide2d(3, 1, xs)", params) == body("slide2d((3, 3), (1, 1), xs)", params)
    assert body("pad2d(1, 0.0, xs)", params) == body("pad2d((1, 1, 1, 1), 0.0, xs)", params)
    assert type_of(body("slide2d((3, 2), (1, 2), xs)", params)) == Array(
        Array(Array(Array(FLOAT, 2), 3), 4), 6
    )


def test_what_a_helper_uses_twice_is_computed_once() -> None:
    text = "twice(x) = x + x g(x : float) = twice(exp(x))"
    assert isinstance(parse(text).body, Let)
    assert not isinstance(parse("twice(x) = x + x g(x : float) = twice(x)").body, Let)
    assert not isinstance(parse("once(x) = x + 1.0 g(x : float) = once(exp(x))").body, Let)
    inside = "scale(k, xs) = map(x -> x * k, xs) g(xs : [float]3) = scale(exp(at(0, xs)), xs)"
    assert isinstance(parse(inside).body, Let)


def test_a_let_of_a_view_is_put_in_place_and_a_let_of_a_value_stays() -> None:
    assert body("let ys = transpose(split(3, xs)) join(ys)") == Join(Transpose(Split(3, XS)))
    assert isinstance(body("let ys = map(exp, xs) zip(ys, ys)"), Let)
    assert isinstance(body("let! ys = xs zip(ys, ys)"), Let)


def test_a_helper_never_captures_its_argument() -> None:
    program = parse("""
        shifted(f, k, xs) = map(x -> f(x) + k, xs)
        g(xs : [float]3, ys : [float]3) =
          map((x, y) -> shifted(z -> z * x, y, xs), zip(xs, ys))
    """)
    xs, ys = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    expected = xs[None, :] * xs[:, None] + ys[:, None]
    np.testing.assert_array_equal(run(program, xs=xs, ys=ys), expected)


def test_a_definition_may_have_the_name_of_a_prelude_function() -> None:
    program = parse("relu(x) = max(x, 1.0) sum(xs : [float]3) = sum(map(relu, xs))")
    assert run(program, xs=np.array([-1.0, 0.0, 4.0])) == 6


def test_local_names_may_be_those_of_primitives_and_sizes() -> None:
    program = parse("f(pad : [float]N) = map(map -> map + N, pad) where N = 3")
    np.testing.assert_array_equal(run(program, pad=np.zeros(3)), [3, 3, 3])


# ---- sizes


def test_where_binds_in_any_order() -> None:
    t = type_of(parse("f(x : [float]N) = x where N = 2 * M, M = (K + 1) / 2 % 5, K = 7").body)
    assert t == Array(FLOAT, 8)


def test_free_sizes_stay_symbolic() -> None:
    program = parse("f(xs : [float]64) = join(split(k, xs)) where k = ?")
    k = named("k")
    assert program.free == ("k",)
    assert program.body == Join(Split(k, Var("xs", Array(FLOAT, 64))))
    assert parse("f(xs : [float]64) = split(k, xs) where k = ?", set={"k": 8}).free == ()


@given(st.integers(1, 60), st.integers(1, 8), st.integers(1, 8), st.integers(0, 3))
def test_windows_of_the_prelude_are_counted_by_their_formula(
    n: int, k: int, s: int, p: int
) -> None:
    text = f"f(x : [[float]{n}]{n}) = slide2d({k}, {s}, pad2d({p}, 0.0, x))"
    if k > n + 2 * p:
        with pytest.raises(UserError, match="larger than the array"):
            parse(text)
        return
    m = (n + 2 * p - k) // s + 1
    assert type_of(parse(text).body) == Array(Array(Array(Array(FLOAT, k), k), m), m)


# ---- the prelude, against NumPy


def images(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=float).reshape(shape) % 7 - 3


def windows(xs: np.ndarray, size: tuple[int, ...], step: tuple[int, ...]) -> np.ndarray:
    view = np.lib.stride_tricks.sliding_window_view(xs, size)
    return view[tuple(slice(None, None, s) for s in step)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("slide2d((3, 2), (2, 1), x)", lambda x: windows(x, (3, 2), (2, 1))),
        ("pad2d((1, 2, 3, 0), 9, x)", lambda x: np.pad(x, ((1, 2), (3, 0)), constant_values=9)),
        ("pad2d((1, 2), 9, x)", lambda x: np.pad(x, ((1, 1), (2, 2)), constant_values=9)),
        ("pad2d(((1, 2), 3), 9, x)", lambda x: np.pad(x, ((1, 2), (3, 3)), constant_values=9)),
        ("pad2d_clamp(2, x)", lambda x: np.pad(x, 2, "edge")),
        ("pad2d_mirror(2, x)", lambda x: np.pad(x, 2, "symmetric")),
        ("pad2d_wrap(2, x)", lambda x: np.pad(x, 2, "wrap")),
        ("pad2d(-1, 0.0, x)", lambda x: x[1:-1, 1:-1]),
        ("map2d(square, x)", lambda x: x * x),
        ("map2d((a, b) -> a * b, zip2d(x, x))", lambda x: x * x),
        ("dilate2d((2, 3), x)", lambda x: x[::2, ::3]),
        ("generate2d(2, 3, (i, j) -> i * 10 + j)", lambda _: [[0, 1, 2], [10, 11, 12]]),
        ("map(sum, x)", lambda x: x.sum(1)),
        ("map(maximum, x)", lambda x: x.max(1)),
        ("map(minimum, x)", lambda x: x.min(1)),
        ("map(average, x)", lambda x: x.mean(1)),
        ("map(softmax, x)", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        ("dot(at(0, x), at(1, x))", lambda x: x[0] @ x[1]),
        ("flatten(x)", lambda x: x.ravel()),
    ],
)
def test_the_prelude_in_two_dimensions(text: str, expected: object) -> None:
    x = images(6, 5)
    program = parse(f"f(x : [[float]5]6) = {text}")
    np.testing.assert_allclose(run(program, x=x), expected(x))  # type: ignore[operator]


def test_the_prelude_in_three_dimensions() -> None:
    x = images(5, 6, 7)
    program = parse("f(x : [[[float]7]6]5) = slide3d((2, 3, 4), (1, 2, 1), x)")
    np.testing.assert_array_equal(run(program, x=x), windows(x, (2, 3, 4), (1, 2, 1)))
    program = parse("f(x : [[[float]7]6]5) = pad3d((1, 0, 2, 1, 0, 3), 1.0, x)")
    padded = np.pad(x, ((1, 0), (2, 1), (0, 3)), constant_values=1)
    np.testing.assert_array_equal(run(program, x=x), padded)
    program = parse("f(x : [[[float]7]6]5) = pad3d((1, (2, 0), 3), 1.0, x)")
    padded = np.pad(x, ((1, 1), (2, 0), (3, 3)), constant_values=1)
    np.testing.assert_array_equal(run(program, x=x), padded)
    program = parse("f(x : [[[float]7]6]5) = map3d((a, b) -> a + b, zip3d(x, x))")
    np.testing.assert_array_equal(run(program, x=x), 2 * x)


@pytest.mark.parametrize(("name", "f"), [("maxpool2d", np.max), ("avgpool2d", np.mean)])
def test_the_prelude_pools_each_channel(name: str, f: Callable[..., np.ndarray]) -> None:
    x = images(6, 7, 3)
    program = parse(f"f(x : [[[float]3]7]6) = {name}((2, 3), 2, x)")
    wanted = f(np.lib.stride_tricks.sliding_window_view(x, (2, 3), (0, 1))[::2, ::2], axis=(3, 4))
    np.testing.assert_allclose(run(program, x=x), wanted)


def test_stride_gathers_every_s_th_element() -> None:
    program = parse("f(x : [float]12) = reorder(stride(3), x)")
    x = np.arange(12.0)
    np.testing.assert_array_equal(run(program, x=x), x.reshape(4, 3).T.ravel())
    assert isinstance(program.body, Reorder)


def test_primitives_stand_for_their_nodes() -> None:
    nested = Var("x", Array(Array(FLOAT, 4), 3))
    params = "x : [[float]4]3"
    assert body("x.0", "x : (float, int)") == Get(0, parse("f(x : (float, int)) = x").body)
    assert body("at(2, x)", params) == At(2, nested)
    assert body("zip(x, x)", params) == Zip((nested, nested))
    assert body("slide(2, 1, x)", params) == Slide(2, 1, nested)
    assert body("slide_strict(2, 1, x)", params) == Slide(2, 1, nested, True)


# ---- the Python front


def test_python_makes_the_same_program_as_text() -> None:
    conv = fun(
        lambda weights, biases, image: map2d(
            lambda window: map_(
                lambda kernel, bias: relu(
                    reduce_(
                        bias,
                        lambda acc, x, w: acc + x * w,
                        zip_(flatten(window), flatten(kernel)),
                    )
                ),
                zip_(weights, biases),
            ),
            slide2d(3, 1, pad2d(1, 0.0, image)),
        ),
        const(float_[128, 3, 3, 128]),
        const(float_[128]),
        float_[112, 112, 128],
        name="conv",
    )
    assert conv == parse(CONV)


def test_python_definitions_with_annotations_lets_and_parameters() -> None:
    k = named("k")

    def f(xs: float_[64]):  # type: ignore[no-untyped-def, valid-type]
        value = mapGlobal(0)(mapSeq(exp), split(k, xs))
        return let(value, lambda ys: zip_(join(ys), reorder(stride(k), join(ys))))

    assert fun(f, free=("k",)) == parse("""
        f(xs : [float]64) =
          let ys = mapGlobal(0)(x -> mapSeq(x1 -> exp(x1), x), split(k, xs))
          zip(join(ys), reorder(stride(k), join(ys)))
        where k = ?""")


def test_python_functions_take_tuples_apart() -> None:
    def add(pair):  # type: ignore[no-untyped-def]
        a, b = pair
        return a + b

    text = parse("f(xs : [float]4, ys : [float]4) = map(pair -> pair.0 + pair.1, zip(xs, ys))")
    assert fun(lambda xs, ys: map_(add, zip_(xs, ys)), float_[4], float_[4], name="f") == text
    iota = fun(lambda: generate(3, lambda i: (i + 1) * 2 - i % 2), name="f")
    assert iota == parse("f() = generate(3, i -> (i + 1) * 2 - i % 2)")


def test_a_mistake_in_python_is_placed_at_its_line() -> None:
    with pytest.raises(UserError, match=r"\+ xs, xs\)") as caught:
        fun(lambda xs: map_(lambda x: x + xs, xs), float_[4])
    assert "`+` needs numbers, found [float]4" in str(caught.value)
    with pytest.raises(UserError, match="expected a value that Python knows"):
        fun(lambda xs: sum_(xs) if sum_(xs) else xs, float_[4])


# ---- arrays written out


def test_an_array_is_written_element_by_element() -> None:
    e = parse("p(x : float) = [x + 1.0, 2, -3.5]").body
    assert show(e) == "[x + 1.0, 2.0, -3.5]"
    assert show_type(type_of(e)) == "[float]3"


def test_numbers_in_an_array_take_the_type_of_what_they_stand_beside() -> None:
    t = type_of(parse("p(x : half) = [1, x]").body)
    assert show_type(t) == "[half]2"


def test_the_elements_of_an_array_have_one_type() -> None:
    with pytest.raises(
        UserError, match="elements of one type in an array, found float and \\[float\\]2"
    ):
        parse("p(x : float, xs : [float]2) = [x, xs]")

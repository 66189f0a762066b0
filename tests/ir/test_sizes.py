"""Tests of symbolic sizes: with random values of their parameters, every law keeps the number that
a random size stands for."""

from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ir.core.size import (
    Size,
    bind,
    ceil_div,
    denominator,
    exact,
    floor_div,
    named,
    names,
    numerator,
    remainder,
    round_up,
    same,
    show_size,
)
from ir.parse import parse
from rewrites.analysis.size_signs import divides, non_negative
from tests.support.narrowed import number

NAMES = ("k", "m", "n")
X, Y = named("x"), named("y")

Term = tuple[str, "Term", "Term"] | str | int


def terms() -> st.SearchStrategy[Term]:
    """A strategy for trees of arithmetic; the tests compute each tree both as a size and as a
    number."""
    leaf = st.one_of(st.integers(-4, 9), st.sampled_from(NAMES))
    return st.recursive(leaf, lambda t: st.tuples(st.sampled_from("+-*/fmc"), t, t), max_leaves=7)


def size(t: Term) -> Size:
    if not isinstance(t, tuple):
        return named(t) if isinstance(t, str) else t
    op, a, b = t[0], size(t[1]), size(t[2])
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return exact(a, b)
        case "f":
            return floor_div(a, b)
        case "c":
            return round_up(a, b)
    return remainder(a, b)


def value(t: Term, values: dict[str, int]) -> Fraction:
    if not isinstance(t, tuple):
        return Fraction(values[t] if isinstance(t, str) else t)
    op, a, b = t[0], value(t[1], values), value(t[2], values)
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "c":
            return -(-a // b) * b
    quotient = a // b
    return Fraction(quotient if op == "f" else a - b * quotient)


def whole(t: Term, values: dict[str, int]) -> bool:
    """True if, with these values, t and all terms inside it are whole numbers, no divisor is 0, and
    numbers are rounded up only to multiples of positive sizes, or of plain numbers."""
    if not isinstance(t, tuple):
        return True
    return (
        whole(t[1], values)
        and whole(t[2], values)
        and (t[0] not in "/fmc" or value(t[2], values) != 0)
        and (t[0] != "c" or isinstance(t[2], int) or value(t[2], values) > 0)
        and value(t, values).denominator == 1
    )


VALUES = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def made(t: Term) -> Size:
    try:
        return size(t)
    except ZeroDivisionError:
        assume(False)
        raise


@pytest.mark.no_cover
@settings(max_examples=500)
@given(terms(), VALUES)
def test_a_size_has_the_value_of_its_arithmetic(t: Term, values: dict[str, int]) -> None:
    assume(whole(t, values))
    assert bind(made(t), values) == value(t, values)


@pytest.mark.no_cover
@settings(max_examples=200)
@given(terms(), terms(), VALUES)
def test_equal_sizes_have_equal_values(t: Term, u: Term, values: dict[str, int]) -> None:
    assume(whole(t, values) and whole(u, values))
    if same(made(t), made(u)):
        assert value(t, values) == value(u, values)


def positive(t: Term, values: dict[str, int]) -> bool:
    """True if, with these values, every divisor in t is positive."""
    if not isinstance(t, tuple):
        return True
    divides = t[0] in "/fmc"
    parts = positive(t[1], values) and positive(t[2], values)
    return parts and not (divides and value(t[2], values) <= 0)


@pytest.mark.no_cover
@settings(max_examples=500)
@given(terms(), terms(), st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES}))
def test_what_is_said_to_be_0_or_more_is(t: Term, u: Term, values: dict[str, int]) -> None:
    for sized in (("-", t, u), ("-", ("c", t, u), t), ("-", t, ("m", t, u))):
        if whole(sized, values) and positive(sized, values) and non_negative(made(sized)):
            assert value(sized, values) >= 0


def test_what_is_rounded_up_already_stays() -> None:
    up = round_up(128, X)
    assert round_up(up, X) == up
    assert round_up(up + 3 * X, X) == up + 3 * X
    assert round_up(4 * X + Y, 2) == 4 * X + round_up(Y, 2)
    assert round_up(up, 2 * X) != up


def test_the_signs_of_what_is_rounded() -> None:
    x, up = X * Y + 7, round_up(X * Y + 7, X * 3)
    assert all(map(non_negative, (up - x, x - up + 3 * X - 1, up, remainder(x, Y), x * Y)))
    assert not any(map(non_negative, (x - up, up - x - 1, X - Y, X - 1, 3 - remainder(x, Y))))
    assert non_negative(Y - 1 - remainder(x, Y))
    assert non_negative(x - floor_div(x, Y) * Y)


@settings(max_examples=150)
@given(
    *[
        st.recursive(
            st.one_of(st.integers(-4, 9), st.sampled_from(NAMES)),
            lambda t: st.tuples(st.sampled_from("+-*"), t, t),
            max_leaves=5,
        )
    ]
    * 3
)
def test_the_laws_of_a_commutative_ring(t: Term, u: Term, v: Term) -> None:
    a, b, c = size(t), size(u), size(v)
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert a + 0 == a * 1 == a


@settings(max_examples=150)
@given(terms(), terms())
def test_an_exact_quotient_is_undone_by_its_product(t: Term, u: Term) -> None:
    a, b = made(t), made(u)
    assume(b != 0)
    assert same(exact(a, b) * b, a)
    assert same(exact(numerator(a), denominator(a)), a)


@given(st.integers(1, 500), st.integers(1, 40))
def test_divisions_of_numbers(n: int, k: int) -> None:
    assert floor_div(n, k) * k + remainder(n, k) == n
    assert ceil_div(n, k) == -(-n // k)
    assert 0 <= number(round_up(n, k)) - n < k


def test_what_must_still_divide_is_seen() -> None:
    n, k = named("n"), named("k")
    assert denominator(exact(n, k)) == k
    assert denominator(exact(n * k, k)) == 1
    assert exact(n * n - k * k, n - k) == n + k
    assert names(floor_div(n + 1, k)) == {"n", "k"}


def test_an_exact_quotient_of_numbers_is_in_lowest_terms() -> None:
    assert exact(12, 4) == 3
    assert show_size(exact(6, 4)) == "3 / 2"
    with pytest.raises(ZeroDivisionError):
        exact(3, 0)


def has_fraction(t: Term) -> bool:
    """True if somewhere in t a number is divided by a number that does not divide it."""
    if not isinstance(t, tuple):
        return False
    fraction = t[0] == "/" and isinstance(denominator(made(t)), int) and denominator(made(t)) != 1
    return fraction or any(map(has_fraction, t[1:]))


@settings(max_examples=150)
@example(("f", ("-", "m", 1), "m"))
@given(terms())
def test_a_shown_size_parses_back(t: Term) -> None:
    assume(not has_fraction(t))
    a = made(t)
    assume(denominator(a) == 1 or not isinstance(denominator(a), int))
    text = f"f() = size({show_size(a)}) where k = ?, m = ?, n = ?"
    assert parse(text).body.size == a  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (round_up(128, X * Y), "round_up(128, x * y)"),
        (2 * round_up(3 * X, 4) - 5, "2 * round_up(3 * x, 4) - 5"),
        (ceil_div(X, 4) * 6, "6 * ceil(x, 4)"),
        (round_up(7, X) * X * Y, "x * y * round_up(7, x)"),
        (ceil_div(X, Y + 2), "ceil(x, y + 2)"),
        (floor_div(X + 5, 4), "floor(x + 5, 4)"),
    ],
)
def test_sizes_that_are_rounded_up_say_so(size: Size, text: str) -> None:
    assert show_size(size) == text


@given(st.integers(1, 12), st.integers(0, 6), st.integers(1, 9), st.integers(1, 60))
def test_what_is_said_to_divide_no_number_divides_it_at_no_value(
    a: int, b: int, value: int, n: int
) -> None:
    """If `divides` says that a size does not divide a number, then there are no values of the
    size's parameters for which it divides the number. (`divides` may say yes where it cannot
    know.)"""
    k = named("k") * a + b
    assert divides(k, n) or n % (value * a + b)
    assert not divides(8 * named("k"), 5)

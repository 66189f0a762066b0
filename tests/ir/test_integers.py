"""Tests of ints: 32 bits that wrap around, quotients that round down, 0 where 0 divides."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from ir.errors import UserError
from ir.meaning.interpret import evaluate
from ir.parse import parse
from tests.support.narrowed import one

LEAST, LARGEST = -(2**31), 2**31 - 1
EXTREMES = (LEAST, LEAST + 1, -7, -1, 0, 1, 7, LARGEST - 1, LARGEST)


def wrapped(n: int) -> int:
    return (n - LEAST) % 2**32 + LEAST


def quotient(a: int, b: int) -> int:
    return wrapped(a // b) if b else 0


def remainder(a: int, b: int) -> int:
    return a % b if b else 0


TWO: Mapping[str, Callable[[int, int], int]] = {
    "a + b": lambda a, b: wrapped(a + b),
    "a - b": lambda a, b: wrapped(a - b),
    "a * b": lambda a, b: wrapped(a * b),
    "a / b": quotient,
    "a % b": remainder,
    "max(a, b)": max,
    "min(a, b)": min,
    "-a + b": lambda a, b: wrapped(b - a),
    "abs(a) / b": lambda a, b: quotient(wrapped(abs(a)), b),
    "(a + b) / 2": lambda a, b: wrapped(a + b) // 2,
}


@pytest.mark.parametrize("written", TWO)
def test_ints_wrap_around_and_what_0_divides_is_0(written: str) -> None:
    pairs = [(a, b) for a in EXTREMES for b in EXTREMES]
    xs, ys = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    n = len(pairs)
    program = parse(f"f(xs : [int]{n}, ys : [int]{n}) = map((a, b) -> {written}, zip(xs, ys))")
    found = np.asarray(evaluate(program, {"xs": xs, "ys": ys}))
    assert found.tolist() == [TWO[written](a, b) for a, b in pairs]


SUMS: Mapping[str, Callable[[int, int, int], int]] = {
    "reduce(0, (s, x) -> s + x * x, xs)": lambda a, b, c: a * a + b * b + c * c,
    "reduce(1, (s, x) -> s * (x + 3), xs)": lambda a, b, c: (a + 3) * (b + 3) * (c + 3),
    "reduce(0, (s, x) -> s - x, xs)": lambda a, b, c: -a - b - c,
    "reduce(0, (s, x) -> s * 31 + x, xs)": lambda a, b, c: a * 31**2 + b * 31 + c,
}


@pytest.mark.parametrize("body", SUMS)
def test_sums_and_products_of_ints_wrap_around(body: str) -> None:
    xs = [LARGEST, 65537, LARGEST - 5]
    found = evaluate(parse(f"f(xs : [int]3) = {body}"), {"xs": np.array(xs, np.int32)})
    assert int(np.asarray(found)) == wrapped(SUMS[body](*xs))


def test_the_numbers_of_an_index_function_have_no_bounds() -> None:
    program = parse("f(xs : [int]n) = reorder(i -> (i * 65537) % n, xs)\nwhere n = 100003")
    xs = np.arange(100003, dtype=np.int32)
    assert np.array_equal(evaluate(program, {"xs": xs}), xs.astype(np.int64) * 65537 % 100003)


def test_a_number_is_larger_and_smaller_than_nan() -> None:
    program = parse("f(xs : [float]4) = (reduce(-1.0, max, xs), reduce(9.0, min, xs))")
    xs = np.array([np.nan, 3, np.nan, 1])
    assert [float(one(x)) for x in evaluate(program, {"xs": xs})] == [3, 1]


@pytest.mark.parametrize("end", [LEAST - 1, LARGEST + 1])
def test_an_input_beyond_an_int_is_refused(end: int) -> None:
    with pytest.raises(UserError, match=f"input xs : .int.2 holds {end}"):
        evaluate(parse("f(xs : [int]2) = xs"), {"xs": np.array([0, end])})


def test_whole_numbers_given_for_floats_are_floats() -> None:
    program = parse("f(xs : [float]2) = map(x -> x / 2, xs)")
    found = evaluate(program, {"xs": np.array([3, 5])})
    assert np.asarray(found).tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2147483648", "2147483648 is no int"),
        ("-2147483649", "-2147483649 is no int"),
        ("70000h", "70000.0 is no half"),
        ("4e38", "4e[+]38 is no float"),
    ],
)
def test_a_number_that_its_type_does_not_have_is_refused_at_its_place(
    written: str, said: str
) -> None:
    with pytest.raises(UserError, match=said) as refused:
        parse(f"f(xs : [int]2) = map(x -> x + {written}, xs)")
    assert refused.value.span is not None
    assert refused.value.span.start == len("f(xs : [int]2) = map(x -> x + ")


def test_the_least_and_the_largest_int_can_be_written() -> None:
    program = parse(f"f() = [{LEAST}, {LARGEST}]")
    assert np.asarray(evaluate(program, {})).tolist() == [LEAST, LARGEST]


def test_remainders_of_floats_are_refused() -> None:
    with pytest.raises(UserError, match="% needs ints, found float and float"):
        parse("f(xs : [float]2) = map(x -> x % 2.0, xs)")

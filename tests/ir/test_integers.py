"""Tests of arithmetic on ints: 32 bits that wrap around, quotients that round down, and 0 where the
divisor is 0."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from ir.errors import Unsupported, UserError
from ir.meaning.inputs import STORED
from ir.meaning.interpret import evaluate
from ir.parse import parse
from ir.text.show import show
from tests.support.narrowed import one

LEAST, LARGEST = -(2**31), 2**31 - 1
EXTREMES = (LEAST, LEAST + 1, -7, -1, 0, 1, 7, LARGEST - 1, LARGEST)
BITS = {"int": 32, "long": 64}


def wrapped(n: int, bits: int = 32) -> int:
    return (n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def quotient(a: int, b: int) -> int:
    return a // b if b else 0


def remainder(a: int, b: int) -> int:
    return a % b if b else 0


TWO: Mapping[str, Callable[[int, int], int]] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "a / b": quotient,
    "a % b": remainder,
    "max(a, b)": max,
    "min(a, b)": min,
    "-a + b": lambda a, b: b - a,
    "a & b": lambda a, b: a & b,
    "a | b": lambda a, b: a | b,
    "a << 3": lambda a, _: a << 3,
    "a >> 3": lambda a, _: a >> 3,
    "a * 2 & b + 1 | a >> 1 << 2": lambda a, b: (a * 2) & (b + 1) | (a >> 1 << 2),
}
STEPS: Mapping[str, Callable[[int, int, int], int]] = {  # what wraps around on the way
    "abs(a) / b": lambda a, b, n: quotient(wrapped(abs(a), n), b),
    "(a + b) / 2": lambda a, b, n: wrapped(a + b, n) // 2,
    "a << b": lambda a, b, n: a << b % n,
    "a >> b": lambda a, b, n: a >> b % n,
}


@pytest.mark.parametrize("scalar", BITS)
@pytest.mark.parametrize("written", [*TWO, *STEPS])
def test_ints_wrap_around_and_what_0_divides_is_0(written: str, scalar: str) -> None:
    n, shift = BITS[scalar], 2 ** (BITS[scalar] - 32)
    ends = [a * shift if abs(a) > 7 else a for a in EXTREMES] + [-(2 ** (n - 1))]
    pairs = [(a, b) for a in ends for b in ends]
    xs, ys = (np.array(column, STORED[scalar]) for column in zip(*pairs, strict=True))
    ts = f"[{scalar}]{len(pairs)}"
    program = parse(f"f(xs : {ts}, ys : {ts}) = map((a, b) -> {written}, zip(xs, ys))")
    found = np.asarray(evaluate(program, {"xs": xs, "ys": ys}))
    assert found.dtype == STORED[scalar]
    if written in TWO:
        assert found.tolist() == [wrapped(TWO[written](a, b), n) for a, b in pairs]
    else:
        assert found.tolist() == [wrapped(STEPS[written](a, b, n), n) for a, b in pairs]


def test_shifts_bind_less_than_sums_and_more_than_and_which_binds_more_than_or() -> None:
    program = parse("f(a : int, b : int) = a | b & a + 1 << b - 1 >> 2")
    meant = parse("f(a : int, b : int) = a | (b & (((a + 1) << (b - 1)) >> 2))")
    assert program == meant
    assert show(program).endswith("a | b & a + 1 << b - 1 >> 2\n")
    other = parse("f(a : int, b : int) = ((a | b) & a) << (b & 3)")
    assert parse(show(other)) == other


@pytest.mark.parametrize("op", ["<<", ">>", "&", "|", "%"])
def test_operators_of_whole_numbers_refuse_others(op: str) -> None:
    with pytest.raises(UserError, match="needs ints, found float and int"):
        parse(f"f(x : float) = x {op} 3")


def test_a_long_holds_a_product_of_ints() -> None:
    program = parse("f(x : int, y : int) = int((long(x) * long(y) + (1L << 30)) >> 31)")
    found = evaluate(program, {"x": np.asarray(LEAST), "y": np.asarray(LARGEST)})
    assert int(np.asarray(found)) == (LEAST * LARGEST + 2**30) >> 31


def test_index_functions_have_no_shifts() -> None:
    with pytest.raises(Unsupported, match="in the index function, found `<<`"):
        parse("f(xs : [int]4) = reorder(i -> i << 0, xs)")


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


PRODUCT = "(x * x)"
MET_BY_LONGS: Mapping[str, Callable[[int], int]] = {  # of a product of ints, which has wrapped
    "p + 0L": lambda p: p,
    "p * 3L": lambda p: 3 * p,
    "p / 3L": lambda p: quotient(abs(p), 3) * (1 if p >= 0 else -1),
    "p >> 1L": lambda p: p >> 1,
    "max(p, 0L)": lambda p: max(p, 0),
    "select(x > 0, p, 5L)": lambda p: p,
    "reduce(0L, (s, y) -> s + y * x, [x, x])": lambda p: 2 * p,
}


@pytest.mark.parametrize("body", MET_BY_LONGS)
def test_products_of_ints_wrap_around_before_they_meet_longs(body: str) -> None:
    xs = [50000, 70000, LARGEST, 3]
    text = f"f(xs : [int]4) = map(x -> {body.replace('p', PRODUCT)}, xs)"
    found = evaluate(parse(text), {"xs": np.array(xs, np.int32)})
    assert np.asarray(found).tolist() == [MET_BY_LONGS[body](wrapped(x * x)) for x in xs]


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


@pytest.mark.parametrize(
    ("body", "total"),
    [
        ("acc + x", 65535 + 65535 + 3 + 40000),
        ("acc - x", -65535 - 65535 - 3 - 40000),
        ("acc + x * x", 2 * (65535**2 - 2**32) + 9 + 40000**2),  # products are ints, which wrap
    ],
)
def test_whole_numbers_are_added_to_a_real_accumulator_as_reals(body: str, total: int) -> None:
    """A sum of ushorts in a float is not cut to 16 or 32 bits."""
    program = parse(f"f(xs : [ushort]4) = reduce(0.0, (acc, x) -> {body}, xs)")
    given = np.array([65535, 65535, 3, 40000], np.uint16)
    assert evaluate(program, {"xs": given}) == total

"""Tests of index arithmetic: simplified indices have the same values by brute force, by Z3, and as
C text."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import assume as given_that
from hypothesis import strategies as st

from codegen.index import division as divide
from codegen.index import index as index_module
from codegen.index.atoms import quot
from codegen.index.condition import (
    ALWAYS,
    NEVER,
    Condition,
    at_least,
    both,
    bounds,
    decide,
    holds,
    less,
    substitute_in,
    within,
)
from codegen.index.index import Index, as_index, assume, constant, from_atom, maximum, minimum, var
from codegen.index.injectivity import impossible
from codegen.index.mixed_radix_digits import digits, plus, times_in
from codegen.index.substitute import (
    coefficient,
    evaluate,
    linear_in,
    substitute,
    unassumed,
    variables,
)
from codegen.opencl import index_text
from codegen.opencl.index_text import condition_to_c, needs_64, parts, to_c, to_c_anywhere

# Random programs of index arithmetic: a tree is a number, a name, or (operation, operands …).

Tree = int | str | tuple[Any, ...]
Trees = st.SearchStrategy[Tree]
Range = tuple[int | None, int | None]

RANGES: dict[str, Range] = {
    "a": (0, 3),
    "b": (0, 6),
    "c": (-3, 2),
    "u": (None, None),
    "p": (0, None),
}
POINTS: dict[str, Sequence[int]] = {
    "a": range(4),
    "b": range(7),
    "c": range(-3, 3),
    "u": (-9, -1, 0, 5, 14),
    "p": (0, 3, 11),
}

divisors = st.sampled_from([1, 2, 3, 4, 6, 8, 12])
leaves = st.sampled_from(sorted(RANGES)) | st.integers(-9, 9)


def larger_trees(trees: Trees) -> Trees:
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-"]), trees, trees),
        st.tuples(st.just("scale"), st.sampled_from([-6, -4, -1, 2, 3, 4, 8, 12]), trees),
        st.tuples(st.sampled_from(["//", "%"]), trees, divisors),
        st.tuples(st.sampled_from(["*", "min", "max"]), trees, trees),
        st.tuples(st.just("assume"), trees, st.integers(-6, 3), st.integers(4, 20)),
    )


trees = st.recursive(leaves, larger_trees, max_leaves=9)


affine_trees = st.recursive(
    leaves,
    lambda trees: st.one_of(
        st.tuples(st.sampled_from(["+", "-"]), trees, trees),
        st.tuples(st.just("scale"), trees, st.sampled_from([-6, -4, -1, 2, 3, 4, 8, 12])),
    ),
    max_leaves=6,
)
quotient_trees = st.tuples(st.just("//"), affine_trees, divisors) | affine_trees


class GuardFails(Exception):
    pass


def direct(tree: Tree, env: Mapping[str, int]) -> int:
    match tree:
        case int():
            return tree
        case str():
            return env[tree]
        case ("assume", x, int(lo), int(hi)):
            value = direct(x, env)
            if not lo <= value <= hi:
                raise GuardFails
            return value
        case ("//" | "%" as operation, x, int(d)):
            return direct(x, env) // d if operation == "//" else direct(x, env) % d
        case (operation, x, y):
            result: int = MEANING[operation](direct(x, env), direct(y, env))
            return result
    raise AssertionError(f"no tree: {tree}")


MEANING: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "scale": lambda x, y: x * y,
    "min": min,
    "max": max,
}


def build(tree: Tree, ranges: Mapping[str, Range] = RANGES) -> Index:
    match tree:
        case int():
            return constant(tree)
        case str():
            return var(tree, *ranges[tree])
        case ("assume", x, int(lo), int(hi)):
            return assume(build(x, ranges), lo, hi)
        case ("//" | "%" as operation, x, int(d)):
            return build(x, ranges) // d if operation == "//" else build(x, ranges) % d
        case ("min" | "max" as operation, x, y):
            return {"min": minimum, "max": maximum}[operation](build(x, ranges), build(y, ranges))
        case (operation, x, y):
            made: Index = MEANING[operation](build(x, ranges), build(y, ranges))
            return made
    raise AssertionError(f"no tree: {tree}")


def names_in(tree: Tree) -> set[str]:
    match tree:
        case str():
            return {tree}
        case tuple():
            return set().union(*map(names_in, tree[1:]))
    return set()


def meanings(tree: Tree, limit: int = 80) -> Iterator[tuple[dict[str, int], int]]:
    """Pairs of a point and the value of an expression tree there, for points where the tree's
    guards hold. If there are more than `limit` points, only some are tried, spread over all of
    them."""
    names = sorted(names_in(tree))
    points = list(itertools.product(*(POINTS[name] for name in names)))
    for point in points[:: max(1, len(points) // limit)]:
        env = dict(zip(names, point, strict=True))
        try:
            yield env, direct(tree, env)
        except GuardFails:
            continue


quickly = settings(
    max_examples=250,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@quickly
@given(trees)
def test_normal_forms_keep_the_value_stay_in_range_and_spell_as_c(tree: Tree) -> None:
    x = build(tree)
    text, long_text = to_c(x), to_c(x, wide=True)
    for env, value in meanings(tree):
        assert evaluate(x, env) == value
        assert x.lo is None or x.lo <= value
        assert x.hi is None or value <= x.hi
        assert run_c(text, env) == value
        assert run_c(long_text, env) == value


@quickly
@given(trees, leaves, st.dictionaries(st.sampled_from(["a", "b", "u"]), st.integers(0, 3)))
def test_substitution_is_evaluation_with_what_was_put_in(
    tree: Tree, leaf: Tree, numbers: dict[str, int]
) -> None:
    x = substitute(build(tree), numbers)
    y = substitute(build(tree), {"u": build(("+", ("scale", 4, leaf), "a"))})
    for env, value in meanings(tree):
        if all(env.get(name, n) == n for name, n in numbers.items()):
            assert evaluate(x, env) == value
            assert variables(x) <= names_in(tree) - set(numbers)
    for env, _ in meanings(("+", ("+", tree, leaf), "a")):
        inner = dict(env, u=4 * direct(leaf, env) + env["a"])
        try:
            assert evaluate(y, env) == direct(tree, inner)
        except GuardFails:
            continue


@quickly
@given(trees)
def test_a_coefficient_is_the_step_per_unit_of_its_variable(tree: Tree) -> None:
    k = coefficient(build(tree), "a")
    given_that(k is not None)
    values = {tuple(sorted(env.items())): value for env, value in meanings(tree, limit=10**6)}
    for env, value in meanings(tree, limit=10**6):
        if "a" not in env:
            assert k == 0
            continue
        after = values.get(tuple(sorted({**env, "a": env["a"] + 1}.items())))
        assert after is None or after - value == k


@quickly
@given(trees, trees)
def test_conditions_hold_where_they_should(left: Tree, right: Tree) -> None:
    tree = ("+", left, right)
    cases: list[tuple[Condition, Callable[[int, int], bool]]] = [
        (less(build(left), build(right)), lambda x, y: x < y),
        (at_least(build(left), build(right)), lambda x, y: x >= y),
        (within(build(left), -2, build(right)), lambda x, y: -2 <= x < y),
    ]
    for condition, meant in cases:
        decision, text = decide(condition), condition_to_c(condition)
        low, high = bounds(condition, build(left))
        for env, _ in meanings(tree, limit=20):
            x = direct(left, env)
            truth = meant(x, direct(right, env))
            assert holds(condition, env) is truth
            assert decision is None or decision is truth
            assert bool(run_c(text, env)) is truth
            assert decide(substitute_in(condition, env)) is truth
            assert not truth or ((low is None or low <= x) and (high is None or x <= high))


@quickly
@given(trees, st.sampled_from([1, 1000, 10**6, 2**29]))
def test_32_bits_are_enough_where_64_are_not_asked_for(tree: Tree, scale: int) -> None:
    bounded = {name: POINTS[name] for name in names_in(tree)}
    ranges = {name: (min(points), max(points)) for name, points in bounded.items()}
    x = build(("scale", scale, tree), ranges)
    given_that(not needs_64(x))
    for env, value in meanings(tree):
        assert run_c(to_c(x), env, bits=32) == scale * value


@quickly
@given(quotient_trees, divisors)
def test_a_quotient_and_its_remainder_make_the_index_again(tree: Tree, d: int) -> None:
    x = build(tree)
    assert (x // d) * d + x % d == x
    assert x % d + d * (x // d) == x


@quickly
@given(affine_trees, divisors, divisors)
def test_nested_quotients_are_one(tree: Tree, a: int, b: int) -> None:
    x = build(tree, dict.fromkeys(RANGES, (None, None)))
    assert x // a // b == x // (a * b)
    assert x % (a * b) % b == x % b


@quickly
@given(trees)
def test_equal_indices_hash_and_print_alike(tree: Tree) -> None:
    x, y = build(tree), build(tree)
    assert x == y
    assert hash(x) == hash(y)
    assert x + var("z", 0, 1) - var("z", 0, 1) == x
    assert (repr(x), to_c(x)) == (repr(y), to_c(y))


# Every small sum of the shape of a law, whether or not its side condition holds.

X_RANGE, Y_RANGE = (-5, 13), (4, 5)


def divided(x: Any, operation: str, d: int) -> Any:
    return x // d if operation == "//" else x % d


def agrees(
    expression: Callable[[Any, Any], Any], x_range: Range = X_RANGE, y_range: Range = Y_RANGE
) -> bool:
    """True if an expression of x and y has the same value as an index and in Python's integers, at
    every x and y."""
    x, y = var("x", *x_range), var("y", *y_range)
    made = expression(x, y)
    for a in range(X_RANGE[0], X_RANGE[1] + 1):
        for b in range(Y_RANGE[0], Y_RANGE[1] + 1):
            value = evaluate(made, {"x": a, "y": b})
            inside = (made.lo is None or made.lo <= value) and (made.hi is None or value <= made.hi)
            if value != expression(a, b) or not inside:
                return False
    return True


@pytest.mark.parametrize("inner", ["//", "%"])
@pytest.mark.parametrize("outer", ["//", "%"])
def test_every_quotient_of_a_sum_with_a_quotient(inner: str, outer: str) -> None:
    for d1, d2, k, c in itertools.product([2, 3, 4, 8], [2, 3, 4, 8], [1, -1, 2, 4], [0, 1]):
        for l in (0, 1, 3):
            assert agrees(
                lambda x, y: divided(k * divided(x, inner, d1) + l * y + c, outer, d2)  # noqa: B023
            ), (d1, d2, k, l, c)


@pytest.mark.parametrize("first", ["//", "%"])
@pytest.mark.parametrize("second", ["//", "%"])
def test_every_sum_of_two_quotients_of_one_index(first: str, second: str) -> None:
    unbounded: Range = (None, None)
    for d1, d2, d3, l in itertools.product([1, 2, 3, 4, 6], [2, 3, 4], [2, 3, 4], [1, -2]):
        for k in (l, l * d1, l * d2, l * d3, l * d3 + l, l - l * d3):
            assert agrees(
                lambda x, y: k * divided(divided(x + 1, first, d1), second, d2) + l * (x % d3),  # noqa: B023
                unbounded,
            ), (d1, d2, d3, k, l)
            assert agrees(
                lambda x, y: k * divided(divided(x, first, d1), second, d2) + l * (x % d3),  # noqa: B023
                unbounded,
            ), (d1, d2, d3, k, l)


# C: what the compiler of the kernel will make of the text.

Thunk = Callable[[], int]

TOKEN = re.compile(r"\s*(\d+L?|\w+|<=|>=|&&|[-+*/%()<?:,])")


def run_c(text: str, env: Mapping[str, int], bits: int | None = None) -> int:
    """The value of a C expression with these values of its variables; given `bits`, it fails if an
    intermediate value needs more bits."""
    reader = Reader(TOKEN.findall(text), env, bits)
    value = reader.conditional()
    assert not reader.tokens, f"{text}: left over {reader.tokens}"
    return value()


class Reader:
    """A recursive-descent reader of C expressions: each method reads one level of the grammar and
    returns a function that computes the value."""

    def __init__(self, tokens: list[str], env: Mapping[str, int], bits: int | None) -> None:
        self.tokens, self.env, self.bits = tokens, env, bits

    def next_is(self, *texts: str) -> str:
        """The next token, which is then consumed, if it is one of these texts; else an empty text,
        and nothing is consumed."""
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in texts else ""

    def checked(self, value: int) -> int:
        assert self.bits is None or -(2 ** (self.bits - 1)) <= value < 2 ** (self.bits - 1)
        return value

    def conditional(self) -> Thunk:
        test = self.binary(0)
        if not self.next_is("?"):
            return test
        yes = self.conditional()
        assert self.next_is(":")
        no = self.conditional()
        return lambda: yes() if test() else no()

    LEVELS = (("&&",), ("<", "<=", ">="), ("+", "-"), ("*", "/", "%"))

    def binary(self, level: int) -> Thunk:
        if level == len(self.LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while sign := self.next_is(*self.LEVELS[level]):
            right = self.binary(level + 1)
            left = self.applied(OPERATORS[sign], left, right)
        return left

    def applied(self, operator: Callable[[int, int], int], left: Thunk, right: Thunk) -> Thunk:
        return lambda: self.checked(operator(left(), right()))

    def unary(self) -> Thunk:
        if self.next_is("-"):
            operand = self.unary()
            return lambda: self.checked(-operand())
        if self.tokens[:3] == ["(", "long", ")"]:
            del self.tokens[:3]
            return self.unary()
        return self.primary()

    def primary(self) -> Thunk:
        token = self.tokens.pop(0)
        if token == "(":
            inner = self.conditional()
            assert self.next_is(")")
            return inner
        if token in ("min", "max"):
            assert self.next_is("(")
            left = self.conditional()
            assert self.next_is(",")
            right = self.conditional()
            assert self.next_is(")")
            return lambda: {"min": min, "max": max}[token](left(), right())
        value = int(token.rstrip("L")) if token[0].isdigit() else self.env[token]
        return lambda: self.checked(value)


def truncated(x: int, d: int) -> int:
    return abs(x) // abs(d) * (1 if (x < 0) == (d < 0) else -1)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": truncated,
    "%": lambda x, y: x - y * truncated(x, y),
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">=": lambda x, y: x >= y,
    "&&": lambda x, y: bool(x and y),
}


# Laws: true for all integers under their guard, and for some integers false without it.

X, Y, Q = z3.Ints("x y q")
LO, HI, LO2, HI2 = z3.Reals("lo hi lo2 hi2")


def cut(x: z3.ArithRef, d: int) -> z3.ArithRef:
    """The quotient x / d as C rounds it, for d > 0, as a Z3 term."""
    return z3.If(x >= 0, x / d, -((-x) / d))


def cut_rem(x: z3.ArithRef, d: int) -> z3.ArithRef:
    return x - d * cut(x, d)


@dataclass(frozen=True)
class Law:
    text: str  # as the doc strings state it
    guard: z3.BoolRef | None  # None: it holds always
    equation: z3.BoolRef


def laws(a: int, b: int, d: int, g: int, k: int, s: int) -> list[Law]:
    """The laws of the index algebra, with these numbers as the divisors and coefficients in
    them."""
    m, ab, gd = 6, a * b, g * d
    in_block = z3.And(d * Q <= X, d * Q + d > X)
    in_grain = z3.And(Y >= 0, g > Y)
    in_digits, times = z3.And(g * (X % a) + Y >= 0, d > g * (X % a) + Y), m * d - g * a
    return [
        Law("x // d = q", in_block, X / d == Q),
        Law("(d·x + y) // d = x + y // d", None, (d * X + Y) / d == X + Y / d),
        Law("(g·x + y) // (g·d) = x // d", in_grain, (g * X + Y) / gd == X / d),
        Law(
            "(x // a + y) // d = (x + a·y) // (a·d)", None, (X / a + Y) / d == (X + a * Y) / (a * d)
        ),
        Law("(x % (a·d)) // d = (x // d) % a", None, (X % (a * d)) / d == (X / d) % a),
        Law(
            "(k·(x // a) + l·x + y) // d = m·(x // a)",
            in_digits,
            (times * (X / a) + g * X + Y) / d == m * (X / a),
        ),
        Law(
            "(k·(x // a) + l·x + y) % d = l·(x % a) + y",
            in_digits,
            (times * (X / a) + g * X + Y) % d == g * (X % a) + Y,
        ),
        Law("x % d = x − q·d", in_block, X % d == X - d * Q),
        Law("(d·x + y) % d = y % d", None, (d * X + Y) % d == Y % d),
        Law("(g·x + y) % (g·d) = g·(x % d) + y", in_grain, (g * X + Y) % gd == g * (X % d) + Y),
        Law(
            "(k·(x % m) + y) % d = (k·x + y) % d",
            z3.BoolVal(k * m % d == 0),
            (k * (X % m) + Y) % d == (k * X + Y) % d,
        ),
        Law("d·(x // d) + x % d = x", None, d * (X / d) + X % d == X),
        Law("b·((x // b) % a) + x % b = x % (a·b)", None, b * ((X / b) % a) + X % b == X % ab),
        Law("min(x, y) = x", X <= Y, z3.If(X < Y, X, Y) == X),
        Law("max(x, y) = y", X <= Y, z3.If(X > Y, X, Y) == Y),
        Law(
            "⌊lo/d⌋ ≤ ⌊x/d⌋ ≤ ⌊hi/d⌋",
            z3.And(Q <= X, X <= Y),
            z3.And(Q / d <= X / d, X / d <= Y / d),
        ),
        Law("0 ≤ x % d ≤ d − 1", None, z3.And(X % d >= 0, X % d <= d - 1)),
        Law("x % d ≤ hi", z3.And(X >= 0, X <= Q), X % d <= Q),
        Law("g·x + c ≥ 0  ⇔  x + c // g ≥ 0", None, (g * X + s >= 0) == (X + s // g >= 0)),
        Law("(x + s·d) // d = x // d + s", X + s * d >= 0, cut(X + s * d, d) == X / d + s),
        Law("(x + s·d) % d = x % d", X + s * d >= 0, cut_rem(X + s * d, d) == X % d),
        Law(
            "x // d = x < 0 ? (x + 1) / d - 1 : x / d",
            None,
            X / d == z3.If(X < 0, cut(X + 1, d) - 1, cut(X, d)),
        ),
        Law("x % d = (x % d + d) % d", None, X % d == cut_rem(cut_rem(X, d) + d, d)),
    ]


NUMBERS = [(2, 3, 4, 2, 2, 1), (3, 4, 5, 6, 5, -7), (5, 2, 12, 3, 5, 2), (7, 8, 3, 4, 4, 9)]
LAWS = [law for numbers in NUMBERS for law in laws(*numbers)]


def always(statement: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.set("timeout", 5000)
    solver.add(z3.Not(statement))
    answer = solver.check()
    assert answer != z3.unknown, statement
    return bool(answer == z3.unsat)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.text)
def test_a_law_holds_for_all_integers_under_its_guard(law: Law) -> None:
    assert always(law.equation if law.guard is None else z3.Implies(law.guard, law.equation))


def test_every_guard_is_needed() -> None:
    for text in {law.text for law in LAWS if law.guard is not None}:
        assert not all(always(law.equation) for law in LAWS if law.text == text), text


def test_a_product_lies_between_the_products_of_the_bounds() -> None:
    x, y = z3.Reals("x y")
    ends = (LO * LO2, LO * HI2, HI * LO2, HI * HI2)
    guard = z3.And(x >= LO, x <= HI, y >= LO2, y <= HI2)
    assert always(z3.Implies(guard, z3.Or(*(x * y <= end for end in ends))))
    assert always(z3.Implies(guard, z3.Or(*(x * y >= end for end in ends))))


def test_every_law_of_the_doc_strings_is_among_the_proved() -> None:
    proved = {law.text for law in LAWS}
    stated = [
        re.split(r"\s{2,}", line.strip())[0]
        for module in (divide.quotient, divide.remainder, divide.recombined)
        for line in (module.__doc__ or "").splitlines()[1:]
        if " = " in line
    ]
    assert len(stated) == 13
    assert set(stated) <= proved
    for function, text in [
        (minimum, "min(x, y) = x"),
        (maximum, "max(x, y) = y"),
        (index_text._shift, "(x + s·d) // d = x // d + s"),
        (index_text._dividend, "(x + s·d) % d = x % d"),
    ]:
        assert text in (function.__doc__ or "")
        assert text in proved


# Sums that resemble a law and are not one.

m, n, i, j, k = (var(name, None, None) for name in "mnijk")


@pytest.mark.parametrize("d", [2, 3, 64])
def test_1_modulo_d_is_1_only_where_d_is_more_than_1(d: int) -> None:
    assert constant(1) % d == constant(1)
    assert constant(1) % 1 == constant(0)
    with pytest.raises(ValueError, match="positive constant"):
        constant(1) % var("d", 1, 9)


def test_a_remainder_stays_where_nothing_bounds_the_summand() -> None:
    for c, K, M in itertools.product(range(3), range(1, 4), range(1, 4)):
        x = (c + i + K * M + K * j + M * j) % (K + M)
        assert x == (c + i + K * M) % (K + M)
        assert variables(x) == {"i"}
        assert {evaluate(x, {"i": v}) for v in range(12)} == set(range(K + M))


def test_a_quotient_is_found_beside_its_own_dividend() -> None:
    """As where the lanes of four sub-groups hold rows in two halves."""
    lane = var("lane", 0, 127)
    assert (lane // 32 * 32 + lane + 32) // 64 == lane // 32
    assert (lane // 32 * 32 + lane + 32) % 64 == lane % 32 + 32
    assert (lane // 4 * 12 + lane + 12 + 16 * i) // 16 == lane // 4 + i


def test_a_quotient_stays_where_truncation_would_change_it() -> None:
    """The quotient (k + j + c·n) / (c + n), with n a constant, may not be simplified to c: k and j
    may be negative, and then C's division, which truncates, gives another number."""
    for c, N in itertools.product(range(1, 4), range(1, 4)):
        x = (k + j + c * N) // (c + N)
        assert variables(x) == {"j", "k"}
        for values in itertools.product(range(-3, 4), range(-3, 4)):
            env = dict(zip("jk", values, strict=True))
            expected = (sum(values) + c * N) // (c + N)
            assert evaluate(x, env) == expected == run_c(to_c(x), env)


@pytest.mark.parametrize("divisor", [0, -3, var("d", 1, 2), constant(0)])
def test_a_divisor_is_a_positive_number(divisor: Index | int) -> None:
    for divided in (Index.__floordiv__, Index.__mod__):
        with pytest.raises(ValueError, match="expected a positive constant as divisor"):
            divided(i, divisor)


# What the views of a kernel need.

h, w, c = var("h", 0, 13), var("w", 0, 9), var("c", 0, 15)


def test_joining_and_splitting_again_leaves_the_indices() -> None:
    flat = (h * 10 + w) * 16 + c
    assert (flat // 160, flat // 16 % 10, flat % 16) == (h, w, c)


def test_splitting_and_joining_again_leaves_the_index() -> None:
    x = var("x", 0, 2239)
    assert x // 160 * 160 + x // 16 % 10 * 16 + x % 16 == x
    assert x // 16 % 10 * 16 + x % 16 == x % 160
    assert 7 * (x // 160 * 160 + x // 16 % 10 * 16 + x % 16) + h == 7 * x + h


def test_an_assumption_holds_under_its_guard_and_is_spelled_as_what_it_is() -> None:
    padded = h - 1
    inside = assume(padded, 0, 11)
    assert (inside.lo, inside.hi) == (0, 11)
    assert to_c(inside * 12) == "h * 12 - 12"
    assert coefficient(inside, "h") == 1
    assert to_c(padded // 4) == "(h + 3) / 4 - 1"
    assert to_c(inside // 4) == "(h + 3) / 4 - 1"
    assert assume(h, 0, 20) is h
    assert assume(h, 5, 5) == constant(5)


def test_a_text_outside_of_guards_divides_nothing_negative() -> None:
    split = assume(h - w, 0, 3) // 2  # inside an array of 4 for 0 ≤ h - w < 4 alone
    assert to_c(split) == "(h - w) / 2"
    assert to_c_anywhere(split, {}, wide=False) == "((h - w) + 10) / 2 - 5"


@quickly
@given(trees)
def test_a_text_outside_of_guards_is_defined_there_and_the_same_inside(tree: Tree) -> None:
    x = build(tree)
    text = to_c_anywhere(x, {}, wide=False)
    for env, value in meanings(tree):
        assert run_c(text, env) == value
    everywhere = unassumed(x)
    for values in itertools.product([0, 3], [0, 6], [-3, 2], [-7, 9], [0, 8]):
        env = dict(zip(RANGES, values, strict=True))
        assert run_c(text, env) == evaluate(everywhere, env)


@pytest.mark.parametrize("lo", [None, -2, 0, 3, 15])
@pytest.mark.parametrize("hi", [None, -1, 3, 13, 20])
def test_an_assumed_range_is_what_both_ranges_share(lo: int | None, hi: int | None) -> None:
    low, high = max(0, lo or 0), 13 if hi is None else min(13, hi)
    inside = assume(h, lo, hi)
    assert (inside.lo, inside.hi) == ((low, high) if low <= high else (0, 13))


def test_texts() -> None:
    u = var("u", None, None)
    assert to_c(h * 160 + w * 16 + c - 3) == "h * 160 + w * 16 + c - 3"
    assert to_c(7 - h) == "7 - h"
    assert to_c(-h) == "-h"
    assert to_c((h - 1) // 4 * 3) == "(h + 3) / 4 * 3 - 3"
    assert to_c((h - 1) % 4) == "(h + 3) % 4"
    assert to_c(u // 4) == "(u < 0 ? (u + 1) / 4 - 1 : u / 4)"
    assert to_c(u % 4) == "(u % 4 + 4) % 4"
    assert to_c(maximum(0, minimum(h - 1, 11))) == "max(0, min(11, h - 1))"
    assert to_c(h * w) == "h * w"
    assert to_c(h, {"h": "(int)get_global_id(0)"}) == "(int)get_global_id(0)"
    assert to_c(h * 4 + 1, wide=True) == "(long)h * 4L + 1L"
    assert condition_to_c(within(h + w - 1, 0, 12)) == "h + w >= 1 && h + w < 13"
    assert condition_to_c(less(h, w)) == "h < w"
    assert condition_to_c(at_least(h, w)) == "h >= w"
    assert (condition_to_c(ALWAYS), condition_to_c(NEVER)) == ("1", "0")
    twice = assume(2 * h, 0, 6)
    assert condition_to_c(both(at_least(twice // 3, 1), less(h, 4))) == "h < 4 && (h * 2) / 3 >= 1"


def test_a_part_that_has_a_name_is_spelled_by_it() -> None:
    x = (h - c) // 5 * 8 + (h - c) % 7 * 100 + ((h - c) // 5 * w + h) % 7
    named = {part.key: f"t{n}" for n, part in enumerate(parts(x))}
    env = {"c": 3, "w": 5, "h": 2}
    for part in parts(x):
        without = {key: name for key, name in named.items() if key != part.key}
        env[named[part.key]] = run_c(to_c(from_atom(part), without), env)
    assert run_c(to_c(x, named), env) == evaluate(x, env)
    assert "/" not in to_c(x, named)


def test_64_bits_are_asked_for_where_a_step_leaves_32() -> None:
    big = var("i", 0, 2**20)
    assert not needs_64(big * 2047)
    assert needs_64(big * 2048)
    assert needs_64(big * 4096 % (2**31 - 1))
    assert needs_64(var("u", None, None) + 1)
    assert needs_64(less(big * 4000, w))
    assert not needs_64(less(big, w))


def test_conditions_are_decided_by_ranges() -> None:
    assert decide(within(h, 0, 14)) is True
    assert decide(less(h, 0)) is False
    assert decide(within(h - 1, 0, 14)) is None
    assert decide(less(h, h + 1)) is True
    assert both(less(h, 5), less(h, 3)) == less(h, 3)
    assert less(4 * h, 6) == less(h, 2)
    assert both(less(h, 5), less(w, -1)) == NEVER
    assert bounds(within(h - 1, 0, 12), h - 1) == (0, 11)


def test_an_index_is_linear_only_where_its_variable_stands_nowhere_else() -> None:
    assert coefficient(h * 160 + w, "h") == 160
    assert coefficient(h * 160 + w, "c") == 0
    assert coefficient(h + h // 2, "h") is None
    assert not linear_in(h * w, "h")


def test_a_variable_of_one_value_is_that_value() -> None:
    assert var("i", 3, 3) == as_index(3)
    with pytest.raises(ValueError, match="a range with a value"):
        var("i", 1, 0)
    with pytest.raises(ValueError, match="identifier"):
        var("i + 1", 0, 3)


def test_nothing_here_keeps_state() -> None:
    assert not [
        name
        for module in (divide, index_module, index_text)
        for name, value in vars(module).items()
        if isinstance(value, dict | list | set) and not name.startswith("__")
    ]


@settings(max_examples=300)
@given(
    st.sampled_from([1, 3, 24]),
    st.sampled_from([-60, 0, 7, 64]),
    st.sampled_from([2, 3, 8]),
    st.sampled_from([2, 5]),
)
def test_digits_are_what_they_were_taken_from(l: int, k: int, d: int, a: int) -> None:
    """The sum l·x + k·(x // d) + x // (d·a), written in digits of x, has the same value as before.
    Here x is a sum of two ids, and at most 20 by assumption."""
    x = assume(var("i", 0, 4) * 7 + var("j", 0, 6), hi=20)
    whole = from_atom(quot(x, d)) * k + from_atom(quot(x, d * a))
    apart = digits(plus(whole, x, l))
    assert plus(whole, x, l).key != apart.key
    for i, j in itertools.product(range(5), range(7)):
        if 7 * i + j <= 20:
            n = 7 * i + j
            assert evaluate(apart, {"i": i, "j": j}) == l * n + k * (n // d) + n // (d * a)


def test_digits_leave_nothing_beside_its_own_quotient() -> None:
    x = var("i", 0, 99)
    assert digits(plus(from_atom(quot(x, 8)) * 16, x, 2)).key == "2*(i%8)+32*(i/8)"


def within_terms(l: int, y: Mapping[str, int], x: Mapping[str, int]) -> bool:
    """True if each variable's factor in l·y has the same sign as its factor in x (the sum in `x`,
    by name), and is no larger. A variable that x lacks has the factor 0 there."""
    held = [(l * k, x.get(name, 0)) for name, k in y.items()]
    return all(0 <= part <= whole or whole <= part <= 0 for part, whole in held)


def linear(terms: Mapping[str, int]) -> Index:
    return sum((var(name, 0, 9) * k for name, k in terms.items()), constant(0))


terms_of_two = st.dictionaries(st.sampled_from("xy"), st.integers(-7, 7).filter(bool), min_size=1)


@given(terms_of_two, terms_of_two)
def test_a_sum_is_as_often_in_another_as_its_terms_are(
    y: dict[str, int], x: dict[str, int]
) -> None:
    often = [l for l in range(-8, 9) if within_terms(l, y, x)]
    assert times_in(linear(y), linear(x)) == max(often, key=abs)


def test_two_items_of_groups_of_8_that_share_a_cell_are_one() -> None:
    g, h = var("g", 0, 99), var("h", 0, 99)
    item, other = var("l", 0, 7), var("m", 0, 7)
    assert impossible([8 * g + item - 8 * h - other], [g - h, item - other])
    assert not impossible([7 * g + item - 7 * h - other], [g - h, item - other])

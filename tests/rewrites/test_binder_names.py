"""Tests of the names of bound variables in derived terms: those of the program are kept, and where
it has none, a name says what the variable holds."""

# key: p pattern, e term

from pathlib import Path

import pytest

from ir.core.nodes import Expr, Lam, Pattern, Var
from ir.core.terms import subterms
from ir.core.type_rules import type_of
from ir.core.types import FLOAT, Array
from ir.parse import parse, parse_file
from ir.text.show import show
from rewrites.analysis.binder_names import (
    element_of,
    name_of,
    parts_of,
    plural,
    several,
    singular,
    value_of,
)
from rewrites.engine.rule import Strategy
from rewrites.families.all_families import first
from rewrites.laws.interchange import interchange_rows
from rewrites.laws.maps import fission, split_map
from rewrites.laws.reductions import split_reduce
from tests.support.random_programs import program
from tests.support.telling_names import telling

EXAMPLES = Path(__file__).parents[2] / "examples"
X, W = Var("x1", FLOAT), Var("w", FLOAT)


def body(text: str) -> Expr:
    return parse(f"p(xss : [[float]6]4, ys : [float]6) = {text}").body


@pytest.mark.parametrize(
    ("one", "many"),
    [("row", "rows"), ("x", "xs"), ("bias", "biases"), ("query", "queries"), ("key", "keys"),
     ("kernel_bias", "kernel_biases"), ("box", "boxes"), ("class", "classes")],
)  # fmt: skip
def test_a_plural_is_the_name_of_many_and_back(one: str, many: str) -> None:
    assert plural(one) == many
    assert plural(many) == many, "many of many are as many"
    assert singular(one) is None


def test_a_plural_of_which_every_part_is_one_has_a_singular() -> None:
    words = ["rows", "xs", "biases", "queries", "keys", "planes", "kernels_biases"]
    found = ["row", "x", "bias", "query", "key", "plane", "kernel_bias"]
    assert [singular(word) for word in words] == found
    assert singular("kernel_biases") is None


@pytest.mark.parametrize(
    ("pattern", "name", "many"),
    [(X, "x", "xs"), ((X, W), "x_w", "xs_ws"), ((X, X), "x", "xs"), ((X, (W, X)), "x_w", "xs_ws")],
)
def test_what_a_pattern_binds_has_one_name(pattern: Pattern, name: str, many: str) -> None:
    assert (name_of(pattern), several(pattern)) == (name, many)


def test_parts_of_a_joined_name_are_what_was_joined() -> None:
    assert parts_of((X, W), 2) == parts_of(Var("x_w3", FLOAT), 2) == ["x", "w"]
    assert parts_of(Var("pair", FLOAT), 2) == ["pair", "pair"]


@pytest.mark.parametrize(
    ("text", "element", "value"),
    [
        ("map(row -> reduce(0.0, (acc, x) -> acc + x, row), xss)", "sum", "sums"),
        ("map(row -> reduce(-inf, (acc, x) -> max(acc, x), row), xss)", "maximum", "maximums"),
        ("split(2, ys)", "ys", "ys"),
        ("slide(3, 1, ys)", "window", "ys"),
        ("transpose(xss)", "column", "xss"),
        ("pad(1, 1, 0.0, ys)", "y", "ys"),
        ("map(y -> y * 2.0, ys)", "result", "results"),
    ],
)
def test_elements_and_values_are_named_after_what_makes_them(
    text: str, element: str, value: str
) -> None:
    found = body(text)
    assert element_of(found) == element
    assert value_of(found) == value


@pytest.mark.parametrize(
    ("law", "text", "expected"),
    [
        (split_map(k=2), "map(row -> row, xss)", "map(rows -> map(row -> row, rows)"),
        (interchange_rows(), "map(row -> map(x -> x * x, row), xss)",
         "map(xs -> map(x -> x * x, xs)"),
        (split_reduce(k=2), "reduce(0.0, (total, y) -> total + y, ys)",
         "(total1, ys) -> reduce(total1, (total, y) -> total + y, ys)"),
        (fission(place=(0,)), "map(row -> reduce(0.0, (acc, x) -> acc + x, row) * 2.0, xss)",
         "map(sum -> sum * 2.0"),
    ],
)  # fmt: skip
def test_a_law_names_what_it_binds_after_the_function_that_it_found(
    law: Strategy, text: str, expected: str
) -> None:
    assert expected in after(law, body(text))


def after(law: Strategy, e: Expr) -> str:
    """The text, on one line, of the term that the strategy `law` makes of e."""
    made = law(e)
    assert made is not None
    return " ".join(show(made[0]).split())


def test_a_name_that_would_be_captured_gets_a_number() -> None:
    e = body("map(row -> map(rows -> rows, row), xss)")
    assert "rows1 -> map(row -> map(rows -> rows, row), rows1)" in after(split_map(k=2), e)


OF_WINDOWS = [(p, f) for p in ("vgg", "depthwise") for f in ("lift", "winograd")]
OF_ALL = [(p, f) for p in ("vgg", "depthwise", "matmul") for f in ("naive", "registers", "blocked")]


@pytest.mark.parametrize(
    ("program", "family"), [*OF_WINDOWS, *OF_ALL, ("attention", "naive"), ("matmul", "strassen")]
)
def test_nearly_all_bound_variables_of_a_lowered_program_tell_what_they_hold(
    program: str, family: str
) -> None:
    p = parse_file(EXAMPLES / f"{program}.lift")
    told, every = telling(p, first(p, family).program.body)
    assert every > 0
    assert told >= 0.95 * every


def test_every_term_has_a_name() -> None:
    """A name is found for the value of every term of random programs, and for the elements of every
    array, even of an array that is generated from its indices."""
    assert value_of(body("generate(5, i -> at(0, ys))")) == "ys"
    for seed in range(150):
        for e in subterms(program(seed).body):
            if not isinstance(e, Lam):
                assert value_of(e)
                assert not isinstance(type_of(e), Array) or element_of(e)

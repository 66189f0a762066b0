"""Tests that the glossary explains every word of a form, and every parameter with the values that
are tried."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ir.parse import parse, parse_file
from rewrites.families.all_families import FAMILIES, forms
from rewrites.tuning.family import Form, Parameter
from rewrites.tuning.prepared_forms import PREPARATIONS

TOP = Path(__file__).parents[2]
GLOSSARY = (TOP / "docs" / "glossary.md").read_text(encoding="utf-8")
PROGRAMS = (
    "quickstart", "grouped", "matmul", "batched", "qlinear_conv", "gradients/vgg_weights"
)  # fmt: skip
FEW_CHANNELS = """grouped(weights : [[[float]4]4]8, pixels : [[float]32]9) =
  map(pixel -> map((part, kernels) -> map(kernel -> dot(part, kernel), kernels),
    zip(split(4, pixel), weights)), pixels)"""
BYTES = "f(a : [char]16, b : [uchar]16) = (dot(a, a), dot(a, b), dot(b, b))"
SHORT = "f(a : [float]4, b : [float]8) = (dot(a, a), dot(b, b))"
IN_FLOATS = "f(a : [char]8) = reduce(0.0, (acc, x) -> acc + float(x), a)"
HALVES = "sums(xs : [[half]64]8) = map(row -> reduce(0h, (acc, x) -> acc + x, row), xs)"
BFLOATS = """f(a : [[bfloat]32]64, b : [[bfloat]32]64) = map(row -> map(column ->
  reduce(0.0, (acc, (x, y)) -> acc + float(x) * float(y), zip(row, column)), b), a)"""
OWN = ("registers", "blocked", "io-optimal", "lift", "matrix", "fused")  # a row for each parameter


@cache
def all_forms() -> tuple[Form, ...]:
    programs = [parse_file(TOP / "examples" / f"{name}.lift") for name in PROGRAMS]
    more = (FEW_CHANNELS, HALVES, BFLOATS, BYTES, SHORT, IN_FLOATS)
    every = (*programs, *map(parse, more))
    return tuple(f for family in FAMILIES for p in every for f in forms(p, family))


def rows(title: str) -> Iterator[list[str]]:
    """The cells of each row of the table in the section `title`, without the table's head."""
    section = GLOSSARY.split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def numbers(cell: str) -> tuple[int, ...]:
    """The numbers that a table's cell such as `1–3, 8` lists; none for a cell with words."""
    if not re.fullmatch(r"[\d–, ]+", cell):
        return ()
    ends = [tuple(map(int, part.split("–"))) for part in cell.split(", ")]
    return tuple(n for part in ends for n in range(part[0], part[-1] + 1))


def parameters() -> dict[tuple[str, str], Parameter]:
    """The parameters of all families, by the name of the tuning that they belong to and their own
    name: of those that forms give different values, the one with the most."""
    every = [((f.tuning.name, n), p) for f in all_forms() for n, p in f.tuning.parameters.items()]
    return dict(sorted(every, key=lambda each: len(each[1].values)))


def test_every_word_of_a_form_is_explained() -> None:
    words = {word for form in all_forms() for word in form.words}
    explained = {word for cells in rows("Words of forms") for word in quoted(cells[0])}
    assert explained == words


@pytest.mark.parametrize("tuning", OWN)
def test_every_parameter_of_a_tuning_has_a_row_with_its_values(tuning: str) -> None:
    every = {n: p.values for (owner, n), p in parameters().items() if owner == tuning}
    found = {n: values for n, values in every.items() if n not in of_preparations()}
    table = {
        name: numbers(values)
        for cell, family, _, values in rows("Parameters")
        if quoted(family) == [tuning]
        for name in quoted(cell)[:1]
    }
    assert table == found


def of_preparations() -> dict[str, tuple[int, ...]]:
    """The values that are tried of each parameter that a preparation adds to a form, by its
    name."""
    return {n: p.values for made in PREPARATIONS.values() for n, p in made.parameters.items()}


def test_every_parameter_of_a_preparation_has_a_row_with_its_values() -> None:
    table = {cell.strip("`"): numbers(values) for cell, *_, values in rows("Parameters")}
    assert of_preparations().items() <= table.items()


def test_every_parameter_of_every_family_is_in_the_table() -> None:
    table = {name for cell, *_ in rows("Parameters") for name in quoted(cell)}
    assert {name for _, name in parameters()} | {"u"} <= table


def test_every_family_is_in_the_list_of_families() -> None:
    listed = (TOP / "docs" / "families" / "index.md").read_text(encoding="utf-8")
    assert {name for name in FAMILIES if f"`{name}`" not in listed} == set()

"""Tests that the variables of a kernel are named after what they hold."""

import re

import pytest

from codegen.compile import generate
from ir.parse import parse

CONV = """
f(image : [[float]20]6, weights : [[float]20]4) =
  join(mapWorkgroup(0)(rows ->
    let tile = toLocal(mapLocal(0)(row -> mapSeq(x -> x, row), rows))
    let ws = toLocal(mapLocal(0)(row -> mapSeq(x -> x * 2.0, row), weights))
    mapLocal(0)(row ->
      reduceSeq([0.0, 0.0, 0.0, 0.0], (acc3, (x, y)) ->
        let! p = toPrivate(unrolled mapSeq(z -> z, y))
        unrolled mapSeq((a, b) -> a + b * x, zip(acc3, p)),
        zip(row, transpose(ws))), tile), split(3, image)))
"""


def text(program: str) -> str:
    return generate(parse(program)).plan.source


def test_copies_are_named_after_the_buffer_whose_numbers_they_hold() -> None:
    found = text(CONV)
    assert "__local float image_tile_[60]" in found
    assert "__local float ws_[80]" in found  # computed: named as in the program
    assert "float ws_3 = ws_[" in found
    assert "acc_3 = fma(ws_3, image_0, acc_3);" in found


def test_blocks_of_registers_and_tiles_tell_their_shape() -> None:
    found = text(CONV)
    assert "__local float image_tile_[60] __attribute__((aligned(64))); // 3 x 20" in found
    block = """
    f(xs : [[float]3]4) = mapGlobal(0)(x ->
      reduceSeq(generate(2, i -> generate(3, j -> 0.0)), (acc, r) ->
        unrolled mapSeq(row -> unrolled mapSeq(a -> a + r, row), acc), x), xs)
    """
    assert "// acc_0_0 to acc_1_2: 2 x 3 of float" in text(block)


@pytest.mark.parametrize("name", ["acc", "x", "table", "part", "image_tile"])
def test_a_parameter_with_the_name_of_a_variable_keeps_its_own(name: str) -> None:
    found = text(re.sub(r"\bimage\b", name, CONV))
    declared = re.findall(r"(?:float\d*|int) (?:\*restrict )?(\w+)(?:\[| =|,|\))", found)
    assert len({n for n in declared if n == f"{name}_"}) == 1
    assert declared.count(f"{name}_") == 1

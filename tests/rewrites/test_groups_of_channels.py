"""Tests of forms `groups`: vectors go over the channels of several groups of a grouped convolution,
whose pixels are loaded as whole vectors."""

# key: g groups, c channels of a group, m kernels of a group, s step, t type, v width

import re

import pytest

from codegen.runtime.session import Session
from explore.space.lowering import lowering
from ir.errors import UserError
from ir.parse import parse
from tests.rewrites.test_registers import made, runs_right

LAST = """
grouped(const weights : [[[[[{t}]{c}]3]3]{m}]{g}, const biases : [[{t}]{m}]{g},
        image : [[[{t}]({g} * {c})]7]5) =
  map2d(window ->
      join(map((part, kernels, added) ->
          map((kernel, bias) -> relu(dot(flatten(part), flatten(kernel)) + bias),
            zip(kernels, added)),
        zip(transpose(map(pixel -> split({c}, pixel), join(window))), weights, biases))),
    slide2d(3, {s}, pad2d(1, 0.0, image)))
"""
LINE = """
grouped(const weights : [[[[[float]4]3]2]3]8, image : [[float]32]9) =
  map(window ->
      map((part, blocks) ->
          map(block -> map(kernel -> dot(flatten(part), flatten(kernel)), block), blocks),
        zip(transpose(map(pixel -> split(4, pixel), window)), weights)),
    slide(3, 1, image))
"""
FIRST = """
grouped(const weights : [[[[[float]3]3]4]4]2, image : [[[float]7]5]8) =
  join(map((planes, kernels) ->
      map(kernel -> map2d(window -> dot(flatten(window), flatten(kernel)),
          map(row -> map(transpose, transpose(row)),
            transpose(map(plane -> slide2d(3, 1, pad2d(1, 0.0, plane)), planes)))), kernels),
    zip(split(4, image), weights)))
"""
PLAIN = "rows(a : [[float]8]6, const b : [[float]8]4) = map(x -> map(y -> dot(x, y), b), a)"


def last(g: int, c: int, m: int, s: int = 1, t: str = "float") -> str:
    return LAST.format(g=g, c=c, m=m, s=s, t=t)


@pytest.mark.parametrize(
    ("g", "c", "m", "point", "lanes"),
    [
        (8, 4, 4, {"k": 4, "tr": 1, "tx": 2, "v": 16}, "s000044448888cccc"),
        (4, 4, 4, {"k": 4, "tr": 2, "tx": 3, "v": 8}, "s00004444"),
        (4, 8, 8, {"k": 8, "tr": 1, "tx": 2, "v": 16}, "s0000000088888888"),
        (8, 2, 2, {"k": 2, "tr": 1, "tx": 4, "v": 8}, "s00224466"),
        (8, 2, 1, {"k": 2, "tr": 1, "tx": 2, "v": 8}, "s02468ace"),
        (4, 2, 4, {"k": 2, "tr": 1, "tx": 2, "v": 8}, "s00002222"),
    ],
)
@pytest.mark.parametrize("form", ["relaid swept groups", "items groups"])
def test_pixels_of_several_groups_are_loaded_as_vectors(
    session: Session, form: str, g: int, c: int, m: int, point: dict[str, int], lanes: str
) -> None:
    program, plan = made(last(g, c, m), form, point)
    assert f".{lanes};" in plan.source
    assert not re.search(r"\(float\d+\)\(image_\[", plan.source)
    assert runs_right(session, program, plan)


@pytest.mark.parametrize(
    "text",
    [
        last(3, 4, 4),
        last(5, 3, 2),
        last(4, 4, 1),
        last(4, 4, 4, s=2),
        last(4, 4, 4, t="half"),
        LINE,
    ],
)
@pytest.mark.parametrize("form", ["relaid tall groups", "items groups"])
def test_groups_of_any_sizes_are_right(session: Session, form: str, text: str) -> None:
    for tr, v in ((1, 4), (1, 8), (3, 2)):
        point = {"k": 1, "tr": tr, "tx": 2, "v": v} | ({"ty": 2} if "tall" in form else {})
        assert runs_right(session, *made(text, form, point))


@pytest.mark.parametrize("text", [PLAIN, FIRST, last(2, 4, 16)])
def test_there_are_no_such_forms_of_a_program_without_few_channels_innermost(text: str) -> None:
    with pytest.raises(UserError, match="groups"):
        lowering(parse(text), "registers", "swept groups")

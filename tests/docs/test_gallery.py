"""Tests of the gallery page: it shows every example's text, and the picture that is drawn from
it."""

import re
from pathlib import Path

import pytest

from benchmarks.pictures import PICTURES, Picture, svg

TOP = Path(__file__).parents[2]
GALLERY = (TOP / "docs" / "gallery.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"^### (\w+)\n.*?^```haskell\n(.*?)^```$", GALLERY, re.M | re.S))
EXAMPLES = {file.stem: file.read_text(encoding="utf-8") for file in TOP.glob("examples/*.lift")}


def test_the_gallery_shows_every_example_as_it_is() -> None:
    assert SHOWN == EXAMPLES


@pytest.mark.parametrize("picture", PICTURES, ids=lambda p: p.name)
def test_a_picture_is_the_one_that_its_program_makes(picture: Picture) -> None:
    stored = TOP / "docs" / "pictures" / f"{picture.name}.svg"
    assert svg(picture) == stored.read_text(encoding="utf-8"), "python -m benchmarks.pictures"
    assert f"(pictures/{picture.name}.svg)" in GALLERY

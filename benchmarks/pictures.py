"""Pictures of programs: for one result, the elements of each input that it is made of.

`python -m benchmarks.pictures` writes docs/pictures/*.svg. Nothing is drawn by hand: a small
instance of a program is interpreted, with each element of its inputs changed in turn, and those
that change the chosen result are coloured. Greys and colours are readable on white and on black.
"""

# key: p program, xs array, at index of an element

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir.core.nodes import Program
from ir.meaning.inputs import random_inputs
from ir.meaning.interpret import evaluate
from ir.parse import parse_file

TOP = Path(__file__).parents[1]
FOLDER = TOP / "docs" / "pictures"
CELL, GAP, LINE, SPACE = 11, 7, 16, 22  # a cell, between panels, a line of text, between arrays
GREY, DATA, CONSTANT, RESULT = "#858585", "#3f87e8", "#d9822b", "#d6409f"
FAR = 1e4  # how far an element is moved, both ways

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
At = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to draw: the program called `name` at small sizes, and the index `at` of the result
    whose inputs are shown."""

    name: str
    sizes: Mapping[str, int]
    at: At


PICTURES = (
    Picture("quickstart", {"C": 2, "W": 6, "H": 5, "K": 3, "M": 3}, (2, 3, 1)),
    Picture("conv2d", {"C": 2, "W": 7, "H": 7, "K": 3, "S": 2, "P": 1, "M": 2}, (1, 2, 0)),
    Picture("conv1x1", {"C": 3, "W": 5, "H": 4, "M": 4}, (1, 2, 2)),
    Picture("depthwise", {"C": 3, "W": 6, "H": 5, "K": 3}, (2, 3, 1)),
    Picture("separable", {"C": 2, "W": 6, "H": 5, "M": 3}, (2, 3, 1)),
    Picture("inverted_residual", {"C": 2, "W": 6, "H": 5, "E": 3, "M": 2}, (1, 1, 1)),
    Picture("grouped", {"C": 4, "W": 4, "H": 4, "M": 4, "G": 2}, (1, 2, 3)),
    Picture("dilated", {"C": 2, "W": 7, "H": 7, "K": 3, "D": 2, "P": 2, "M": 2}, (3, 3, 1)),
    Picture("batched", {"N": 2, "C": 2, "W": 5, "H": 4, "M": 2}, (1, 2, 2, 0)),
    Picture("conv1d", {"C": 3, "N": 12, "K": 5, "M": 2}, (4, 1)),
    Picture("conv3d", {"C": 1, "W": 4, "H": 4, "D": 4, "M": 1}, (1, 2, 2, 0)),
    Picture("maxpool", {"C": 2, "W": 7, "H": 7}, (1, 1, 0)),
    Picture("avgpool", {"C": 2, "W": 6, "H": 6}, (1, 1, 0)),
    Picture("matmul", {"M": 4, "K": 6, "N": 5}, (2, 3)),
    Picture("fully_connected", {"N": 8, "M": 5}, (3,)),
    Picture("dot", {"N": 8}, ()),
    Picture("blur", {"W": 7, "H": 6}, (2, 3)),
    Picture("blur_separable", {"W": 7, "H": 6}, (2, 3)),
    Picture("stencil5", {"W": 7, "H": 6}, (2, 3)),
    Picture("softmax", {"M": 4, "N": 7}, (1, 4)),
    Picture("attention", {"N": 4, "L": 5, "D": 3, "E": 3}, (1, 2)),
    Picture("causal_attention", {"N": 5, "D": 3, "E": 3}, (2, 1)),
)


def main() -> None:
    """Write every picture to its file."""
    FOLDER.mkdir(exist_ok=True)
    for picture in PICTURES:
        (FOLDER / f"{picture.name}.svg").write_text(svg(picture), encoding="utf-8")


def svg(picture: Picture) -> str:
    """The picture as SVG: on the left the inputs, with the elements marked that one result depends
    on; on the right the array of results, with that result marked."""
    p = parse_file(TOP / "examples" / f"{picture.name}.lift", dict(picture.sizes))
    inputs = {
        name: np.asarray(x, np.float64) for name, x in random_inputs(p, 1, integers=False).items()
    }
    output = np.asarray(evaluate(p, inputs), np.float64)
    result = np.zeros(output.shape, np.bool_)
    result[picture.at] = True
    drawn = [
        Drawing(q.var.name, read(p, inputs, q.var.name, picture.at), q.const) for q in p.params
    ]
    left = _stacked(drawn)
    right = Drawing("result", result, None)
    width = max(d.width for d in drawn)
    height = max(left[-1][0] + drawn[-1].height, right.height)
    parts = [part for top, d in left for part in d.svg(0, top)]
    middle = height / 2
    parts += [_text(width + SPACE * 0.55, middle + 5, "→", 18)]
    parts += right.svg(width + SPACE * 2, middle - right.height / 2)
    return _page(width + SPACE * 2 + right.width, height, parts)


def read(p: Program, inputs: Mapping[str, Array], name: str, at: At) -> Mask:
    """The elements of the input `name` that the result at index `at` of a program depends on, as a
    mask of the input's shape: changing such an element changes the result."""
    before = _result(p, inputs, at)
    found = np.zeros(inputs[name].shape, np.bool_)
    for index in np.ndindex(found.shape):
        for far in (FAR, -FAR):
            changed = inputs[name].copy()
            changed[index] += far
            found[index] |= _result(p, {**inputs, name: changed}, at) != before
    return found


def _result(p: Program, inputs: Mapping[str, Array], at: At) -> float:
    return float(np.asarray(evaluate(p, inputs))[at])


@dataclass(frozen=True, slots=True)
class Drawing:
    """An array drawn as panels of cells: its name, its shape and marks (`marked` is true for cells
    to colour), and whether it is a constant; `const` is None for the result."""

    name: str
    marked: Mask
    const: bool | None

    @property
    def panels(self) -> Mask:
        """The marks as an array with the axes (panel row, panel column, row, column).

        Of an array of three dimensions or more, each index of the innermost dimension (the channels
        of an image) has a panel; of a constant of three dimensions, each index of the outermost one
        (a kernel) has one."""
        xs = self.marked.reshape(1, -1) if self.marked.ndim < 2 else self.marked
        if xs.ndim == 2:
            return xs[None, None]
        if xs.ndim == 3 and self.const:
            return xs[None]
        *outer, rows, columns, last = xs.shape
        return xs.reshape(math.prod(outer), rows, columns, last).transpose(0, 3, 1, 2)

    @property
    def width(self) -> float:
        """The width in pixels of the drawing, wide enough for its title."""
        _, across, _, columns = self.panels.shape
        cells: int = across * (columns * CELL + GAP) - GAP
        return max(cells + 2, 7.4 * len(self.title))

    @property
    def height(self) -> float:
        """The height in pixels of the drawing with the line of its title."""
        down, _, rows, _ = self.panels.shape
        cells: int = down * (rows * CELL + GAP) - GAP
        return LINE + cells + 2

    @property
    def title(self) -> str:
        """The array's name with the sizes of its dimensions, the outermost first."""
        return self.name + " " + "".join(f"[{n}]" for n in self.marked.shape)

    def svg(self, left: float, top: float) -> Iterator[str]:
        """The lines of SVG for the title and the cells, whose left edge is at `left` and whose
        upper edge is at `top`."""
        colour = {True: CONSTANT, False: DATA, None: RESULT}[self.const]
        yield _text(left, top + 11, self.title, 12)
        for (down, across, row, column), marked in np.ndenumerate(self.panels):
            _, _, rows, columns = self.panels.shape
            x = left + 1 + across * (columns * CELL + GAP) + column * CELL
            y = top + LINE + 1 + down * (rows * CELL + GAP) + row * CELL
            fill = f'fill="{colour}"' if marked else 'fill="none"'
            yield f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" {fill}/>'


def _stacked(drawn: list[Drawing]) -> list[tuple[float, Drawing]]:
    """Each drawing with the position of its upper edge, so that they stand one below the other."""
    tops = [0.0]
    for d in drawn[:-1]:
        tops.append(tops[-1] + d.height + SPACE / 2)
    return list(zip(tops, drawn, strict=True))


def _text(x: float, y: float, words: str, size: int) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}">{words}</text>'


def _page(width: float, height: float, parts: list[str]) -> str:
    size = f'width="{width + 2:g}" height="{height + 2:g}"'
    box = f'viewBox="-1 -1 {width + 2:g} {height + 2:g}"'
    style = f"text{{font-family:monospace;fill:{GREY}}} rect{{stroke:{GREY};stroke-width:1}}"
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>\n'
        f"<style>{style}</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    main()

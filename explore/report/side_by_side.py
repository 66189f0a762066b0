"""Runs of one program on several devices, side by side: their fronts as text and as a page.

Times of different devices answer different questions, so no front is made of all: each device has
its own, in one plane, and a table tells what each variant of a front takes on the other devices.
"""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from explore.files.static_page import write_page
from explore.options.units import show_bytes, show_time
from explore.report.palette import colours
from explore.report.plane import Plane, place, plane_over
from explore.results.front import front
from explore.results.records import Failed, Record, latest
from ir.core.frozen import frozen

WIDE, HIGH = 900, 380
STYLE = """
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 24px; }
.sides > section { min-width: 0; overflow-x: auto; }
td:first-child, th:first-child { text-align: left; } .on { font-weight: 650; }
h2 { font-size: 16px; } a { color: inherit; } .swatch { display: inline-block; width: 11px;
  height: 11px; border-radius: 50%; margin-right: 6px; }
"""


@frozen
class Side:
    """A run that is compared with others of its program: its device, its folder within the common
    one, and its records."""

    where: str
    folder: str
    records: tuple[Record, ...]


@frozen
class Across:
    """A variant that is on some front: its record on each device (None: it was not tried there),
    and whether it is on that device's front."""

    id: str
    records: tuple[Record | None, ...]
    on_front: tuple[bool, ...]


def across(sides: Sequence[Side]) -> list[Across]:
    """The variants of all fronts with their records on every device, beginning with the front of
    the first side."""
    fronts = [[r.variant.id for r in front(side.records)] for side in sides]
    tried = [{r.variant.id: r for r in latest(side.records)} for side in sides]
    return [
        Across(id, tuple(t.get(id) for t in tried), tuple(id in f for f in fronts))
        for id in dict.fromkeys(id for ids in fronts for id in ids)
    ]


# ---- as text


def side_lines(sides: Sequence[Side]) -> Iterator[str]:
    """Lines on runs side by side: for each device its front's ends, then each front's variants with
    their times on all devices."""
    for number, side in enumerate(sides, 1):
        yield f"[{number}] {side.where}: {_ends(front(side.records))}"
    rows = [["", *(f"[{n}]" for n, _ in enumerate(sides, 1)), "memory"]]
    rows += [[a.id, *_cells(a), show_bytes(_memory(a))] for a in across(sides)]
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *cells in rows:
            told = (c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))
            yield "  ".join([name.ljust(widths[0]), *told]).rstrip()
        yield "* on that device's front"


def _ends(best: Sequence[Record]) -> str:
    """The ends of a front in words: its fastest variant, and the one of least memory."""
    if not best:
        return "no variant ran to the end"
    lean = min(best, key=lambda r: r.memory_bytes or 0)
    told = f"{len(best)} on the front, the fastest takes {_told(best[0])}"
    return told if lean is best[0] else f"{told}, the leanest {_told(lean)}"


def _told(record: Record) -> str:
    return f"{show_time(record.time_ns)} and {show_bytes(record.memory_bytes)}"


def _cells(of: Across) -> Iterator[str]:
    """The cells of a table's row, one for each device: the variant's time there, with a star if it
    is on the front, or why it has none."""
    for record, best in zip(of.records, of.on_front, strict=True):
        match record:
            case None:
                yield "not tried"
            case Record(outcome=Failed(stage=stage)):
                yield f"failed: {stage}"
            case _:
                yield f"{show_time(record.time_ns)}{'*' if best else ''}"


def _memory(of: Across) -> int | None:
    return next((r.memory_bytes for r in of.records if r and r.memory_bytes is not None), None)


# ---- as a page


def write_sides(file: Path, name: str, sides: Sequence[Side]) -> None:
    """Write the page of the runs of the program `name` on several devices: their fronts in one
    plane, a table for each, and what each variant of a front takes on every device. It links to the
    report of each run."""
    inks = _inks(sides)
    body = f"""{_plane(sides, inks)}
<div class="sides">{"".join(map(_section, sides, inks))}</div>
<h2>Variants of a front on every device</h2>{_across_table(sides)}"""
    write_page(file, f"{name} on {len(sides)} devices", body, STYLE)


def _inks(sides: Sequence[Side]) -> list[str]:
    """The colour in which each side's front is drawn."""
    keys = [f"{n:03}" for n in range(len(sides))]
    found = colours(keys)
    return [found[key] for key in keys]


def _section(side: Side, ink: str) -> str:
    head = f'<h2><span class="swatch" style="background:{ink}"></span>{escape(side.where)}</h2>'
    best = front(side.records)
    link = f'<p>{escape(_ends(best))}; <a href="{escape(side.folder)}/report.html">report</a></p>'
    rows = [(r.variant.id, show_time(r.time_ns), show_bytes(r.memory_bytes)) for r in best]
    return f"<section>{head}{link}{_table(('variant', 'time', 'memory'), rows)}</section>"


def _across_table(sides: Sequence[Side]) -> str:
    rows = [(a.id, *_cells(a), show_bytes(_memory(a))) for a in across(sides)]
    return _table(("variant", *(side.where for side in sides), "memory"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    return f"<td{' class=on' if text.endswith('*') else ''}>{escape(text.removesuffix('*'))}</td>"


def _plane(sides: Sequence[Side], inks: Sequence[str]) -> str:
    """The picture of all fronts in one plane, each in its ink."""
    fronts = [front(side.records) for side in sides]
    places = [place(r) for best in fronts for r in best]
    if not places:
        return "<p>No variant ran to the end.</p>"
    plane = plane_over(places, WIDE, HIGH)
    lines = [_line(*each, plane) for each in zip(sides, fronts, inks, strict=True)]
    return plane.picture("".join(lines), "the fronts of all devices")


def _line(side: Side, best: Sequence[Record], ink: str, plane: Plane) -> str:
    """The SVG of a side's front (`best`) as a stepped line of colour `ink` through its points in
    the plane, from the variant of least memory to the fastest."""
    points = sorted(best, key=place)
    at = [plane.at(place(r)) for r in points]
    path = "".join(
        f"M{x:.1f} {y:.1f}" if n == 0 else f"H{x:.1f}V{y:.1f}" for n, (x, y) in enumerate(at)
    )
    told = [escape(f"{side.where}: {r.variant.id}, {_told(r)}") for r in points]
    style = f'fill="{ink}"'
    marks = [plane.dot(place(r), 4.5, style, t) for r, t in zip(points, told, strict=True)]
    return f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.5"/>{"".join(marks)}'

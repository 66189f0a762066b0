"""Runs of one program on several devices, side by side: their fronts as text and as a page.

Times of different devices answer different questions, so no front is made of all: each device has
its own, in one plane, and a table tells what each variant of a front takes on the other devices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from explore.files.whole_files import write_whole
from explore.options.units import show_bytes, show_time
from explore.report.palette import colours
from explore.report.run_html import Scale, scale_over
from explore.results.front import front
from explore.results.records import Failed, Record, latest

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 900, 380, 80, 30, 14, 40
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --line: #d5d9df; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #9aa4b1; --line: #313842; --page: #14171b; }
}
body { margin: 0 auto; max-width: 1300px; padding: 20px; color: var(--ink); background: var(--page);
  font: 14px/1.5 system-ui, sans-serif; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 24px; }
.sides > section { min-width: 0; overflow-x: auto; }
table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: right; }
td:first-child, th:first-child { text-align: left; }
tr { border-bottom: 1px solid var(--line); } .on { font-weight: 650; }
h2 { font-size: 16px; } a { color: inherit; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--soft); }
.axis { stroke: var(--soft); fill: none; } .swatch { display: inline-block; width: 11px;
  height: 11px; border-radius: 50%; margin-right: 6px; }
"""


@dataclass(frozen=True, slots=True)
class Side:
    """A run that is compared with others of its program: its device, its folder within the common
    one, and its records."""

    where: str
    folder: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Across:
    """A variant that is on some front: its record on each device (None: it was not tried there),
    and whether it is on that device's front."""

    id: str
    records: tuple[Record | None, ...]
    on_front: tuple[bool, ...]


def across(sides: Sequence[Side]) -> list[Across]:
    """The variants of all fronts with their records on every device, beginning with the front of
    the first."""
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
    """Write the page of a program's runs on several devices, which links to the report of each."""
    write_whole(file, side_page(name, sides))


def side_page(name: str, sides: Sequence[Side]) -> str:
    """The HTML of a program's runs side by side: their fronts in one plane, a table for each, and
    what each variant of a front takes on every device."""
    inks = _inks(sides)
    title = escape(f"{name} on {len(sides)} devices")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title><style>{STYLE}</style></head><body>
<h1>{title}</h1>
{_plane(sides, inks)}
<div class="sides">{"".join(map(_section, sides, inks))}</div>
<h2>Variants of a front on every device</h2>{_across_table(sides)}
</body></html>
"""


def _inks(sides: Sequence[Side]) -> list[str]:
    """The colour of each side."""
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
    """The picture of all fronts: memory to the right and time upwards, both logarithmic."""
    fronts = [front(side.records) for side in sides]
    points = [r for best in fronts for r in best]
    if not points:
        return "<p>No variant ran to the end.</p>"
    x, right = scale_over([_bytes(r) for r in points], LEFT, WIDE - RIGHT)
    y, up = scale_over([r.time_ns or 1.0 for r in points], HIGH - BOTTOM, TOP)
    ticks = [
        f'<text x="{x(n):.1f}" y="{HIGH - BOTTOM + 16}" text-anchor="middle">{show_bytes(n)}</text>'
        for n in right
    ]
    ticks += [
        f'<text x="{LEFT - 6}" y="{y(n) + 4:.1f}" text-anchor="end">{show_time(n)}</text>'
        for n in up
    ]
    drawn = "".join(
        _line(side, best, ink, (x, y)) for side, best, ink in zip(sides, fronts, inks, strict=True)
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="the fronts of all devices">'
        f'<path class="axis" d="M{LEFT} {TOP}V{HIGH - BOTTOM}H{WIDE - RIGHT}"/>'
        f"{drawn}{''.join(ticks)}"
        f'<text x="{WIDE - RIGHT}" y="{HIGH - 6}" text-anchor="end">memory</text>'
        f'<text x="{LEFT + 6}" y="{TOP + 10}">time</text></svg>'
    )


def _line(side: Side, best: Sequence[Record], ink: str, scales: tuple[Scale, Scale]) -> str:
    """The SVG of a front as a stepped line through its points, from the variant of least memory to
    the fastest."""
    x, y = scales
    at = [(x(_bytes(r)), y(r.time_ns or 1.0), r) for r in sorted(best, key=_bytes)]
    path = "".join(
        f"M{a:.1f} {b:.1f}" if n == 0 else f"H{a:.1f}V{b:.1f}" for n, (a, b, _) in enumerate(at)
    )
    marks = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4.5" fill="{ink}">'
        f"<title>{escape(f'{side.where}: {r.variant.id}, {_told(r)}')}</title></circle>"
        for a, b, r in at
    )
    return f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.5"/>{marks}'


def _bytes(record: Record) -> float:
    return float(max(1, record.memory_bytes or 1))

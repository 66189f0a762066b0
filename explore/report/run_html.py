"""A run as HTML for a notebook: the plane of time and memory as a picture, and the front as a
table."""

import math
from collections.abc import Sequence
from html import escape

from explore.options.units import show_bytes, show_time
from explore.report.palette import colours
from explore.report.plane import INK, Plane, place, plane_over
from explore.report.table import known_words
from explore.results.front import front, usable
from explore.results.records import Record, latest
from explore.results.run_environment import Environment
from ir.text.counted import counted

WIDE, HIGH = 560, 300
MOST = 2_000  # points that are drawn


def summary_line(records: Sequence[Record]) -> str:
    """The number of variants of a run, those of its front, and the best time, in one line."""
    best = front(records)
    found = counted(len(latest(records)), "variant")
    if not best:
        return f"{found}, none that ran to the end"
    fastest = min(best, key=lambda r: r.time_ns or math.inf)
    return f"{found}, {len(best)} on the front, the best takes {show_time(fastest.time_ns)}"


def run_html(records: Sequence[Record], environment: Environment) -> str:
    """The HTML of a run: a heading, the plane, and the points of the front."""
    title = f"<b>{escape(environment.name)}</b> on {escape(environment.where)}: "
    head = f"<p>{title}{escape(summary_line(records))}</p>"
    if not usable(records):
        return head
    return f"{head}{_plane(records)}{_table(front(records))}"


def _table(points: Sequence[Record]) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(r)) + "</tr>" for r in points
    )
    names = ("id", "time", "memory", "workspace", "error", "known", "form", "parameters")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(r: Record) -> tuple[str, ...]:
    error = "–" if r.error is None else f"{r.error:.1e}"
    parameters = " ".join(f"{name}={value}" for name, value in r.variant.parameters)
    sizes = show_bytes(r.memory_bytes), show_bytes(r.workspace_bytes)
    return (
        r.variant.id,
        show_time(r.time_ns),
        *sizes,
        error,
        known_words(r),
        r.variant.form or "–",
        parameters,
    )


# ---- the plane


def _plane(records: Sequence[Record]) -> str:
    """The picture of all variants, with the front as a line."""
    shown, best = usable(records)[:MOST], front(records)
    plane = plane_over([place(r) for r in (*shown, *best)], WIDE, HIGH)
    colour = colours(r.variant.family for r in shown)
    style = 'fill="{}" fill-opacity="0.45"'
    dots = [plane.dot(place(r), 2.5, style.format(colour[r.variant.family])) for r in shown]
    return plane.picture(f"{''.join(dots)}{_front(best, plane)}", _told(best))


def _front(best: Sequence[Record], plane: Plane) -> str:
    points = sorted(best, key=place)
    line = " ".join("{:.1f},{:.1f}".format(*plane.at(place(r))) for r in points)
    style = f'fill="white" stroke="{INK}"'
    marks = [plane.dot(place(r), 4, style, escape(_title(r))) for r in points]
    return f'<polyline points="{line}" fill="none" stroke="{INK}"/>{"".join(marks)}'


def _title(r: Record) -> str:
    return f"{r.variant.id}: {show_time(r.time_ns)}, {show_bytes(r.memory_bytes)}"


def _told(best: Sequence[Record]) -> str:
    """The front as text, for readers who cannot see the picture."""
    return escape("the front: " + "; ".join(map(_title, best)))

"""A run as HTML for a notebook: the plane of time and memory as a picture, and the front as a
table."""

import math
from collections.abc import Callable, Sequence
from html import escape

from explore.options.units import show_bytes, show_time
from explore.report.palette import colours
from explore.results.front import front, usable
from explore.results.records import Record
from explore.results.run_environment import Environment

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 560, 300, 70, 36, 12, 40
MOST = 2_000  # points that are drawn
INK = "#6b7280"

Scale = Callable[[float], float]


def summary_line(records: Sequence[Record]) -> str:
    """The number of variants of a run, those of its front, and the best time, in one line."""
    best = front(records)
    found = f"{len(records)} variant{'s' * (len(records) != 1)}"
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
    names = ("id", "time", "memory", "workspace", "error", "form", "parameters")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(r: Record) -> tuple[str, ...]:
    error = "–" if r.error is None else f"{r.error:.1e}"
    parameters = " ".join(f"{name}={value}" for name, value in r.variant.parameters)
    sizes = show_bytes(r.memory_bytes), show_bytes(r.workspace_bytes)
    return (r.variant.id, show_time(r.time_ns), *sizes, error, r.variant.form or "–", parameters)


# ---- the plane


def _plane(records: Sequence[Record]) -> str:
    """The picture of all variants, memory to the right and time upwards, both logarithmic; the
    front is a line."""
    shown, best = usable(records)[:MOST], front(records)
    x, right = scale_over([_memory(r) for r in (*shown, *best)], LEFT, WIDE - RIGHT)
    y, up = scale_over([r.time_ns or 1.0 for r in (*shown, *best)], HIGH - BOTTOM, TOP)
    colour = colours(r.variant.family for r in shown)
    dots = "".join(
        f'<circle cx="{x(_memory(r)):.1f}" cy="{y(r.time_ns or 1.0):.1f}" r="2.5" '
        f'fill="{colour[r.variant.family]}" fill-opacity="0.45"/>'
        for r in shown
    )
    ticks = "".join(
        f'<text x="{x(n):.1f}" y="{HIGH - BOTTOM + 16}" text-anchor="middle">{show_bytes(n)}</text>'
        for n in right
    )
    ticks += "".join(
        f'<text x="{LEFT - 6}" y="{y(n) + 4:.1f}" text-anchor="end">{show_time(n)}</text>'
        for n in up
    )
    return (
        f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="{_told(best)}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">'
        f'<path d="M{LEFT} {TOP}V{HIGH - BOTTOM}H{WIDE - RIGHT}" fill="none" stroke="{INK}"/>'
        f"{dots}{_front(best, x, y)}{ticks}"
        f'<text x="{WIDE - RIGHT}" y="{HIGH - 6}" text-anchor="end">memory</text>'
        f'<text x="{LEFT + 6}" y="{TOP + 10}">time</text></svg>'
    )


def _front(best: Sequence[Record], x: Scale, y: Scale) -> str:
    points = [(x(_memory(r)), y(r.time_ns or 1.0), r) for r in sorted(best, key=_memory)]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b, _ in points)
    marks = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="white" stroke="{INK}">'
        f"<title>{escape(_title(r))}</title></circle>"
        for a, b, r in points
    )
    return f'<polyline points="{line}" fill="none" stroke="{INK}"/>{marks}'


def _title(r: Record) -> str:
    return f"{r.variant.id}: {show_time(r.time_ns)}, {show_bytes(r.memory_bytes)}"


def _told(best: Sequence[Record]) -> str:
    """The front as text, for readers who cannot see the picture."""
    return escape("the front: " + "; ".join(map(_title, best)))


def _memory(r: Record) -> float:
    return float(max(1, r.memory_bytes or 1))


def scale_over(values: Sequence[float], start: float, end: float) -> tuple[Scale, list[float]]:
    """The logarithmic scale from the values to a range of the picture, and its ticks: the least
    value, one in the middle, and the largest."""
    low, high = min(values), max(values)
    high = high if high > low else low * 2
    span = math.log(high / low)

    def scale(value: float) -> float:
        return start + (end - start) * math.log(value / low) / span

    return scale, [low, math.sqrt(low * high), high]

"""The plane of memory and time as a picture: memory to the right and time upwards, both on
logarithmic scales."""

import math
from collections.abc import Callable, Sequence

from explore.options.units import show_bytes, show_time
from explore.results.records import Record
from ir.core.frozen import frozen

LEFT, RIGHT, TOP, BOTTOM = 80, 36, 14, 40
INK = "#6b7280"  # of axes and words, which dark pages show as well as light ones

Place = tuple[float, float]  # bytes and nanoseconds, or a point of the picture
Scale = Callable[[float], float]


@frozen
class Plane:
    """A picture of a width and a height, with a scale for bytes (`x`), one for nanoseconds (`y`),
    and the SVG of its axes."""

    wide: int
    high: int
    x: Scale
    y: Scale
    axes: str

    def at(self, place: Place) -> Place:
        """The point of the picture at which bytes and a time lie."""
        return self.x(place[0]), self.y(place[1])

    def dot(self, place: Place, radius: float, style: str, told: str = "") -> str:
        """The SVG of a circle at bytes and a time (`place`), with this radius and style, whose
        tooltip is the text `told` (escaped)."""
        x, y = self.at(place)
        title = f"<title>{told}</title>" if told else ""
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {style}>{title}</circle>'

    def picture(self, drawn: str, told: str) -> str:
        """The SVG of the plane with what is `drawn` in it, and the words `told` (escaped) for those
        who cannot see it."""
        return (
            f'<svg viewBox="0 0 {self.wide} {self.high}" width="{self.wide}" height="{self.high}" '
            f'role="img" aria-label="{told}" font-family="sans-serif" font-size="11" fill="{INK}">'
            f"{drawn}{self.axes}</svg>"
        )


def place(record: Record) -> Place:
    """The bytes and the time of a variant, with 1 for a zero, which has no logarithm."""
    return float(max(1, record.memory_bytes or 1)), record.time_ns or 1.0


def plane_over(places: Sequence[Place], wide: int, high: int) -> Plane:
    """The plane of a width and a height that just holds all places (at least one)."""
    right, floor = wide - RIGHT, high - BOTTOM
    x, sizes = _scale([memory for memory, _ in places], LEFT, right)
    y, times = _scale([time for _, time in places], floor, TOP)
    words = [_text(x(n), floor + 16, "middle", show_bytes(n)) for n in sizes]
    words += [_text(LEFT - 6, y(n) + 4, "end", show_time(n)) for n in times]
    words += [_text(right, high - 6, "end", "memory"), _text(LEFT + 6, TOP + 10, "start", "time")]
    lines = f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="{INK}"/>'
    return Plane(wide, high, x, y, lines + "".join(words))


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _scale(values: Sequence[float], start: float, end: float) -> tuple[Scale, list[float]]:
    """The logarithmic scale from the values to the range `start` … `end` of the picture, and its
    ticks: the least value, one in the middle, and the largest."""
    low, high = min(values), max(values)
    high = high if high > low else low * 2
    span = math.log(high / low)

    def scale(value: float) -> float:
        return start + (end - start) * math.log(value / low) / span

    return scale, [low, math.sqrt(low * high), high]

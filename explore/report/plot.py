"""The plane of time and memory as a figure for a paper: PNG, SVG or PDF."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explore.report.palette import colours
from explore.results.front import DEFAULT, Objective, front, usable
from explore.results.records import Bounds, Peer, Record
from ir.errors import UserError

_SPARSE, _DENSE = (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)  # ticks in a decade
_LEAST_ERROR = 1e-10  # less is drawn as this: an exact result has no logarithm
_LEGEND = {"ncols": 8, "fontsize": 7, "frameon": False, "columnspacing": 1.4, "handletextpad": 0.3}
_INK, _GREY, _FAINT = "#1b1f24", "#6b7280", "#e5e7eb"


def plot_front(
    records: Sequence[Record],
    file: Path,
    *,
    title: str = "",
    peers: Sequence[Peer] = (),
    bounds: Bounds | None = None,
    over: Sequence[Objective] = DEFAULT,
) -> None:
    """Write the figure of a run's records to a file, in the format that its suffix names: variants,
    the front, `peers`, and the roofline of `bounds`.

    The same records make the same bytes. Where `over` names the error, points of the front are
    coloured by it.
    """
    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(
            f"expected a file name that ends in .png, .svg or .pdf, found {str(file)!r}"
        )
    if not usable(records):
        raise UserError("no variant ran to the end in this run: there is nothing to draw")
    from matplotlib import rc_context  # here: slow to import
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "convlift", "font.size": 8}):
        figure = Figure(figsize=(6.4, 4.2), dpi=200, layout="constrained")
        axes = figure.add_subplot()
        _variants(axes, usable(records))
        _front(axes, records)
        if "error" in over:
            _errors(figure, axes, front(records, over))
        for peer in peers:
            _peer(axes, peer)
        if bounds and bounds.roofline_ns:
            _roofline(axes, bounds.roofline_ns / 1e6)
        _dress(axes, title)
        figure.legend(loc="outside lower center", **_LEGEND)
        try:
            figure.savefig(file, metadata=_undated(file))
        except OSError as error:
            raise UserError(f"cannot write {file}: {error.strerror}") from error


def _variants(axes: Any, shown: Sequence[Record]) -> None:
    for family, colour in colours(r.variant.family for r in shown).items():
        memory, time = _plane([r for r in shown if r.variant.family == family])
        axes.scatter(memory, time, s=9, c=colour, alpha=0.45, lw=0, label=_plain(family))


def _front(axes: Any, records: Sequence[Record]) -> None:
    memory, time = _plane(front(records)[::-1])
    most = max(_plane(usable(records))[0])
    axes.step([*memory, most], [*time, time[-1]], where="post", color=_INK, lw=1.1, zorder=3)
    axes.scatter(memory, time, s=20, c="white", edgecolors=_INK, zorder=4, label="front")


def _errors(figure: Any, axes: Any, points: Sequence[Record]) -> None:
    from matplotlib.colors import LogNorm

    memory, time = _plane(points)
    error = [max(r.error or 0.0, _LEAST_ERROR) for r in points]
    style = {"s": 34, "marker": "D", "cmap": "viridis_r", "edgecolors": _INK, "lw": 0.5}
    drawn = axes.scatter(
        memory, time, c=error, norm=LogNorm(), zorder=3.5, label="front with error", **style
    )
    figure.colorbar(drawn, ax=axes, label="error", fraction=0.04)


def _peer(axes: Any, peer: Peer) -> None:
    time = peer.time_ns / 1e6
    if peer.memory_bytes is None:
        axes.axhline(time, color=_INK, ls=":", lw=0.9, label=_plain(peer.name))
    else:
        memory = peer.memory_bytes / 2**20
        axes.scatter(memory, time, marker="*", s=90, c=_INK, zorder=5, lw=0)
        beside = {"xytext": (7, 0), "textcoords": "offset points", "va": "center"}
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
        axes.annotate(_plain(peer.name), (memory, time), **beside, bbox=paper, zorder=5)


def _roofline(axes: Any, time: float) -> None:
    axes.axhline(time, color=_GREY, ls=(0, (5, 3)), lw=0.9, zorder=1)
    above = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    style = {"fontsize": 7, "color": _GREY, "ha": "right"}
    axes.annotate("roofline of the program as written", (0.995, time), (0, 2), **above, **style)


def _dress(axes: Any, title: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(xscale="log", yscale="log", xlabel="memory (MiB)", ylabel="time (ms)")
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=_SPARSE if high > 30 * low else _DENSE, numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color=_FAINT, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.set_title(_plain(title), fontsize=9, loc="left")


def _plane(records: Sequence[Record]) -> tuple[list[float], list[float]]:
    memory = [(r.memory_bytes or 0) / 2**20 for r in records]
    return memory, [(r.time_ns or 0) / 1e6 for r in records]


def _plain(text: str) -> str:
    """The text escaped for Matplotlib: no dollar starts a formula, no underscore hides a legend's
    entry."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _undated(file: Path) -> dict[str, Any]:
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(file.suffix.lower(), {})

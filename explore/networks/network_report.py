"""The report of a network as one HTML file: its layers, its memory over time, and its front."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from explore.files.whole_files import write_whole
from explore.network_choice.choose_options import Choice
from explore.networks.beside_peers import Beside
from explore.networks.graph_picture import graph_picture
from explore.networks.memory_picture import memory_picture
from explore.networks.network_tables import memory_lines, proved
from explore.options.units import show_bytes, show_time

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6470; --line: #d5d9df; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #9aa4b1; --line: #313842; --page: #14171b; }
}
body { margin: 0 auto; max-width: 1300px; padding: 20px; color: var(--ink); background: var(--page);
  font: 14px/1.5 system-ui, sans-serif; }
table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: right; }
td:nth-child(-n+2), th:nth-child(-n+2) { text-align: left; }
tr { border-bottom: 1px solid var(--line); }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--soft); }
svg rect { stroke: var(--page); stroke-width: .6; opacity: .85; }
.tick { stroke: var(--soft); } .bound { stroke: #b4442c; stroke-dasharray: 5 4; fill: none; }
.bar { display: inline-block; height: 9px; background: #0b6bcb; vertical-align: middle; }
"""

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
WIDE, HIGH, LEFT = 560.0, 260.0, 80.0


def write_network_report(
    file: Path,
    choice: Choice,
    front: Sequence[Choice],
    where: str,
    beside: Sequence[Beside] = (),
) -> None:
    """Write the report of a choice, with the network's front, and what was measured beside it;
    layers link to the reports of their own runs, in `layers` beside the file."""
    told = "<br>".join(map(escape, memory_lines(choice)))
    title = escape(choice.layers.name)
    write_whole(
        file,
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title><style>{STYLE}</style></head><body>
<h1>{title}</h1><p>{escape(where)}<br>{told}</p>
<h2>The arena over time</h2>{memory_picture(choice.layers, choice.plan)}
<h2>The network's front</h2>{_front_picture(front, choice)}{_front_table(front)}
{_beside_table(beside)}<h2>The graph</h2>{graph_picture(choice)}
<h2>Layers</h2>{_layers(choice)}
</body></html>
""",
    )


def _layers(choice: Choice) -> str:
    heads = ("layer", "operator", "time", "share", "result", "kept", "workspace", "variant")
    rows = []
    layers = choice.layers
    for layer, option in zip(layers.layers, choice.options, strict=True):
        name = layers.programs[layer.program].name
        share = option.time_ns / choice.time_ns
        link = f'<a href="layers/{name}/report.html">{escape(option.id)}</a>'
        cells = (
            escape(layer.title),
            escape(layer.operator),
            show_time(option.time_ns),
            f'<span class="bar" style="width:{120 * share:.0f}px"></span> {share:.1%}',
            show_bytes(layers.made_bytes(layer)),
            show_bytes(option.kept_bytes),
            show_bytes(option.workspace_bytes),
            link if option.record is not None else escape(option.id),
        )
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><tr>{''.join(f'<th>{h}</th>' for h in heads)}</tr>{''.join(rows)}</table>"


def _beside_table(beside: Sequence[Beside]) -> str:
    """The table of engines: times of a call, and how the processes grew while they loaded the
    network and ran it first."""
    if not beside:
        return ""
    rows = "".join(
        f"<tr><td>{escape(b.engine)}</td><td>{show_time(b.time_ns)}</td><td>{b.ratio:.2f}</td>"
        f"<td>{show_time(b.processor_ns)}</td><td>{show_bytes(b.grown.most)}</td>"
        f"<td>{show_bytes(b.grown.kept)}</td></tr>"
        for b in beside
    )
    heads = ("engine", "time", "times ours", "processors", "memory at most", "kept")
    return (
        "<h2>Beside other engines</h2><p>Calls with arrays in and out, in turns, each engine in a "
        "process of its own. Memory is by how much that process grew while it loaded the network "
        "and first ran it.</p>"
        f"<table><tr>{''.join(f'<th>{h}</th>' for h in heads)}</tr>{rows}</table>"
    )


def _front_table(front: Sequence[Choice]) -> str:
    rows = "".join(
        f"<tr><td>{show_time(c.time_ns)}</td><td>{show_bytes(c.memory_bytes)}</td>"
        f"<td>{show_bytes(c.plan.plan.workspace_bytes)}</td><td>{proved(c)}</td></tr>"
        for c in front
    )
    return (
        f"<table><tr><th>time</th><th>memory</th><th>arena</th><th>proved</th></tr>{rows}</table>"
    )


def _front_picture(front: Sequence[Choice], chosen: Choice) -> str:
    """The points of the front, time upwards and memory to the right; the chosen one is filled."""
    points = [*front, chosen]
    times, sizes = [c.time_ns for c in points], [float(c.memory_bytes) for c in points]

    def place(value: float, among: Sequence[float]) -> float:
        low, high = min(among), max(among)
        return 0.5 if high == low else 0.04 + 0.92 * (value - low) / (high - low)

    dots = "".join(
        f'<circle cx="{LEFT + WIDE * place(float(c.memory_bytes), sizes):.1f}" '
        f'cy="{HIGH * (1 - place(c.time_ns, times)):.1f}" r="5" stroke="#0b6bcb" '
        f'fill="{"#0b6bcb" if c is chosen else "none"}"><title>{show_time(c.time_ns)}, '
        f"{show_bytes(c.memory_bytes)}</title></circle>"
        for c in points
    )
    axes = f'<path class="tick" fill="none" d="M{LEFT} 0v{HIGH}h{WIDE}"/>'
    told = (
        f'<text x="{LEFT - 6}" y="12" text-anchor="end">{show_time(max(times))}</text>'
        f'<text x="{LEFT - 6}" y="{HIGH}" text-anchor="end">{show_time(min(times))}</text>'
        f'<text x="{LEFT}" y="{HIGH + 16}">{show_bytes(min(sizes))}</text>'
        f'<text x="{LEFT + WIDE}" y="{HIGH + 16}" text-anchor="end">{show_bytes(max(sizes))}</text>'
    )
    box = f"0 -8 {LEFT + WIDE + 10:.0f} {HIGH + 30:.0f}"
    return f'<svg viewBox="{box}" style="max-width:700px" role="img">{axes}{dots}{told}</svg>'

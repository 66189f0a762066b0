"""The report of a network as one HTML file: its layers, its memory over time, and its front."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from explore.files.static_page import write_page
from explore.network_choice.choose_options import Choice
from explore.networks.beside_peers import Beside
from explore.networks.graph_picture import graph_picture
from explore.networks.memory_picture import memory_picture
from explore.networks.network_tables import memory_lines, proved
from explore.networks.peer_engines import Growth
from explore.options.units import show_bytes, show_time
from explore.report.plane import Place, Plane, plane_over

STYLE = """
td:nth-child(-n+2), th:nth-child(-n+2) { text-align: left; }
svg rect { stroke: var(--page); stroke-width: .6; opacity: .85; }
.tick { stroke: var(--soft); } .bound { stroke: #b4442c; stroke-dasharray: 5 4; fill: none; }
.bar { display: inline-block; height: 9px; background: #0b6bcb; vertical-align: middle; }
.front svg { max-width: 700px; }
"""
WIDE, HIGH = 650, 300
ENGINE = 'stroke="#d2691e" fill="#d2691e"'


def write_network_report(
    file: Path,
    choice: Choice,
    front: Sequence[Choice],
    where: str,
    beside: Sequence[Beside] = (),
) -> None:
    """Write the report of a network's `choice` to a file, with its `front`, the device `where` it
    ran, and the measurements of engines in `beside`. Layers link to the reports of their own runs,
    in the folder `layers` next to the file."""
    told = "<br>".join(map(escape, memory_lines(choice)))
    body = f"""<p>{escape(where)}<br>{told}</p>
<h2>The arena over time</h2>{memory_picture(choice.layers, choice.plan)}
<h2>The network's front</h2>{_front_picture(front, choice, beside)}{_front_table(front)}
{_beside_table(beside)}<h2>The graph</h2>{graph_picture(choice)}
<h2>Layers</h2>{_layers(choice)}"""
    write_page(file, choice.layers.name, body, STYLE)


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
    """The HTML table of engines: the time of an inference, the bytes by which an engine's process
    grew until it had run the network, without its library and with it, and those of our plan;
    empty if `beside` is."""
    if not beside:
        return ""
    rows = "".join(
        f"<tr><td>{escape(b.engine)}</td><td>{show_time(b.time_ns)}</td><td>{b.ratio:.2f}</td>"
        f"<td>{show_time(b.processor_ns)}</td>"
        f"{''.join(f'<td>{show_bytes(n)}</td>' for n in _bytes_of(b.growth))}"
        f"<td>{'' if b.planned is None else f'{b.planned:,} bytes'}</td></tr>"
        for b in beside
    )
    sizes = ("network at most", "kept", "with library at most", "kept", "buffers, as planned")
    heads = ("engine", "time", "times ours", "processors", *sizes)
    return (
        "<h2>Beside other engines</h2><p>Calls with arrays in and out, in turns, each engine in a "
        "fresh process of its own. Memory is by how much that process grew until it had run the "
        "network twice: counted from before the network was loaded, and from before the engine's "
        "library was.</p>"
        f"<table><tr>{''.join(f'<th>{h}</th>' for h in heads)}</tr>{rows}</table>"
    )


def _bytes_of(growth: Growth) -> tuple[int, ...]:
    network, whole = growth.network, growth.whole
    return network.most, network.kept, whole.most, whole.kept


def _front_table(front: Sequence[Choice]) -> str:
    rows = "".join(
        f"<tr><td>{show_time(c.time_ns)}</td><td>{show_bytes(c.memory_bytes)}</td>"
        f"<td>{show_bytes(c.plan.plan.workspace_bytes)}</td><td>{proved(c)}</td></tr>"
        for c in front
    )
    return (
        f"<table><tr><th>time</th><th>memory</th><th>arena</th><th>proved</th></tr>{rows}</table>"
    )


def _front_picture(front: Sequence[Choice], chosen: Choice, beside: Sequence[Beside]) -> str:
    """The SVG picture of the front's points, time upwards and memory to the right; that of `chosen`
    is filled. Engines that were measured are orange, at the bytes by which their processes grew
    when they loaded the network and ran it."""
    points = [*front, chosen]
    engines = [(float(b.growth.network.most), b.time_ns) for b in beside]
    plane = plane_over([*map(_place, points), *engines], WIDE, HIGH)
    dots = "".join(_dot(plane, c, c is chosen) for c in points)
    dots += "".join(
        plane.dot(place, 5, ENGINE, escape(_of_engine(b)))
        for b, place in zip(beside, engines, strict=True)
    )
    words = "<p>Orange: the processes of engines, ours too, as they were measured.</p>"
    picture = plane.picture(dots, "the front of the network, and other engines")
    return f'<div class="front">{picture}{words if beside else ""}</div>'


def _of_engine(b: Beside) -> str:
    grown = show_bytes(b.growth.network.most)
    return f"{b.engine}: {show_time(b.time_ns)}, its process grew by {grown}"


def _dot(plane: Plane, choice: Choice, filled: bool) -> str:
    style = f'stroke="#0b6bcb" fill="{"#0b6bcb" if filled else "none"}"'
    told = f"{show_time(choice.time_ns)}, {show_bytes(choice.memory_bytes)}"
    return plane.dot(_place(choice), 5, style, told)


def _place(choice: Choice) -> Place:
    return float(choice.memory_bytes), choice.time_ns

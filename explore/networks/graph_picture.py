"""The graph of a network as a picture: layers as boxes from top to bottom, tensors as lines between
them."""

# key: l number of a layer

from html import escape

from explore.network_choice.choose_options import Choice
from explore.network_graph.network_layers import Layers
from explore.options.units import show_bytes, show_time
from explore.report.palette import colours

WIDE, HIGH, ACROSS, DOWN = 150.0, 26.0, 170.0, 44.0


def graph_picture(choice: Choice) -> str:
    """The SVG picture of a network's layers, with the option chosen for each. A layer stands below
    those whose results it reads; layers of one row have columns of their own. The tooltip of a
    layer's box tells its time, the bytes of its result, and its option."""
    layers = choice.layers
    sources = [_sources(layers, l) for l in range(len(layers.layers))]
    places = _places(_rows(sources), sources)
    kinds = colours([layer.operator for layer in layers.layers])
    lines, boxes = [], []
    for l, layer in enumerate(layers.layers):
        x, y = places[l]
        option = choice.options[l]
        size = layers.made_bytes(layer)
        told = f"{layer.title}: {layer.operator}, {show_time(option.time_ns)}, makes "
        told += f"{show_bytes(size)}, {option.id}"
        boxes.append(
            f'<g><rect x="{x:.0f}" y="{y:.0f}" width="{WIDE:.0f}" height="{HIGH:.0f}" rx="4" '
            f'fill="{kinds[layer.operator]}"><title>{escape(told)}</title></rect>'
            f'<text x="{x + WIDE / 2:.0f}" y="{y + HIGH / 2 + 4:.0f}" text-anchor="middle" '
            f'style="fill:#fff;pointer-events:none">{escape(layer.operator)} '
            f"{option.time_ns / choice.time_ns:.1%}</text></g>"
        )
        lines += [_line(places[source], (x, y)) for source in sources[l]]
    right = max(x for x, _ in places) + WIDE + 8
    below = max(y for _, y in places) + HIGH + 8
    return (
        f'<details open><summary>{len(layers.layers)} layers</summary><svg viewBox="-4 -4 '
        f'{right:.0f} {below:.0f}" style="width:{right:.0f}px" role="img" aria-label="graph">'
        f"{''.join(lines)}{''.join(boxes)}</svg></details>"
    )


def _sources(layers: Layers, l: int) -> list[int]:
    """The numbers of the layers whose results layer number `l` reads; several may make parts of one
    tensor."""
    return [
        number
        for _, tensor in layers.layers[l].tensors
        for number, other in enumerate(layers.layers[:l])
        if other.output == tensor
    ]


def _rows(sources: list[list[int]]) -> list[int]:
    """The row of each layer: one below the lowest row among its `sources`, the numbers of the
    layers whose results it reads; 0 if there are none."""
    found: list[int] = []
    for above in sources:
        found.append(1 + max((found[s] for s in above), default=-1))
    return found


def _places(rows: list[int], sources: list[list[int]]) -> list[tuple[float, float]]:
    """The coordinates of each layer's box: in its row, and in the column of the first layer that it
    reads if that place is free, else in the first free column."""
    taken = set[tuple[int, int]]()
    columns: list[int] = []
    for row, above in zip(rows, sources, strict=True):
        column = columns[above[0]] if above else 0
        if (row, column) in taken:
            column = next(c for c in range(len(rows)) if (row, c) not in taken)
        taken.add((row, column))
        columns.append(column)
    return [(ACROSS * c, DOWN * row) for c, row in zip(columns, rows, strict=True)]


def _line(begin: tuple[float, float], end: tuple[float, float]) -> str:
    x, y = begin[0] + WIDE / 2, begin[1] + HIGH
    return (
        f'<path class="tick" fill="none" d="M{x:.0f} {y:.0f}C{x:.0f} {y + 14:.0f} '
        f'{end[0] + WIDE / 2:.0f} {end[1] - 14:.0f} {end[0] + WIDE / 2:.0f} {end[1]:.0f}"/>'
    )

"""The memory of a network over time as a picture: arrays are boxes, launches go from left to right,
addresses in the arena from bottom to top."""

from html import escape

from codegen.plan import Role
from explore.network_choice.network_plan import NetworkPlan
from explore.network_graph.network_layers import Layers
from explore.options.units import show_bytes
from explore.report.palette import colours

WIDE, HIGH, LEFT, BELOW = 1200.0, 420.0, 80.0, 40.0
TICKS = 5


def memory_picture(layers: Layers, plan: NetworkPlan) -> str:
    """The SVG picture of the arena: a box for each array in it, from the launch that makes the
    array to the last launch that reads it. The tooltip of a box tells the array's name and
    bytes."""
    launches = max(1, len(plan.layer_of))
    size = max(1, plan.plan.workspace_bytes)
    makers = {plan.tensors[x.output]: x.operator for x in layers.layers}
    kinds = colours([*makers.values(), "workspace"])
    boxes = []
    for b in plan.plan.buffers:
        if b.role is Role.TEMPORARY and b.offset is not None:
            life, of = plan.lives[b.name], makers.get(b.name, "workspace")
            x, w = (
                LEFT + WIDE * life.first / launches,
                WIDE * (life.last - life.first + 1) / launches,
            )
            h = HIGH * b.bytes / size
            y = HIGH * (1 - b.offset / size) - h
            told = f"{b.name}: {show_bytes(b.bytes)} at {b.offset:,}, {of}, "
            told += f"launches {life.first}–{life.last}"
            boxes.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{max(h, 0.5):.1f}" '
                f'fill="{kinds[of]}"><title>{escape(told)}</title></rect>'
            )
    bound = HIGH * (1 - plan.least / size)
    line = (
        f'<path class="bound" d="M{LEFT} {bound:.1f}h{WIDE}"/>'
        f'<text x="{LEFT + 4}" y="{bound + 12:.1f}">the least that any arena has</text>'
    )
    ticks = "".join(_tick(n, size) for n in range(TICKS + 1))
    key = "".join(_entry(i, name, colour) for i, (name, colour) in enumerate(kinds.items()))
    return (
        f'<svg viewBox="0 -8 {LEFT + WIDE + 10:.0f} {HIGH + BELOW + 8:.0f}" role="img" '
        f'aria-label="memory over time">{"".join(boxes)}{line}{ticks}{key}</svg>'
    )


def _tick(n: int, size: int) -> str:
    y = HIGH * (1 - n / TICKS)
    told = show_bytes(size * n / TICKS)
    return (
        f'<path class="tick" d="M{LEFT - 4} {y:.1f}h4"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{told}</text>'
    )


def _entry(i: int, name: str, colour: str) -> str:
    x = LEFT + 150 * (i % 8)
    y = HIGH + 12 + 14 * (i // 8)
    return (
        f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'
        f'<text x="{x + 14}" y="{y + 9}">{escape(name)}</text>'
    )

"""A network's layers and its front as tables of text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from codegen.memory.packed_constants import preparation_bytes
from explore.network_choice.choose_options import Choice
from explore.network_choice.layer_options import Option
from explore.network_choice.network_plan import NetworkPlan
from explore.network_graph.arranged_layers import copies_of
from explore.network_graph.network_layers import Layers
from explore.operators.layouts import Layout
from explore.options.units import show_bytes, show_time
from explore.results.pace import slower_words
from ir.text.counted import counted

MOST_NAMES = 3  # of the layers of a program


@dataclass(slots=True)
class ProgramTable:
    """The table by program that is printed while options are found: which layers have a program,
    what these make, and what its options take. `found_ns` are the times of the layers of each
    program, by number, that has a line already."""

    layers: Layers
    found_ns: dict[int, float] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        return (
            f"{'program':20} {'result':>16} {'options':>7} {'best':>9} {'in all':>9} {'so far':>6} "
            f"{'kept':>10} {'workspace':>10}  layers"
        )

    def line(self, number: int, options: Sequence[Option]) -> str:
        """The next line, on program number `number` and its `options`: the shape of its result, its
        fastest option, the time of all its layers and their share of what has been found so far,
        the least bytes that an option needs, and the names of the layers."""
        best, uses = min(options, key=lambda o: o.time_ns), len(self.layers.uses(number))
        self.found_ns[number] = in_all = uses * best.time_ns
        share = in_all / max(1.0, sum(self.found_ns.values()))
        guess = "" if best.measured else " (estimated)"
        return (
            f"{self.layers.programs[number].name:20} {self._result(number):>16} {len(options):7} "
            f"{show_time(best.time_ns):>9} {show_time(in_all):>9} {share:6.1%} "
            f"{show_bytes(min(o.kept_bytes for o in options)):>10} "
            f"{show_bytes(min(o.workspace_bytes for o in options)):>10}  "
            f"{self._names(number)}{guess}"
        )

    def _result(self, number: int) -> str:
        """The shape of what the layers with a program make, or of what it copies."""
        made = [layer.output for layer in self.layers.uses(number)] or self._copied(number)
        return "×".join(map(str, self.layers.tensors[made[0]].shape)) or "1"

    def _names(self, number: int) -> str:
        """The number of layers that have a program, and the names of the first of them; or the
        tensors that it copies, if it is one that changes layouts."""
        uses = self.layers.uses(number)
        if not uses:
            return f"0, it may copy {_first(self._copied(number))}"
        whole = all(layer.program == number for layer in uses)
        return f"{len(uses)}: {'' if whole else 'a part of '}{_first([x.title for x in uses])}"

    def _copied(self, number: int) -> list[str]:
        """The names of the tensors that a program copies into another layout."""
        found = (c.tensor for c, program in self.layers.changes.items() if program == number)
        return [*dict.fromkeys(found)]


def _first(names: Sequence[str]) -> str:
    """The first few of the names, and how many there are more."""
    told = ", ".join(names[:MOST_NAMES])
    left = len(names) - MOST_NAMES
    return f"{told} and {left} more" if left > 0 else told


def front_table(front: Sequence[Choice]) -> list[str]:
    """The lines of a table of a network's front: for each choice its time, its memory, how much of
    that are the arena and the weights, and how close it is proved to be to the best."""
    lines = [f"{'time':>10} {'memory':>11} {'arena':>11} {'weights':>11}  proved"]
    for choice in front:
        plan, kept = choice.plan.plan, show_bytes(choice.kept_bytes)
        lines.append(
            f"{show_time(choice.time_ns):>10} {show_bytes(choice.memory_bytes):>11} "
            f"{show_bytes(plan.workspace_bytes):>11} {kept:>11}  {proved(choice)}"
        )
    return lines


def proved(choice: Choice) -> str:
    """Words on how close a choice is proved to be to the best."""
    if choice.gap <= 1e-9:
        return "the best"
    return f"at most {choice.gap:.1%} from the best"


def memory_lines(choice: Choice) -> list[str]:
    """Lines on the time and memory that a choice takes: its bytes, its arena compared with the
    least that is proved for it, what packing its constants takes if that is more, and the machine's
    pace if it was slow."""
    slow = [option.slowdown for option in choice.options if option.slowdown > 1]
    pace = (
        f"{counted(len(slow), 'layer')} measured on a machine up to "
        f"{slower_words(max(slow, default=1))} times slower than usual; "
        "all times are taken to its usual pace"
    )
    guess = "" if all(o.measured for o in choice.options) else " (estimated, not measured)"
    return [
        f"{show_time(choice.time_ns)}{guess}, {choice.memory_bytes:,} bytes "
        f"({show_bytes(choice.memory_bytes)}); {proved(choice)}",
        f"arena {choice.plan.plan.workspace_bytes:,} bytes, {_least_arena(choice.plan)}",
        *_sharing_line(choice),
        *_packing_line(choice),
        *_layout_line(choice.layers),
        *([pace] if slow else []),
    ]


def _least_arena(plan: NetworkPlan) -> str:
    """Words on how close a plan's arena is proved to be to the least."""
    arena, over = plan.plan.workspace_bytes, plan.plan.workspace_bytes - plan.bound
    if arena > plan.least:
        return f"at most {arena - plan.least:,} bytes over the least that it can be"
    return "as small as it can be" + (f", {over:,} bytes over what lives at once" if over else "")


def _sharing_line(choice: Choice) -> list[str]:
    """A line on the bytes that layers would keep more if each had weights of its own; none if they
    share none."""
    saved = sum(o.kept_bytes for o in choice.options) - choice.kept_bytes
    return [f"{saved:,} bytes of weights less, as layers with equal ones share them"] * (saved > 0)


def _packing_line(choice: Choice) -> list[str]:
    """A line on the bytes that buffers take while constants are packed, if that is more than an
    inference takes; else none."""
    needed = preparation_bytes(choice.plan.plan)
    if needed <= choice.memory_bytes:
        return []
    return [f"{needed:,} bytes while its constants are packed, unless they are packed ahead"]


def _layout_line(layers: Layers) -> list[str]:
    """A line on the layouts of the tensors that may lie in several; none if layouts were not
    chosen."""
    names = dict.fromkeys(t for layer in layers.layers for t in layer.layouts)
    if not names:
        return []
    lie = Counter(layers.tensors[t].layout for t in names)
    told = ", ".join(f"{lie[layout]} {layout.value}" for layout in Layout if lie[layout])
    copies = counted(len(copies_of(layers)), "layer") if copies_of(layers) else "none"
    return [f"layouts: of {counted(len(names), 'tensor')} {told}; {copies} to copy into another"]


def layer_table(choice: Choice) -> list[str]:
    """The lines of a choice, layer by layer: share of time, bytes of the result, of weights and of
    workspace, and the option."""
    lines = [
        f"{'layer':30} {'operator':16} {'time':>9} {'share':>6} {'result':>10} {'kept':>10} "
        f"{'workspace':>10}  option"
    ]
    for layer, option in zip(choice.layers.layers, choice.options, strict=True):
        size = choice.layers.made_bytes(layer)
        lines.append(
            f"{layer.title[:30]:30} {layer.operator[:16]:16} {show_time(option.time_ns):>9} "
            f"{option.time_ns / choice.time_ns:6.1%} {show_bytes(size):>10} "
            f"{show_bytes(option.kept_bytes):>10} {show_bytes(option.workspace_bytes):>10}  "
            f"{option.id}"
        )
    return lines

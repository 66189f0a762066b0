"""The outline of a derivation as text: its stages, each with what stood there before and after."""

# key: e term, d derivation

from collections.abc import Iterator, Sequence

from ir.core.frozen import frozen
from ir.core.nodes import Expr
from ir.text.suggest import no_such
from rewrites.engine.derivation import Derivation
from rewrites.engine.derivation_text import brief
from rewrites.engine.skeleton import INSIDE, skeleton
from rewrites.engine.stages import depths

LINES = 16  # stages that are shown at once: those inside others as far as there is room
WIDTH = 92


@frozen
class Told:
    """A stage of a derivation as text: its name, its steps `first` up to `end`, and the terms
    before and after it."""

    name: str
    first: int
    end: int
    before: str
    after: str


def told(d: Derivation) -> tuple[Told, ...]:
    """All stages of a derivation in the order in which they begin, the outer before the inner."""
    begun = ((n, s) for n, step in enumerate(d.steps) for s in step.stages)
    return tuple(Told(s.name, n, n + s.steps, *_both(s.before, s.after)) for n, s in begun)


def _both(before: Expr, after: Expr) -> tuple[str, str]:
    """The terms before and after a stage as text: their skeletons if these differ, and the terms
    shortened otherwise."""
    short = skeleton(before), skeleton(after)
    if all(short) and short[0] != short[1]:
        return _differing(*(text.split(INSIDE) for text in short))
    return brief(before, WIDTH), brief(after, WIDTH)


def _differing(before: Sequence[str], after: Sequence[str]) -> tuple[str, str]:
    """The skeletons `before` and `after` as text, each without the outer levels that both have in
    common."""
    pairs = enumerate(zip(before[:-1], after[:-1], strict=False))
    left = next((n for n, (a, b) in pairs if a != b), min(len(before), len(after)) - 1)
    around = ["…"] if left else []
    return _cut(INSIDE.join([*around, *before[left:]])), _cut(INSIDE.join([*around, *after[left:]]))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 2]} …"


def called(stages: Sequence[Told], name: str) -> list[Told]:
    """The stages that have the given name; UserError, with the names that there are, if none has
    it."""
    found = [s for s in stages if s.name == name]
    if not found:
        raise no_such("stage", name, dict.fromkeys(s.name for s in stages), of="the derivation")
    return found


def shown(stages: Sequence[Told], lines: int = LINES) -> list[tuple[int, Told]]:
    """The outermost stages, and those inside them down to the depth at which they are at most
    `lines` in all, each with its depth."""
    spans = [(s.first, s.end) for s in stages]
    every = list(zip(depths(spans), stages, strict=True))
    rooms = range(max((depth for depth, _ in every), default=0) + 1)
    fit = [k for k in rooms if sum(depth <= k for depth, _ in every) <= lines]
    deepest = max(fit, default=0)
    return [(depth, s) for depth, s in every if depth <= deepest]


def outline_text(stages: Sequence[Told], lines: int = LINES) -> Iterator[str]:
    """The lines of an outline of `stages`, with as many inner stages as fit in `lines` headings
    (`shown`): each stage's number, name and count of laws, and the terms before and after it."""
    for n, (depth, s) in enumerate(shown(stages, lines), 1):
        indent = "  " * depth
        yield f"{n:3}. {indent}{s.name}   ({_laws(s.end - s.first)})"
        yield f"     {indent}  {s.before}"
        yield f"     {indent}= {s.after}"


def headings(stages: Sequence[Told], lines: int = LINES) -> Iterator[str]:
    """The lines of a short outline of `stages`, without terms: one for each stage that `shown`
    gives."""
    for n, (depth, s) in enumerate(shown(stages, lines), 1):
        yield f"{n:3}. {'  ' * depth}{s.name}   ({_laws(s.end - s.first)})"


def _laws(n: int) -> str:
    return "1 law" if n == 1 else f"{n} laws"

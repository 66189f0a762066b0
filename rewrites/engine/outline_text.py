"""The outline of a derivation as text: its stages, each with what stood there before and after."""

# key: e term, d derivation

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ir.core.nodes import Expr, Lam
from ir.text.suggest import no_such
from rewrites.engine.derivation_text import brief
from rewrites.engine.rule import Derivation, Place, get
from rewrites.engine.skeleton import INSIDE, skeleton
from rewrites.engine.stages import Stage, outline

LINES = 16  # stages that are shown at once: those inside others as far as there is room
WIDTH = 92


@dataclass(frozen=True, slots=True)
class Told:
    """A stage in words: its name, its steps from `first` up to `end`, and what stood where it
    worked before them and after."""

    name: str
    first: int
    end: int
    before: str
    after: str


def told(d: Derivation) -> tuple[Told, ...]:
    """All stages of a derivation in the order in which they begin, the outer before the inner."""
    terms = list(d.terms())
    return tuple(_told(d, terms, s) for top in outline(d.steps) for s in top.all())


def _told(d: Derivation, terms: Sequence[Expr], s: Stage) -> Told:
    place = _whole(terms[s.first], _common([step.place for step in d.steps[s.first : s.end]]))
    before, after = (get(e, place) for e in (terms[s.first], terms[s.end]))
    return Told(s.name, s.first, s.end, *_both(before, after))


def _common(places: Sequence[Place]) -> Place:
    """The innermost place around all of these."""
    first, last = min(places), max(places)
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((n for n, (i, j) in pairs if i != j), min(len(first), len(last)))]


def _whole(e: Expr, place: Place) -> Place:
    """A place, or that of the map or reduction whose function stands there."""
    return place[:-1] if isinstance(get(e, place), Lam) else place


def _both(before: Expr, after: Expr) -> tuple[str, str]:
    """Two terms by their skeletons if these tell them apart, and shortened otherwise."""
    short = skeleton(before), skeleton(after)
    if all(short) and short[0] != short[1]:
        return _differing(*(text.split(INSIDE) for text in short))
    return brief(before, WIDTH), brief(after, WIDTH)


def _differing(before: Sequence[str], after: Sequence[str]) -> tuple[str, str]:
    """Two nests from the first level in which they differ on."""
    pairs = enumerate(zip(before[:-1], after[:-1], strict=False))
    left = next((n for n, (a, b) in pairs if a != b), min(len(before), len(after)) - 1)
    around = ["…"] if left else []
    return _cut(INSIDE.join([*around, *before[left:]])), _cut(INSIDE.join([*around, *after[left:]]))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 2]} …"


def called(stages: Sequence[Told], name: str) -> list[Told]:
    """The stages of a name; an error says which names there are."""
    found = [s for s in stages if s.name == name]
    if not found:
        raise no_such("stage", name, dict.fromkeys(s.name for s in stages), of="the derivation")
    return found


def depths(stages: Sequence[Told]) -> list[int]:
    """How many stages each of these is inside of."""
    found: list[int] = []
    ends: list[int] = []
    for s in stages:
        while ends and ends[-1] <= s.first:
            ends.pop()
        found.append(len(ends))
        ends.append(s.end)
    return found


def shown(stages: Sequence[Told], lines: int = LINES) -> list[tuple[int, Told]]:
    """The outermost stages, and those inside as deep as there is room for, with their depths."""
    every = list(zip(depths(stages), stages, strict=True))
    rooms = range(max((depth for depth, _ in every), default=0) + 1)
    fit = [k for k in rooms if sum(depth <= k for depth, _ in every) <= lines]
    deepest = max(fit, default=0)
    return [(depth, s) for depth, s in every if depth <= deepest]


def outline_text(stages: Sequence[Told], lines: int = LINES) -> Iterator[str]:
    """The stages that are shown: the number of each, its name, and how many laws it takes; below,
    what stood there before and after."""
    for n, (depth, s) in enumerate(shown(stages, lines), 1):
        indent = "  " * depth
        yield f"{n:3}. {indent}{s.name}   ({_laws(s.end - s.first)})"
        yield f"     {indent}  {s.before}"
        yield f"     {indent}= {s.after}"


def headings(stages: Sequence[Told], lines: int = LINES) -> Iterator[str]:
    """The stages that are shown, a line each."""
    for n, (depth, s) in enumerate(shown(stages, lines), 1):
        yield f"{n:3}. {'  ' * depth}{s.name}   ({_laws(s.end - s.first)})"


def _laws(n: int) -> str:
    return "1 law" if n == 1 else f"{n} laws"

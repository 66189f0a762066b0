"""Stages of a derivation: the steps that one strategy makes are told together, under its name.

The steps stay one flat list: the step with which a stage begins says its name and how many steps it
takes, so stages lie inside each other to any depth.
"""

# key: s strategy, e term

from collections.abc import Sequence
from dataclasses import replace

from ir.core.nodes import Expr, Lam
from rewrites.engine.rule import Begun, Place, Rewritten, Step, Strategy, get

Steps = tuple[Step, ...]


def stage(name: str, s: Strategy) -> Strategy:
    """The strategy s with its steps marked as one stage of this name; without steps there is no
    stage."""

    def run(e: Expr) -> Rewritten | None:
        done = s(e)
        return done if done is None or not done[1] else (done[0], _staged(name, e, *done))

    return run


def _staged(name: str, before: Expr, after: Expr, steps: Steps) -> Steps:
    place = _around(before, [step.place for step in steps])
    begun = Begun(name, len(steps), get(before, place), get(after, place))
    return (replace(steps[0], stages=(begun, *steps[0].stages)), *steps[1:])


def _around(e: Expr, places: Sequence[Place]) -> Place:
    """The innermost place that contains all the given places and is not that of a function."""
    first, last = min(places), max(places)
    pairs = enumerate(zip(first, last, strict=False))
    common = next((n for n, (i, j) in pairs if i != j), min(len(first), len(last)))
    place = first[:common]
    return place[:-1] if isinstance(get(e, place), Lam) else place


def depths(spans: Sequence[tuple[int, int]]) -> list[int]:
    """The number of spans of steps that enclose each span; spans come in the order in which they
    begin, outer before inner."""
    found: list[int] = []
    ends: list[int] = []
    for first, end in spans:
        while ends and ends[-1] <= first:
            ends.pop()
        found.append(len(ends))
        ends.append(end)
    return found

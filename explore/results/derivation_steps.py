"""Derivations as text, as a run stores them, and the lines that show them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from explore.results.records import Begun, Step
from ir.core.nodes import Expr
from ir.core.terms import once, subterms
from ir.text.show import show
from rewrites.engine.derivation import Derivation
from rewrites.engine.outline_text import Told, called, outline_text, told

_NODES = 40  # a term of more is not shown
_TERM = 240  # characters of a term shown


def steps_of(d: Derivation) -> tuple[Step, ...]:
    """The steps of a derivation as text: law, place, the new term, and the stages that begin
    there."""
    begun: defaultdict[int, list[Begun]] = defaultdict(list)
    for s in told(d):
        begun[s.first].append(Begun(s.name, s.end - s.first, s.before, s.after))
    return tuple(
        Step(
            law=s.rule.law,
            place=".".join(map(str, s.place)) or "top",
            term=_brief(s.term),
            stages=tuple(begun[n]),
        )
        for n, s in enumerate(d.steps)
    )


@once
def _brief(term: Expr) -> str:
    """The text of a term on one line; … if it is too large."""
    if next(islice(subterms(term), _NODES, None), None) is not None:
        return "…"
    line = " ".join(show(term).split())
    return line if len(line) <= _TERM else f"{line[: _TERM - 1]}…"


def stages_of(steps: Sequence[Step]) -> tuple[Told, ...]:
    """The stages of a stored derivation, in order; none if it was stored by an earlier version,
    which had no stages."""
    return tuple(
        Told(begun.name, n, n + begun.steps, begun.before, begun.after)
        for n, step in enumerate(steps)
        for begun in step.stages
    )


def outline_of(steps: Sequence[Step]) -> Iterator[str]:
    """The lines of a stored derivation's outline; its laws if it has no stages."""
    stages = stages_of(steps)
    return outline_text(stages) if stages else laws_of(steps)


def laws_of(steps: Sequence[Step], chosen: range | None = None) -> Iterator[str]:
    """The lines of all steps of a stored derivation, or the chosen ones: law, place and new term.

    Names of stages stand before the step with which they begin.
    """
    for n in range(len(steps)) if chosen is None else chosen:
        yield from (f"# {begun.name}" for begun in steps[n].stages)
        yield f"{n + 1:3}. {steps[n].law}   at {steps[n].place}\n     {steps[n].term}"


def stage_of(steps: Sequence[Step], name: str) -> Iterator[str]:
    """The lines of the laws in the stages of this name."""
    for s in called(stages_of(steps), name):
        yield from laws_of(steps, range(s.first, s.end))

"""Lines about the times of a run as a whole: its floor, its clock, and the machine's pace."""

from collections.abc import Sequence

from explore.report.summary import floor_words
from explore.results.front import front
from explore.results.pace import spells, told_of_spells
from explore.results.records import NOISY, Bounds, Measured, Record, latest


def told_of_times(records: Sequence[Record], bounds: Bounds) -> list[str]:
    """Lines about how the times of a run were measured; none if nothing was measured."""
    measured = [r.outcome for r in latest(records) if isinstance(r.outcome, Measured)]
    if not measured:
        return []
    floor = [f"floor: {words}"] if (words := floor_words(bounds)) else []
    old = all(outcome.clock == "device" for outcome in measured)
    clock = ["times are sums of device times: an older version measured them"] if old else []
    return [*floor, *clock, *told_of_spells(spells(records)), *_noisy(records)]


def _noisy(records: Sequence[Record]) -> list[str]:
    """The line that tells what to do about noisy times on the front; none if they are calm."""
    outcomes = [r.outcome for r in front(records)]
    if not any(isinstance(outcome, Measured) and outcome.noisy for outcome in outcomes):
        return []
    return [
        f"noisy: other work on the machine spread these times by more than {NOISY:.0%}; "
        "when it is calmer, search again, which begins from the records"
    ]

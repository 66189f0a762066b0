"""Lines about the times of a run as a whole: its floor, its clock, and the machine's pace."""

from collections.abc import Sequence

from explore.report.summary import floor_words
from explore.results.pace import spells
from explore.results.records import Bounds, Measured, Record, latest


def told_of_times(records: Sequence[Record], bounds: Bounds) -> list[str]:
    """Lines about how the times of a run were measured; none if nothing was measured."""
    measured = [r.outcome for r in latest(records) if isinstance(r.outcome, Measured)]
    if not measured:
        return []
    floor = [f"floor: {words}"] if (words := floor_words(bounds)) else []
    old = all(outcome.clock == "device" for outcome in measured)
    clock = ["times are sums of device times: an older version measured them"] if old else []
    return [*floor, *clock, *(spell.words for spell in spells(records))]

"""The watch on the machine's pace during a run: it tells that the machine has become slow, and says
no more until it is much slower."""

from explore.results.pace import FEW, SLOW, slower_words
from explore.results.records import Measured, Outcome

AGAIN = 2.0  # times slower than what was told last: told again


class PaceWatch:
    """A watch on the outcomes of a run, as they come; failed outcomes tell nothing of the pace."""

    def __init__(self) -> None:
        self._slow = 0  # outcomes in a row
        self._told = 0.0  # the slowest pace that was told

    def saw(self, outcome: Outcome) -> str | None:
        """The message that the machine has become slow, or twice as slow as was told last, if this
        outcome is the one that shows it; else None. The run's end tells of all the spells."""
        if not isinstance(outcome, Measured) or outcome.yardstick_ns is None:
            return None
        self._slow = self._slow + 1 if outcome.slowdown >= SLOW else 0
        if self._slow < FEW or outcome.slowdown < AGAIN * self._told:
            return None
        self._told = outcome.slowdown
        by = slower_words(outcome.slowdown)
        return (
            f"the machine is {by} times slower than when the run began: "
            "times are taken to its usual pace"
        )

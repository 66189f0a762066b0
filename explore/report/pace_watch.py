"""The watch on the machine's pace during a run: it tells once that the machine has become slow."""

from explore.results.pace import FEW, SLOW
from explore.results.records import Measured, Outcome


class PaceWatch:
    """A watch on the outcomes of a run, as they come; failed outcomes tell nothing of the pace."""

    def __init__(self) -> None:
        self._slow = 0  # outcomes in a row

    def saw(self, outcome: Outcome) -> str | None:
        """The message that the machine has become slow, if this outcome is the one that shows it;
        else None."""
        if not isinstance(outcome, Measured) or outcome.yardstick_ns is None:
            return None
        self._slow = self._slow + 1 if outcome.slowdown >= SLOW else 0
        if self._slow != FEW:
            return None
        return (
            f"the machine is {outcome.slowdown:.2g} times slower than when the run began: "
            "times are taken to its usual pace"
        )

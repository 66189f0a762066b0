"""Rounds: which candidates are next, as far as the budget goes."""

from dataclasses import dataclass, field

from explore.search.search import Search


@dataclass(slots=True)
class Rounds:
    """The rounds that a search asks for; what the budget cuts off one comes next."""

    search: Search
    asked: list[int] = field(default_factory=list)

    def ask(self) -> bool:
        """Ask for a round, if nothing is left of the last. False if the search has to be told more
        outcomes first."""
        if self.asked:
            return True
        chosen = self.search.next_round()
        self.asked = chosen or []
        return chosen is not None

    def take(self, room: int) -> list[int]:
        """The next candidates, at most so many."""
        now, self.asked = self.asked[:room], self.asked[room:]
        return now

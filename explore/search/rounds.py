"""Rounds of candidates, cut to the budget of the run."""

from dataclasses import dataclass, field

from explore.search.search import Search


@dataclass(slots=True)
class Rounds:
    """The rounds of a search: `asked` are the candidates of the last one that were not taken yet.
    Those that the budget cuts off come first in the next round."""

    search: Search
    asked: list[int] = field(default_factory=list)

    def ask(self) -> bool:
        """Ask the search for a round, unless some of the last is left; False if the search needs
        more outcomes first."""
        if self.asked:
            return True
        chosen = self.search.next_round()
        self.asked = chosen or []
        return chosen is not None

    def take(self, room: int) -> list[int]:
        """The next candidates, at most `room` of them."""
        now, self.asked = self.asked[:room], self.asked[room:]
        return now

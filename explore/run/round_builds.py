"""The builds of a round: candidates go to workers, and come out in the order of the round."""

# key: n number of a candidate

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from explore.building.build_variant import Made, Task
from explore.results.records import Failed, Record
from explore.run.candidates import Candidates
from explore.workers.done import Done
from explore.workers.workers import Workers


@dataclass(slots=True)
class RoundBuilds:
    """A round's candidates at the build workers; a candidate with a stored outcome of an earlier
    start is not built."""

    candidates: Candidates
    workers: Workers
    before: Mapping[str, Record]  # by variant
    round: list[int] = field(default_factory=list)
    given: int = 0  # of the round
    made: dict[int, Made] = field(default_factory=dict)

    def begin(self, chosen: list[int]) -> None:
        """Give a round to the workers."""
        self.round, self.given, self.made = chosen, 0, {}
        for n in chosen:
            if self._stored(n) is not None:
                continue
            if self.candidates.certified(n):
                self.workers.submit(self.candidates.task(n))
            else:
                failed = Failed("constrain", "the point does not satisfy its constraints")
                self.made[n] = Made.without_plan(failed)

    def took(self, done: Done[Task, Made]) -> None:
        """Take in the result of a worker's task."""
        result = done.result
        if isinstance(result, Failed):
            result = Made.without_plan(result, done.seconds * 1e9)
        self.made[done.task.number] = result

    def complete(self) -> bool:
        """True if all candidates of the round were yielded by `ready`."""
        return self.given == len(self.round)

    def ready(self) -> Iterator[tuple[int, Made | Record]]:
        """The next candidates of the round with what was made of them, or with their records."""
        while not self.complete():
            n = self.round[self.given]
            stored = self._stored(n)
            if stored is None and n not in self.made:
                return
            self.given += 1
            yield n, self.made.pop(n) if stored is None else stored

    def _stored(self, n: int) -> Record | None:
        return self.before.get(self.candidates.variants[n].id)

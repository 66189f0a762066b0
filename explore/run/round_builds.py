"""The builds of rounds: candidates are given to workers, and handed out in the order of their
rounds."""

# key: n number of a candidate

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from explore.building.build_tasks import Made
from explore.results.records import Failed, Record
from explore.run.candidates import Candidates
from explore.space.derivations import Derivations
from explore.workers.done import Done
from explore.workers.workers import Workers


@dataclass(slots=True)
class RoundBuilds:
    """The candidates of a round that workers build, after those left over from the round before:
    `round` are their numbers, `given` tells how many of these `ready` has handed out, and `made`
    has what was built. A candidate whose outcome an earlier start of the run stored (`before`) is
    not built again. With `ended`, the workers have ended."""

    candidates: Candidates
    deriving: Derivations  # whose workers build, too
    before: Mapping[str, Record]  # by variant
    round: list[int] = field(default_factory=list)
    given: int = 0  # of the round
    made: dict[int, Made] = field(default_factory=dict)
    ended: bool = False

    @property
    def workers(self) -> Workers:
        """The workers that build."""
        return self.deriving.workers

    @property
    def left(self) -> int:
        """The number of candidates that `ready` has not yielded yet."""
        return len(self.round) - self.given

    def begin(self, chosen: list[int]) -> None:
        """Give a round's candidates to the workers; they are handed out after those left from the
        last round."""
        self.round, self.given = [*self.round[self.given :], *chosen], 0
        for n in chosen:
            if self._stored(n) is not None:
                continue
            if self.candidates.certified(n):
                self.workers.submit(self.candidates.task(n))
            else:
                failed = Failed("constrain", "the point does not satisfy its constraints")
                self.made[n] = Made.without_plan(failed)

    def end(self) -> None:
        """End the workers, and give up what they have not built."""
        self.workers.close()
        self.round, self.given, self.ended = [], 0, True

    def took_strays(self) -> None:
        """Take in the builds that were done while forms were derived."""
        done, self.deriving.strays = self.deriving.strays, []
        for each in done:
            self.took(each)

    def took(self, done: Done[Any, Any]) -> None:
        """Take in what a worker has finished: the build of a candidate, or the derivation of a
        form."""
        if self.deriving.took(done):
            return
        result = done.result
        if isinstance(result, Failed):
            result = Made.without_plan(result, done.seconds * 1e9)
        self.made[done.task.number] = result

    def complete(self) -> bool:
        """True if `ready` has yielded all candidates that were given to the workers."""
        return not self.left

    def idle(self) -> bool:
        """True if some worker has nothing to do."""
        return self.workers.free > 0

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

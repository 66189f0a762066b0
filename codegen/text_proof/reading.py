"""The state of reading a text: the line that is read, and the demands on its arithmetic so far."""

from dataclasses import dataclass, field

from codegen.index.index import Index
from codegen.proof.accesses import Demand, Where
from codegen.proof.verdicts import Kind as About
from codegen.text_reader.c_tokens import NotRead


@dataclass(slots=True)
class Reading:
    """The state of reading a text; `text` says which line is read."""

    text: str = ""
    demands: list[Demand] = field(default_factory=list)

    def refused(self, message: str) -> NotRead:
        return NotRead(f"{self.text}: {message}")

    def demand(self, about: About, what: str, goals: list[Index], where: Where) -> None:
        """Record the demand that all goals are ≥ 0 at `where`: an obligation of the kind `about`,
        for `what` in the line that is read."""
        self.demands.append(Demand(about, f"{what} in {self.text}", tuple(goals), where))

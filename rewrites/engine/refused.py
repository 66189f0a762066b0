"""The exception by which a strategy refuses a program."""

from ir.core.nodes import Expr
from rewrites.engine.derivation_text import brief
from rewrites.engine.skeleton import skeleton

LONGEST = 72  # characters of a term, or of its skeleton, that a message shows


def shown(e: Expr) -> str:
    """The term e as a message shows it: on one line, in backquotes, with … for what is too long."""
    return f"`{brief(e, LONGEST)}`"


class Refused(Exception):
    """Raised where a strategy does not apply to a program; its message tells the user why.

    `node` shows the kernel that is refused, by its maps and reductions.
    """

    def __init__(self, reason: str, node: str = "") -> None:
        super().__init__(reason, node)
        self.reason = reason
        self.node = node

    def __str__(self) -> str:
        return f"{self.reason} (at {self.node})" if self.node else self.reason

    def at(self, e: Expr) -> "Refused":
        """This refusal with the term e as its node, unless it has a node that is further inside."""
        found = skeleton(e)
        short = found if len(found) <= LONGEST else f"{found[: LONGEST - 2]} …"
        return self if self.node else Refused(self.reason, short)

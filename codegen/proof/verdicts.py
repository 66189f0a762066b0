"""The obligations of a kernel, which are to be shown before it runs, and the verdict on each."""

from collections import Counter
from enum import Enum

from ir.core.frozen import frozen


class Kind(Enum):
    """The subject of an obligation."""

    TEXT = "text"  # a text is in the language that kernels are printed in
    PLAN = "plan"  # what kernels share is written before it is read, and not overwritten
    LAUNCH = "launch"  # ids are what the launch geometry says, variables what their loops say
    CLAIM = "claim"  # what the tree assumes of an index holds there
    BOUNDS = "bounds"  # an access stays inside its memory
    RACE = "race"  # two accesses never touch one cell from two work-items
    AWAITED = "awaited"  # copies that a work-item begins are done before they are relied on
    BARRIER = "barrier"  # all work-items of a group reach a barrier together
    LANES = "lanes"  # all lanes of a sub-group reach an instruction together
    ALIGNMENT = "alignment"  # a pointer to vectors points to a multiple of their size
    OVERFLOW = "overflow"  # index arithmetic stays inside its type
    DIVISION = "division"  # no divisor is 0, and an index that is divided is not negative


@frozen
class Obligation:
    """A fact to be shown of a kernel: its kind, the name of the memory or nothing, and the place in
    words."""

    kind: Kind
    memory: str
    text: str


@frozen
class Proved:
    """The verdict that an obligation holds, and by what: "ranges" of variables, "guards" (the
    conditions around), "trial" of every value, or "Z3"."""

    obligation: Obligation
    by: str


@frozen
class Unproved:
    """The verdict that an obligation was neither proved nor refuted, and why."""

    obligation: Obligation
    reason: str


@frozen
class Refuted:
    """The verdict that an obligation does not hold; `counterexample` names work-items and
    iterations.

    It was checked by evaluating the indices there.
    """

    obligation: Obligation
    counterexample: str


Verdict = Proved | Unproved | Refuted


@frozen
class Proof:
    """The obligations of one kernel with their verdicts, in a fixed order."""

    kernel: str
    obligations: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """True if every obligation is proved, so that the kernel may be run."""
        return not self.failures

    @property
    def failures(self) -> tuple[Unproved | Refuted, ...]:
        """The verdicts on obligations that are not proved, whether refuted or open."""
        return tuple([v for v in self.obligations if not isinstance(v, Proved)])

    @property
    def refuted(self) -> tuple[Refuted, ...]:
        return tuple([v for v in self.obligations if isinstance(v, Refuted)])

    def summary(self) -> str:
        """The proof as text: one line, and one more for each obligation that is not proved."""
        return "\n".join([self._headline(), *map(sentence, self.failures)])

    def _headline(self) -> str:
        methods = Counter(v.by for v in self.obligations if isinstance(v, Proved))
        proved = sum(methods.values())
        how = ", ".join(f"{n} by {by}" for by, n in sorted(methods.items()))
        every = f"{proved} of {len(self.obligations)} obligations proved"
        return f"{self.kernel}: {every}{f' ({how})' if how else ''}"


def sentence(verdict: Verdict) -> str:
    """The verdict as one line of text."""
    o = verdict.obligation
    match verdict:
        case Proved(_, by):
            return f"  {o.kind.value}: {o.text}: proved by {by}"
        case Unproved(_, reason):
            return f"  {o.kind.value}: {o.text}: not proved: {reason}"
        case Refuted(_, counterexample):
            return f"  {o.kind.value}: {o.text}: wrong: {counterexample}"

"""Derivations: the uses of rules that lead from one term to another, in order."""

# key: e term

from collections.abc import Iterator, Sequence

from ir.core.frozen import frozen
from ir.core.nodes import Expr
from ir.core.terms import children
from rewrites.engine.rule import DOUBLES, Place, Step, Unsound, apply_rule, put, roundings


@frozen
class Derivation:
    """A proof that `end` equals `start`: the uses of rules (`steps`) that lead from one to the
    other, in order."""

    start: Expr
    steps: tuple[Step, ...]

    @property
    def end(self) -> Expr:
        """The term after the last step."""
        cursor = _Cursor(self.start)
        for step in self.steps:
            cursor.move(step.place)
            cursor.here = step.term
        return cursor.whole()

    @property
    def rounding(self) -> float:
        """The known error of `end` relative to `start`, in machine epsilons of the norm; 0 where it
        is exact."""
        return sum(roundings(self.steps))

    @property
    def rounding_in_doubles(self) -> float:
        """The known error of `end` relative to `start` where both are computed in doubles from
        whole numbers, in machine epsilons of doubles."""
        return sum(roundings(self.steps, DOUBLES))

    def terms(self) -> Iterator[Expr]:
        """The whole term before the first step, and after each one."""
        e = self.start
        yield e
        for step in self.steps:
            e = put(e, step.place, step.term)
            yield e

    def replay(self) -> Expr:
        """The last term, after the rule of each step has been applied again, from the start;
        Unsound if a rule does not apply, or gives another term than the recorded one."""
        cursor = _Cursor(self.start)
        for step in self.steps:
            cursor.move(step.place)
            done = apply_rule(step.rule, dict(step.arguments), cursor.here)
            if done is None or done[0] != step.term:
                raise Unsound(f"the derivation does not replay at: {step.rule.law}")
            cursor.here = done[0]
        return cursor.whole()


class _Cursor:
    """A term with a place in it. What stands there (`here`) may be replaced; the nodes around it
    are rebuilt when the place moves out of them: steps that follow each other are near each
    other."""

    def __init__(self, e: Expr) -> None:
        self.here = e
        self._around: list[tuple[Expr, int]] = []  # outermost first, and which child is entered

    def move(self, place: Place) -> None:
        """Let this be the place."""
        kept = _agreeing(place, [i for _, i in self._around])
        while len(self._around) > kept:
            e, i = self._around.pop()
            self.here = put(e, (i,), self.here)
        for i in place[kept:]:
            self._around.append((self.here, i))
            self.here = children(self.here)[i]

    def whole(self) -> Expr:
        """The whole term; its root is the place then."""
        self.move(())
        return self.here


def _agreeing(p: Sequence[int], q: Sequence[int]) -> int:
    """The number of places at the beginning of p and q that are equal."""
    pairs = enumerate(zip(p, q, strict=False))
    return next((n for n, (i, j) in pairs if i != j), min(len(p), len(q)))

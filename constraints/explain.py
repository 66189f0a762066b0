"""An impossible set of constraints, in the user's words."""

# key: c constraint

from collections.abc import Sequence

from constraints.bounds import ENDLESS, bounds, least
from constraints.terms import AtMost, Constraint, Divides, Equal, show_relation, spell
from ir.nat import Nat, Size


def explain(core: Sequence[Constraint], parameters: Sequence[str]) -> str:
    """Why no variant satisfies all of these."""
    found = bounds(parameters, [c.relation for c in core])
    words = [_words(c, {p: low for p, (low, _) in found.items() if low < ENDLESS}) for c in core]
    return "no variant: " + "; ".join(dict.fromkeys(words))


def _words(c: Constraint, low: dict[str, int]) -> str:
    match c.relation:
        case AtMost(a, int(limit)) if str(limit) in c.why:
            unit = " B" if c.why.endswith(" B") else ""
            return f"{c.why} < {_needed(a, low)}{unit} needed by {c.origin}"
        case Divides(m, n):
            return f"{spell(m)} does not divide {spell(n)} of {c.origin}"
        case Equal():
            return f"{show_relation(c.relation)} ({c.why})"
    place = "" if c.origin in c.why else f" at {c.origin}"
    return f"{show_relation(c.relation)} ({c.why}){place}"


def _needed(a: Size, low: dict[str, int]) -> str:
    """An amount, with its least value where that is known."""
    if not isinstance(a, Nat):
        return str(a)
    smallest = least(a, low)
    return spell(a) if smallest is None else f"{smallest}"
